//! The texts of a fold: the one message with the summaries, what a tier's messages look like
//! without a summary, and tool results that must be cut.

use crate::truncate;
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::plan::Edit;
use foldback_core::stage::StageContext;
use foldback_core::view::{EditKind, PartPos, Pos};
use std::fmt::Write as _;
use std::sync::Arc;

/// The text that replaces one tier.
#[derive(Clone, Debug)]
pub(crate) struct Section {
    /// The tier, 1 to 3.
    pub(crate) tier: usize,
    /// Messages that it replaces.
    pub(crate) messages: usize,
    /// The summary.
    pub(crate) text: String,
    /// The id under which the originals are stored, if they are.
    pub(crate) reference: Option<String>,
}

/// One user message for all summaries, oldest first.
pub(crate) fn summary_message(sections: &[Section]) -> String {
    let mut out = String::from(
        "[Summary of the earlier conversation, oldest part first. The messages below are complete.]",
    );
    for section in sections {
        let title = match section.tier {
            3 => "Long ago",
            2 => "Earlier",
            _ => "Recently",
        };
        let plural = if section.messages == 1 { "" } else { "s" };
        // Writing to a string can't fail.
        let _ = write!(out, "\n\n# {title} ({} message{plural}", section.messages);
        if let Some(reference) = &section.reference {
            let _ = write!(out, ", {reference}");
        }
        let _ = write!(out, ")\n\n{}", section.text.trim());
    }
    out
}

/// The messages of a tier as a text, for cutting to sentences.
pub(crate) fn transcript(messages: &[Arc<Message>]) -> String {
    let mut out = String::new();
    for message in messages {
        for part in &message.parts {
            let text = match &part.kind {
                PartKind::Text { .. } | PartKind::Result(_) | PartKind::Marker(_) => part.shown(),
                PartKind::Call(call) => format!("{} {}", call.tool, call.arguments).into(),
                _ => continue,
            };
            let text = text.trim();
            if !text.is_empty() {
                let _ = writeln!(out, "{}: {text}", message.role.as_str());
            }
        }
    }
    out
}

/// A tool result that may be cut.
struct Cuttable<'a> {
    at: PartPos,
    part: &'a Part,
    text: &'a str,
    /// Tokens of the text that the view shows.
    shown: u64,
}

/// The settled tool results of these messages that show more than `floor` tokens, oldest first.
/// Results that were cleared to a placeholder are not among them.
fn cuttable<'s>(context: &StageContext<'s>, positions: &[Pos], floor: u64) -> Vec<Cuttable<'s>> {
    let mut found = Vec::new();
    for pos in positions {
        for (index, part) in context.history.message(*pos).parts.iter().enumerate() {
            let at = PartPos { item: *pos, part: index };
            let Some(result) = part.as_result() else {
                continue;
            };
            let shown = context.meter.part_shown(at);
            let edit = context.view.edit(at);
            let cleared = edit.is_some_and(|edit| edit.kind == EditKind::Clear);
            if !cleared && shown > floor && result.status.is_settled() {
                found.push(Cuttable { at, part, text: &result.text, shown });
            }
        }
    }
    found
}

/// Most tokens that [`cut_results`] could free.
pub(crate) fn cuttable_tokens(context: &StageContext<'_>, positions: &[Pos], floor: u64) -> u64 {
    cuttable(context, positions, floor).iter().map(|result| result.shown - floor).sum()
}

/// Cuts the oldest tool results of these messages, each to no less than `floor` tokens, until `excess`
/// tokens are gone. Returns the edits and what is left of the excess.
pub(crate) fn cut_results(
    context: &StageContext<'_>,
    positions: &[Pos],
    mut excess: u64,
    floor: u64,
) -> (Vec<Edit>, u64) {
    let mut edits = Vec::new();
    if excess == 0 {
        return (edits, 0);
    }
    for result in cuttable(context, positions, floor) {
        let goal = result.shown.saturating_sub(excess).max(floor);
        let text = truncate::to_tokens(
            result.text,
            context.meter.part(result.at),
            goal,
            |text| context.estimator().part(result.part, text),
            truncate::middle,
        );
        let edit = context.edit(
            result.at.item,
            result.at.part,
            EditKind::Truncate,
            text.into(),
            "tier 0 is above its budget",
        );
        if edit.after < edit.before {
            excess = excess.saturating_sub(edit.before - edit.after);
            edits.push(edit);
        }
        if excess == 0 {
            break;
        }
    }
    (edits, excess)
}
