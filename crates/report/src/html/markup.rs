//! Text on its way into markup.

use std::fmt;

/// Text that is safe as content and inside double-quoted attributes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a>(&'a str);

/// Marks a string as data.
pub(super) fn text(text: &str) -> Text<'_> {
    Text(text)
}

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            let (before, special) = rest.split_at(at);
            f.write_str(before)?;
            f.write_str(match special.as_bytes()[0] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &special[1..];
        }
        f.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_never_opens_a_tag_or_closes_an_attribute() {
        let cases = [
            ("", ""),
            ("a/b.jsonl#7", "a/b.jsonl#7"),
            ("<script>", "&lt;script&gt;"),
            ("\" onload='x'", "&quot; onload=&#39;x&#39;"),
            ("a && b", "a &amp;&amp; b"),
            ("&lt;", "&amp;lt;"),
            ("ä<é", "ä&lt;é"),
        ];
        for (given, expect) in cases {
            assert_eq!(text(given).to_string(), expect);
        }
    }
}
