//! Puts the pieces of a streamed answer together.

use crate::wire::WireError;
use serde_json::Value;
use std::fmt::Debug;

/// The pieces of an answer so far, in one of the protocols.
pub(crate) trait Pieces: Debug + Send + Sync {
    /// Takes the next event.
    fn push(&mut self, event: Value) -> Result<(), WireError>;

    /// Whether the event that ends the answer came, if the protocol has one.
    fn is_over(&self) -> bool {
        false
    }

    /// The body of the whole answer; `None` before its end.
    fn body(self: Box<Self>) -> Option<Value>;
}

/// The value at a JSON pointer, removed; null if it is missing.
pub(crate) fn take(value: &mut Value, pointer: &str) -> Value {
    value.pointer_mut(pointer).map(Value::take).unwrap_or_default()
}

/// The member `key` of an object, added if it is missing. `None` for anything but an object.
pub(crate) fn member<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    Some(value.as_object_mut()?.entry(key).or_insert(Value::Null))
}

/// Puts what an event tells into what events before it told. A count only grows while an answer streams: one that is null or
/// 0 now is missing, and what was told stays.
pub(crate) fn tell(told: &mut Value, news: Value) {
    match (told, news) {
        (_, Value::Null) => {}
        (Value::Number(_), Value::Number(count)) if count.as_f64() == Some(0.0) => {}
        (Value::Object(told), Value::Object(news)) => {
            for (key, news) in news {
                tell(told.entry(key).or_insert(Value::Null), news);
            }
        }
        (Value::Object(_), _) => {}
        (told, news) => *told = news,
    }
}

/// Appends the text at `key` of `piece` to the text at `key` of `whole`.
pub(crate) fn append(whole: &mut Value, piece: &Value, key: &str) {
    let Some(more) = piece.get(key).and_then(Value::as_str) else {
        return;
    };
    match member(whole, key) {
        Some(Value::String(text)) => text.push_str(more),
        Some(place) => *place = more.into(),
        None => {}
    }
}
