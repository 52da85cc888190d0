//! Numbers in what providers say: how large the request was, how long to wait.

use crate::errors::seconds;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Sizes that an error names, in tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes {
    /// The size of the request, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested: Option<u64>,
    /// The largest allowed size, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

/// One piece of a pattern.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Text(&'a str),
    Requested,
    Limit,
    /// Some number.
    Number,
    /// Some text.
    Gap,
}

/// The pieces of a pattern; `None` where a brace is not closed or names nothing known.
fn pieces(pattern: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = pattern;
    while let Some((text, after)) = rest.split_once('{') {
        if !text.is_empty() {
            pieces.push(Piece::Text(text));
        }
        let (name, after) = after.split_once('}')?;
        pieces.push(match name {
            "requested" => Piece::Requested,
            "limit" => Piece::Limit,
            "_" => Piece::Number,
            "..." => Piece::Gap,
            _ => return None,
        });
        rest = after;
    }
    if !rest.is_empty() {
        pieces.push(Piece::Text(rest));
    }
    Some(pieces)
}

pub(crate) fn is_valid(pattern: &str) -> bool {
    let Some(pieces) = pieces(pattern) else {
        return false;
    };
    let count = |piece: Piece<'_>| pieces.iter().filter(|it| **it == piece).count();
    let (requested, limit) = (count(Piece::Requested), count(Piece::Limit));
    let text = |piece: &Piece<'_>| matches!(piece, Piece::Text(_));
    let separated = pieces.windows(2).all(|pair| pair.iter().any(text));
    requested <= 1 && limit <= 1 && requested + limit > 0 && separated
}

/// Reads sizes, where the pattern is found. Pattern and text are in lower case.
pub(crate) fn sizes(pattern: &str, text: &str) -> Option<Sizes> {
    let pieces = pieces(pattern)?;
    // A pattern begins with text, or with a number before the first text of the pattern.
    (0..text.len())
        .filter(|start| text.is_char_boundary(*start))
        .find_map(|start| read(&pieces, &text[start..]))
}

fn read(pieces: &[Piece<'_>], mut text: &str) -> Option<Sizes> {
    let mut sizes = Sizes::default();
    let mut gap = false;
    for piece in pieces {
        match piece {
            Piece::Gap => gap = true,
            Piece::Text(expect) => {
                let at = text.find(expect).filter(|at| gap || *at == 0)?;
                text = &text[at + expect.len()..];
                gap = false;
            }
            Piece::Requested | Piece::Limit | Piece::Number => {
                let (number, rest) = number(text)?;
                match piece {
                    Piece::Requested => sizes.requested = Some(number),
                    Piece::Limit => sizes.limit = Some(number),
                    _ => {}
                }
                text = rest;
            }
        }
    }
    Some(sizes)
}

/// A whole number at the start of a text, thousands separated by commas or not.
fn number(text: &str) -> Option<(u64, &str)> {
    let grouped = |(index, byte): (usize, u8)| {
        let next = text.as_bytes().get(index + 1);
        byte == b',' && index > 0 && next.is_some_and(u8::is_ascii_digit)
    };
    let end = text
        .bytes()
        .enumerate()
        .find(|(index, byte)| !byte.is_ascii_digit() && !grouped((*index, *byte)))
        .map_or(text.len(), |(index, _)| index);
    let digits: String = text[..end].chars().filter(|c| *c != ',').collect();
    Some((digits.parse().ok()?, &text[end..]))
}

/// `try again in 9.816s`, `retry in 11.6s`, `try again in 644ms`, `in 2m5.3s`.
pub(crate) fn retry_after(text: &str) -> Option<Duration> {
    ["try again in ", "retry in ", "retry after "]
        .iter()
        .find_map(|phrase| duration(text.split_once(phrase)?.1))
}

/// A duration at the start of a text, e.g. `59s`, `644ms`, `1m2.5s`, `20 seconds`.
pub(crate) fn duration(mut text: &str) -> Option<Duration> {
    let mut total = None;
    loop {
        let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let Some(amount) = seconds(&text[..digits]) else {
            return total;
        };
        let after = text[digits..].trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let factor = match &after[..letters] {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3_600.0,
            _ => return total,
        };
        let amount = Duration::try_from_secs_f64(amount.as_secs_f64() * factor).ok()?;
        total = Some(amount.saturating_add(total.unwrap_or_default()));
        text = &after[letters..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_test_support::table;

    #[test]
    fn durations() {
        let cases = [
            ("please try again in 9.816s. visit", Some(9_816)),
            ("please try again in 644ms.", Some(644)),
            ("please retry in 11.665902715s.", Some(11_665)),
            ("try again in 1m2.5s", Some(62_500)),
            ("try again in 20 seconds", Some(20_000)),
            ("try again in a moment", None),
            ("try again in 999999999999999999999999s", None),
            ("try again later", None),
        ];
        for (text, expect) in cases {
            let millis = retry_after(text).map(|wait| wait.as_millis());
            assert_eq!(millis, expect, "{text}");
        }
    }

    #[test]
    fn sizes_are_read() {
        #[derive(serde::Deserialize)]
        struct Case {
            pattern: String,
            text: String,
            requested: Option<u64>,
            limit: Option<u64>,
        }
        let cases: Vec<Case> = table::rows(include_str!("cases.toml"), "sizes");
        for Case { pattern, text, requested, limit } in cases {
            let read = requested.or(limit).is_some();
            let expect = read.then_some(Sizes { requested, limit });
            assert_eq!(sizes(&pattern, &text), expect, "{pattern}");
        }
    }
}
