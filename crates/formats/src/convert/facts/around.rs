//! What a session holds beside words, calls and results: the frame, compactions, what is known of the model
//! calls, ids and names.

use super::{Facts, answers};
use crate::prelude::*;
use std::borrow::Cow;

fn segments_of(session: &Session, wanted: fn(&SegmentKind) -> bool) -> Facts<'_> {
    let segments = session.frame.segments.iter();
    segments
        .filter(|segment| wanted(&segment.kind))
        .map(|segment| segment.text.as_str().into())
        .collect()
}

pub(super) fn prompts(session: &Session) -> Facts<'_> {
    let mut found = segments_of(session, |kind| *kind == SegmentKind::System);
    found.retain(|text| !text.is_empty());
    found
}

pub(super) fn segments(session: &Session) -> Facts<'_> {
    segments_of(session, |kind| !matches!(kind, SegmentKind::System | SegmentKind::Tools))
}

/// Tools by name, where the definitions are in a known shape.
pub(super) fn tools(session: &Session) -> Facts<'_> {
    segments_of(session, |kind| *kind == SegmentKind::Tools)
        .into_iter()
        .flat_map(|text| match serde_json::from_str(&text) {
            Ok(Value::Array(tools)) => tools.iter().flat_map(names).collect(),
            _ => vec![text.into_owned()],
        })
        .map(Cow::Owned)
        .collect()
}

fn names(tool: &Value) -> Vec<String> {
    if let Some(declared) = tool.get("functionDeclarations").and_then(Value::as_array) {
        return declared.iter().flat_map(names).collect();
    }
    let inner = tool.get("function").unwrap_or(tool);
    let name = ["name", "type"].iter().find_map(|key| inner.get(key)?.as_str());
    vec![name.map_or_else(|| tool.to_string(), str::to_owned)]
}

pub(super) fn entries(session: &Session) -> Facts<'_> {
    let written = session.messages.iter().filter_map(|message| match message.origin {
        Origin::Entry(kind) => Some(format!("{kind:?} {}", message.shown_text()).into()),
        Origin::Log => None,
    });
    written.collect()
}

pub(super) fn boundaries(session: &Session) -> Facts<'_> {
    let made = session.boundaries.iter();
    made.map(|made| {
        format!("{} {} {:?} {:?}", made.kind, made.trigger, made.tokens_before, made.tokens_after)
            .into()
    })
    .collect()
}

pub(super) fn cleared(session: &Session) -> Facts<'_> {
    let marks = session.cleared.iter();
    marks
        .filter_map(|mark| {
            let part = session.messages.get(mark.at.item)?.parts.get(mark.at.part)?;
            Some(format!("{} {}", mark.time, part.shown()).into())
        })
        .collect()
}

pub(super) fn usage(session: &Session) -> Facts<'_> {
    answers(session)
        .filter_map(|answer| {
            let usage = answer.usage.filter(|usage| !usage.is_zero())?;
            let output = usage.output + usage.reasoning;
            let classes = [usage.uncached, usage.cache_read, usage.cache_write, output];
            Some(format!("{classes:?}").into())
        })
        .collect()
}

pub(super) fn reasoning_tokens(session: &Session) -> Facts<'_> {
    answers(session)
        .filter_map(|answer| Some(answer.usage?.reasoning).filter(|count| *count > 0))
        .map(|count| count.to_string().into())
        .collect()
}

pub(super) fn timestamps(session: &Session) -> Facts<'_> {
    session.log().filter_map(|message| Some(message.at?.to_string().into())).collect()
}

pub(super) fn times(session: &Session) -> Facts<'_> {
    answers(session)
        .flat_map(|answer| [("started", answer.started), ("ended", answer.ended)])
        .filter_map(|(which, time)| Some(format!("{which} {}", time?).into()))
        .collect()
}

pub(super) fn finishes(session: &Session) -> Facts<'_> {
    answers(session).filter_map(|answer| Some(format!("{:?}", answer.finish?).into())).collect()
}

pub(super) fn models(session: &Session) -> Facts<'_> {
    answers(session).filter_map(|answer| Some(answer.model.as_deref()?.into())).collect()
}

pub(super) fn providers(session: &Session) -> Facts<'_> {
    answers(session).filter_map(|answer| Some(answer.provider.as_deref()?.into())).collect()
}

pub(super) fn errors(session: &Session) -> Facts<'_> {
    answers(session).filter_map(|answer| Some(answer.error.as_deref()?.into())).collect()
}

pub(super) fn turns(session: &Session) -> Facts<'_> {
    let beginnings = session.log().filter(|message| message.begins_turn());
    beginnings.map(|message| message.said().into()).collect()
}

/// Kinds of the parts of each message that has several.
pub(super) fn layouts(session: &Session) -> Facts<'_> {
    let messages = session.log().filter(|message| message.parts.len() > 1);
    messages
        .map(|message| {
            let kinds: Vec<&str> = message.parts.iter().map(Part::kind_name).collect();
            format!("{} {}", message.role.as_str(), kinds.join(" ")).into()
        })
        .collect()
}

pub(super) fn ids(session: &Session) -> Facts<'_> {
    session.log().map(|message| message.id.as_str().into()).collect()
}

pub(super) fn parents(session: &Session) -> Facts<'_> {
    session.log().filter_map(|message| Some(message.parent.as_deref()?.into())).collect()
}

pub(super) fn agents(session: &Session) -> Facts<'_> {
    session.log().filter_map(|message| Some(message.agent.as_deref()?.into())).collect()
}

pub(super) fn annotations(session: &Session) -> Facts<'_> {
    let annotations = session.log().flat_map(|message| &message.annotations);
    annotations.map(|(name, value)| format!("{name}: {value}").into()).collect()
}

pub(super) fn session_id(session: &Session) -> Facts<'_> {
    vec![session.id.as_str().into()]
}

pub(super) fn session_model(session: &Session) -> Facts<'_> {
    session.model.as_deref().map(Cow::Borrowed).into_iter().collect()
}

pub(super) fn limits(session: &Session) -> Facts<'_> {
    let limits = session.limits;
    [("context", limits.context), ("input", limits.input), ("output", limits.output)]
        .into_iter()
        .filter(|(_, tokens)| *tokens > 0)
        .map(|(which, tokens)| format!("{which} {tokens}").into())
        .collect()
}

pub(super) fn cluster(session: &Session) -> Facts<'_> {
    session.cluster.as_deref().map(Cow::Borrowed).into_iter().collect()
}
