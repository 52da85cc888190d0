//! `mxf.microcompact`: a line in place of a tool result.
//!
//! Before each call MXF estimates the whole history. Above a threshold every tool message before the newest few becomes
//! `[Tool result: <name> - <status> - <N> chars removed]`. Where the provider refuses the request, all tool
//! messages become that, if the history gets at least a tenth smaller; else nothing is tried.
//!
//! MXF works on a copy of its history for one request. Here a line stays where it is; since a history only grows, the next request
//! would have it again, and what was stripped after a refusal would be refused again.

use foldback_core::log::{Origin, Part, Role};
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::Pos;
use foldback_stages::estimator::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// How every line begins. A result that begins like this is left as it is.
const MARK: &str = "[Tool result:";

/// What tells a failure where it stands in a result, in any case.
const FAILURES: [&str; 3] = ["error:", "failed", "exception"];

/// A recovery counts if it takes one in so many tokens off.
const SUCCESS: u64 = 10;

/// Configuration of [`Microcompact`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MicrocompactConfig {
    /// Tokens of the history up to which nothing is stripped before a call.
    pub threshold: u64,
    /// Newest messages of any role whose results stay before a call.
    pub keep: usize,
}

impl StageConfig<dyn Pruner> for MicrocompactConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Microcompact(self)))
    }
}

/// Puts a line in place of tool results.
#[derive(Clone, Debug)]
pub struct Microcompact(pub(crate) MicrocompactConfig);

/// The line in place of a result; `None` if the result is such a line already.
pub fn placeholder(tool: &str, text: &str) -> Option<String> {
    if text.starts_with(MARK) {
        return None;
    }
    let lower = text.to_ascii_lowercase();
    let failed = FAILURES.iter().any(|failure| lower.contains(failure));
    let status = if failed { "error" } else { "success" };
    let length = Unit::Utf16.len(text);
    Some(format!("{MARK} {} - {status} - {length} chars removed]", name(tool)))
}

/// The name of a tool in lines and summaries.
pub(crate) fn name(tool: &str) -> &str {
    if tool.is_empty() { "unknown" } else { tool }
}

/// The history as MXF keeps it, without messages of the harness and of folds.
pub(crate) fn log(context: &StageContext<'_>) -> impl DoubleEndedIterator<Item = Pos> {
    let history = context.history;
    (0..history.len()).filter(move |pos| {
        let kind = history.kind(*pos);
        kind.origin == Origin::Log && kind.role != Role::System && !history.is_withdrawn(*pos)
    })
}

/// Whether so many tokens after a recovery are few enough to send the request again.
pub(crate) fn is_success(before: u64, after: u64) -> bool {
    before > 0 && before.saturating_sub(after).saturating_mul(SUCCESS) >= before
}

/// The most tokens that are few enough.
pub(crate) fn enough(before: u64) -> u64 {
    before - before.div_ceil(SUCCESS)
}

impl Microcompact {
    /// The position before which results are stripped before a call.
    fn cutoff(&self, context: &StageContext<'_>) -> Pos {
        let mut tokens = 0;
        let mut positions = log(context);
        let over = positions.any(|pos| {
            tokens += context.meter.appended(pos);
            tokens > self.0.threshold
        });
        let first_kept = match self.0.keep.checked_sub(1) {
            _ if !over => None,
            Some(newer) => log(context).nth_back(newer),
            None => Some(context.history.len()),
        };
        first_kept.unwrap_or(0)
    }

    /// Tokens of the history that the provider refused, and of the same with every result stripped: as MXF has them, whatever
    /// was stripped so far.
    pub(crate) fn recovery(&self, context: &StageContext<'_>) -> (u64, u64) {
        let cutoff = self.cutoff(context);
        log(context).fold((0, 0), |(refused, all_stripped), pos| {
            let stripped = stripped(context, pos);
            let sent = if pos < cutoff { stripped } else { context.meter.appended(pos) };
            (refused + sent, all_stripped + stripped)
        })
    }
}

/// Tokens of a message with its results stripped.
pub(crate) fn stripped(context: &StageContext<'_>, pos: Pos) -> u64 {
    let meter = context.meter;
    let with_line = |result: &MeteredResult| match line(context, result) {
        Some(line) => meter.result_with(context.history, result, line, &mut LastText::default()),
        None => meter.part(result.at),
    };
    match context.history.kind(pos).role {
        Role::Tool => meter.results_in(pos).iter().map(with_line).sum(),
        _ => meter.appended(pos),
    }
}

/// By part of a message, the line in place of a result. Kept with the message: each refused request asks for all of them.
#[derive(Debug)]
struct Lines(Vec<Option<Arc<str>>>);

/// The line that was recorded in place of a result.
fn line<'h>(context: &StageContext<'h>, result: &MeteredResult) -> Option<&'h Arc<str>> {
    let message = context.history.message(result.at.item);
    let of = |part: &Part| {
        let result = part.as_result()?;
        placeholder(&result.tool, &result.text).map(Arc::from)
    };
    let lines: &Lines = message.derived.get_or(|| Lines(message.parts.iter().map(of).collect()));
    lines.0[result.at.part].as_ref()
}

/// Why a recovery is not possible.
pub(crate) fn too_little(before: u64, after: u64) -> Why {
    let detail = format!("{after} tokens would be left of {before}, not a tenth less");
    Why::new("too-little", detail)
}

impl Pruner for Microcompact {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let refused = context.moment.is_reactive();
        let cutoff = if refused { context.history.len() } else { self.cutoff(context) };
        let results = context.meter.results();
        let old = &results[..results.partition_point(|result| result.at.item < cutoff)];
        // What stands before a line was too short for one when that was put there.
        let new = old.iter().rev().take_while(|result| !result.is_cleared());
        let lines = new.filter_map(|result| Some((result.at, line(context, result)?)));
        let edits = lines.flat_map(|(at, line)| context.clear([at], line, "a line in its place"));
        let mut edits: Vec<Edit> = edits.filter(|edit| edit.after < edit.before).collect();
        edits.reverse();
        if edits.is_empty() {
            let kept = if refused { 0 } else { self.0.keep };
            let detail = format!(
                "up to {} tokens, or no result is left before the newest {kept} messages",
                self.0.threshold
            );
            return Pruning::Nothing(Why::new("nothing-to-clear", detail));
        }
        if refused {
            let (before, after) = self.recovery(context);
            if !is_success(before, after) {
                return Pruning::Nothing(too_little(before, after));
            }
        }
        let what = if refused { "all, as the request was refused" } else { "old ones" };
        let reason = format!("strips {} tool results: {what}", edits.len());
        Pruning::from_edits(edits, reason)
    }
}
