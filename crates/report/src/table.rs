//! The comparison as tables for a terminal of 80 columns or more.

mod activity;
mod headline;
mod idle;
mod notes;

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, Table, TableStyle, Width,
};
use foldback_replay::Comparison;

/// How much of the detail is printed.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    /// Columns of the terminal.
    pub width: u16,
    /// Idle sessions listed per preset.
    pub idle_per_preset: usize,
}

impl Default for Layout {
    fn default() -> Self {
        Self { width: 100, idle_per_preset: 3 }
    }
}

/// The whole report: corpus, what each preset did, what it cost and kept, idle sessions, what to know.
pub fn comparison(comparison: &Comparison, layout: Layout) -> String {
    let mut out = String::new();
    notes::corpus(&mut out, comparison);
    out.push('\n');
    activity::table(&mut out, comparison, layout);
    out.push('\n');
    headline::table(&mut out, comparison, layout);
    notes::cautions(&mut out, comparison, layout);
    idle::list(&mut out, comparison, layout);
    notes::footer(&mut out, comparison, layout);
    out
}

/// Lines above and below the header and at the end; rows stand close together.
const STYLE: TableStyle = TableStyle::new()
    .top_border(LineStyle::none().fill('─').junction('─'))
    .header_separator(LineStyle::none().fill('─').junction('─'))
    .bottom_border(LineStyle::none().fill('─').junction('─'));

/// An empty table that fits the terminal.
fn fitted(layout: Layout) -> Table {
    let mut table = Table::new();
    table
        .load_style(STYLE)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(layout.width);
    table
}

/// Names of more characters than any preset's with a summarizer that needs no model.
const LONG_NAME: u16 = 30;

/// Sets a table: the column of names and what stands before it to the left, numbers to the right.
/// Nothing is broken where the terminal leaves another way; names are broken last.
fn set(out: &mut String, mut table: Table, names: usize, layout: Layout) {
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        column.set_constraint(ColumnConstraint::ContentWidth);
        if index > names {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text = table.trim_fmt();
    let fits = |text: &str| {
        let mut lines = text.lines();
        lines.all(|line| line.chars().count() <= usize::from(layout.width))
    };
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
            if index != names || layout.width < 100 {
                column.remove_constraint();
            }
        }
        text = table.trim_fmt();
    }
    out.push_str(&text);
    out.push('\n');
}

/// Appends a text, broken at spaces; later lines are indented two more than the first.
fn wrap(out: &mut String, indent: &str, text: &str, width: u16) {
    let width = usize::from(width);
    let mut line = indent.to_owned();
    let mut used = indent.chars().count();
    let mut fresh = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if !fresh && used + 1 + length > width {
            out.push_str(&line);
            out.push('\n');
            line = format!("{indent}  ");
            used = line.chars().count();
            fresh = true;
        }
        if !fresh {
            line.push(' ');
            used += 1;
        }
        line.push_str(word);
        used += length;
        fresh = false;
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_broken_before_a_number() {
        let layout = Layout { width: 100, ..Layout::default() };
        let mut table = fitted(layout);
        table.set_header(["preset"].into_iter().chain(["cleared"; 8]));
        let name = "opencode+llm(a-rather-large-model v2 c00ba315)";
        table.add_row([name].into_iter().chain(["100.0%"; 8]));
        let mut text = String::new();
        set(&mut text, table, 0, layout);
        for whole in ["cleared", "100.0%"] {
            assert_eq!(text.matches(whole).count(), 8, "{whole}\n{text}");
        }
        assert!(!text.contains(name), "{text}");
    }
}
