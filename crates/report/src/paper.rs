//! The table of a comparison in a form that a paper takes: LaTeX, Markdown, or CSV for a plot. It has the figures of the first
//! screen, of every preset that acted.

use crate::rows::csv::written;
use crate::{first, verdict};
use foldback_replay::Comparison;
use foldback_replay::compare::PresetLine;
use unicode_width::UnicodeWidthStr as _;

/// How a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A `tabular` for the package booktabs.
    Latex,
    /// Numbers alone, an interval as two columns.
    Csv,
    /// A table of GitHub-flavoured Markdown.
    Markdown,
}

/// The table.
pub fn table(comparison: &Comparison, form: Form) -> String {
    let lines: Vec<&PresetLine> =
        comparison.answer().shown.into_iter().map(|at| &comparison.presets[at]).collect();
    if form == Form::Csv {
        return csv(comparison, &lines);
    }
    let heads =
        ["preset", "$ a session", &versus(comparison), "in view", "note"].map(str::to_owned);
    let row =
        |line: &&PresetLine| first::cells(comparison, line, verdict::remarks(comparison, line));
    let rows: Vec<[String; 5]> = lines.iter().map(row).collect();
    match form {
        Form::Latex => latex(comparison, &heads, &rows),
        _ => markdown(&heads, &rows),
    }
}

fn versus(comparison: &Comparison) -> String {
    comparison.base.as_ref().map_or_else(|| "vs base".to_owned(), first::versus)
}

/// Dollars and percent with the digits that the screen has, empty where a value is not known.
fn csv(comparison: &Comparison, lines: &[&PresetLine]) -> String {
    const HEADS: [&str; 8] = [
        "preset",
        "usd_per_session",
        "percent_vs_base",
        "likely_low",
        "likely_high",
        "percent_in_view",
        "base",
        "note",
    ];
    let base = comparison.base.as_ref().map_or("", |base| &base.preset);
    // Without the sign that a small loss leaves on zero.
    let whole = |value: f64| format!("{}", (value * 100.0).round() + 0.0);
    let change = |ratio: Option<f64>| ratio.map_or_else(String::new, |ratio| whole(ratio - 1.0));
    let row = |line: &&PresetLine| {
        let usd = first::a_session(comparison, line);
        let usd = usd.map(|usd| verdict::amount(comparison, usd).replace(['$', ','], ""));
        let in_view = line.metrics.frr_obs_far.value.map(whole);
        [
            verdict::name(comparison, line).to_owned(),
            usd.unwrap_or_default().replace('−', "-"),
            change(line.ratio.value),
            change(line.ratio.lo),
            change(line.ratio.hi),
            in_view.unwrap_or_default(),
            base.to_owned(),
            verdict::remarks(comparison, line),
        ]
    };
    let heads = HEADS.map(str::to_owned);
    [heads].iter().chain(&lines.iter().map(row).collect::<Vec<_>>()).map(written).collect()
}

fn markdown(heads: &[String; 5], rows: &[[String; 5]]) -> String {
    let escaped = |cell: &String| {
        let mut out = String::new();
        for sign in one_line(cell).chars() {
            if r"\|*_`<>[]#~".contains(sign) {
                out.push('\\');
            }
            out.push(sign);
        }
        out
    };
    let cells: Vec<[String; 5]> =
        [heads].into_iter().chain(rows).map(|row| row.each_ref().map(escaped)).collect();
    let width = |at: usize| cells.iter().map(|row| row[at].width()).max().unwrap_or(0).max(4);
    let line = |row: &[String; 5]| {
        let padded = row.iter().enumerate().map(|(at, cell)| {
            let blanks = " ".repeat(width(at) - cell.width());
            if is_left(at) { format!("{cell}{blanks}") } else { format!("{blanks}{cell}") }
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rule: [String; 5] = std::array::from_fn(|at| match is_left(at) {
        true => "-".repeat(width(at)),
        false => format!("{}:", "-".repeat(width(at) - 1)),
    });
    let (head, body) = cells.split_at(1);
    head.iter().chain([&rule]).chain(body).map(line).collect()
}

fn latex(comparison: &Comparison, heads: &[String; 5], rows: &[[String; 5]]) -> String {
    let line = |row: &[String; 5]| {
        format!("{} \\\\\n", row.each_ref().map(|cell| latex_text(cell)).join(" & "))
    };
    let columns: String = (0..heads.len()).map(|at| if is_left(at) { 'l' } else { 'r' }).collect();
    let body: String = rows.iter().map(line).collect();
    format!(
        "% {}\n% \\usepackage{{booktabs}}\n\\begin{{tabular}}{{{columns}}}\n\\toprule\n{}\\midrule\n{body}\\bottomrule\n\
         \\end{{tabular}}\n",
        comparison.provenance.made(),
        line(heads)
    )
}

/// Whether a column holds words.
fn is_left(column: usize) -> bool {
    matches!(column, 0 | 4)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text in LaTeX, with what would be a command there spelled out.
fn latex_text(text: &str) -> String {
    let mut out = String::new();
    for sign in one_line(text).chars() {
        out.push_str(match sign {
            '\\' => r"\textbackslash{}",
            '{' => r"\{",
            '}' => r"\}",
            '$' => r"\$",
            '&' => r"\&",
            '#' => r"\#",
            '%' => r"\%",
            '_' => r"\_",
            '^' => r"\textasciicircum{}",
            '~' => r"\textasciitilde{}",
            '<' => r"\textless{}",
            '>' => r"\textgreater{}",
            '|' => r"\textbar{}",
            '`' => r"\textasciigrave{}",
            '"' => "''",
            '[' => "{[}",
            ']' => "{]}",
            '−' => "$-$",
            '–' => "--",
            _ => {
                out.push(sign);
                continue;
            }
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::tests::fixtures::tiny;

    #[test]
    fn a_table_stands_in_each_form() {
        let forms = [Form::Latex, Form::Csv, Form::Markdown].map(|form| table(&tiny(), form));
        insta::assert_snapshot!(forms.join("\n"));
    }

    #[test]
    fn what_means_something_in_a_form_is_escaped() {
        let mut comparison = tiny();
        comparison.presets[1].preset = "=a_b,\"c\"|d\n&%$#{x}\\y^~<z>`[*]−".to_owned();
        comparison.presets[1].summarizer = None;
        let table = [
            (
                Form::Latex,
                r"=a\_b,''c''\textbar{}d \&\%\$\#\{x\}\textbackslash{}y\textasciicircum{}\textasciitilde{}\textless{}z\textgreater{}\textasciigrave{}{[}*{]}$-$ &",
            ),
            (Form::Csv, "\"'=a_b,\"\"c\"\"|d\n&%$#{x}\\y^~<z>`[*]−\","),
            (Form::Markdown, r#"| =a\_b,"c"\|d &%$\#{x}\\y^\~\<z\>\`\[\*\]−"#),
        ];
        for (form, expected) in table {
            let text = super::table(&comparison, form);
            assert!(text.contains(expected), "{text}");
        }
    }
}
