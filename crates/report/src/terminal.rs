//! What the reports for a terminal share: how wide they may be, tables without frames, and texts broken at blanks.
//!
//! No number and no name is ever broken in two. A table that is too wide leaves out what matters least and says so;
//! a name that is too long is cut in its middle, where the cut can be seen.

use crate::plain;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// How wide a report may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Width {
    /// Columns at which texts are broken.
    pub(crate) text: usize,
    /// Columns of a table.
    pub(crate) table: usize,
}

/// Columns of a text that is not for a terminal.
const READABLE: usize = 100;

impl Width {
    /// A terminal of so many columns.
    pub fn terminal(columns: u16) -> Self {
        let columns = usize::from(columns);
        Self { text: columns, table: columns }
    }

    /// A pipe, a file or a page: whoever reads it there takes tables as wide as they are.
    pub fn pipe() -> Self {
        Self { text: READABLE, table: usize::MAX }
    }
}

/// The heading of a column, and what is done with it.
#[derive(Clone, Debug)]
pub struct Head {
    name: String,
    /// Whether its cells stand to the left, as words do.
    left: bool,
    /// Whether its cells are names, which are cut where they are long.
    names: bool,
    /// How much it matters; the least goes first.
    keep: u8,
}

/// How much a column matters that is always there.
pub const ALWAYS: u8 = u8::MAX;

impl Head {
    /// The column that says what a row is of.
    pub fn names(name: impl Into<String>) -> Self {
        Self { name: name.into(), left: true, names: true, keep: ALWAYS }
    }

    /// A column of words.
    pub fn words(name: impl Into<String>, keep: u8) -> Self {
        Self { name: name.into(), left: true, names: false, keep }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>, keep: u8) -> Self {
        Self { name: name.into(), left: false, names: false, keep }
    }
}

/// Columns of a name that gives way before another column does.
const LONG_NAME: usize = 30;

/// The least that is left of a shortened name.
const SHORT_NAME: usize = 12;

/// Blanks between two columns.
const GAP: usize = 2;

/// Appends a table, and under it what it has no room for.
pub fn table(out: &mut String, width: Width, heads: &[Head], rows: Vec<Vec<String>>) {
    let left_out = lay_out(out, width.table, Rules::Three, heads, rows);
    if !left_out.is_empty() {
        let text =
            format!("no room for: {} (a wider terminal, or COLUMNS=200)", left_out.join(", "));
        wrap(out, "", "  ", &text, width);
    }
}

/// The rules of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rules {
    /// Above and below the headings, and at the end.
    Three,
    /// Below the headings alone.
    One,
}

/// Appends a table and gives the headings that it has no room for.
pub(crate) fn lay_out(
    out: &mut String,
    room: usize,
    rules: Rules,
    heads: &[Head],
    rows: Vec<Vec<String>>,
) -> Vec<String> {
    let plain = |cell: &str| plain::line(cell).into_owned();
    let rows: Vec<Vec<String>> =
        rows.into_iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
    let wanted: Vec<usize> = heads
        .iter()
        .enumerate()
        .map(|(at, head)| {
            let cells = rows.iter().filter_map(|row| row.get(at));
            cells.map(|cell| cell.width()).chain([head.name.width()]).max().unwrap_or(0)
        })
        .collect();
    let (shown, widths) = fit(room, heads, wanted);
    let line = |cells: &[String]| {
        let mut text = String::new();
        for (place, at) in (0..heads.len()).filter(|at| shown[*at]).enumerate() {
            let cell = cells.get(at).map_or("", String::as_str);
            let cell = if heads[at].names { shortened(cell, widths[at]) } else { cell.to_owned() };
            let blanks = " ".repeat(widths[at].saturating_sub(cell.width()));
            let gap = " ".repeat(if place == 0 { 0 } else { GAP });
            match heads[at].left {
                true => text.extend([gap.as_str(), &cell, &blanks]),
                false => text.extend([gap.as_str(), &blanks, &cell]),
            }
        }
        text.trim_end().to_owned()
    };
    let names: Vec<String> = heads.iter().map(|head| head.name.clone()).collect();
    let rule = "─".repeat(total(&widths, &shown));
    let outer = (rules == Rules::Three).then(|| rule.clone());
    let head = outer.clone().into_iter().chain([line(&names), rule]);
    for line in head.chain(rows.iter().map(|row| line(row))).chain(outer) {
        out.push_str(&line);
        out.push('\n');
    }
    names.into_iter().zip(shown).filter(|(_, shown)| !shown).map(|(name, _)| name).collect()
}

/// Which columns are shown, and how wide they are.
fn fit(room: usize, heads: &[Head], mut widths: Vec<usize>) -> (Vec<bool>, Vec<usize>) {
    let mut shown = vec![true; heads.len()];
    let names = heads.iter().position(|head| head.names);
    let give_way = |shown: &[bool], widths: &mut Vec<usize>, least: usize| {
        let over = total(widths, shown).saturating_sub(room);
        if let Some(width) = names.and_then(|at| widths.get_mut(at))
            && *width > least
        {
            *width = width.saturating_sub(over).max(least);
        }
    };
    give_way(&shown, &mut widths, LONG_NAME);
    let mut order: Vec<usize> = (0..heads.len()).filter(|at| heads[*at].keep < ALWAYS).collect();
    order.sort_by_key(|at| heads[*at].keep);
    for at in &order {
        if total(&widths, &shown) <= room {
            break;
        }
        shown[*at] = false;
    }
    // A less important column may be narrow enough where a more important one had no room.
    for at in order.iter().rev().filter(|at| heads[**at].keep > 0) {
        let before = std::mem::replace(&mut shown[*at], true);
        shown[*at] = before || total(&widths, &shown) <= room;
    }
    give_way(&shown, &mut widths, SHORT_NAME);
    (shown, widths)
}

