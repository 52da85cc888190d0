//! A text as it is compared with the old text of an edit: line by line, without the blanks at the ends of
//! lines, without empty lines, and without what tools put in front of a line.
//!
//! A part may show the lines of a file in several ways at once, so it has several [`readings`]: as it is; without
//! line numbers, if it has some; and the file before and after a patch, if it holds one.

use std::ops::Range;

/// A line without what tools put in front of it, and without the blanks at its ends.
pub(crate) fn plain_line(line: &str) -> &str {
    gutter(line).unwrap_or(line).trim()
}

/// Lines without the blanks at their ends; those that are not empty, each behind the one before and a line feed.
pub(crate) fn plain(text: &str) -> String {
    join(text, text.lines())
}

/// A way to read a line of a text; `None` where it is left out.
type Reading = fn(&str) -> Option<&str>;

/// The ways to read a text as lines of a file.
pub(super) fn readings(text: &str) -> Vec<String> {
    let ways = ways(text).into_iter();
    ways.map(|way| join(text, text.lines().filter_map(way))).collect()
}

fn ways(text: &str) -> Vec<Reading> {
    let mut out: Vec<Reading> = vec![|line| Some(line)];
    if text.lines().any(|line| gutter(line).is_some()) {
        out.push(|line| Some(gutter(line).unwrap_or(line)));
    }
    if is_patch(text) {
        out.push(|line| side(line, '+', '-'));
        out.push(|line| side(line, '-', '+'));
    }
    out
}

/// The first lines of a text that hold an old text, which is given [plain](plain).
pub(crate) fn lines_of(text: &str, old: &str) -> Option<Range<usize>> {
    ways(text).into_iter().find_map(|way| {
        let reading = join(text, text.lines().filter_map(way));
        let at = reading.find(old)?;
        let first = reading[..at].matches('\n').count();
        let last = first + old.matches('\n').count();
        // By line of the reading, its number in the text.
        let read =
            |(number, line)| way(line).filter(|line| !line.trim().is_empty()).map(|_| number);
        let mut numbers = text.lines().enumerate().filter_map(read).skip(first);
        let start = numbers.next()?;
        let end = if last > first { numbers.nth(last - first - 1)? } else { start };
        Some(start..end + 1)
    })
}

fn join<'a>(text: &str, lines: impl Iterator<Item = &'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    for line in lines.map(str::trim).filter(|line| !line.is_empty()) {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(line);
    }
    out
}

/// Whether a text has a hunk of a patch in it.
fn is_patch(text: &str) -> bool {
    text.contains("\n@@") || text.starts_with("@@") || text.contains("*** Begin Patch")
}

/// A line of a patch as one side of the patch has it.
fn side(line: &str, here: char, there: char) -> Option<&str> {
    match line.strip_prefix(here) {
        Some(line) => Some(line),
        None => (!line.starts_with(there)).then_some(line),
    }
}

/// What comes after a line number: `  12→x` (Claude Code), `    12\tx` (`cat -n`, SWE-agent), `00012| x`
/// (OpenCode), `12:x` and, beside a match, `12-x` (`grep -n`, `rg -n`), these also after the name of a file.
fn gutter(line: &str) -> Option<&str> {
    numbered(line, &['→', '\t', '|', ':', '-'])
}

/// Whether a search shows a line only because it stands beside a match.
pub(crate) fn is_beside_match(line: &str) -> bool {
    gutter(line).is_some() && numbered(line, &['→', '\t', '|', ':']).is_none()
}

/// What comes after a line number that one of these signs ends.
fn numbered<'l>(line: &'l str, signs: &[char]) -> Option<&'l str> {
    let rest = line.trim_start_matches(' ');
    let (number, rest) = figures(rest);
    if number {
        return rest.strip_prefix(signs);
    }
    let name = rest.find([' ', '\t']).unwrap_or(rest.len());
    let behind = |sign: char| signs.contains(&sign).then(|| behind_name(rest, name, sign));
    [':', '-'].into_iter().filter_map(behind).flatten().next()
}

/// What comes after `name:12:`, the name being shorter than `until` bytes and with a point or a slash in it.
fn behind_name(line: &str, until: usize, sign: char) -> Option<&str> {
    line[..until].match_indices(sign).find_map(|(at, _)| {
        if !line[..at].contains(['.', '/', '\\']) {
            return None;
        }
        let (number, rest) = figures(&line[at + 1..]);
        rest.strip_prefix(sign).filter(|_| number)
    })
}

/// Whether a text begins with figures, and what comes after them.
fn figures(text: &str) -> (bool, &str) {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (rest.len() < text.len(), rest)
}

/// The last component of a path.
pub(super) fn base_name(path: &str) -> &str {
    let path = path.trim().trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gutters() {
        let table = [
            ("     1→fn a()", Some("fn a()")),
            ("    12\tfn a()", Some("fn a()")),
            ("00012| fn a()", Some(" fn a()")),
            ("00012|", Some("")),
            ("12:fn a()", Some("fn a()")),
            ("12-    b();", Some("    b();")),
            ("src/a-2-b.rs:12:fn a()", Some("fn a()")),
            ("src/a.rs-12-fn a()", Some("fn a()")),
            ("src\\a.rs:12:fn a()", Some("fn a()")),
            ("fn a() { 12: }", None),
            ("fn a()", None),
            ("std::fs:12:x", None),
            ("2", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(gutter(line), expected, "{line:?}");
        }
    }

    #[test]
    fn lines_beside_a_match() {
        let table = [
            ("12:fn a()", false),
            ("12-    b();", true),
            ("src/a-2-b.rs:12:fn a()", false),
            ("src/a.rs-12-fn a()", true),
            ("    12\t- one", false),
            ("fn a()", false),
        ];
        for (line, expected) in table {
            assert_eq!(is_beside_match(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_patch_is_read_from_both_sides() {
        let patch = "@@ -1,3 +1,3 @@\n fn a() {\n-    b();\n+    c();\n }";
        let readings = readings(patch);
        assert!(readings.iter().any(|text| text.ends_with("fn a() {\nb();\n}")));
        assert!(readings.iter().any(|text| text.ends_with("fn a() {\nc();\n}")));
    }
}
