//! By what a conversation is recognized: a rolling hash over what its messages say.
//!
//! The key after `n` messages follows from the key after `n - 1` and from the message. A request continues the
//! conversation whose last key is among its own; it must repeat every message up to there. Only what the model reads
//! counts: a client may spell a text as a string now and as a block later, and it moves its cache breakpoints from
//! request to request. White space at the end of a text doesn't count, either. So a message may differ from the one that
//! is remembered, and the present one is sent.

use blake3::{Hash, Hasher};
use foldback_core::log::{Media, Message, PartKind};
use serde_json::Value;
use std::sync::Arc;

/// The key of a conversation after one of its messages.
pub type Key = Hash;

/// The keys of a conversation: that of none of its messages, then one after each. `protocol` is the name of the form
/// that it is read from: the same words in another protocol are another conversation.
pub fn keys(protocol: &str, messages: &[Arc<Message>]) -> Vec<Key> {
    let mut keys = Vec::with_capacity(messages.len() + 1);
    keys.push(first(protocol));
    extend(&mut keys, messages);
    keys
}

/// Adds the keys of a conversation of which the first are known.
pub fn extend(keys: &mut Vec<Key>, messages: &[Arc<Message>]) {
    let mut key = end(keys);
    for message in messages.iter().skip(keys.len().saturating_sub(1)) {
        key = next(&key, message);
        keys.push(key);
    }
}

/// The key before the first message.
pub fn first(protocol: &str) -> Key {
    blake3::hash(protocol.as_bytes())
}

/// The key after one more message.
pub fn next(key: &Key, message: &Message) -> Key {
    let mut hasher = Hasher::new();
    hasher.update(key.as_bytes());
    feed_message(&mut hasher, message);
    hasher.finalize()
}

/// The key at the end of a request, from its keys.
pub fn end(keys: &[Key]) -> Key {
    // There is always the one before the first message.
    keys.last().copied().unwrap_or_else(|| blake3::hash(b""))
}

/// What an answer says, for telling two answers to the same request apart.
pub fn said(message: &Message) -> Hash {
    let mut hasher = Hasher::new();
    feed(&mut hasher, message.said().trim());
    message.call_ids().for_each(|id| feed(&mut hasher, id));
    hasher.finalize()
}

fn feed_message(hasher: &mut Hasher, message: &Message) {
    feed(hasher, message.role.as_str());
    hasher.update(&[u8::from(message.mid_turn)]);
    for part in &message.parts {
        match &part.kind {
            // A client may leave out of the next request what ends its newest message, such as room for a reminder.
            PartKind::Text { text, .. } => all(hasher, b'T', &[text.trim_end()]),
            PartKind::Reasoning { text, opaque } => {
                all(hasher, b'O', &[text, opaque.as_deref().unwrap_or_default()]);
            }
            PartKind::Call(call) => {
                all(hasher, b'C', &[&call.call_id, &call.tool, &call.arguments]);
            }
            PartKind::Result(result) => {
                hasher.update(&[result.status as u8]);
                all(hasher, b'R', &[&result.call_id, &result.text]);
                result.media.iter().for_each(|media| feed_media(hasher, media));
            }
            PartKind::File(media) => feed_media(hasher, media),
            PartKind::Marker(marker) => all(hasher, b'M', &[&marker.text]),
            PartKind::Unknown { name, raw } => {
                all(hasher, b'U', &[name, &unmarked(raw).to_string()]);
            }
        }
    }
}

fn feed_media(hasher: &mut Hasher, media: &Media) {
    all(hasher, b'F', &[&media.mime, media.name.as_deref().unwrap_or_default(), &media.url]);
}

/// A block without its cache breakpoint.
fn unmarked(raw: &Value) -> Value {
    let mut raw = raw.clone();
    if let Some(members) = raw.as_object_mut() {
        members.shift_remove("cache_control");
    }
    raw
}

fn all(hasher: &mut Hasher, kind: u8, texts: &[&str]) {
    hasher.update(&[kind]);
    texts.iter().for_each(|text| feed(hasher, text));
}

