//! What a session holds, as lists of facts that can be told apart.

mod around;

use crate::prelude::*;
use around::{
    agents, annotations, boundaries, cleared, cluster, entries, errors, finishes, ids, layouts,
    limits, models, parents, prompts, providers, reasoning_tokens, segments, session_id,
    session_model, times, timestamps, tools, turns, usage,
};
use std::borrow::Cow;

type Facts<'a> = Vec<Cow<'a, str>>;

/// One kind of fact.
pub(super) struct Kind {
    /// Its name, for one and for several.
    pub(super) what: [&'static str; 2],
    /// All facts of a session; equal ones count as often as they are there.
    pub(super) of: for<'a> fn(&'a Session) -> Facts<'a>,
    /// Whether a text counts as kept that stands inside a longer one: texts get joined.
    joined: bool,
}

const fn kind(
    one: &'static str,
    many: &'static str,
    of: for<'a> fn(&'a Session) -> Facts<'a>,
) -> Kind {
    Kind { what: [one, many], of, joined: false }
}

const fn joined(
    one: &'static str,
    many: &'static str,
    of: for<'a> fn(&'a Session) -> Facts<'a>,
) -> Kind {
    Kind { what: [one, many], of, joined: true }
}

/// Every kind of fact, the weightiest first.
pub(super) const KINDS: &[Kind] = &[
    joined("text", "texts", texts),
    kind("tool call", "tool calls", calls),
    joined("tool result", "tool results", results),
    kind("id of a tool call", "ids of tool calls", call_ids),
    kind("join of a result with its call", "joins of results with their calls", joins),
    joined("reasoning text", "reasoning texts", reasoning),
    kind("reasoning signature", "reasoning signatures", signatures),
    kind("file or image", "files and images", files),
    kind("part of an unknown type", "parts of unknown types", unknown),
    joined("system prompt around the history", "system prompts around the history", prompts),
    kind("tool definition", "tool definitions", tools),
    kind("other segment around the history", "other segments around the history", segments),
    kind(
        "message that the recorder's compaction wrote",
        "messages that the recorder's compactions wrote",
        entries,
    ),
    kind("compaction boundary", "compaction boundaries", boundaries),
    kind(
        "mark of a cleared result (its content is written in full)",
        "marks of cleared results (their content is written in full)",
        cleared,
    ),
    kind(
        "state of a result that did not complete",
        "states of results that did not complete",
        statuses,
    ),
    kind("result with structured content", "results with structured content", structured),
    kind("token count of a call", "token counts of calls", usage),
    kind(
        "count of reasoning tokens apart from the output",
        "counts of reasoning tokens apart from the output",
        reasoning_tokens,
    ),
    kind("timestamp", "timestamps", timestamps),
    kind("reason why the model stopped", "reasons why the model stopped", finishes),
    kind("model name of a call", "model names of calls", models),
    kind("provider name of a call", "provider names of calls", providers),
    kind("error of a call", "errors of calls", errors),
    kind("start or end time of a call", "start and end times of calls", times),
    kind("speaker of a text", "speakers of texts", speakers),
    kind("beginning of a user turn", "beginnings of user turns", turns),
    kind(
        "mark of a text that the harness wrote",
        "marks of texts that the harness wrote",
        synthetic,
    ),
    kind("text that was stored and never sent", "texts that were stored and never sent", ignored),
    kind(
        "border between texts, or order of parts",
        "borders between texts, or orders of parts",
        layouts,
    ),
    kind("message id", "message ids", ids),
    kind("link to a parent message", "links to parent messages", parents),
    kind("agent name", "agent names", agents),
    kind("annotation of a message", "annotations of messages", annotations),
    kind("session id", "session ids", session_id),
    kind("model name of the session", "model names of sessions", session_model),
    kind("limit of the model", "limits of the model", limits),
    kind("name of the repository or task", "names of the repository or task", cluster),
];

impl Kind {
    /// How many facts of `before` are not in `after`.
    pub(super) fn lost(&self, before: &Session, after: &Session) -> usize {
        let mut left: BTreeMap<Cow<'_, str>, usize> = BTreeMap::new();
        for fact in (self.of)(after) {
            *left.entry(fact).or_default() += 1;
        }
        let mut missing = Vec::new();
        for fact in (self.of)(before) {
            match left.get_mut(&fact) {
                Some(count) if *count > 0 => *count -= 1,
                _ => missing.push(fact),
            }
        }
        if self.joined {
            left.retain(|_, count| *count > 0);
            // A system message that opens a session is its prompt in formats that know no other.
            let longer: Vec<Cow<'_, str>> = left.into_keys().chain(prompts(after)).collect();
            missing.retain(|text| !longer.iter().any(|longer| longer.contains(&**text)));
        }
        missing.len()
    }
}

