//! The columns of a comparison: the name, meaning and content of each, once for the
//! terminal and the page, which decide how a value is written.

use foldback_replay::compare::{Metric, Place, PresetLine, Primary, Standing};
use foldback_replay::{Comparison, Reporting};

/// The content of a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A share or a ratio with its interval.
    Metric(&'a Metric),
    /// The same if another figure disagrees.
    Doubted(&'a Metric),
    /// A share or a ratio.
    Share(Option<f64>),
    /// A share or a ratio that is a bound from above.
    AtMost(Option<f64>),
    /// A share to a tenth of a percent.
    Percent(f64),
    /// The same, of a whole that may be drawn.
    Part(f64),
    /// A number with this many decimals.
    Decimal(Option<f64>, usize),
    /// A number of tokens.
    Tokens(Option<u64>),
    /// A count.
    Count(u64),
    /// A count of defects; whether they stand out.
    Faults(u64, bool),
    /// Requests that were sent over the window, and those that are over it by their calibrated size.
    Over(u64, u64),
    /// Words.
    Text(String),
    /// A name, such as that of another preset.
    Name(&'a str),
    /// The rank of a preset, and whether its requests fit by measured tokens alone.
    Place(Place, bool),
}

/// A value and a detail to add if there is room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) note: Option<String>,
}

impl<'a> From<(Value<'a>, Option<String>)> for Cell<'a> {
    fn from((value, note): (Value<'a>, Option<String>)) -> Self {
        Self { value, note }
    }
}

impl<'a> From<Value<'a>> for Cell<'a> {
    fn from(value: Value<'a>) -> Self {
        Self { value, note: None }
    }
}

impl<'a> From<&'a Metric> for Cell<'a> {
    fn from(metric: &'a Metric) -> Self {
        Value::Metric(metric).into()
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(share: Option<f64>) -> Self {
        Value::Share(share).into()
    }
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

/// A column of a table of presets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `{primary}`, `{regime}` and `{tokens}` stand for what a comparison is reported by.
    meaning: &'static str,
    pub(crate) cell: for<'a> fn(Line<'a>) -> Cell<'a>,
    /// Whether a terminal has room for it.
    pub(crate) narrow: bool,
}

impl Column {
    /// What the column means in this comparison.
    pub(crate) fn meaning(&self, reporting: &Reporting) -> String {
        let primary = match reporting.primary {
            Primary::Cost => COST,
            Primary::FrrObsFar => KEPT,
        };
        let meaning = self.meaning.replace("{primary}", primary);
        meaning
            .replace("{regime}", &reporting.regime)
            .replace("{tokens}", &unit(&reporting.estimator))
    }
}

/// The unit of an estimator, in words: `o200k tokens`.
pub(crate) fn unit(estimator: &str) -> String {
    let vocabulary = estimator.split(' ').next().unwrap_or_default();
    format!("{vocabulary} tokens").trim_start().to_owned()
}

/// The meanings of columns of the headline, by their names, as a line of text.
pub(crate) fn meanings(names: &[&str], reporting: &Reporting) -> String {
    let columns = HEADLINE.into_iter().filter(|column| names.contains(&column.name));
    let meanings = columns.map(|column| format!("{}: {}", column.name, column.meaning(reporting)));
    meanings.collect::<Vec<_>>().join(" · ")
}

/// The lines of a comparison, in the order of its presets.
pub(crate) fn lines(comparison: &Comparison) -> Vec<Line<'_>> {
    let lines = comparison.presets.iter().zip(comparison.standings());
    lines.map(|(preset, standing)| Line { preset, standing }).collect()
}

const COST: &str = "cost";
const KEPT: &str = "kept";

/// Columns as rows: `narrow` for those that every table has room for, `wide` for those that only a page shows.
macro_rules! columns {
    ($($name:expr, $room:ident, $meaning:expr => |$line:ident| $cell:expr;)+) => {
        [$(Column {
            name: $name,
            meaning: $meaning,
            cell: |$line| Cell::from($cell),
            narrow: columns!($room),
        }),+]
    };
    (narrow) => { true };
    (wide) => { false };
}

/// The rank of a preset.
pub(crate) const PLACE: Column = columns! {
    "#", narrow, "rank by {primary}; ties share one, controls have \
        none, ✗ fails a gate, ~ passes by {tokens} and not by the calibrated size of what it sent"
        => |line| place(line);
}[0];

