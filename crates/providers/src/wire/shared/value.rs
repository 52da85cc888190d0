//! Reads values out of parsed JSON without assuming anything about it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The string member `key`.
pub fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// The string member `key`, owned.
pub fn string(value: &Value, key: &str) -> Option<String> {
    text(value, key).map(str::to_owned)
}

/// The string member `key`, unless it is empty.
pub fn filled<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    text(value, key).filter(|text| !text.is_empty())
}

/// The first of these members that is a string.
pub fn first<'a>(value: &'a Value, keys: &[&str]) -> Option<&'a str> {
    keys.iter().find_map(|key| text(value, key))
}

/// The first of these members that is a string, owned.
pub fn first_string(value: &Value, keys: &[&str]) -> Option<String> {
    first(value, keys).map(str::to_owned)
}

/// The string at a JSON pointer.
pub fn text_at<'a>(value: &'a Value, pointer: &str) -> Option<&'a str> {
    value.pointer(pointer)?.as_str()
}

/// The elements of the array `key`; empty if it is not an array.
pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    items(&value[key])
}

/// The elements of the array at a JSON pointer; empty if it is not an array.
pub fn list_at<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    value.pointer(pointer).map_or(&[], items)
}

/// The elements of an array; empty for any other value.
pub fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The member `key` as [`shown`]; empty if it is missing.
pub fn shown_of(value: &Value, key: &str) -> String {
    value.get(key).map(shown).unwrap_or_default()
}

/// Whether the member `key` is `true`.
pub fn flag(value: &Value, key: &str) -> bool {
    value.get(key).and_then(Value::as_bool).unwrap_or(false)
}

/// Larger counts are read as this one: it can be added to others, and is left out in the end as it can't be.
const MOST: u64 = 1 << 56;

/// The count at a JSON pointer; 0 if it is missing.
pub fn count(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(tokens).unwrap_or(0)
}

/// A count. Some recorders write counts as floats or as text.
pub fn tokens(value: &Value) -> Option<u64> {
    let float = || value.as_f64().map(|float| float.max(0.0) as u64);
    let text = || value.as_str()?.trim().parse().ok();
    Some(value.as_u64().or_else(float).or_else(text)?.min(MOST))
}

/// The first of these counts that is not 0.
pub fn first_count(value: &Value, pointers: &[&str]) -> u64 {
    let mut counts = pointers.iter().map(|pointer| count(value, pointer));
    counts.find(|count| *count > 0).unwrap_or(0)
}

/// What a value shows as text: a string as it is, anything else as compact JSON.
pub fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The type in a `data:` URL.
pub fn data_type(url: &str) -> Option<&str> {
    url.strip_prefix("data:")?.split([';', ',']).next()
}

/// The data of a `data:` URL in base64, or the text itself where it is base64 already; `None` for
/// anything else, and for data that was cut or redacted and would not decode.
pub fn base64_data(url: &str) -> Option<&str> {
    let data = match url.strip_prefix("data:") {
        Some(rest) => rest.split_once(";base64,")?.1,
        None => url,
    };
    (!data.is_empty() && STANDARD.decode(data).is_ok()).then_some(data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_data_that_decodes_is_data() {
        let table = [
            ("AA==", Some("AA==")),
            ("AAA=", Some("AAA=")),
            ("AAAA", Some("AAAA")),
            ("data:image/png;base64,+/9a", Some("+/9a")),
            ("data:text/plain,AAAA", None),
            ("https://example.org/a.png", None),
            ("AB==", None),
            ("AAA", None),
            ("A===", None),
            ("REDACTED/9=", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(base64_data(text), expected, "{text}");
        }
    }
}
