//! What is done where what stays is more than fits: texts are cut, the newest messages first; then messages go, the oldest first.

use crate::kept::{KeptMessage, spoken, without_files};
use crate::turn::{Block, Turn, truncated};
use foldback_core::log::PartKind;
use foldback_stages::estimator::Unit;
use foldback_stages::filter::first_units;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Least units that are left of a message.
const LEAST: u64 = 16;

/// Brings what stays down to a number of tokens, as far as that goes. Reasoning and older images go first, whatever the number.
pub(crate) fn project<'a>(kept: Vec<KeptMessage<'a>>, target: u64) -> Vec<KeptMessage<'a>> {
    let mut kept = without_images(without_reasoning(kept));
    cut_texts(&mut kept, target);
    drop_oldest(&mut kept, target);
    kept
}

fn tokens(kept: &[KeptMessage<'_>]) -> u64 {
    kept.iter().map(|kept| kept.turn.tokens()).sum()
}

/// The newest message of the person.
fn latest(kept: &[KeptMessage<'_>]) -> Option<usize> {
    kept.iter().rposition(|kept| kept.turn.is_typed())
}

/// Where what waits for its results begins.
fn waiting(kept: &[KeptMessage<'_>]) -> usize {
    let ids = |kept: &KeptMessage<'_>| -> Vec<String> {
        let results = kept.turn.blocks.iter().filter_map(|block| block.part.as_result());
        results.map(|result| result.call_id.clone()).collect()
    };
    let answered: BTreeSet<String> = kept.iter().flat_map(ids).collect();
    let waits = |kept: &KeptMessage<'_>| {
        let mut calls = kept.turn.blocks.iter().filter_map(|block| block.part.as_call());
        calls.any(|call| !answered.contains(&call.call_id))
    };
    kept.iter().rposition(waits).unwrap_or(kept.len())
}

fn replaced<'a>(
    kept: Vec<KeptMessage<'a>>,
    blocks: impl Fn(usize, &Turn<'a>) -> Vec<Block<'a>>,
) -> Vec<KeptMessage<'a>> {
    let kept = kept.into_iter().enumerate().map(|(at, KeptMessage { index, turn })| {
        let blocks = blocks(at, &turn);
        KeptMessage { index, turn: turn.with(blocks) }
    });
    kept.filter(|kept| !kept.turn.blocks.is_empty()).collect()
}

fn without_reasoning(kept: Vec<KeptMessage<'_>>) -> Vec<KeptMessage<'_>> {
    replaced(kept, |_, turn| spoken(&turn.blocks))
}

fn without_images(kept: Vec<KeptMessage<'_>>) -> Vec<KeptMessage<'_>> {
    let (latest, waiting) = (latest(&kept), waiting(&kept));
    replaced(kept, |at, turn| match Some(at) == latest || at >= waiting {
        true => turn.blocks.clone(),
        false => without_files(&turn.blocks),
    })
}

/// Cuts texts, the newest message first, until the whole fits.
fn cut_texts(kept: &mut [KeptMessage<'_>], target: u64) {
    let (latest, waiting, count) = (latest(kept), waiting(kept), kept.len() as u64);
    let mut left = tokens(kept);
    for at in (0..kept.len()).rev() {
        if left <= target {
            return;
        }
        if Some(at) == latest || at >= waiting || !has_text(&kept[at].turn) {
            continue;
        }
        let turn = &mut kept[at].turn;
        let per_token = (turn.units() as f64 / turn.tokens() as f64).max(1.0);
        let limit = (target as f64 * per_token / count.max(1) as f64).floor() as u64;
        let before = turn.tokens();
        cut(turn, limit.max(LEAST));
        left = left - before + turn.tokens();
    }
}

fn has_text(turn: &Turn<'_>) -> bool {
    turn.blocks
        .iter()
        .any(|block| block.is_text() || matches!(block.part.kind, PartKind::Result(_)))
}

/// Leaves so many units of the texts of a message, the first of them.
fn cut(turn: &mut Turn<'_>, limit: u64) {
    let mut left = limit;
    for block in &mut turn.blocks {
        let is_result = block
            .part
            .as_result()
            .is_some_and(|result| crate::json::structured(result, &block.shown).is_none());
        if !block.is_text() && !is_result {
            continue;
        }
        if let Some(shorter) = shortened(&block.shown, left) {
            block.shown = Cow::Owned(shorter);
            block.cut = true;
        }
        left = left.saturating_sub(Unit::Utf16.len(&block.shown));
    }
}

/// A text of so many units that says how much it lacks; `None` for one that is no longer.
fn shortened(text: &str, limit: u64) -> Option<String> {
    let units = Unit::Utf16.len(text);
    if units <= limit {
        return None;
    }
    let first = |limit: u64| {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        first_units(text, limit).map_or(text, |(first, _)| first)
    };
    if limit <= LEAST {
        return Some(first(limit).to_owned());
    }
    let marker = |missing: u64| format!("\n{}", truncated(missing));
    let keep = limit.saturating_sub(marker(units - limit).len() as u64).max(1);
    Some(format!("{}{}", first(keep), marker(units - keep)))
}

/// Takes messages away, the oldest first, until the whole fits. Calls and results go together; the first and the newest message of
/// the person stay, and what waits for results.
fn drop_oldest(kept: &mut Vec<KeptMessage<'_>>, target: u64) {
    let pinned = [kept.iter().position(|kept| kept.turn.is_typed()), latest(kept)];
    let waiting = waiting(kept);
    let stays = |at: &usize| pinned.contains(&Some(*at)) || *at >= waiting;
    let mut left = tokens(kept);
    let mut gone = BTreeSet::new();
    let mut pairs = None;
    for at in 0..kept.len() {
        if left <= target {
            break;
        }
        let together = pairs.get_or_insert_with(|| Pairs::from_messages(kept)).together(at);
        if !gone.contains(&at) && !together.iter().any(stays) {
            left -= together.iter().map(|at| kept[*at].turn.tokens()).sum::<u64>();
            gone.extend(together);
        }
    }
    let mut number = 0..;
    kept.retain(|_| number.next().is_none_or(|number| !gone.contains(&number)));
}

/// Which messages share calls.
struct Pairs {
    /// The calls of each message.
    of_message: Vec<Vec<String>>,
    of_call: BTreeMap<String, Vec<usize>>,
}

impl Pairs {
    fn from_messages(kept: &[KeptMessage<'_>]) -> Self {
        let id = |block: &Block<'_>| match &block.part.kind {
            PartKind::Call(call) => Some(call.call_id.clone()),
            PartKind::Result(result) => Some(result.call_id.clone()),
            _ => None,
        };
        let of_message: Vec<Vec<String>> =
            kept.iter().map(|kept| kept.turn.blocks.iter().filter_map(id).collect()).collect();
        let mut of_call = BTreeMap::<String, Vec<usize>>::new();
        for (at, calls) in of_message.iter().enumerate() {
            for call in calls {
                of_call.entry(call.clone()).or_default().push(at);
            }
        }
        Self { of_message, of_call }
    }

    /// A message with those that share a call with it.
    fn together(&self, start: usize) -> BTreeSet<usize> {
        let (mut found, mut queue) = (BTreeSet::new(), vec![start]);
        while let Some(at) = queue.pop() {
            if found.insert(at) {
                let calls = self.of_message[at].iter().filter_map(|call| self.of_call.get(call));
                queue.extend(calls.flatten().copied().filter(|other| !found.contains(other)));
            }
        }
        found
    }
}
