//! A plan as people read it.

use crate::number::grouped;
use crate::render::brief;
use foldback_core::conversation::{Conversation, Fold, Report};
use foldback_core::plan::{Plan, Slot};
use foldback_core::view::EditKind;
use foldback_formats::Session;
use serde::Serialize;
use std::fmt::Write as _;

/// What the stages reported, one line each; behind a change the reasons of its plan.
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

/// Version of [`Plans`]. Fields may be added; one that goes or changes its meaning makes a new one.
pub const VERSION: u32 = 1;

/// All committed plans of a conversation as programs read them: with the session's log, enough to make every
/// view again.
#[derive(Debug, Serialize)]
pub struct Plans<'a> {
    /// [`VERSION`].
    schema_version: u32,
    /// Id of the session.
    session: &'a str,
    /// Id of its format.
    format: &'a str,
    /// Name of the preset, with the summarizer that stood in.
    preset: String,
    /// The folds, in order.
    folds: Vec<PlanLine<'a>>,
}

/// A committed plan.
#[derive(Debug, Serialize)]
struct PlanLine<'a> {
    /// Number of the fold, from 1.
    id: u64,
    /// When it was committed, by the clock of the recording, in milliseconds since the Unix epoch.
    at: i64,
    /// Number of the call that came next, from 0.
    call: usize,
    /// Messages that the history had before it, those of earlier plans included.
    history_len: usize,
    /// What was done.
    #[serde(flatten)]
    plan: &'a Plan,
}

impl<'a> Plans<'a> {
    /// The plans of a conversation that went through a session.
    pub fn of(session: &'a Session, conversation: &'a Conversation) -> Self {
        let history = conversation.history();
        let calls = |until: usize| {
            history.range(0..until).filter(|(_, message)| message.is_answer()).count()
        };
        let line = |fold: &'a Fold| PlanLine {
            id: fold.id,
            at: fold.at,
            call: calls(fold.history_len()),
            history_len: fold.history_len(),
            plan: &fold.plan,
        };
        Self {
            schema_version: VERSION,
            session: &session.id,
            format: session.format,
            preset: conversation.strategy().label(),
            folds: conversation.folds().iter().map(line).collect(),
        }
    }
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
        let _ = writeln!(out, "  not as meant: {degraded}");
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
            .map_or(String::new(), |result| format!(" {} {}", result.tool, result.call_id));
        let _ = writeln!(
            out,
            "  {verb} message {} part {} ({}{tool}): {} → {} tokens, {}",
            edit.at.item, edit.at.part, message.id, edit.before, edit.after, edit.reason,
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
                        insert.role.as_str(),
                        insert.id,
                        brief(&insert.text)
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
