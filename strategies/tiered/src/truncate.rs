//! Cutting text where no model can be asked.
//!
//! - [`by_sentence`] keeps the sentences that matter most: those with keywords, with words that
//!   settle something, with words that mark importance. It stands in for a summary that could not be
//!   had. [`by_sentence_exact`] is the document's own version of it.
//! - [`middle`] keeps the head and the tail of a tool's output, where errors and totals stand.
//!
//! Lengths are in UTF-16 code units, as in the document's language.

use crate::pattern::Pattern;

static DECISION: Pattern =
    Pattern::new(r"(?i-u)\b(?:decided|concluded|agreed|will|won't|must|should)\b");
static IMPORTANT: Pattern = Pattern::new(r"(?i-u)\b(?:important|critical|key|essential|note)\b");

const KEYWORD_POINTS: u32 = 10;
const DECISION_POINTS: u32 = 5;
const IMPORTANT_POINTS: u32 = 3;
const ELLIPSIS: &str = "...";

/// Points of a sentence. `keywords` are in lower case.
fn points(sentence: &str, keywords: &[String]) -> u32 {
    let mut points = 0;
    if !keywords.is_empty() {
        let lower = sentence.to_lowercase();
        let found = keywords.iter().filter(|keyword| lower.contains(*keyword));
        points += KEYWORD_POINTS * found.count() as u32;
    }
    if DECISION.finds(sentence) {
        points += DECISION_POINTS;
    }
    if IMPORTANT.finds(sentence) {
        points += IMPORTANT_POINTS;
    }
    points
}

fn lower(keywords: &[String]) -> Vec<String> {
    keywords.iter().map(|word| word.to_lowercase()).collect()
}

/// Length in UTF-16 code units.
pub fn length(text: &str) -> usize {
    text.encode_utf16().count()
}

/// The longest start of a text within so many UTF-16 code units, whole characters only.
fn start_of(text: &str, units: usize) -> &str {
    let mut room = units;
    for (at, character) in text.char_indices() {
        match room.checked_sub(character.len_utf16()) {
            Some(rest) => room = rest,
            None => return &text[..at],
        }
    }
    text
}

/// Sentences as they stand in the text, their punctuation with them. A sentence ends at `.`, `!` or
/// `?` before white space, and at the end of a line; `src/main.rs` and `v1.2` stay whole.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| {
        let mut rest = line;
        std::iter::from_fn(move || {
            let trimmed = rest.trim_start();
            if trimmed.is_empty() {
                return None;
            }
            let end = trimmed
                .char_indices()
                .find(|(at, character)| {
                    let after = &trimmed[at + character.len_utf8()..];
                    matches!(character, '.' | '!' | '?') && after.starts_with(char::is_whitespace)
                })
                .map_or(trimmed.len(), |(at, character)| at + character.len_utf8());
            let (sentence, after) = trimmed.split_at(end);
            rest = after;
            Some(sentence.trim_end())
        })
    })
}

/// Cuts a text to a target length by keeping whole sentences, the most important first, and puts them
/// in their original order, a space between two. Where no sentence fits, the start of the text with
/// `...`. The result is never longer than the target.
pub fn by_sentence(content: &str, target: usize, keywords: &[String]) -> String {
    let keywords = lower(keywords);
    let sentences: Vec<&str> = sentences(content).collect();
    let mut order: Vec<(u32, usize)> = sentences
        .iter()
        .enumerate()
        .map(|(index, sentence)| (points(sentence, &keywords), index))
        .collect();
    order.sort_by_key(|(points, index)| (std::cmp::Reverse(*points), *index));
    let mut room = target;
    let mut kept: Vec<usize> = Vec::new();
    for (_, index) in order {
        let separator = usize::from(!kept.is_empty());
        if let Some(rest) = room.checked_sub(length(sentences[index]) + separator) {
            room = rest;
            kept.push(index);
        }
    }
    if kept.is_empty() {
        return shortened(content.trim(), target);
    }
    kept.sort_unstable();
    let kept: Vec<&str> = kept.iter().map(|index| sentences[*index]).collect();
    kept.join(" ")
}

