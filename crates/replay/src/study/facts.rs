//! What of a session no strategy can change.

use crate::availability::{EditRow, Findings, ReferenceRow};
use crate::cost::RequestLog;
use crate::identifiers::Class;
use crate::measure::CallRow;
use crate::recorder::RecorderPolicy;
use foldback_core::Limits;
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// One recorded call. Tokens are by the measuring estimator, those of the provider said to be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// Size of the request if nothing had ever been compacted: frame and log.
    pub uncompacted: u64,
    /// Tokens of the answer, by the provider's count where recorded.
    pub output: u64,
    /// Number of the user turn, from 1.
    pub turn: usize,
    /// When the request was sent, in milliseconds since the Unix epoch, where recorded.
    pub start_ms: Option<i64>,
    /// Size of the request by the provider's count.
    pub recorded_input: Option<u64>,
    /// What the provider read from its cache.
    pub recorded_read: Option<u64>,
    /// The recorder had compacted its own context before this call.
    pub recorder_compacted: bool,
}

/// An identifier in the arguments of a call that had stood in the log before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reference {
    /// Number of the call that refers, from 0.
    pub call: usize,
    /// The identifier, normalised.
    pub identifier: Arc<str>,
    /// What it refers to.
    pub class: Class,
    /// Calls since it last stood in the log; 1 for what the call before brought.
    pub distance: usize,
    /// Before the call it stood only in what tools and users said, never in what the model wrote.
    pub obs: bool,
    /// Id of the log message that had it last.
    pub last_seen: String,
}

/// An edit whose old text had stood in the log before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Number of the call that edits.
    pub call: usize,
    /// The first line of the old text.
    pub first_line: String,
    /// Id of the log message that had it last.
    pub last_seen: String,
}

/// A session as the laboratory keeps it when the session itself is gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The recorder's id.
    pub id: String,
    /// Id of the format.
    pub format: String,
    /// The model of most calls, where recorded.
    pub model: Option<String>,
    /// Limits that the recording states.
    pub limits: Limits,
    /// Task or repository, where recorded: sessions of one are drawn together.
    pub cluster: Option<String>,
    /// Messages as the format counts them.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// User turns.
    pub turns: usize,
    /// Compactions that the recorder made.
    pub boundaries: usize,
    /// What could not be read.
    pub warnings: usize,
    /// The first of the warnings, in words.
    pub first_warning: Option<String>,
    /// More than one call records usage up to the recorder's first own compaction.
    pub records_usage: bool,
    /// What the recorder did to its own context.
    pub recorder: RecorderPolicy,
    /// The calls.
    pub calls: Vec<CallFacts>,
    /// What the calls referred to.
    pub references: Vec<Reference>,
    /// What they edited.
    pub edits: Vec<Edit>,
}

impl Facts {
    /// Reads a session. `rows`, `log` and `findings` are of a replay of it, no matter under which
    /// strategy: what is taken from them is the same under all.
    pub(super) fn of(
        session: &Session,
        measure: &dyn Estimator,
        rows: &[CallRow],
        log: &RequestLog,
        findings: &Findings,
        recorder: RecorderPolicy,
    ) -> Self {
        let warning = session.warnings.first();
        Self {
            id: session.id.clone(),
            format: session.format.to_owned(),
            model: session.model.clone(),
            limits: session.limits,
            cluster: session.cluster.clone(),
            messages: session.recorded_messages(),
            tool_calls: session.recorded_tool_calls(),
            turns: session.turns(),
            boundaries: session.boundaries.len(),
            warnings: session.warnings.len(),
            first_warning: warning
                .map(|warning| format!("{}: {} ({})", warning.place, warning.detail, warning.code)),
            records_usage: crate::calibrate::observations(session, measure).len() > 1,
            recorder,
            calls: calls(session, measure, rows, log),
            references: findings.references.iter().map(reference).collect(),
            edits: findings.edits.iter().map(edit).collect(),
        }
    }

    /// Whether every call says when it was sent.
    pub fn timed(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| call.start_ms.is_some())
    }
}

fn calls(
    session: &Session,
    measure: &dyn Estimator,
    rows: &[CallRow],
    log: &RequestLog,
) -> Vec<CallFacts> {
    let frame = crate::drive::frame_for(session, measure);
    let mut uncompacted = frame.tokens(|text| measure.text(text));
    let mut calls = Vec::with_capacity(rows.len());
    for message in session.log() {
        if message.is_answer()
            && let Some(row) = rows.get(calls.len())
        {
            let request = log.requests().get(calls.len());
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            calls.push(CallFacts {
                uncompacted,
                output: request.map_or(0, |request| request.output_tokens),
                turn: row.turn,
                start_ms: request.and_then(|request| request.start_ms),
                recorded_input: row.recorded_input,
                recorded_read: row.recorded_input.and(usage).map(|usage| usage.cache_read),
                recorder_compacted: row.recorder_compacted,
            });
        }
        uncompacted += message.counts.get_or_count(measure.id(), || measure.count(message)).total();
    }
    calls
}

fn reference(row: &ReferenceRow) -> Reference {
    Reference {
        call: row.call,
        identifier: Arc::clone(&row.identifier),
        class: row.class,
        distance: row.distance,
        obs: row.obs,
        last_seen: row.last_seen.clone(),
    }
}

fn edit(row: &EditRow) -> Edit {
    Edit { call: row.call, first_line: row.first_line.clone(), last_seen: row.last_seen.clone() }
}
