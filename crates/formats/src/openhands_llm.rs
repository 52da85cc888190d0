//! `openhands-llm`: the `llm_completions` of OpenHands, one file for each request with its response.
//!
//! The request holds the whole conversation as it was sent, in the form of Chat Completions, so the
//! last file of a run is the run. The messages are read as `openai-chat` reads them; the message of
//! the response is added after them, with the usage of that one call. The format is only read.
//! `docs/openhands-llm.md` has the mapping.

use crate::pairing::{PAIRING, pair};
use crate::prelude::*;
use crate::{chat, openai_chat};

pub(crate) const FORMAT: Format = Format::new(
    "openhands-llm",
    "OpenHands llm_completions: one request with its response",
    SIGNS,
    read,
);

/// The message of the response.
const RESPONSE: &str = "/response/choices/0/message";
/// The beginning of tool output for models without tool calls.
const TEXT_RESULT: &str = "EXECUTION RESULT of [";

/// The messages come first and may fill any opening: what looks like a chat is searched for its
/// response, up to the end.
const SIGNS: &[Sign] = &[Sign::new(90, &[Has("/messages/*/role"), Lacks("/messages/*/extra")])
    .anywhere("/response/choices")];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let mut sessions = (openai_chat::FORMAT.read)(text)?;
    for session in &mut sessions {
        complete(session)?;
    }
    Ok(sessions)
}

/// Adds to a request what the log has besides it.
fn complete(session: &mut Session) -> Result<(), ReadError> {
    session.format = FORMAT.id;
    let root = value::document(&session.source.text)?;
    let response = &root["response"];
    if let Some(id) = value::text(response, "id") {
        session.id = id.to_owned();
    }
    session.model = value::string(response, "model").or(session.model.take());
    let tools = root.pointer("/kwargs/tools").filter(|tools| tools.is_array());
    if let (Some(tools), None) = (tools, session.frame.text_of(SegmentKind::Tools)) {
        session.frame.push_text(SegmentKind::Tools, tools.to_string());
    }
    let mut ids = Ids::default();
    for message in &mut session.messages {
        message.call_ids().for_each(|id| {
            ids.unique(id);
        });
        if message.role == Role::User && message.shown_text().starts_with(TEXT_RESULT) {
            let message = Arc::make_mut(message);
            message.mid_turn = true;
            mark_synthetic(&mut message.parts);
        }
    }
    let stored = session.source.records.len();
    match root.pointer(RESPONSE).filter(|raw| raw.is_object()) {
        Some(raw) => answer(session, &root, raw, &mut ids)?,
        None => session.warn(
            "no-response",
            RESPONSE,
            "the request was not answered; the session ends with it",
        ),
    }
    // The response's calls are new.
    session.warnings.retain(|warning| !PAIRING.contains(&&*warning.code));
    pair(session);
    session.recorded = Some(Recorded { messages: stored, tool_calls: session.tool_calls() });
    Ok(())
}

/// The answer, as a record of its own after those of the request.
fn answer(
    session: &mut Session,
    root: &Value,
    raw: &Value,
    ids: &mut Ids,
) -> Result<(), ReadError> {
    let range = raw::locate(&session.source.text, RESPONSE)
        .map_err(|error| value::malformed(RESPONSE, error.to_string()))?;
    let mut alone = raw.clone();
    if let Some(reason) = root.pointer("/response/choices/0/finish_reason") {
        alone["finish_reason"] = reason.clone();
    }
    let alone = json!({ "messages": [alone] }).to_string();
    let read = (openai_chat::FORMAT.read)(&alone)?;
    let Some(message) = read.into_iter().flat_map(|alone| alone.messages).next() else {
        return Ok(());
    };
    let mut message = Arc::unwrap_or_clone(message);
    let record = session.source.records.len() as u32;
    session.source.records.push(range);
    message.id = format!("m{record}");
    message.record = Some(record);
    for part in &mut message.parts {
        if let PartKind::Call(call) = &mut part.kind {
            call.call_id = ids.unique(&call.call_id);
        }
    }
    // When the log was written, which is when the answer was there.
    let at = value::seconds(root, "/timestamp");
    message.at = at;
    message.answer = Some(Answer {
        usage: chat::COUNTS.any(&root["response"]["usage"]),
        model: value::string(&root["response"], "model"),
        ended: at,
        ..message.answer.unwrap_or_default()
    });
    session.messages.push(Arc::new(message));
    Ok(())
}
