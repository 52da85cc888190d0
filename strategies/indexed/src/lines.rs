//! The note: which lines stay, and how it reads.

use crate::candidates::{Block, Candidates};
use crate::text::{offset, telling};
use foldback_core::view::Pos;
use std::collections::BinaryHeap;
use std::fmt::Write as _;
use std::ops::Range;

/// How a note begins.
const TITLE: &str = "[Earlier messages were left out. Lines of them that may be needed again, by the number of the message:]";
/// What a line that names a source begins with.
const SOURCE: &str = "▸ #";

/// The parts that a note took lines from; empty if the text is no note.
pub fn sources(text: &str) -> Vec<(Pos, usize)> {
    if !text.starts_with(TITLE) {
        return Vec::new();
    }
    let named = text.lines().filter_map(|line| line.strip_prefix(SOURCE)?.split(' ').next());
    let at = |at: &str| {
        at.split_once('.').and_then(|(pos, part)| Some((pos.parse().ok()?, part.parse().ok()?)))
    };
    named.filter_map(at).collect()
}

/// An item by its worth for its size, the densest first, and of equal ones the first: lines before blocks. One number
/// holds both, so that a heap of tens of thousands compares numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Offer(u64);

impl Offer {
    fn new(worth: f32, cost: f32, item: usize) -> Self {
        Self(u64::from(rank(worth / cost.max(1.0))) << 32 | u64::from(u32::MAX - offset(item)))
    }

    /// The density as a number of equal order.
    fn density(self) -> u32 {
        (self.0 >> 32) as u32
    }

    fn item(self) -> usize {
        (u32::MAX - self.0 as u32) as usize
    }
}

/// A number in the order of positive densities. Items without worth are never taken, so they need no order.
fn rank(value: f32) -> u32 {
    if value > 0.0 { value.to_bits() } else { 0 }
}

struct Choice<'c, 't> {
    from: &'c Candidates<'t>,
    /// The worth of each word; less with each chosen line that has it.
    words: Vec<f32>,
    named: Vec<bool>,
    taken: Vec<bool>,
    left: f32,
}

impl Choice<'_, '_> {
    /// The block that an item is; lines have the numbers before those of blocks.
    fn block(&self, item: usize) -> Option<&Block> {
        item.checked_sub(self.from.lines.len()).map(|block| &self.from.blocks[block])
    }

    fn range(&self, item: usize) -> Range<usize> {
        self.block(item).map_or(item..item + 1, |block| block.lines.clone())
    }

    /// Worth and size of an item, given the items that are chosen already.
    fn value(&self, item: usize) -> (f32, f32) {
        let (mut worth, mut cost) = (0.0, 0.0);
        if let Some(block) = self.block(item) {
            worth += block.worth;
        }
        let range = self.range(item);
        for at in range.clone().filter(|at| !self.taken[*at]) {
            let candidate = &self.from.lines[at];
            cost += candidate.tokens;
            if !candidate.open {
                continue;
            }
            for word in self.from.words_of(candidate) {
                worth += self.words[*word as usize];
            }
        }
        let source = self.from.lines[range.start].source;
        if !self.named[source] {
            cost += self.from.sources[source].label.len() as f32 / 3.2 + 5.0;
        }
        (worth, cost)
    }

    fn offer(&self, item: usize) -> Offer {
        let (worth, cost) = self.value(item);
        Offer::new(worth, cost, item)
    }

    fn take(&mut self, item: usize, cost: f32) {
        self.left -= cost;
        for at in self.range(item) {
            self.taken[at] = true;
            for word in self.from.words_of(&self.from.lines[at]) {
                self.words[*word as usize] *= self.from.again;
            }
        }
    }

    /// The offers that cost less once a source is named.
    fn name(&mut self, source: usize, offers: &mut BinaryHeap<Offer>) {
        self.named[source] = true;
        telling(self.from.sources[source].label, |word| {
            if let Some(word) = self.from.number(word) {
                self.words[word] *= self.from.again;
            }
        });
        let from = self.from;
        let begin = from.lines.partition_point(|line| line.source < source);
        let end = from.lines.partition_point(|line| line.source <= source);
        let lines = (begin..end).filter(|at| from.lines[*at].open && !self.taken[*at]);
        offers.extend(lines.map(|at| self.offer(at)));
        let first = from.blocks.partition_point(|block| block.lines.start < begin);
        let last = from.blocks.partition_point(|block| block.lines.start < end);
        offers.extend((first..last).map(|block| self.offer(from.lines.len() + block)));
    }
}

/// The note with the best lines for their size, taken one by one, each by what it adds to the lines before.
pub(crate) fn write(from: &Candidates<'_>, tokens: u64) -> String {
    let mut choice = Choice {
        from,
        words: from.words.clone(),
        named: vec![false; from.sources.len()],
        taken: vec![false; from.lines.len()],
        left: tokens as f32 - TITLE.len() as f32 / 4.0,
    };
    let lines = (0..from.lines.len()).filter(|at| from.lines[*at].open);
    let items = lines.chain((0..from.blocks.len()).map(|block| from.lines.len() + block));
    let mut offers: BinaryHeap<Offer> = items.map(|item| choice.offer(item)).collect();
    while let Some(offer) = offers.pop() {
        let item = offer.item();
        if choice.range(item).all(|at| choice.taken[at]) {
            continue;
        }
        let (worth, cost) = choice.value(item);
        let now = Offer::new(worth, cost, item);
        let denser = |other: &Offer| now.density() < other.density();
        if denser(&offer) && offers.peek().is_some_and(denser) {
            offers.push(now);
            continue;
        }
        if worth <= 0.0 || choice.left < 16.0 {
            break;
        }
        let source = from.lines[choice.range(item).start].source;
        if cost > choice.left {
            continue;
        }
        choice.take(item, cost);
        if !choice.named[source] {
            choice.name(source, &mut offers);
        }
    }
    let mut out = TITLE.to_owned();
    let mut source = None;
    for (candidate, _) in from.lines.iter().zip(&choice.taken).filter(|(_, taken)| **taken) {
        let of = &from.sources[candidate.source];
        if source != Some(candidate.source) {
            source = Some(candidate.source);
            let _ = write!(out, "\n{SOURCE}{}.{} {}", of.pos, of.part, of.label);
        }
        out.push('\n');
        out.push_str(&of.text[candidate.line.start as usize..candidate.line.end as usize]);
    }
    out
}