/// What a preset costs, keeps and loses.
pub(crate) const HEADLINE: [Column; 14] = columns! {
    COST, narrow, "the bill for input, output and summaries under {regime}, in percent of \
        that without compaction"
        => |line| &line.preset.metrics.cost_ratio;
    "worst", narrow, "cost if everything missed were read again"
        => |line| Value::AtMost(line.dollars.worst());
    "churn", wide, "{tokens} that were cached and had to be written again, per 100 calls"
        => |line| churn(line);
    "paid back", wide, "share of the compactions that saved more than they cost, up to \
        the next one or the end"
        => |line| paid_back(line);
    "dominated by", wide, "a strategy, or doing nothing if everything fits, that costs no more, \
        keeps no \
        less (kept), and is better in one of them; by the values alone"
        => |line| match line.standing {
            Standing::Front => Value::Name("on the front"),
            Standing::Dominated(by) => Value::Name(by),
            Standing::Apart => Value::Share(None),
        };
    KEPT, narrow, "of the references of later calls to what only tool results and user \
        messages had said, and not in the last three calls, how many were still in the view \
        (FRR-obs-far)"
        => |line| &line.preset.metrics.frr_obs_far;
    "verbatim", narrow, "the second judge, which ignores references: the same for pieces of \
        results that later calls repeat word for word; ! 20 points or more away \
        from kept"
        => |line| verbatim(line);
    "edits", narrow, "of the old texts of edits, how many were in the view, line by line \
        (EPR)"
        => |line| line.metrics.epr.value;
    "reread", narrow, "results to read again per 100 calls, at most"
        => |line| Value::Decimal(line.metrics.rereads_per_100_calls.value, 1);
    "NFR", wide, "like kept, regardless of when it was last seen (FRR-obs), between random (0) and \
        clairvoyant eviction (1) at the same sizes of the view, over the sessions in which it acted"
        => |line| (Value::Decimal(line.nfr_obs.value, 2), line.nfr_obs.why.clone());
    "instructions", wide, "user messages that are in the view at the end, word for word"
        => |line| line.instructions_end;
    "last error", wide, "calls after a failure whose view shows the latest one"
        => |line| line.last_error;
    "files", wide, "F1 of the set of changed files as shown by the view at the end"
        => |line| line.modified_f1;
    "faithful", wide, "identifiers in summaries that were in the summarized text"
        => |line| line.faithfulness;
};

/// What each preset did.
pub(crate) const ACTIVITY: [Column; 9] = columns! {
    "acted", narrow, "sessions in which it changed something"
        => |line| Value::Text(format!("{}/{}", line.triggered, line.sessions));
    "input", narrow, "all requests together in {tokens}, relative to no compaction"
        => |line| Value::Part(line.input_ratio);
    "peak", narrow, "the largest request in {tokens}" => |line| Value::Tokens(Some(line.peak_tokens));
    "over", narrow, "requests that were over the window when they were sent, by {tokens}, and could have been \
        made to fit; ~ how many are by their calibrated size"
        => |line| over(line);
    "folds", narrow, "summaries or drops"
        => |line| Value::Count(line.compactions - line.prune_operations);
    "prunes", narrow, "clearings" => |line| Value::Count(line.prune_operations);
    "cleared", narrow, "tokens removed, net, by the preset's own estimator"
        => |line| Value::Tokens(Some(line.tokens_reclaimed));
    "cache", narrow, "share of the input read from a simulated prompt cache"
        => |line| Value::Percent(line.cache_hit_rate);
    "broken", narrow, "provider rules broken by the preset"
        => |line| Value::Faults(line.gate.strategy_violations, true);
};

fn place(line: Line<'_>) -> (Value<'_>, Option<String>) {
    let why = line.gate.why().map(|why| format!("not ranked: {why}"));
    (Value::Place(line.place(), line.gate.is_doubtful()), why.or_else(|| calibrated(line)))
}

fn over(line: Line<'_>) -> (Value<'_>, Option<String>) {
    let gate = &line.gate;
    let over = gate.more_calibrated().unwrap_or_default();
    (Value::Over(gate.sent_over, over), calibrated(line))
}

/// What is over by the calibrated size, in words.
fn calibrated(line: Line<'_>) -> Option<String> {
    let over = foldback_replay::number::count(line.gate.more_calibrated()?, "request");
    Some(format!("sent {over} over the window by the calibrated size"))
}

fn verbatim(line: Line<'_>) -> Value<'_> {
    let metric = &line.preset.metrics.verbatim_far;
    match line.good_by_one {
        Some(_) => Value::Doubted(metric),
        None => Value::Metric(metric),
    }
}

fn churn(line: Line<'_>) -> Value<'_> {
    let calls = line.calls as f64;
    let churn = line.metrics.churn_tokens.value.filter(|_| calls > 0.0);
    Value::Tokens(churn.map(|tokens| (100.0 * tokens / calls).round() as u64))
}

fn paid_back(line: Line<'_>) -> (Value<'_>, Option<String>) {
    let ledger = &line.ledger;
    if ledger.firings == 0 {
        return (Value::Share(None), None);
    }
    let note = format!(
        "{} of {}; {} had an expired cache before them, {} never could",
        ledger.paid_back, ledger.firings, ledger.cold, ledger.never
    );
    (Value::Share(Some(ledger.paid_back as f64 / ledger.firings as f64)), Some(note))
}
