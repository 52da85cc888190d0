//! What stages reported and what folds did, in words.

use super::brief;
use crate::conversation::{Conversation, Report};
use crate::plain::{self, grouped};
use crate::plan::{Plan, Slot};
use crate::view::EditKind;
use std::fmt::Write as _;

/// What the stages reported, one line each; after a change the reasons of its plan.
pub fn reports(reports: &[Report], conversation: &Conversation) -> String {
    let mut out = String::new();
    for report in reports {
        let _ = write!(out, "{} {}: {}", report.moment, report.stage, report.outcome.name());
        if report.outcome.changed() {
            let (before, after) = (grouped(report.tokens_before), grouped(report.tokens_after));
            let _ = write!(out, ", {before} → {after} tokens");
        }
        let fold = conversation.folds().iter().find(|fold| Some(fold.id) == report.fold);
        let reasons = fold.map(|fold| fold.plan.reasons.join("; ")).filter(|text| !text.is_empty());
        let why = report.outcome.why().map(ToString::to_string);
        for text in [why, reasons].into_iter().flatten() {
            let _ = write!(out, " ({text})");
        }
        out.push('\n');
    }
    out
}

/// All committed plans of a conversation, in order.
pub fn plans(conversation: &Conversation) -> String {
    let mut out = String::new();
    for fold in conversation.folds() {
        plan(&mut out, conversation, fold.id, &fold.plan);
    }
    out
}

fn plan(out: &mut String, conversation: &Conversation, number: u64, plan: &Plan) {
    let _ = writeln!(
        out,
        "# {number}: {} at {} ({}), {} → {} tokens by {}",
        plan.stage,
        plan.moment,
        plan.trigger.as_str(),
        grouped(plan.tokens_before),
        grouped(plan.tokens_after),
        plan.estimator,
    );
    for reason in &plan.reasons {
        let _ = writeln!(out, "  because {reason}");
    }
    if let Some(degraded) = &plan.degraded {
        let _ = writeln!(out, "  degraded: {degraded}");
    }
    let history = conversation.history();
    for edit in &plan.edits {
        let message = history.message(edit.at.item);
        let verb = match edit.kind {
            EditKind::Clear => "clear",
            EditKind::Truncate => "cut",
        };
        let tool = message
            .parts
            .get(edit.at.part)
            .and_then(|part| part.as_result())
            .map_or(String::new(), |result| {
                plain::line(&format!(" {} {}", result.tool, result.call_id)).into_owned()
            });
        let _ = writeln!(
            out,
            "  {verb} message {} part {} ({}{tool}): {} → {} tokens, {}",
            edit.at.item,
            edit.at.part,
            plain::line(&message.id),
            edit.before,
            edit.after,
            edit.reason,
        );
    }
    for entry in &plan.entries {
        let _ = writeln!(
            out,
            "  write {} {}: {}",
            entry.role.as_str(),
            entry.id,
            brief(&entry.shown_text())
        );
    }
    if let Some(layout) = &plan.layout {
        for slot in &layout.slots {
            let _ = match slot {
                Slot::Keep(range) => {
                    writeln!(out, "  keep messages {} to {}", range.start, range.end - 1)
                }
                Slot::Insert(insert) => {
                    writeln!(
                        out,
                        "  insert {} {}: {}",
                        insert.role().as_str(),
                        insert.id(),
                        brief(insert.text())
                    )
                }
            };
        }
        let _ = writeln!(out, "  keep everything from message {}", layout.tail_from);
    }
    for (name, table) in &plan.tables {
        let _ = writeln!(out, "  {name}: {table}");
    }
}
