//! The log as the reader shows it: excerpts, and which call each message belongs to.

use crate::run::drive::frame_for;
use foldback_core::log::{Message, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::Estimator;
use foldback_core::step::Order;
use foldback_formats::Session;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// How much of the texts a walk keeps, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Of a message.
    pub excerpt: usize,
    /// Of what a compaction wrote.
    pub written: usize,
}

impl Default for Detail {
    fn default() -> Self {
        Self { excerpt: 200, written: 4_000 }
    }
}

/// One message of the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Who speaks.
    pub role: Role,
    /// Tools that are called, or the tool that answers; empty if there is none.
    pub name: String,
    /// Size of the message as it was recorded.
    pub tokens: u64,
    /// The beginning of it on one line.
    pub excerpt: String,
    /// Whether the excerpt is not all of it.
    pub cut: bool,
    /// The call that this message answers, or whose tool run it is the result of.
    pub call: Option<usize>,
}

/// One recorded call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    /// Ordinal of its answer. The messages before it are those that the request could show.
    pub answer: usize,
    /// Number of the user turn, from 1.
    pub turn: usize,
    /// Size of the request without any compaction.
    pub plain_tokens: u64,
}

/// Tools that a line names before it says how many more there are.
const NAMED: usize = 3;

/// The messages and the calls of a session.
pub(super) fn read(
    session: &Session,
    measure: &dyn Estimator,
    detail: Detail,
) -> (Vec<Line>, Vec<Call>) {
    let mut lines = Vec::new();
    let mut calls: Vec<Call> = Vec::new();
    let mut asked: HashMap<&str, usize> = HashMap::new();
    let mut tokens = measure.per_request() + frame_for(session, measure).tokens(measure);
    let (mut order, mut turn) = (Order::default(), 0);
    for (ordinal, message) in session.log().enumerate() {
        let mut call = None;
        if !message.is_answer() {
            turn += order.message(message).filter(|moment| *moment == Moment::TurnStart).count();
        } else {
            order.answer(message);
            call = Some(calls.len());
            asked.extend(message.call_ids().map(|id| (id, calls.len())));
            calls.push(Call { answer: ordinal, turn, plain_tokens: tokens });
        }
        for result in message.parts.iter().filter_map(|part| part.as_result()) {
            call = call.or_else(|| asked.get(result.call_id.as_str()).copied());
        }
        let count = measure.counts(message).total();
        tokens += count;
        let (excerpt, cut) = one_line(&text(message), detail.excerpt);
        lines.push(Line {
            role: message.role,
            name: tools(message),
            tokens: count,
            excerpt,
            cut,
            call,
        });
    }
    (lines, calls)
}

/// What a message says, tool calls in short.
fn text(message: &Message) -> String {
    let parts: Vec<String> = message
        .parts
        .iter()
        .map(|part| match &part.kind {
            PartKind::Call(call) => format!("{} {}", call.tool, call.arguments),
            PartKind::File(media) => {
                let name = media.name.as_deref().unwrap_or_default();
                format!("[{} {name}]", media.mime)
            }
            _ => part.shown().into_owned(),
        })
        .filter(|text| !text.trim().is_empty())
        .collect();
    parts.join(" ⏎ ")
}

fn tools(message: &Message) -> String {
    let mut names: Vec<&str> = Vec::new();
    for part in &message.parts {
        match (&part.kind, message.role) {
            (PartKind::Call(call), _) => names.push(&call.tool),
            (PartKind::Result(result), Role::Tool) => names.push(&result.tool),
            _ => {}
        }
    }
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    let mut out = names.join(", ");
    if more > 0 {
        out.push_str(&format!(" and {more} more"));
    }
    out
}

/// A text on one line, at most `limit` characters of it, and whether that is not all. Runs of white space
/// become one blank: what is left is for recognizing a message, not for reading it.
pub(super) fn one_line(text: &str, limit: usize) -> (String, bool) {
    let mut out = String::new();
    let mut taken = 0;
    for word in text.split(|c: char| c.is_whitespace() || c.is_control()) {
        if word.is_empty() {
            continue;
        }
        if taken > 0 {
            if taken >= limit {
                return (out, true);
            }
            out.push(' ');
            taken += 1;
        }
        for c in word.chars() {
            if taken >= limit {
                return (out, true);
            }
            out.push(c);
            taken += 1;
        }
    }
    (out, false)
}
