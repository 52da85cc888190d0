//! What an agent read again after a compaction.
//!
//! A call reads where all that it touches is read. Of its result those lines count as read again that a result had shown before the
//! compaction, that the recorder's view no longer showed, and that no result has shown since; the result is read again where they are at
//! least half of it. Lines of fewer than 16 characters stand in every file and tell nothing. Agents read again without a compaction, too.

use super::cuts::Cut;
use crate::read::index::{Index, plain_line};
use foldback_core::log::ToolCall;
use foldback_core::stage::Estimator;
use foldback_stages::extractive::files::{self, Touch};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// Bytes of a line that tells something.
const TELLING: usize = 16;

/// What was read again up to the next compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadAgain {
    /// Results that had been read before.
    pub results: usize,
    /// What of all results had been read before, in tokens by the measuring estimator.
    pub tokens: u64,
    /// What it cost: the tokens as they were written to the cache, and of each request that had something read again its input as read from
    /// the cache and its answer, by its part of what it asked for.
    pub usd: f64,
    /// The files, each once.
    pub files: Vec<String>,
    /// Of each result, the call and its part of what that call asked for.
    #[serde(skip)]
    pub(super) calls: Vec<(usize, f64)>,
}

/// A result with its lines that tell something.
struct ReadResult<'i> {
    at: (usize, usize),
    /// Number of the call that asked for it, and what all it asked for.
    call: usize,
    asked: usize,
    /// The files that were read, if nothing else was done.
    files: Vec<String>,
    lines: Vec<&'i str>,
}

/// The results of a log.
pub(super) struct Results<'i>(&'i Index, Vec<ReadResult<'i>>);

impl<'i> Results<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        let mut calls: FxHashMap<&str, (&ToolCall, usize, usize)> = FxHashMap::default();
        let (mut list, mut number) = (Vec::new(), 0);
        for (ordinal, message) in index.log.iter().enumerate() {
            for (at, part) in message.parts.iter().enumerate() {
                if let Some(call) = part.as_call() {
                    calls.insert(&call.call_id, (call, number, message.call_ids().count()));
                } else if let Some(result) = part.as_result()
                    && let Some((of, call, asked)) = calls.get(&*result.call_id).copied()
                {
                    let lines = result.text.lines().map(plain_line);
                    let lines = lines.filter(|line| line.len() >= TELLING).collect();
                    let at = (ordinal, at);
                    list.push(ReadResult { at, call, asked, files: read_files(of), lines });
                }
            }
            number += usize::from(message.is_answer());
        }
        Self(index, list)
    }

    /// What the calls from a compaction up to the next read again.
    pub(super) fn again(&self, cut: &Cut<'_>, measure: &dyn Estimator) -> ReadAgain {
        let (before, after): (Vec<_>, Vec<_>) =
            self.1.iter().partition(|result| result.at.0 < cut.after);
        let (hidden, shown): (Vec<_>, Vec<_>) =
            before.into_iter().partition(|result| cut.hidden.contains(&result.at));
        let mut gone: FxHashSet<&str> = hidden.iter().flat_map(|it| &it.lines).copied().collect();
        shown.iter().flat_map(|it| &it.lines).for_each(|line| _ = gone.remove(line));
        let mut out = ReadAgain::default();
        for result in after.into_iter().filter(|result| result.call < cut.until) {
            let size = |line: &&str| line.len() as u64;
            let all: u64 = result.lines.iter().map(size).sum();
            let again: u64 =
                result.lines.iter().filter(|line| gone.contains(*line)).map(size).sum();
            if !result.files.is_empty() && again > 0 {
                let tokens = measure.text(&self.0.log[result.at.0].parts[result.at.1].shown());
                out.tokens += crate::number::share(tokens, again, all);
                if again * 2 >= all {
                    out.results += 1;
                    out.calls.push((result.call, 1.0 / result.asked.max(1) as f64));
                    out.files.extend(result.files.iter().cloned());
                }
            }
            result.lines.iter().for_each(|line| _ = gone.remove(line));
        }
        out.files = crate::in_order(out.files.into_iter());
        out
    }
}

/// The files that a call reads, if it does nothing else.
fn read_files(call: &ToolCall) -> Vec<String> {
    let touched = files::touches(call, &call.arguments_value());
    match touched.iter().all(|(_, touch)| *touch == Touch::Read) {
        true => touched.into_iter().map(|(path, _)| path).collect(),
        false => Vec::new(),
    }
}