/// A text with its length, so that no two lists of texts are fed alike.
fn feed(hasher: &mut Hasher, text: &str) {
    hasher.update(&(text.len() as u64).to_le_bytes());
    hasher.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_providers::wire::{Dialect, Request};

    fn keys_of(dialect: Dialect, messages: &str) -> Vec<Key> {
        let body = format!(r#"{{"model": "m", "messages": [{messages}]}}"#);
        keys(dialect.as_str(), Request::parse(dialect, body).unwrap().messages())
    }

    fn last(messages: &str) -> Key {
        *keys_of(Dialect::Anthropic, messages).last().unwrap()
    }

    #[test]
    fn spelling_and_breakpoints_make_no_difference_and_content_does() {
        let text = last(r#"{"role": "user", "content": "Hi."}"#);
        let same = [
            r#"{"content": "\u0048i.", "role": "user"}"#,
            r#"{"role": "user", "content": [{"type": "text", "text": "Hi."}]}"#,
            r#"{"role": "user", "content": [{"type": "text", "text": "Hi.", "cache_control": {"type": "ephemeral"}}]}"#,
        ];
        for messages in same {
            assert_eq!(last(messages), text, "{messages}");
        }
        let others = [
            r#"{"role": "assistant", "content": "Hi."}"#,
            r#"{"role": "user", "content": "Hi"}"#,
            r#"{"role": "user", "content": [{"type": "text", "text": "Hi"}, {"type": "text", "text": "."}]}"#,
            r#"{"role": "user", "content": "Hi."}, {"role": "user", "content": ""}"#,
        ];
        for messages in others {
            assert_ne!(last(messages), text, "{messages}");
        }
        let block = |mark: &str| {
            format!(
                r#"{{"role": "assistant", "content": [{{"type": "server_tool_use", "id": "1"{mark}}}]}}"#
            )
        };
        assert_eq!(last(&block("")), last(&block(r#", "cache_control": {"type": "ephemeral"}"#)));
    }

    /// A client may end its newest message with blank lines and leave them out of the next request.
    #[test]
    fn white_space_at_the_end_of_a_text_makes_no_difference_and_all_other_does() {
        let user = |content: &str| format!(r#"{{"role": "user", "content": {content}}}"#);
        let blocks = |one: &str, two: &str| {
            let block = |text| format!(r#"{{"type": "text", "text": "{text}"}}"#);
            user(&format!("[{}, {}]", block(one), block(two)))
        };
        let said = |text: &str| format!(r#"{{"role": "assistant", "content": "{text}"}}"#);
        let result = |text: &str| {
            user(&format!(
                r#"[{{"type": "tool_result", "tool_use_id": "t", "content": "{text}"}}]"#
            ))
        };
        let call = |path: &str| {
            let block = format!(
                r#"{{"type": "tool_use", "id": "t", "name": "read", "input": {{"path": "{path}"}}}}"#
            );
            format!(r#"{{"role": "assistant", "content": [{block}]}}"#)
        };
        let rows = [
            (user(r#""Hi.""#), user(r#""Hi.\n\n\n""#), true),
            (user(r#""Hi.\n""#), user(r#""Hi. \t\r\n\u00a0\u3000""#), true),
            (user(r#""Hi.\n""#), user(r#"[{"type": "text", "text": "Hi."}]"#), true),
            (user(r#"" \n""#), user(r#""""#), true),
            (said("Yes."), said(r"Yes.\n"), true),
            (blocks("A", "B"), blocks(r"A\n", r"B\n\n"), true),
            (user(r#""Hi.""#), user(r#""\nHi.""#), false),
            (user(r#""Hi. You.""#), user(r#""Hi.  You.""#), false),
            (user(r#""Hi.""#), user(r#""Hi.\u200b""#), false),
            // How many texts there are stays part of what is said.
            (user(r#""A""#), blocks("A", r"\n"), false),
            (blocks("A", "B"), blocks(r"A\nB", ""), false),
            // A result or an argument is data, in which a blank may be what matters.
            (result("A"), result(r"A\n"), false),
            (call("A"), call("A "), false),
        ];
        for (one, other, same) in rows {
            assert_eq!(last(&one) == last(&other), same, "{one} and {other}");
        }
    }

    /// Whatever the place of its content is, a file that says something else makes another conversation.
    #[test]
    fn files_count_by_what_they_say() {
        let document = |source: &str| {
            let block = format!(r#"{{"type": "document", "source": {source}}}"#);
            let user = format!(r#"{{"role": "user", "content": [{block}]}}"#);
            let result = format!(
                r#"{{"role": "user", "content": [{{"type": "tool_result", "tool_use_id": "t", "content": [{block}]}}]}}"#
            );
            [user, result]
        };
        for source in [
            r#"{"type": "text", "media_type": "text/plain", "data": "A"}"#,
            r#"{"type": "base64", "media_type": "application/pdf", "data": "A"}"#,
            r#"{"type": "url", "url": "https://x/A"}"#,
            r#"{"type": "file", "file_id": "A"}"#,
            r#"{"type": "content", "content": "A"}"#,
            r#"{"type": "content", "content": [{"type": "text", "text": "A"}]}"#,
            r#"{"type": "content", "content": [{"type": "text", "text": "x"}, {"type": "image", "source": {"type": "url", "url": "A"}}]}"#,
            r#"{"type": "unheard-of", "value": "A"}"#,
        ] {
            let others = document(&source.replace("A\"", "B\""));
            for (one, other) in document(source).iter().zip(&others) {
                assert_eq!(last(one), last(one), "{one}");
                assert_ne!(last(one), last(other), "{one}");
            }
        }
    }

    #[test]
    fn a_conversation_that_grows_keeps_its_keys() {
        let one = r#"{"role": "user", "content": "A"}, {"role": "assistant", "content": "B"}"#;
        let two = format!(r#"{one}, {{"role": "user", "content": "C"}}"#);
        let short = keys_of(Dialect::Anthropic, one);
        let long = keys_of(Dialect::Anthropic, &two);
        assert_eq!(short[..], long[..3]);
        let openai = keys_of(Dialect::OpenAiChat, one);
        assert_ne!(openai[2], short[2], "another protocol is another conversation");
    }
}
