//! What a request says of the unit that it belongs to.
//!
//! A harness names it in a header. Without one, conversations of one session are a unit: agents send the id of their session in a
//! header or in the body. An id that looks like a word is none: a whole application may share it.

use crate::http::headers::UNIT;
use axum::http::HeaderMap;
use foldback_core::log::{Message, PartKind, Role};
use foldback_live::follow::identity::Key;
use serde_json::Value;
use std::sync::Arc;

/// Headers with the id of a session.
const SESSIONS: [&str; 6] = [
    "x-claude-code-session-id",
    "session_id",
    "session-id",
    "x-session-id",
    "x-session-affinity",
    "conversation_id",
];

/// Texts with fewer letters are no prompt of a subagent.
const PROMPT: usize = 24;

/// What a request's headers say.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnitHints {
    /// The unit, as the harness calls it.
    pub(crate) named: Option<String>,
    session: Option<String>,
}

impl UnitHints {
    pub(crate) fn new(headers: &HeaderMap) -> Self {
        let text = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim().to_owned());
        let named = text(UNIT.as_str()).filter(|name| !name.is_empty());
        let session = SESSIONS.into_iter().find_map(|name| text(name).filter(|id| is_id(id)));
        Self { named, session }
    }

    /// The name of the unit, or the id of the session by the headers or by the body.
    pub(crate) fn name(&self, body: &str) -> Option<String> {
        let of_body = || {
            let user = text_of(body, "\"user_id\"").filter(|user| user.contains("session"));
            user.or_else(|| text_of(body, "\"prompt_cache_key\"").filter(|id| is_id(id)))
        };
        self.named.clone().or_else(|| self.session.clone()).or_else(of_body)
    }
}

/// Whether a text is the id of one thing rather than a word.
fn is_id(text: &str) -> bool {
    let count = |is: fn(&u8) -> bool| text.bytes().filter(is).count();
    let digits = count(u8::is_ascii_digit);
    let mixed = count(u8::is_ascii_uppercase).min(count(u8::is_ascii_lowercase)).min(digits) > 0;
    text.len() >= 16 && (digits >= 4 || mixed)
}

/// The text of a member of a body. In a text its quotes would be escaped.
fn text_of(body: &str, member: &str) -> Option<String> {
    let at = memchr::memmem::rfind(body.as_bytes(), member.as_bytes())?;
    let rest = body[at + member.len()..].trim_start().strip_prefix(':')?;
    let mut text = serde_json::Deserializer::from_str(rest).into_iter::<String>();
    text.next()?.ok()
}

/// How many messages a conversation begins with, before its first answer.
pub(crate) fn opening(messages: &[Arc<Message>]) -> usize {
    let answer = messages.iter().position(|message| message.role == Role::Assistant);
    answer.unwrap_or(messages.len())
}

/// The texts that users say in messages, and that may be the prompt of a subagent.
pub(crate) fn prompts(messages: &[Arc<Message>]) -> impl Iterator<Item = Key> {
    let users = messages.iter().filter(|message| message.role == Role::User);
    users.flat_map(|message| &message.parts).filter_map(|part| match &part.kind {
        PartKind::Text { text, .. } => prompt(text),
        _ => None,
    })
}

/// The texts in the calls of an answer that may be prompts of subagents.
pub(crate) fn given(answer: &Message) -> impl Iterator<Item = Key> {
    let calls = answer.parts.iter().filter_map(|part| part.as_call());
    calls.flat_map(|call| match call.arguments_value() {
        Value::Object(members) => members.values().filter_map(|it| prompt(it.as_str()?)).collect(),
        _ => Vec::new(),
    })
}

fn prompt(text: &str) -> Option<Key> {
    let text = text.trim();
    (text.len() >= PROMPT).then(|| blake3::hash(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderName;

    #[test]
    fn sessions_as_a_table() {
        const UUID: &str = "0b5c1d3e-8f1f-4b7a-9c55-1f2e3d4c5b6a";
        let claude =
            format!(r#"{{"messages": [], "metadata": {{"user_id": "user_1_session_{UUID}"}}}}"#);
        let key = |key: &str| format!(r#"{{"prompt_cache_key" : "{key}", "input": []}}"#);
        let quoted = format!(r#"{{"input": "\"prompt_cache_key\": \"{UUID}\""}}"#);
        for (header, body, expected) in [
            (None, claude.as_str(), Some(format!("user_1_session_{UUID}"))),
            (None, r#"{"metadata": {"user_id": "anna"}}"#, None),
            (None, &key(UUID), Some(UUID.to_owned())),
            (None, &key("my-application-in-production"), None),
            (
                None,
                &key("ses_ffacbeddeffeKqTzLm2WxY"),
                Some("ses_ffacbeddeffeKqTzLm2WxY".to_owned()),
            ),
            (None, &quoted, None),
            (Some(("session_id", UUID)), "{}", Some(UUID.to_owned())),
            (Some(("session_id", "main")), "{}", None),
        ] {
            let mut headers = HeaderMap::new();
            if let Some((name, value)) = header {
                headers.insert(HeaderName::from_static(name), value.parse().unwrap());
            }
            assert_eq!(UnitHints::new(&headers).name(body), expected, "{header:?} {body}");
        }
    }
}
