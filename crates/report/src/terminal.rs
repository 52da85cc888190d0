//! What the reports for a terminal share: tables without frames, and texts broken at its width.

use crate::plain;
use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};

/// Lines above and below the header and at the end; rows stand close together.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// Names of more characters than any preset's with a summarizer that needs no model.
const LONG_NAME: u16 = 30;

/// Appends a table: the column of names and what stands before it to the left, numbers to the right.
/// Nothing is broken where the terminal leaves another way; names are broken last.
pub(crate) fn table(
    out: &mut String,
    width: u16,
    names: usize,
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
) {
    let plain = |row: Vec<String>| row.into_iter().map(|cell| plain::line(&cell).into_owned());
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(width)
        .set_header(plain(header))
        .add_rows(rows.into_iter().map(plain));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        column.set_constraint(ColumnConstraint::ContentWidth);
        if index > names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    let fits = |text: &str| text.lines().all(|line| line.chars().count() <= usize::from(width));
    // A name that tells a model and its settings is broken before numbers are.
    let widths = table.column_max_content_widths();
    if !fits(&text) && widths.get(names).is_some_and(|width| *width > LONG_NAME) {
        if let Some(column) = table.column_mut(names) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(LONG_NAME - 6)));
        }
        text = table.trim_fmt();
    }
    if !fits(&text) {
        for (index, column) in table.column_iter_mut().enumerate() {
            if index != names || width < 100 {
                column.remove_constraint();
            }
        }
        text = table.trim_fmt();
    }
    out.push_str(&text);
    out.push('\n');
}

/// A share in percent with a decimal, and its interval where there is one: `70.2% (52–91)`.
pub(crate) fn measured(value: Option<f64>, interval: Option<(f64, f64)>) -> String {
    let Some(value) = value else {
        return "–".to_owned();
    };
    let whole = |(lo, hi): (f64, f64)| format!(" ({:.0}–{:.0})", lo * 100.0, hi * 100.0);
    format!("{:.1}%{}", value * 100.0, interval.map_or_else(String::new, whole))
}

/// Appends a text broken at blanks to the width, with an indent for the first line and one for the others.
/// What has no blank is broken where the line ends.
pub(crate) fn wrap(out: &mut String, first: &str, rest: &str, text: &str, width: u16) {
    let width = usize::from(width);
    let mut column = first.chars().count();
    out.push_str(first);
    let mut fresh = true;
    for word in text.split([' ', '\n']) {
        let length = word.chars().count();
        if !fresh && column + 1 + length > width {
            column = next_line(out, rest);
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        for c in word.chars() {
            if column == width {
                column = next_line(out, rest);
            }
            out.push(c);
            column += 1;
        }
        fresh = false;
    }
    out.push('\n');
}

fn next_line(out: &mut String, indent: &str) -> usize {
    out.push('\n');
    out.push_str(indent);
    indent.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_before_a_number() {
        let row = |name: &str, rest: &str| {
            let rest = std::iter::repeat_n(rest, 8);
            std::iter::once(name).chain(rest).map(str::to_owned).collect::<Vec<_>>()
        };
        let name = "opencode+llm(a-rather-large-model v2 c00ba315)";
        let mut text = String::new();
        table(&mut text, 100, 0, row("preset", "cleared"), [row(name, "100.0%")]);
        for whole in ["cleared", "100.0%"] {
            assert_eq!(text.matches(whole).count(), 8, "{whole}\n{text}");
        }
        assert!(!text.contains(name), "{text}");
    }
}
