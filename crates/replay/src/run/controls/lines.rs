//! The control `clairvoyant-lines`: clears like `evict`, and keeps of each result the lines that later
//! calls take from it.

use super::clairvoyant::seeing;
use crate::judge::reread::excerpt::Wanted;
use crate::read::index::{EditNeed, Id, Index, LogPart};
use crate::read::verbatim::PieceId;
use foldback_core::meter::LastText;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::Invalid;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::Strategy;
use foldback_core::view::EditKind;
use foldback_core::work;
use foldback_stages::pruner::{Candidate, Evict, EvictConfig, nothing_left};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// What could be kept for next to nothing by whoever writes placeholders or summaries: the lines that later
/// calls take from a result come after its placeholder. A strategy that can be replayed over **the session
/// of the index alone**. Trigger, target, order and placeholder are those of `evict`, and it counts like the
/// preset `random`. A result that would hardly get smaller stays.
///
/// What calls take is what both judges ask for, references and what is reused word for word, and the old
/// texts of edits; each is taken from the last result that had it.
///
/// # Errors
///
/// What `evict` refuses.
pub fn clairvoyant_lines(index: Arc<Index>, config: EvictConfig) -> Result<Strategy, Invalid> {
    let stage = Lines {
        evict: Evict::new(config.clone())?,
        placeholder: config.placeholder,
        taken: taken(&index),
        index,
        heard: Mutex::default(),
    };
    seeing(
        "clairvoyant-lines",
        "Like `clairvoyant`, but each cleared result keeps the lines that later calls reuse; it sees the future",
        Arc::new(stage),
    )
}

/// Bytes below which an old text is not told apart from what other files have.
const SHORT: usize = 32;

/// What a call takes from a result.
#[derive(Clone, Copy, Debug)]
enum Use {
    Reference(Id),
    OldText(EditNeed),
    Piece(PieceId),
}

/// By tool result, what calls take from it: the number of the call, and what, in order of calls.
type ByResult = FxHashMap<LogPart, Vec<(usize, Use)>>;

#[derive(Debug)]
struct Lines {
    evict: Evict,
    placeholder: String,
    index: Arc<Index>,
    taken: ByResult,
    heard: Mutex<Heard>,
}

/// How far the conversation is, and which of its results may be cleared. A result that would not get smaller is looked
/// at again when a call that takes something from it was made, so that a session in which no result gets smaller
/// does not cost the square of its results.
#[derive(Debug, Default)]
struct Heard {
    /// By position, the ordinal of the message in the log; `None` for what a compaction wrote.
    ordinals: Vec<Option<usize>>,
    log: usize,
    calls: usize,
    /// Number of results that were heard of, and of edits.
    results: usize,
    edits: usize,
    /// Results, by their number, that may get smaller.
    awake: BTreeSet<usize>,
    /// Those that would not, by the number of calls from which on they may.
    asleep: BTreeMap<usize, Vec<usize>>,
    sleeping: usize,
}

impl Heard {
    fn update(&mut self, context: &StageContext<'_>) {
        let edits = context.view.edits().len();
        if context.history.len() < self.ordinals.len() || edits < self.edits {
            // Another conversation, or something was undone.
            *self = Self::default();
        }
        for pos in self.ordinals.len()..context.history.len() {
            let message = context.history.message(pos);
            if message.is_entry() {
                self.ordinals.push(None);
                continue;
            }
            self.ordinals.push(Some(self.log));
            self.log += 1;
            self.calls += usize::from(message.is_answer());
        }
        let results = context.meter.results().len();
        self.awake.extend(self.results..results);
        (self.results, self.edits) = (results, edits);
        while let Some(slept) = self.asleep.first_entry().filter(|slept| *slept.key() <= self.calls)
        {
            let woken = slept.remove();
            self.sleeping -= woken.len();
            self.awake.extend(woken);
        }
    }

    /// The results that may get smaller, by their numbers; oldest first.
    fn candidates(&mut self, context: &StageContext<'_>, evict: &Evict) -> Vec<(usize, Candidate)> {
        let mut last = LastText::default();
        let mut candidates = Vec::new();
        work::count(self.awake.len() as u64);
        self.awake.retain(|number| {
            let result = &context.meter.results()[*number];
            if !context.view.is_visible(result.at.item) {
                return true;
            }
            let standing = Some(result).filter(|result| !result.is_cleared());
            let candidate = standing.and_then(|result| evict.candidate(context, result, &mut last));
            candidates.extend(candidate.map(|candidate| (*number, candidate)));
            candidate.is_some()
        });
        candidates
    }

    /// A result would not get smaller before so many calls were made; `None` for ever.
    fn sleep(&mut self, number: usize, until: Option<usize>) {
        self.awake.remove(&number);
        self.asleep.entry(until.unwrap_or(usize::MAX)).or_default().push(number);
        self.sleeping += 1;
    }
}

