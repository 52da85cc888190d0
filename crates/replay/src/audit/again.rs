//! What an agent read again after a compaction.
//!
//! A call reads where all that it touches is read. Of its result those lines count as read again that a result had shown before the
//! compaction, that its view no longer showed, and that no result has shown since; the result is read again where they are at least half
//! of it. Lines of fewer than 16 characters stand in every file and tell nothing. Agents read things again without a compaction, too.

use super::cuts::Cut;
use crate::read::index::{Index, plain_line};
use foldback_core::log::ToolCall;
use foldback_core::stage::Estimator;
use foldback_stages::extractive::files::{self, Touch};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;
use std::collections::BTreeMap;

/// Characters of a line that tells something.
const TELLING: usize = 16;

/// What was read again up to the next compaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ReadAgain {
    /// Results that had been read before.
    pub results: usize,
    /// Those of the first calls.
    pub near: usize,
    /// What of all results had been read before, in tokens by the measuring estimator.
    pub tokens: u64,
    /// What it cost: its tokens as they were written to the cache, and of each request that asked for nothing else, its input as read and its
    /// answer.
    pub usd: f64,
    /// The files, each once.
    pub files: Vec<String>,
    /// By call, how many of its results, of how many calls of tools.
    #[serde(skip)]
    pub(super) by_call: BTreeMap<usize, (usize, usize)>,
}

/// The lines of the results of a log that tell something.
pub(super) struct Results<'i> {
    index: &'i Index,
    list: Vec<ReadResult<'i>>,
}

struct ReadResult<'i> {
    at: (usize, usize),
    /// Number of the call that asked for it.
    call: usize,
    /// The files that were read, if nothing else was done.
    files: Vec<String>,
    calls: usize,
    lines: Vec<&'i str>,
}

impl<'i> Results<'i> {
    pub(super) fn new(index: &'i Index) -> Self {
        let mut asked: FxHashMap<&str, (&ToolCall, usize, usize)> = FxHashMap::default();
        let (mut list, mut call) = (Vec::new(), 0);
        for (ordinal, message) in index.log.iter().enumerate() {
            let calls = message.call_ids().count();
            for (at, part) in message.parts.iter().enumerate() {
                if let Some(of) = part.as_call() {
                    asked.insert(&of.call_id, (of, call, calls));
                } else if let Some(result) = part.as_result()
                    && let Some((of, call, calls)) = asked.get(&*result.call_id)
                {
                    let lines =
                        result.text.lines().map(plain_line).filter(|line| line.len() >= TELLING);
                    let (at, files) = ((ordinal, at), read_files(of));
                    list.push(ReadResult {
                        at,
                        call: *call,
                        files,
                        calls: *calls,
                        lines: lines.collect(),
                    });
                }
            }
            call += usize::from(message.is_answer());
        }
        Self { index, list }
    }

    /// What the calls from a compaction up to `until` read again.
    pub(super) fn again(
        &self,
        cut: &Cut<'_>,
        until: usize,
        near: usize,
        measure: &dyn Estimator,
    ) -> ReadAgain {
        let (before, after): (Vec<_>, Vec<_>) =
            self.list.iter().partition(|result| result.at.0 < cut.after);
        let mut gone: FxHashSet<&str> = FxHashSet::default();
        for result in before.iter().filter(|result| cut.hidden.contains(&result.at)) {
            gone.extend(&result.lines);
        }
        for result in before.iter().filter(|result| !cut.hidden.contains(&result.at)) {
            result.lines.iter().for_each(|line| _ = gone.remove(line));
        }
        let mut out = ReadAgain::default();
        for result in after.into_iter().filter(|result| result.call < until) {
            let size = |lines: &mut dyn Iterator<Item = &&str>| {
                lines.map(|line| line.len()).sum::<usize>()
            };
            let all = size(&mut result.lines.iter());
            let again = size(&mut result.lines.iter().filter(|line| gone.contains(*line)));
            if !result.files.is_empty() && again > 0 {
                let part = &self.index.log[result.at.0].parts[result.at.1];
                let tokens = measure.text(&part.shown());
                out.tokens += crate::number::share(tokens, again as u64, all as u64);
                if again * 2 >= all {
                    out.results += 1;
                    out.near += usize::from(result.call < cut.call + near);
                    out.by_call.entry(result.call).or_insert((0, result.calls)).0 += 1;
                    for file in &result.files {
                        if !out.files.contains(file) {
                            out.files.push(file.clone());
                        }
                    }
                }
            }
            result.lines.iter().for_each(|line| _ = gone.remove(line));
        }
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
