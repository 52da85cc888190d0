//! What a summarizer is given: texts cut to a length, for the request alone.

use foldback_core::log::{Message, PartKind};
use std::sync::Arc;

/// The first `limit` UTF-16 units of a text, and how many are left out. `None` if the text is no longer than that. A character that the limit
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

/// The first `limit` characters of a text. `None` if the text has no more.
pub fn first_chars(text: &str, limit: usize) -> Option<&str> {
    text.char_indices().nth(limit).map(|(end, _)| &text[..end])
}

/// A message whose tool results show what `cut` makes of them, where it makes anything.
pub fn cut_results(message: Arc<Message>, cut: impl Fn(&str) -> Option<String>) -> Arc<Message> {
    let results = message.parts.iter().map(|part| cut(&part.as_result()?.text));
    let cuts: Vec<Option<String>> = results.collect();
    if cuts.iter().all(Option::is_none) {
        return message;
    }
    let mut message = Message::clone(&message);
    for (part, shown) in message.parts.iter_mut().zip(cuts) {
        if let (PartKind::Result(result), Some(shown)) = (&mut part.kind, shown) {
            result.text = shown;
            result.structured = None;
        }
    }
    Arc::new(message)
}
