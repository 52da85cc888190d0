//! Parses JSON as recorders write it.

use super::edit::json_string;
use serde_json::Value;
use std::borrow::Cow;

/// How deep values may be nested; deeper values are read as their text. The parser reads twice that depth, so that a value
/// that was read can be wrapped and read again.
const DEEPEST: usize = 64;

/// Parses JSON as recorders write it. A string that a program cut in the middle of a surrogate pair
/// is read with U+FFFD in place of the half, and where values are nested too deep for the parser the deepest are read
/// as their text: a strict parser would give up the whole line.
pub fn parse(text: &str) -> serde_json::Result<Value> {
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let whole = without_lone_surrogates(text);
    match (flat(&whole), &whole) {
        (Cow::Borrowed(_), Cow::Borrowed(_)) => Err(error),
        (repaired, _) => serde_json::from_str(&repaired),
    }
}

/// Puts lists and objects that are nested too deep as their text, where the text is nested too deep for the parser.
fn flat(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let (mut out, mut copied) = (String::new(), 0);
    let (mut depth, mut deepest, mut opened, mut at) = (0, 0, 0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
                if depth == DEEPEST + 1 {
                    opened = at;
                }
            }
            b'}' | b']' => {
                if depth == DEEPEST + 1 {
                    out.push_str(&text[copied..opened]);
                    out.push_str(&json_string(&text[opened..=at]));
                    copied = at + 1;
                }
                depth = usize::saturating_sub(depth, 1);
            }
            _ => {}
        }
        at += 1;
    }
    if copied == 0 || deepest <= MOST_NESTED {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// How deep the parser goes.
const MOST_NESTED: usize = 127;

/// Where the string ends that begins at `at`: at its second quote, or behind the text.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(byte) = bytes.get(end) {
        match byte {
            b'\\' => end += 2,
            b'"' => break,
            _ => end += 1,
        }
    }
    end
}

/// Replaces escapes of half a surrogate pair by the escape of U+FFFD, which is as long.
fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let unit = |at: usize| -> Option<u16> {
        let escape = text.get(at..at + 6)?;
        u16::from_str_radix(escape.strip_prefix("\\u")?, 16).ok()
    };
    let mut lone = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] != b'\\' {
            at += 1;
            continue;
        }
        match unit(at) {
            Some(0xD800..=0xDBFF) => {
                if matches!(unit(at + 6), Some(0xDC00..=0xDFFF)) {
                    at += 12;
                } else {
                    lone.push(at);
                    at += 6;
                }
            }
            Some(0xDC00..=0xDFFF) => {
                lone.push(at);
                at += 6;
            }
            _ => at += 2,
        }
    }
    if lone.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for at in lone {
        out.push_str(&text[from..at]);
        out.push_str("\\ufffd");
        from = at + 6;
    }
    out.push_str(&text[from..]);
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_read_as_its_text() {
        let nested = |open: &str, inside: &str, close: &str, depth: usize| {
            format!("{}{inside}{}", open.repeat(depth), close.repeat(depth))
        };
        let table = [
            nested("[", "\"\\\"]\"", "]", 128),
            nested("{\"a\":", "[1, \"{\"]", "}", 127),
            nested("{\"a\":", "1", "}", 100_000),
            format!("[{},{}]", nested("[", "", "]", 500), nested("{\"a\":", "1", "}", 500)),
            nested("[", "\"\\ud83d\"", "]", 300),
        ];
        for text in table {
            let value = parse(&text).unwrap();
            let mut inner = &value;
            let mut depth = 0;
            while let Some(next) = inner.get(0).or_else(|| inner.get("a")) {
                (inner, depth) = (next, depth + 1);
            }
            assert_eq!(depth, DEEPEST, "{}", &text[..9]);
            assert!(text.contains(inner.as_str().unwrap()) || text.contains("ud83d"));
        }
        // Values within the depth of the parser are read as they are; unclosed ones are errors.
        let read = nested("[", "", "]", MOST_NESTED);
        assert_eq!(parse(&read).unwrap().to_string(), read);
        assert!(parse(&nested("[", "", "", 200)).unwrap_err().is_syntax());
        assert!(parse(&nested("[", "", "]", 200)[..390]).is_err());
    }

    #[test]
    fn half_a_surrogate_pair_does_not_cost_the_line() {
        let table = [
            (r#""a\ud83d""#, "a\u{fffd}"),
            (r#""\ude00b""#, "\u{fffd}b"),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\\ud83d\ud83d""#, "\\ud83d\u{fffd}"),
        ];
        for (text, expected) in table {
            assert_eq!(parse(text).unwrap(), Value::from(expected), "{text}");
        }
        assert!(parse(r#""\ud83d"#).is_err());
    }
}
