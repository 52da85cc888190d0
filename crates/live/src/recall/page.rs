//! A piece of a text: from an offset on, or around a word.

/// Bytes of an excerpt.
const EXCERPT: usize = 240;

/// A piece of an original text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// What it is, e.g. `result of read`.
    pub what: String,
    /// The piece.
    pub text: String,
    /// Where it begins, in bytes of the whole.
    pub offset: usize,
    /// Where the next piece begins; `None` at the end.
    pub next: Option<usize>,
    /// Bytes of the whole.
    pub bytes: usize,
}

impl Page {
    /// The piece from `offset` on, of at most `limit` bytes, ending between lines where that loses
    /// less than half of it. `None` if the text ends before that.
    pub fn cut(text: &str, offset: usize, limit: usize) -> Option<Self> {
        if offset > 0 && offset >= text.len() {
            return None;
        }
        let start = floor(text, offset);
        let mut end = floor(text, start.saturating_add(limit));
        if end < text.len()
            && let Some(line) = text[start..end].rfind('\n')
            && line + 1 >= limit / 2
        {
            end = start + line + 1;
        }
        Some(Self {
            what: String::new(),
            text: text[start..end].to_owned(),
            offset: start,
            next: (end < text.len()).then_some(end),
            bytes: text.len(),
        })
    }
}

/// The last boundary of characters at or before a place.
fn floor(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// Some text around the longest of the words that occurs, on one line.
pub(super) fn excerpt(text: &str, words: &[String]) -> String {
    // Lower case may be longer or shorter, so every character keeps the place that it came from.
    let (mut lower, mut places) = (String::with_capacity(text.len()), Vec::new());
    for (at, c) in text.char_indices() {
        for small in c.to_lowercase() {
            places.resize(lower.len() + small.len_utf8(), at);
            lower.push(small);
        }
    }
    let mut words: Vec<&String> = words.iter().collect();
    words.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    let found = words.iter().find_map(|word| lower.find(word.as_str()));
    let at = found.and_then(|at| places.get(at)).copied().unwrap_or(0);
    let start = floor(text, at.saturating_sub(EXCERPT / 3));
    let end = floor(text, start + EXCERPT);
    let line = text[start..end].split_whitespace().collect::<Vec<_>>().join(" ");
    let before = if start > 0 { "…" } else { "" };
    let after = if end < text.len() { "…" } else { "" };
    format!("{before}{line}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_join_to_the_whole() {
        let text = "é line\n".repeat(50) + &"x".repeat(300);
        for limit in [3, 10, 100, 1_000] {
            let (mut whole, mut offset) = (String::new(), 0);
            loop {
                let page = Page::cut(&text, offset, limit).unwrap();
                assert!(page.text.len() <= limit && page.bytes == text.len(), "{limit}");
                whole.push_str(&page.text);
                match page.next {
                    Some(next) => offset = next,
                    None => break,
                }
            }
            assert_eq!(whole, text, "{limit}");
        }
        assert_eq!(Page::cut(&text, text.len(), 10), None);
        assert_eq!(Page::cut("", 0, 10).unwrap().next, None);
        assert_eq!(Page::cut("éé", 1, 10).unwrap().offset, 0);
    }

    #[test]
    fn excerpts_show_the_word() {
        let far = format!("{} İ needle in {}", "a ".repeat(500), "b ".repeat(500));
        let cases = [
            (far.as_str(), "needle", true),
            (far.as_str(), "nothing", false),
            ("a Needle\n  here", "needle", true),
        ];
        for (text, word, found) in cases {
            let excerpt = excerpt(text, &[word.to_owned()]);
            assert_eq!(excerpt.to_lowercase().contains(word), found, "{excerpt}");
            assert!(excerpt.len() <= EXCERPT + 6 && !excerpt.contains('\n'));
        }
    }
}