fn parts(session: &Session) -> impl Iterator<Item = (&Message, &Part)> {
    session.log().flat_map(|message| message.parts.iter().map(move |part| (&**message, part)))
}

fn all_calls(session: &Session) -> impl Iterator<Item = &ToolCall> {
    parts(session).filter_map(|(_, part)| part.as_call())
}

fn all_results(session: &Session) -> impl Iterator<Item = &ToolResult> {
    parts(session).filter_map(|(_, part)| part.as_result())
}

fn answers(session: &Session) -> impl Iterator<Item = &Answer> {
    session.log().filter_map(|message| message.answer.as_ref())
}

/// A text that is sent, with who says it and whether the harness did in the user's name.
fn said(session: &Session) -> impl Iterator<Item = (Role, bool, &str)> {
    parts(session).filter_map(|(message, part)| match &part.kind {
        PartKind::Text { text, synthetic, ignored: false } if !text.is_empty() => {
            Some((message.role, *synthetic, text.as_str()))
        }
        _ => None,
    })
}

fn texts(session: &Session) -> Facts<'_> {
    said(session).map(|(_, _, text)| text.into()).collect()
}

/// Speakers of messages, by their number: a text that is lost is not lost twice.
fn speakers(session: &Session) -> Facts<'_> {
    let spoken = session.log().filter(|message| !message.said().is_empty());
    spoken.map(|message| message.role.as_str().into()).collect()
}

fn synthetic(session: &Session) -> Facts<'_> {
    let marked = said(session).filter(|(_, synthetic, _)| *synthetic);
    marked.map(|(_, _, text)| text.into()).collect()
}

fn ignored(session: &Session) -> Facts<'_> {
    let found = parts(session).filter_map(|(_, part)| match &part.kind {
        PartKind::Text { text, ignored: true, .. } => Some(text.as_str().into()),
        _ => None,
    });
    found.collect()
}

/// Arguments are compared as JSON: writers may space them otherwise.
fn calls(session: &Session) -> Facts<'_> {
    all_calls(session)
        .map(|call| format!("{} {}", call.tool, call.arguments_value()).into())
        .collect()
}

fn call_ids(session: &Session) -> Facts<'_> {
    all_calls(session).map(|call| call.call_id.as_str().into()).collect()
}

fn results(session: &Session) -> Facts<'_> {
    all_results(session).map(|result| result.text.as_str().into()).collect()
}

/// Which call a result answers, by the number of the call: ids may change.
fn joins(session: &Session) -> Facts<'_> {
    let numbers: BTreeMap<&str, usize> = all_calls(session)
        .enumerate()
        .map(|(number, call)| (call.call_id.as_str(), number))
        .collect();
    all_results(session)
        .filter_map(|result| numbers.get(result.call_id.as_str()))
        .map(|number| number.to_string().into())
        .collect()
}

fn statuses(session: &Session) -> Facts<'_> {
    all_results(session)
        .filter(|result| result.status != ResultStatus::Completed)
        .map(|result| format!("{:?}", result.status).into())
        .collect()
}

fn structured(session: &Session) -> Facts<'_> {
    all_results(session)
        .filter_map(|result| Some(result.structured.as_ref()?.to_string().into()))
        .collect()
}

fn reasoning(session: &Session) -> Facts<'_> {
    let found = parts(session).filter_map(|(_, part)| match &part.kind {
        PartKind::Reasoning { text, .. } if !text.is_empty() => Some(text.as_str().into()),
        _ => None,
    });
    found.collect()
}

fn signatures(session: &Session) -> Facts<'_> {
    let found = parts(session).filter_map(|(_, part)| match &part.kind {
        PartKind::Reasoning { opaque: Some(opaque), .. } => Some(opaque.as_str().into()),
        _ => None,
    });
    found.collect()
}

/// A file by its content: names and `data:` prefixes are spelt in many ways.
fn files(session: &Session) -> Facts<'_> {
    let content = |media: &Media| match media.url.split_once(";base64,") {
        Some((_, data)) => data.to_owned(),
        None => media.url.clone(),
    };
    parts(session)
        .flat_map(|(_, part)| match &part.kind {
            PartKind::File(media) => vec![content(media)],
            PartKind::Result(result) => result.media.iter().map(content).collect(),
            _ => Vec::new(),
        })
        .map(Cow::Owned)
        .collect()
}

fn unknown(session: &Session) -> Facts<'_> {
    let found = parts(session).filter_map(|(_, part)| match &part.kind {
        PartKind::Unknown { raw, .. } => Some(raw.to_string().into()),
        _ => None,
    });
    found.collect()
}
