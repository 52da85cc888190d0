//! The beginning and the end of a long tool result.

use foldback_core::plain::grouped;

/// Of what is shown, one part of so many is from the beginning.
const HEAD: usize = 5;

/// The text with its beginning and its end, `limit` units of UTF-16 in all, below a note; `None` if the text is no longer. `{first}` and
/// `{last}` in the note become the numbers of units. A character that a limit would cut in two is left out.
pub fn preview(text: &str, limit: usize, note: &str) -> Option<String> {
    let units = |text: &str| text.chars().map(char::len_utf16).sum::<usize>();
    // No text has more units than bytes.
    let all = if text.len() <= limit { 0 } else { units(text) };
    if all <= limit {
        return None;
    }
    let (first, last) = (limit / HEAD, limit - limit / HEAD);
    let (head, tail) = (first_units(text, first), last_units(text, last));
    let note =
        note.replace("{first}", &grouped(first as u64)).replace("{last}", &grouped(last as u64));
    let omitted = grouped((all - first - last) as u64);
    Some(format!("{note}\n{head}\n\n... [{omitted} characters omitted] ...\n\n{tail}"))
}

/// The first so many units.
pub fn first_units(text: &str, units: usize) -> &str {
    let mut taken = 0;
    let end = text.char_indices().find(|(_, c)| {
        taken += c.len_utf16();
        taken > units
    });
    &text[..end.map_or(text.len(), |(at, _)| at)]
}

/// The last so many units.
pub fn last_units(text: &str, units: usize) -> &str {
    let mut taken = 0;
    let begin = text.char_indices().rev().find(|(_, c)| {
        taken += c.len_utf16();
        taken > units
    });
    &text[begin.map_or(0, |(at, c)| at + c.len_utf8())..]
}

/// The first and the last so many lines of a text that has more than `whole`.
pub fn lines(text: &str, whole: usize, end: usize) -> String {
    let lines: Vec<&str> = text.split('\n').collect();
    if lines.len() <= whole {
        return text.to_owned();
    }
    let (head, tail) = (lines[..end].join("\n"), lines[lines.len() - end..].join("\n"));
    format!("{head}\n\n... [{} lines omitted] ...\n\n{tail}", lines.len() - 2 * end)
}
