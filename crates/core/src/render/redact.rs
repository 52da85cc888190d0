//! Texts without what differs from recording to recording and from machine to machine.

/// What is replaced: `h` is a hexadecimal digit, `d` a decimal one, everything else itself.
const SHAPES: [(&str, &str); 2] =
    [("hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh", "[uuid]"), ("dddd-dd-ddTdd:dd:dd", "[time]")];

/// Folders in which a user's folder stands.
const HOMES: [&str; 2] = ["/home/", "/Users/"];

/// A text in which ids and times have one word each and home folders are `~`.
pub(super) fn redacted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_word = false;
    while let Some(first) = rest.chars().next() {
        let found = if in_word { None } else { shape(rest).or_else(|| home(rest)) };
        let (length, word) = found.unwrap_or((first.len_utf8(), ""));
        match word {
            "" => out.push(first),
            word => out.push_str(word),
        }
        in_word = first.is_alphanumeric();
        rest = &rest[length..];
    }
    out
}

/// The length of what stands here, and the word for it.
fn shape(rest: &str) -> Option<(usize, &'static str)> {
    let fits = |pattern: &str| {
        let mut pairs = rest.bytes().zip(pattern.bytes());
        let all = pairs.all(|(byte, kind)| match kind {
            b'h' => byte.is_ascii_hexdigit(),
            b'd' => byte.is_ascii_digit(),
            other => byte == other,
        });
        all && rest.len() >= pattern.len()
    };
    let (pattern, word) = SHAPES.into_iter().find(|(pattern, _)| fits(pattern))?;
    // A time may go on with a fraction and a zone.
    let goes_on = |c: char| c.is_ascii_digit() || matches!(c, '.' | 'Z' | '+');
    let tail = match word {
        "[time]" => {
            rest[pattern.len()..].find(|c| !goes_on(c)).unwrap_or(rest.len() - pattern.len())
        }
        _ => 0,
    };
    Some((pattern.len() + tail, word))
}

fn home(rest: &str) -> Option<(usize, &'static str)> {
    let folder = HOMES.into_iter().find(|folder| rest.starts_with(folder))?;
    let name = rest[folder.len()..].find(|c: char| !c.is_alphanumeric() && !"-_.".contains(c));
    let length = name.unwrap_or(rest.len() - folder.len());
    (length > 0).then_some((folder.len() + length, "~"))
}

#[cfg(test)]
mod tests {
    use super::redacted;

    #[test]
    fn what_differs_from_recording_to_recording_has_one_word() {
        let table = [
            ("session 6f1c0a52-90ab-4cde-8f00-0123456789ab.", "session [uuid]."),
            ("at 2026-01-31T23:59:59.123Z it", "at [time] it"),
            ("at 2026-01-31T23:59:59", "at [time]"),
            ("cat /home/someone/src/é.rs", "cat ~/src/é.rs"),
            ("/Users/some.one", "~"),
            ("a/home/x and /home/", "a/home/x and /home/"),
            ("12026-01-31T23:59:59", "12026-01-31T23:59:59"),
            ("", ""),
        ];
        for (given, expected) in table {
            assert_eq!(redacted(given), expected, "{given}");
        }
    }
}