fn shortened(text: &str, target: usize) -> String {
    if length(text) <= target {
        return text.to_owned();
    }
    match target.checked_sub(ELLIPSIS.len()) {
        Some(room) if room > 0 => format!("{}{ELLIPSIS}", start_of(text, room)),
        _ => start_of(text, target).to_owned(),
    }
}

/// The document's own version: split at every `.`, `!` and `?`, sentences in the order of their
/// points, `". "` after each and not counted, so that the result may be longer than the target. What
/// the split leaves behind the last punctuation is an empty sentence that always fits.
pub fn by_sentence_exact(content: &str, target: usize, keywords: &[String]) -> String {
    let keywords = lower(keywords);
    let mut scored: Vec<(u32, &str)> = split_exact(content)
        .into_iter()
        .map(|sentence| (points(sentence, &keywords), sentence))
        .collect();
    scored.sort_by_key(|(points, _)| std::cmp::Reverse(*points));
    let mut result = String::new();
    let mut so_far = 0;
    for (_, sentence) in scored {
        let size = length(sentence);
        if so_far + size <= target {
            result.push_str(sentence);
            result.push_str(". ");
            so_far += size + 2;
        }
    }
    if result.is_empty() { format!("{}{ELLIPSIS}", start_of(content, target)) } else { result }
}

/// JavaScript's `split(/[.!?]+/)`.
fn split_exact(content: &str) -> Vec<&str> {
    let is_end = |character: char| matches!(character, '.' | '!' | '?');
    let mut parts = Vec::new();
    let mut rest = content;
    while let Some(at) = rest.find(is_end) {
        parts.push(&rest[..at]);
        rest = rest[at..].trim_start_matches(is_end);
    }
    parts.push(rest);
    parts
}

/// Keeps about two thirds of `target` from the head of a text and one third from its tail, and says
/// how much is missing. A text within the target comes back whole.
pub fn middle(text: &str, target: usize) -> String {
    let total = length(text);
    if total <= target {
        return text.to_owned();
    }
    // The notice is as long as its number; a little room for it is subtracted first.
    let notice = |cut: usize| format!("\n[... {cut} characters cut ...]\n");
    let room = target.saturating_sub(notice(total).len());
    let tail_room = room / 3;
    let head = start_of(text, room - tail_room);
    let mut tail_length = 0;
    let tail_start = text[head.len()..]
        .char_indices()
        .rev()
        .take_while(|(_, character)| {
            tail_length += character.len_utf16();
            tail_length <= tail_room
        })
        .last()
        .map_or(text.len(), |(at, _)| head.len() + at);
    let tail = &text[tail_start..];
    let cut = total - length(head) - length(tail);
    format!("{head}{}{tail}", notice(cut))
}

/// Cuts with `cut(target length)` until `count` says that the result has at most `tokens`. `whole` is
/// the text's own size. Ends after a few tries with the smallest result.
pub fn to_tokens(
    text: &str,
    whole: u64,
    tokens: u64,
    count: impl Fn(&str) -> u64,
    cut: impl Fn(&str, usize) -> String,
) -> String {
    const TRIES: usize = 6;
    if whole <= tokens {
        return text.to_owned();
    }
    let mut target = scaled(length(text), tokens, whole);
    let mut result = cut(text, target);
    for _ in 0..TRIES {
        let size = count(&result);
        if size <= tokens || target == 0 {
            break;
        }
        // A little more than in proportion, so that it ends.
        target = scaled(target, tokens, size) * 19 / 20;
        result = cut(text, target);
    }
    result
}

fn scaled(length: usize, numerator: u64, denominator: u64) -> usize {
    let scaled = length as u128 * u128::from(numerator) / u128::from(denominator.max(1));
    usize::try_from(scaled).unwrap_or(usize::MAX)
}
