//! Text on its way into markup, and the pieces that every section is made of.

use super::STYLE;
use super::script::policy;
use crate::verdict;
use foldback_replay::Comparison;
use foldback_replay::compare::PresetLine;
use std::fmt::{self, Display, Write as _};

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

/// Text that may be broken after slashes, plus signs and hyphens.
pub(super) fn breakable(data: &str) -> String {
    let pieces = data.split_inclusive(['/', '+', '-']).map(|piece| text(piece).to_string());
    pieces.collect::<Vec<_>>().join("<wbr>")
}

/// A name as a part of an address.
pub fn encoded(name: &str) -> String {
    let byte = |byte: u8| match byte {
        b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    name.bytes().map(byte).collect()
}

/// Markup that leads to an address, if there is one.
pub(super) fn linked(address: Option<&String>, markup: impl Display) -> String {
    match address {
        Some(address) => format!("<a href=\"{}\">{markup}</a>", text(address)),
        None => markup.to_string(),
    }
}

/// The beginning of a page with one script, up to its body; `style` comes after that of all pages.
pub(super) fn head(title: &str, script: &str, style: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n\
         <title>foldback: {}</title>\n<style>\n{STYLE}{style}</style>\n</head>\n<body>\n",
        policy(script),
        text(title),
    )
}

/// The name of a preset, which may be broken.
pub(super) fn name(comparison: &Comparison, line: &PresetLine) -> String {
    breakable(verdict::name(comparison, line))
}

/// Opens a section that is folded away under its title.
pub(super) fn open_fold(out: &mut String, id: &str, title: &str) {
    fold(out, id, title, "");
}

/// The same unfolded.
pub(super) fn open_unfolded(out: &mut String, id: &str, title: &str) {
    fold(out, id, title, " open");
}

fn fold(out: &mut String, id: &str, title: &str, open: &str) {
    let _ = writeln!(
        out,
        "<details class=\"fold\"{open}>\n<summary><h2>{title}</h2></summary>\n<section id=\"{id}\">"
    );
}

/// The end of one.
pub(super) const END_FOLD: &str = "</section>\n</details>\n";

/// Opens a table that scrolls by itself, and the header in it.
pub(super) fn open_table(out: &mut String, label: &str, class: &str) {
    let _ = write!(
        out,
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{label}\">\n\
         <table class=\"{class}\">\n<thead>\n<tr>"
    );
}

/// The markup between the header of a table and its rows.
pub(super) const BODY: &str = "</tr>\n</thead>\n<tbody>\n";

/// The end of a table.
pub(super) const END_TABLE: &str = "</tbody>\n</table>\n</div>\n";

/// Headings of columns, as markup.
pub(super) fn col_heads(out: &mut String, names: impl IntoIterator<Item = impl Display>) {
    for name in names {
        let _ = write!(out, "<th scope=\"col\">{name}</th>");
    }
}

/// Opens a row with its heading.
pub(super) fn row_head(out: &mut String, name: impl Display) {
    let _ = write!(out, "<tr><th scope=\"row\">{name}</th>");
}

/// A cell with markup in it, and of a class if there is one.
pub(super) fn td(out: &mut String, class: &str, markup: impl Display) {
    let _ = match class {
        "" => write!(out, "<td>{markup}</td>"),
        class => write!(out, "<td class=\"{class}\">{markup}</td>"),
    };
}

/// The same with the name of its column.
pub(super) fn named_td(out: &mut String, name: &str, class: &str, markup: impl Display) {
    named(out, name, |out| td(out, class, markup));
}

/// Gives the cell that is written the name of its column, which stands beside it where a screen is too narrow for
/// columns.
pub(super) fn named(out: &mut String, name: &str, cell: impl FnOnce(&mut String)) {
    let at = out.len() + "<td".len();
    cell(out);
    out.insert_str(at, &format!(" data-name=\"{}\"", text(name)));
}

/// The rows of a table with a row per preset: strategies as they are placed, then the controls.
pub(super) fn preset_rows(
    out: &mut String,
    comparison: &Comparison,
    columns: usize,
    row: impl Fn(&mut String, usize),
) {
    for at in comparison.by_bill() {
        row(out, at);
    }
    let controls = comparison.controls();
    if !controls.is_empty() {
        let _ = writeln!(
            out,
            "</tbody>\n<tbody class=\"controls\">\n<tr class=\"group\"><th scope=\"rowgroup\" \
             colspan=\"{columns}\">Controls, to compare with</th></tr>"
        );
    }
    for at in controls {
        row(out, at);
    }
}

/// Text at a place of a drawing; `anchor` says which end of it stands there.
pub(super) fn svg_text(out: &mut String, x: u64, y: u64, anchor: &str, text: impl Display) {
    let _ = write!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{text}</text>");
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
