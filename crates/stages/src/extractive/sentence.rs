//! Texts cut to a budget, at the ends of their sentences.

use foldback_core::log::sentences;
use foldback_core::stage::Estimator;
use std::borrow::Cow;

/// Marks that something was left out.
pub(super) const CUT: &str = "…";

/// Bytes that a token has at most in anything worth keeping; bounds what is measured at all.
const BYTES_PER_TOKEN: u64 = 16;

/// The longest beginning of at most `bytes` bytes that ends between two characters.
pub(super) fn head(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// The text, or its [`head`] with [`CUT`] after it: what is cut says so, lest half a path be taken for
/// a path.
pub(super) fn cut(text: &str, bytes: usize) -> Cow<'_, str> {
    match head(text, bytes) {
        whole if whole.len() == text.len() => Cow::Borrowed(whole),
        head => Cow::Owned(format!("{} {CUT}", head.trim_end())),
    }
}

/// A text within a number of tokens: itself, or its telling sentences in order with [`CUT`] after
/// them, or the words of its beginning. `None` if not even one word fits.
///
/// Sentences are chosen by rank: the first one, those that `telling` picks, then the others from the
/// beginning on.
pub(super) fn fit(
    text: &str,
    tokens: u64,
    estimator: &dyn Estimator,
    telling: impl Fn(&str) -> bool,
) -> Option<String> {
    let bound = usize::try_from(tokens.saturating_mul(BYTES_PER_TOKEN)).unwrap_or(usize::MAX);
    if text.len() <= bound && estimator.text(text) <= tokens {
        return Some(text.to_owned());
    }
    // What can't fit even if every sentence of it were chosen is not looked at, the end excepted: in
    // long messages the request often comes last.
    let looked_at = bound.saturating_mul(4);
    let (opening, ending) = if text.len() > looked_at {
        let from = text.len() - bound.min(text.len());
        let from = text.ceil_char_boundary(from);
        let opening = head(text, looked_at.min(from));
        (opening, &text[from..])
    } else {
        (text, "")
    };
    let lines = opening.lines().chain(ending.lines()).enumerate();
    let all: Vec<(usize, &str)> = lines
        .flat_map(|(line, text)| sentences(text).map(move |sentence| (line, sentence)))
        .collect();
    let mut ranked: Vec<usize> = (0..all.len()).collect();
    ranked.sort_by_key(|&index| (index != 0, !telling(all[index].1), index));
    let mut chosen = vec![false; all.len()];
    let mut used = estimator.text(CUT);
    for index in ranked {
        let cost = estimator.text(all[index].1) + 1;
        if used + cost <= tokens {
            used += cost;
            chosen[index] = true;
        }
    }
    let mut kept = String::new();
    let mut last_line = 0;
    for ((line, sentence), _) in all.iter().zip(&chosen).filter(|(_, chosen)| **chosen) {
        if !kept.is_empty() {
            kept.push(if *line == last_line { ' ' } else { '\n' });
        }
        kept.push_str(sentence);
        last_line = *line;
    }
    if kept.is_empty() {
        return words(opening, tokens, estimator);
    }
    let text = format!("{kept} {CUT}");
    if estimator.text(&text) <= tokens {
        return Some(text);
    }
    words(&kept, tokens, estimator)
}

/// As many words from the beginning as fit, with [`CUT`] after them; as many letters of a single word
/// that is too long; without the mark where it takes the last room.
fn words(text: &str, room: u64, estimator: &dyn Estimator) -> Option<String> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let inside = text.char_indices().skip(1).map(|(at, _)| at);
    let letters: Vec<usize> = inside.chain([text.len()]).collect();
    let blanks: Vec<usize> = letters
        .iter()
        .copied()
        .filter(|&at| text[at..].chars().next().is_none_or(char::is_whitespace))
        .collect();
    let marked = |end: usize| format!("{} {CUT}", text[..end].trim_end());
    let plain = |end: usize| text[..end].trim_end().to_owned();
    let longest = |ends: &[usize], form: &dyn Fn(usize) -> String| {
        let count = ends.partition_point(|&end| estimator.text(&form(end)) <= room);
        let end = *ends.get(count.checked_sub(1)?)?;
        Some(form(end))
    };
    longest(&blanks, &marked)
        .or_else(|| longest(&letters, &marked))
        .or_else(|| longest(&letters, &plain))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimator::{Rounding, Unit, chars};

    #[test]
    fn texts_are_cut_at_sentences() {
        let estimator = chars(Unit::Bytes, Rounding::Ceil);
        let text = "First things first. Filler that nobody needs to read. Never touch main.";
        let never = |sentence: &str| sentence.starts_with("Never");
        // tokens, what is left
        let cases = [
            (100, Some(text)),
            (14, Some("First things first. Never touch main. …")),
            (8, Some("First things first. …")),
            (4, Some("First things …")),
            (1, Some("Firs")),
            (0, None),
        ];
        for (tokens, expected) in cases {
            let cut = fit(text, tokens, &estimator, never);
            assert_eq!(cut.as_deref(), expected, "{tokens} tokens");
        }
    }
}