fn taken(index: &Index) -> ByResult {
    let mut out = ByResult::default();
    for (call, needs) in index.calls.iter().enumerate() {
        let references = needs.references.iter();
        let references = references.map(|need| (need.source, Use::Reference(need.id)));
        let edits = needs.edits.iter();
        let edits = edits.map(|need| (need.source, Use::OldText(*need)));
        let pieces = index.verbatim.needs(call).iter();
        let pieces = pieces.map(|need| (Some(index.part_at(need.source)), Use::Piece(need.piece)));
        for (source, what) in references.chain(edits).chain(pieces) {
            if let Some(source) = source {
                out.entry(source).or_default().push((call, what));
            }
        }
    }
    out
}

impl Lines {
    /// What is still taken from a result when call `call` is about to be made.
    fn later(&self, at: LogPart, call: usize) -> &[(usize, Use)] {
        let taken = self.taken.get(&at).map_or(&[][..], |taken| taken);
        &taken[taken.partition_point(|(by, _)| *by < call)..]
    }

    /// What replaces a result when call `call` is about to be made.
    fn text(&self, at: LogPart, shown: &str, call: usize) -> String {
        let mut out = self.placeholder.clone();
        let later = self.later(at, call);
        if later.is_empty() {
            return out;
        }
        let lines: Vec<&str> = shown.split('\n').collect();
        work::count((lines.len() + later.len()) as u64);
        let mut kept = BTreeSet::new();
        let mut references = BTreeSet::new();
        let mut listings = BTreeSet::new();
        for (_, what) in later {
            let text = match what {
                Use::Reference(id) => {
                    references.insert(*id);
                    continue;
                }
                Use::OldText(edit) => self.index.old_text(edit),
                Use::Piece(piece) => self.index.verbatim.text(*piece),
            };
            match Wanted::Piece(text).lines_in(shown) {
                Some(range) => kept.extend(range),
                // Lines that stand in a listing with numbers, or in a patch: as the edit has them.
                None => {
                    listings.insert(text);
                }
            }
            // What is short may be of any file, unless its name stands by it.
            if let Use::OldText(edit) = what
                && text.len() < SHORT
            {
                listings.extend(self.index.file_of(edit));
            }
        }
        for line in &kept {
            let there = lines.get(*line).map(|line| self.index.find(line)).unwrap_or_default();
            there.iter().for_each(|id| {
                references.remove(id);
            });
        }
        for (number, line) in lines.iter().enumerate() {
            if references.is_empty() {
                break;
            }
            let before = references.len();
            self.index.find(line).iter().for_each(|id| {
                references.remove(id);
            });
            if references.len() < before {
                kept.insert(number);
            }
        }
        for line in kept.into_iter().filter_map(|line| lines.get(line).copied()) {
            out.push('\n');
            out.push_str(line);
        }
        for listing in &listings {
            out.push('\n');
            out.push_str(listing);
        }
        out
    }
}

impl Pruner for Lines {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let (reclaim, why) = match self.evict.excess(context) {
            Err(why) => return Pruning::Nothing(why),
            Ok(excess) => excess,
        };
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.update(context);
        let (numbers, candidates): (Vec<usize>, Vec<Candidate>) =
            heard.candidates(context, &self.evict).into_iter().unzip();
        let all = candidates.len() + heard.sleeping;
        if all == 0 {
            return Pruning::Nothing(nothing_left(&why));
        }
        let (mut edits, mut gained, mut prunable) = (Vec::new(), 0, 0);
        for index in self.evict.order(context, &candidates) {
            let candidate = candidates[index];
            let at = candidate.at;
            let Some(ordinal) = heard.ordinals.get(at.item).copied().flatten() else {
                continue;
            };
            let message = context.history.message(at.item);
            let Some(part) = message.parts.get(at.part) else {
                continue;
            };
            let text = self.text((ordinal, at.part), &part.shown(), heard.calls);
            let edit = context.edit(
                at.item,
                at.part,
                EditKind::Clear,
                text.into(),
                "evicted except for the lines that later calls reuse",
            );
            let gain = edit.before.saturating_sub(edit.after);
            if gain == 0 {
                let later = self.later((ordinal, at.part), heard.calls);
                heard.sleep(numbers[index], later.first().map(|(by, _)| by + 1));
                continue;
            }
            gained += gain;
            prunable += candidate.tokens;
            edits.push(edit);
            if gained >= reclaim {
                break;
            }
        }
        let reason = format!(
            "clears {} of {all} tool results except for the lines that later calls reuse: {why}",
            edits.len(),
        );
        match edits.is_empty() {
            true => Pruning::Nothing(Why::new("nothing-to-clear", reason)),
            false => Pruning::Edits { edits, prunable, reason },
        }
    }
}
