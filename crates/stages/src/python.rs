//! JSON values the way Python's `repr` writes them.
//!
//! tunacode measures content that is not a string on the `repr` of the Python object, LangChain the calls of an answer. A recorded
//! session holds that object as JSON, and this module writes the JSON value as Python would after
//! loading it: `None`, `True`, `False`; single quotes unless the text has one and no double quote;
//! `\x`, `\u` and `\U` escapes for what Python does not call printable; floats in shortest form with an
//! exponent from 1e16 up and below 1e-4.
//!
//! Three things are out of reach. Integers beyond 64 bits were already read as floats. Objects that are
//! no plain JSON (pydantic-ai's images and documents) are written as the mapping they were stored as.
//! Printability follows this crate's Unicode tables (16.0), where Python 3.11 has 14.0.

use serde_json::{Number, Value};
use std::fmt::Write;
use unicode_general_category::{GeneralCategory, get_general_category};

/// The arguments of a call as a Python program holds them: an object, an empty one where they are something else.
pub fn arguments(text: &str) -> Value {
    let value = serde_json::from_str(text).ok().filter(Value::is_object);
    value.unwrap_or_else(|| Value::Object(serde_json::Map::new()))
}

/// A JSON value as Python would print it.
pub fn repr(value: &Value) -> String {
    let mut out = String::new();
    write_value(&mut out, value);
    out
}

fn write_value(out: &mut String, value: &Value) {
    match value {
        Value::Null => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Number(number) => write_number(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_value(out, item);
            }
            out.push(']');
        }
        Value::Object(fields) => {
            out.push('{');
            for (index, (key, item)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push_str(", ");
                }
                write_string(out, key);
                out.push_str(": ");
                write_value(out, item);
            }
            out.push('}');
        }
    }
}

fn write_number(out: &mut String, number: &Number) {
    match number.as_f64() {
        Some(float) if number.is_f64() => write_float(out, float),
        _ => out.push_str(&number.to_string()),
    }
}

/// Shortest digits that read back as the same number, as both languages choose them; only the notation
/// differs.
fn write_float(out: &mut String, float: f64) {
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..16).contains(&exponent) {
        let plain = float.to_string();
        out.push_str(&plain);
        if !plain.contains('.') {
            out.push_str(".0");
        }
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        // Writing to a string can't fail.
        let _ = write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs());
    }
}

fn write_string(out: &mut String, text: &str) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if c == quote => {
                out.push('\\');
                out.push(c);
            }
            _ if is_printable(c) => out.push(c),
            _ => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xFF => write!(out, "\\x{code:02x}"),
                    0x100..=0xFFFF => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push(quote);
}

/// What Python's `str.isprintable` says of one character: everything but "other" and "separator", the
/// ASCII space excepted.
fn is_printable(c: char) -> bool {
    use GeneralCategory as Category;
    c.is_ascii_graphic()
        || c == ' '
        || !matches!(
            get_general_category(c),
            Category::Control
                | Category::Format
                | Category::Surrogate
                | Category::PrivateUse
                | Category::Unassigned
                | Category::LineSeparator
                | Category::ParagraphSeparator
                | Category::SpaceSeparator
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_python_prints_it() {
        // JSON, what `repr(json.loads(...))` gives in Python 3.11
        let cases = [
            ("null", "None"),
            ("true", "True"),
            ("[]", "[]"),
            ("{}", "{}"),
            (r#"[1,"a",null,false]"#, "[1, 'a', None, False]"),
            (r#"{"a":{"b":[1,2]},"c":"d"}"#, "{'a': {'b': [1, 2]}, 'c': 'd'}"),
            ("18446744073709551615", "18446744073709551615"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("1.0", "1.0"),
            ("1.5", "1.5"),
            ("0.1", "0.1"),
            ("-0.0", "-0.0"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("1.25e-7", "1.25e-07"),
            ("123456789012345.6", "123456789012345.6"),
            ("1e15", "1000000000000000.0"),
            ("1e16", "1e+16"),
            ("1.5e300", "1.5e+300"),
            ("5e-324", "5e-324"),
            (r#""plain""#, "'plain'"),
            (r#""it's""#, r#""it's""#),
            (r#""say \"hi\"""#, r#"'say "hi"'"#),
            (r#""it's \"so\"""#, r#"'it\'s "so"'"#),
            (r#""a\\b""#, r"'a\\b'"),
            (r#""a\nb\r\tc""#, r"'a\nb\r\tc'"),
            (r#""\u0000\u001f\u007f""#, r"'\x00\x1f\x7f'"),
            (r#""\u00a0\u00ad\u0085""#, r"'\xa0\xad\x85'"),
            (r#""\u2028\u200b\ufeff\u3000""#, r"'\u2028\u200b\ufeff\u3000'"),
            (r#""\ue000\udbff\udfff""#, r"'\ue000\U0010ffff'"),
            (r#""é漢😀""#, "'é漢😀'"),
            (r#"{"k'":1}"#, r#"{"k'": 1}"#),
        ];
        for (json, expected) in cases {
            let value: Value = serde_json::from_str(json).unwrap();
            assert_eq!(repr(&value), expected, "{json}");
        }
    }
}