fn total(widths: &[usize], shown: &[bool]) -> usize {
    let widths = widths.iter().zip(shown).filter(|(_, shown)| **shown);
    widths.map(|(width, _)| width + GAP).sum::<usize>().saturating_sub(GAP)
}

/// A name of at most so many columns: what is too long is cut in its middle, since names differ at their ends.
pub(crate) fn shortened(name: &str, width: usize) -> String {
    if name.width() <= width {
        return name.to_owned();
    }
    let room = width.saturating_sub(1);
    let take = |chars: &mut dyn Iterator<Item = char>, room: usize| -> String {
        let mut taken = String::new();
        for c in chars {
            if taken.width() + c.to_string().width() > room {
                break;
            }
            taken.push(c);
        }
        taken
    };
    let start = take(&mut name.chars(), room.div_ceil(2));
    let end = take(&mut name.chars().rev(), room - room.div_ceil(2));
    format!("{start}…{}", end.chars().rev().collect::<String>())
}

/// The sign for a missing value.
pub(crate) fn dash() -> String {
    "–".to_owned()
}

/// A share in percent with a decimal, and its interval if there is one: `70.2% (52–91)`.
pub(crate) fn measured(value: Option<f64>, interval: Option<(f64, f64)>) -> String {
    let Some(value) = value else {
        return dash();
    };
    let whole = |(lo, hi): (f64, f64)| format!(" ({:.0}–{:.0})", lo * 100.0, hi * 100.0);
    format!("{:.1}%{}", value * 100.0, interval.map_or_else(String::new, whole))
}

/// Appends a text broken at blanks to the width, with an indent for the first line and one for the others. What has
/// no blank, such as a path, is broken only on a terminal, and only where a line of its own is too short for it.
pub fn wrap(out: &mut String, first: &str, rest: &str, text: &str, width: Width) {
    let mut column = first.width();
    out.push_str(first);
    let mut fresh = true;
    for word in text.split([' ', '\n']) {
        let length = word.width();
        if !fresh && column + 1 + length > width.text {
            column = next_line(out, rest);
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        for c in word.chars() {
            if column >= width.text && width.table < usize::MAX {
                column = next_line(out, rest);
            }
            out.push(c);
            column += c.width().unwrap_or(0);
        }
        fresh = false;
    }
    out.push('\n');
}

fn next_line(out: &mut String, indent: &str) -> usize {
    out.push('\n');
    out.push_str(indent);
    indent.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "opencode+llm(a-rather-large-model v2 c00ba315)";

    fn laid_out(columns: u16) -> String {
        let heads = [
            Head::words("#", ALWAYS),
            Head::names("preset"),
            Head::number("cleared", 1),
            Head::number("kept", ALWAYS),
            Head::words("stands out", 2),
            Head::number("over", 0),
        ];
        let row = |name: &str, number: &str| {
            [number, name, "118,740", "100 (99–100)", "forgets much", "19 ~21"]
                .map(str::to_owned)
                .to_vec()
        };
        let mut text = String::new();
        table(&mut text, Width::terminal(columns), &heads, vec![row(NAME, "1 ~"), row("none", "")]);
        text
    }

    /// Every word of a narrow table stands in the wide one.
    #[test]
    fn nothing_is_broken_at_any_width() {
        let wide = laid_out(400);
        let whole: Vec<&str> = wide.split_whitespace().collect();
        for columns in 40..160 {
            let text = laid_out(columns);
            for line in text.lines() {
                assert!(line.width() <= usize::from(columns), "{columns}: {line}");
            }
            let (table, _) = text.split_once("no room").unwrap_or((&text, ""));
            for word in table.split_whitespace().filter(|word| !word.contains(['─', '…'])) {
                assert!(whole.contains(&word) || NAME.contains(word), "{columns}: {word}\n{text}");
            }
            assert_eq!(text.matches("100 (99–100)").count(), 2, "{columns}\n{text}");
        }
    }

    #[test]
    fn the_least_important_column_goes_first() {
        let gone = |columns| {
            let text = laid_out(columns);
            text.split_once("no room for: ")
                .map(|(_, gone)| gone.split(" (").next().unwrap_or("").to_owned())
        };
        assert_eq!(gone(400), None);
        // The long name gives way first.
        assert_eq!(gone(85), None);
        assert_eq!(gone(76).as_deref(), Some("over"));
        assert_eq!(gone(66).as_deref(), Some("cleared, over"));
        assert_eq!(gone(50).as_deref(), Some("cleared, stands out, over"));
    }

    #[test]
    fn a_name_is_cut_in_its_middle() {
        let table = [
            ("short", 5, "short"),
            ("opencode+llm(model v2 c00ba315)", 18, "opencode+…00ba315)"),
            ("漢字漢字漢字", 7, "漢…字"),
            ("long", 1, "…"),
        ];
        for (name, width, expected) in table {
            let cut = shortened(name, width);
            assert!(cut.width() <= width, "{cut}");
            assert_eq!(cut, expected);
        }
    }

    #[test]
    fn a_word_is_broken_on_a_terminal_that_is_too_narrow_for_it() {
        let wrapped = |width| {
            let mut out = String::new();
            wrap(&mut out, "  ", "    ", "see /a/very/long/path.jsonl there", width);
            out
        };
        assert_eq!(wrapped(Width::terminal(30)), "  see /a/very/long/path.jsonl\n    there\n");
        assert_eq!(
            wrapped(Width::terminal(20)),
            "  see\n    /a/very/long/pat\n    h.jsonl there\n"
        );
        let pipe = Width { text: 20, ..Width::pipe() };
        assert_eq!(wrapped(pipe), "  see\n    /a/very/long/path.jsonl\n    there\n");
    }
}
