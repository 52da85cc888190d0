//! The columns of a comparison: the name, meaning and content of each, once for the
//! terminal and the page, which decide how a value is written. What a figure is stands in its list
//! ([`FIGURES`]).

use foldback_replay::compare::{FIGURES, Figure, FigureForm, Metric, PresetLine, Standing};
use foldback_replay::{Comparison, Reporting};

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A share or a ratio with its interval.
    Metric(&'a Metric),
    /// A metric that another figure contradicts.
    Doubted(&'a Metric),
    /// A share or a ratio.
    Share(Option<f64>),
    /// A share to a tenth of a percent.
    Percent(f64),
    /// A share that may be drawn as part of a whole.
    Part(f64),
    /// A number with one decimal.
    Decimal(Option<f64>),
    /// A number of tokens.
    Tokens(Option<u64>),
    /// A count.
    Count(u64),
    /// A count of defects.
    Faults(u64),
    /// Words.
    Text(String),
    /// A name, for example of another preset.
    Name(&'a str),
}

/// A preset with what its cells are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) preset: &'a PresetLine,
    pub(crate) standing: Standing<'a>,
}

impl<'a> std::ops::Deref for Line<'a> {
    type Target = &'a PresetLine;

    fn deref(&self) -> &Self::Target {
        &self.preset
    }
}

/// A column of a table of presets: a figure of the list, or what a figure can't say.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `{regime}` and `{tokens}` stand for what a comparison is reported by.
    meaning: &'static str,
    of: Source,
    /// Whether a terminal has room for it.
    pub(crate) narrow: bool,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Figure(&'static Figure),
    Line(for<'a> fn(Line<'a>) -> Value<'a>),
}

impl Column {
    /// A figure by its name on screens.
    fn figure(title: &str, narrow: bool) -> Option<Self> {
        let figure = FIGURES.iter().find(|figure| figure.title == title)?;
        let Figure { title: name, meaning, .. } = figure;
        Some(Self { name, meaning, of: Source::Figure(figure), narrow })
    }

    /// The cell of a preset in this column.
    pub(crate) fn cell<'a>(&self, line: Line<'a>) -> Value<'a> {
        let figure = match self.of {
            Source::Figure(figure) => figure,
            Source::Line(of) => return of(line),
        };
        let metric = (figure.of)(&line.preset.metrics);
        match figure.shown {
            // The second judge disagrees with the first.
            FigureForm::Interval if figure.name == "verbatim_far" && line.good_by_one.is_some() => {
                Value::Doubted(metric)
            }
            FigureForm::Interval => Value::Metric(metric),
            FigureForm::Percent => Value::Percent(metric.value.unwrap_or_default()),
            FigureForm::Part => Value::Part(metric.value.unwrap_or(1.0)),
            FigureForm::Decimal => Value::Decimal(metric.value),
            FigureForm::Tokens => Value::Tokens(metric.value.map(|tokens| tokens.round() as u64)),
            FigureForm::Share | FigureForm::Nowhere => Value::Share(metric.value),
        }
    }

    /// The meaning of the column in this comparison.
    pub(crate) fn meaning(&self, reporting: &Reporting) -> String {
        let meaning = self.meaning.replace("{regime}", &reporting.regime);
        meaning.replace("{tokens}", &unit(&reporting.estimator))
    }
}

/// The unit of an estimator, in words: `o200k tokens`.
fn unit(estimator: &str) -> String {
    let vocabulary = estimator.split(' ').next().unwrap_or_default();
    format!("{vocabulary} tokens").trim_start().to_owned()
}

/// The meanings of columns of the headline, by their names, as a line of text.
pub(crate) fn meanings(names: &[&str], reporting: &Reporting) -> String {
    let columns = headline().into_iter().filter(|column| names.contains(&column.name));
    let meanings = columns.map(|column| format!("{}: {}", column.name, column.meaning(reporting)));
    meanings.collect::<Vec<_>>().join(" · ")
}

/// The lines of a comparison, in the order of its presets.
pub(crate) fn lines(comparison: &Comparison) -> Vec<Line<'_>> {
    let lines = comparison.presets.iter().zip(comparison.standings());
    lines.map(|(preset, standing)| Line { preset, standing }).collect()
}

/// The names of columns, those of figures and of the others; a terminal has room for `narrow` ones.
fn columns(names: &[&str], narrow: &[&str], others: &[Column]) -> Vec<Column> {
    let column = |name: &&str| {
        let other = others.iter().find(|column| column.name == *name).copied();
        other.or_else(|| Column::figure(name, narrow.contains(name)))
    };
    names.iter().filter_map(column).collect()
}

/// Cost, retention and losses of a preset.
pub(crate) fn headline() -> Vec<Column> {
    const NAMES: [&str; 14] = [
        "cost",
        "net",
        "all read",
        "dominated by",
        "kept",
        "kept since",
        "verbatim",
        "edits",
        "near",
        "missed",
        "reread",
        "rules",
        "last error",
        "faithful",
    ];
    let others = [Column {
        name: "dominated by",
        meaning: "a strategy, or doing nothing if everything fits, that costs no more, keeps no less (kept), and is \
                      better in one of them; by the values alone",
        of: Source::Line(|line| match line.standing {
            Standing::Front => Value::Name("on the front"),
            Standing::Dominated(by) => Value::Name(by),
            Standing::Apart => Value::Share(None),
        }),
        narrow: false,
    }];
    columns(
        &NAMES,
        &["cost", "net", "all read", "kept", "verbatim", "edits", "near", "missed", "rules"],
        &others,
    )
}

/// The actions of each preset.
pub(crate) fn activity() -> Vec<Column> {
    const NAMES: [&str; 9] =
        ["acted", "input", "peak", "over", "folds", "prunes", "cleared", "cache", "broken"];
    let other = |name, meaning, of| Column { name, meaning, of: Source::Line(of), narrow: true };
    let others = [
        other("acted", "sessions in which it changed something", |line| {
            Value::Text(format!("{}/{}", line.triggered, line.sessions))
        }),
        other(
            "over",
            "requests that were over the window when they were sent, by their calibrated size where usage is recorded, and could \
             have been made to fit",
            |line| Value::Faults(line.gate.over),
        ),
        other("folds", "summaries or drops", |line| {
            Value::Count(line.compactions - line.prune_operations)
        }),
        other("prunes", "clearings", |line| Value::Count(line.prune_operations)),
        other("broken", "provider rules broken by the preset", |line| {
            Value::Faults(line.gate.strategy_violations)
        }),
    ];
    columns(&NAMES, &NAMES, &others)
}
