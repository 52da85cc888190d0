//! What a summarizer is given: tool results cut to a length, for the request alone.

use foldback_core::log::{Message, PartKind};
use std::sync::Arc;

/// The first `limit` UTF-16 units of a text, and how many are left out; `None` where it is no longer. A character that the limit
/// would cut in two is left out whole.
pub fn first_units(text: &str, limit: usize) -> Option<(&str, usize)> {
    // No text has more units than bytes.
    let units = if text.len() <= limit { 0 } else { text.encode_utf16().count() };
    if units <= limit {
        return None;
    }
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.len_utf16();
        taken > limit
    });
    Some((&text[..end.map_or(text.len(), |(at, _)| at)], units - limit))
}

/// A message whose tool results show no more than the first `limit` UTF-16 units, each that is cut with a note that says how many
/// are left out.
pub fn cut_results(
    message: Arc<Message>,
    limit: usize,
    note: impl Fn(usize) -> String,
) -> Arc<Message> {
    let is_long = |message: &Message| {
        let results = message.parts.iter().filter_map(|part| part.as_result());
        results.into_iter().any(|result| first_units(&result.text, limit).is_some())
    };
    if !is_long(&message) {
        return message;
    }
    let mut message = Message::clone(&message);
    for part in &mut message.parts {
        if let PartKind::Result(result) = &mut part.kind
            && let Some((kept, omitted)) = first_units(&result.text, limit)
        {
            result.text = format!("{kept}{}", note(omitted));
            result.structured = None;
        }
    }
    Arc::new(message)
}
