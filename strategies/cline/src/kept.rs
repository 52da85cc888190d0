//! Which messages stay.

use crate::turn::{Block, Turn};
use foldback_core::Role;
use foldback_core::log::PartKind;
use std::collections::BTreeMap;

/// A message that stays: its number among all, and its blocks.
#[derive(Clone, Debug)]
pub(crate) struct KeptMessage<'a> {
    pub(crate) index: usize,
    pub(crate) turn: Turn<'a>,
}

/// What stays.
pub(crate) struct Selection<'a> {
    pub(crate) kept: Vec<KeptMessage<'a>>,
    pub(crate) tokens: u64,
}

/// Chooses by a number of tokens: whatever the person said and an earlier compaction kept; of the newest steps as many as fit, from an
/// answer on; of the steps before, the last answer to each message of the person, where it fits. `None` where the person said nothing.
pub(crate) fn select<'a>(turns: &[Turn<'a>], target: u64) -> Option<Selection<'a>> {
    let typed: Vec<usize> = (0..turns.len()).filter(|at| turns[*at].is_typed()).collect();
    let latest = *typed.last()?;
    let said = |at: &usize| Some((*at, turns[*at].sanitized()?));
    let mut kept: BTreeMap<usize, Turn<'a>> = typed.iter().filter_map(said).collect();
    if kept.is_empty() {
        return None;
    }
    // Of the older messages of the person, files go later.
    let size = |(at, turn): (&usize, &Turn<'a>)| {
        if *at == latest { turn.tokens() } else { turn.with(without_files(&turn.blocks)).tokens() }
    };
    let mut tokens: u64 = kept.iter().map(size).sum();
    for (at, turn) in turns.iter().enumerate().filter(|(_, turn)| turn.is_frozen()) {
        tokens += turn.tokens();
        kept.insert(at, turn.clone());
    }
    for at in newest(turns, latest, target.saturating_sub(tokens)) {
        tokens += turns[at].tokens();
        kept.insert(at, turns[at].clone());
    }
    for pair in typed.windows(2).rev() {
        let answer = (pair[0] + 1..pair[1])
            .rev()
            .find(|at| turns[*at].is_frozen() || concludes(&turns[*at]));
        let Some(at) = answer.filter(|at| !turns[*at].is_frozen()) else { continue };
        let turn = turns[at].with(spoken(&turns[at].blocks));
        if turn.said().is_some() && tokens + turn.tokens() <= target {
            tokens += turn.tokens();
            kept.insert(at, turn);
        }
    }
    let kept = kept.into_iter().map(|(index, turn)| KeptMessage { index, turn }).collect();
    Some(Selection { kept, tokens })
}

/// The newest messages that fit, from an answer on.
fn newest(turns: &[Turn<'_>], latest: usize, room: u64) -> impl Iterator<Item = usize> {
    let (mut start, mut taken) = (turns.len(), 0);
    for at in (latest + 1..turns.len()).rev().take_while(|at| !turns[*at].is_frozen()) {
        taken += turns[at].tokens();
        if taken > room {
            break;
        }
        start = at;
    }
    (start..turns.len()).skip_while(|at| turns[*at].role() != Role::Assistant)
}

/// Whether an answer can stand alone.
fn concludes(turn: &Turn<'_>) -> bool {
    let calls = |block: &Block<'_>| matches!(block.part.kind, PartKind::Call(_));
    turn.role() == Role::Assistant && !turn.blocks.iter().any(calls)
}

fn retained<'a>(blocks: &[Block<'a>], keep: impl Fn(&PartKind) -> bool) -> Vec<Block<'a>> {
    blocks.iter().filter(|block| keep(&block.part.kind)).cloned().collect()
}

/// The blocks without files and images.
pub(crate) fn without_files<'a>(blocks: &[Block<'a>]) -> Vec<Block<'a>> {
    retained(blocks, |kind| !matches!(kind, PartKind::File(_)))
}

/// The blocks without reasoning.
pub(crate) fn spoken<'a>(blocks: &[Block<'a>]) -> Vec<Block<'a>> {
    retained(blocks, |kind| !matches!(kind, PartKind::Reasoning { .. }))
}
