//! The columns of a comparison: what each is called, what it means and what stands in it, once for the
//! terminal and the page. How a value is written is for them to say.

use foldback_replay::compare::{Metric, Place, PresetLine, Primary, Standing};
use foldback_replay::{Comparison, Reporting};

/// What stands in a cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    /// A share or a ratio with its interval.
    Metric(&'a Metric),
    /// A share or a ratio.
    Share(Option<f64>),
    /// A share or a ratio that is a bound from above.
    AtMost(Option<f64>),
    /// A share to a tenth of a percent.
    Percent(f64),
    /// The same, of a whole that may be drawn.
    Part(f64),
    /// A number with so many decimals.
    Decimal(Option<f64>, usize),
    /// So many tokens.
    Tokens(Option<u64>),
    /// How many.
    Count(u64),
    /// How many of what should not be; whether they stand out.
    Faults(u64, bool),
    /// Words.
    Text(String),
    /// A name, such as that of another preset.
    Name(&'a str),
    /// The place of a preset.
    Place(Place),
}

/// A value and what there is to add where there is room for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Cell<'a> {
    pub(crate) value: Value<'a>,
    pub(crate) note: Option<String>,
}

impl<'a> From<Value<'a>> for Cell<'a> {
    fn from(value: Value<'a>) -> Self {
        Self { value, note: None }
    }
}

/// A preset with what its cells are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) preset: &'a PresetLine,
    pub(crate) standing: Standing<'a>,
}

/// A column of a table of presets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// `{primary}` and `{regime}` stand for what a comparison is reported by.
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
            Primary::FrrObs => OBS,
        };
        self.meaning.replace("{primary}", primary).replace("{regime}", &reporting.regime)
    }
}

/// What columns of the headline mean, by their names, as a line of text.
pub(crate) fn meanings(names: &[&str], reporting: &Reporting) -> String {
    let columns = headline().filter(|column| names.contains(&column.name));
    let meanings = columns.map(|column| format!("{}: {}", column.name, column.meaning(reporting)));
    meanings.collect::<Vec<_>>().join(" · ")
}

/// The lines of a comparison, in the order of its presets.
pub(crate) fn lines(comparison: &Comparison) -> Vec<Line<'_>> {
    let lines = comparison.presets.iter().zip(comparison.standings());
    lines.map(|(preset, standing)| Line { preset, standing }).collect()
}

const COST: &str = "cost";
const OBS: &str = "kept obs";

/// A column that every table has room for.
const fn column(
    name: &'static str,
    meaning: &'static str,
    cell: for<'a> fn(Line<'a>) -> Cell<'a>,
) -> Column {
    Column { name, meaning, cell, narrow: true }
}

/// A column that only a page has room for.
const fn wide(
    name: &'static str,
    meaning: &'static str,
    cell: for<'a> fn(Line<'a>) -> Cell<'a>,
) -> Column {
    Column { name, meaning, cell, narrow: false }
}

/// Where a preset is placed.
pub(crate) const PLACE: Column = column(
    "#",
    "place by {primary}; presets that can't be told apart share one, controls have none, ✗ fails a gate",
    |line| Cell {
        value: Value::Place(line.preset.place()),
        note: line.preset.gate.why().map(|why| format!("not ranked: {why}")),
    },
);

/// What a preset costs, sends, keeps and loses, under the groups of its columns.
pub(crate) const HEADLINE: [(&str, &[Column]); 6] = [
    (
        "bill",
        &[
            column(
                COST,
                "the bill under {regime} of input, output and summaries, in percent of that without compaction",
                |line| Value::Metric(&line.preset.metrics.cost_ratio).into(),
            ),
            column("worst", "the same if everything missed were read again", |line| {
                // Of the same sessions; not every session can be billed.
                Value::AtMost(line.preset.dollars.worst()).into()
            }),
        ],
    ),
    (
        "size and cache",
        &[
            wide("tokens", "all requests together, of those without compaction", |line| {
                Value::Share(line.preset.metrics.token_ratio.value).into()
            }),
            wide("hits", "share of the input read from the simulated cache", |line| {
                Value::Share(line.preset.metrics.hit_rate.value).into()
            }),
            wide(
                "churn",
                "tokens that were cached and had to be written again, per 100 calls",
                |line| {
                    let calls = line.preset.calls as f64;
                    let churn = line.preset.metrics.churn_tokens.value.filter(|_| calls > 0.0);
                    let per_100 = churn.map(|tokens| (100.0 * tokens / calls).round() as u64);
                    Value::Tokens(per_100).into()
                },
            ),
            wide("compactions", "changes of the view per 100 calls", |line| {
                Value::Decimal(Some(line.preset.compactions_per_100_calls), 1).into()
            }),
            wide(
                "paid back",
                "share of the compactions that saved more than they cost, up to the next one or the end",
                paid_back,
            ),
        ],
    ),
    (
        "kept of what was needed",
        &[
            column(
                OBS,
                "of the references of later calls to what only tool results and user messages had said, how many \
                 still stood in the view (FRR-obs)",
                |line| Value::Metric(&line.preset.metrics.frr_obs).into(),
            ),
            column(
                "kept far",
                "the same of what was last seen more than three calls ago, whoever said it (FRR-far)",
                |line| Value::Metric(&line.preset.metrics.frr_far).into(),
            ),
            column(
                "edits",
                "of the old texts of edits, how many stood in the view word for word (EPR)",
                |line| Value::Share(line.preset.metrics.epr.value).into(),
            ),
            column("reread", "results to be read again per 100 calls, at most", |line| {
                Value::Decimal(line.preset.metrics.rereads_per_100_calls.value, 1).into()
            }),
            column(
                "NFR",
                "kept obs, between random (0) and clairvoyant eviction (1) at the same sizes of the view, over the \
                 sessions in which it acted",
                |line| {
                    let nfr = &line.preset.nfr_obs;
                    Cell { value: Value::Decimal(nfr.value, 2), note: nfr.why.clone() }
                },
            ),
        ],
    ),
    (
        "must be kept",
        &[
            wide(
                "instructions",
                "user messages that stand word for word in the view at the end",
                |line| Value::Share(line.preset.must_keep.instructions_end).into(),
            ),
            wide("last error", "calls behind a failure whose view shows the latest one", |line| {
                Value::Share(line.preset.must_keep.last_error).into()
            }),
            wide(
                "files",
                "F1 of the set of changed files that the view at the end amounts to",
                |line| Value::Share(line.preset.must_keep.modified_f1).into(),
            ),
        ],
    ),
    (
        "summaries",
        &[wide("faithful", "identifiers in summaries that stood in what was summarised", |line| {
            Value::Share(line.preset.summary_quality.faithfulness).into()
        })],
    ),
    (
        "front",
        &[wide(
            "dominated by",
            "a strategy, or doing nothing where all of it fits, that is no dearer and keeps no less (kept obs), \
             and is better in one of them; by the values alone",
            |line| {
                match line.standing {
                    Standing::Front => Value::Name("on the front"),
                    Standing::Dominated(by) => Value::Name(by),
                    Standing::Apart => Value::Share(None),
                }
                .into()
            },
        )],
    ),
];

/// The columns of the headline without their groups.
pub(crate) fn headline() -> impl Iterator<Item = Column> {
    HEADLINE.into_iter().flat_map(|(_, columns)| columns.iter().copied())
}

/// What each preset did.
pub(crate) const ACTIVITY: [Column; 10] = [
    column("acted", "sessions in which it changed something", |line| {
        Value::Text(format!("{}/{}", line.preset.triggered, line.preset.sessions)).into()
    }),
    column("input", "all requests together, of those without compaction", |line| {
        Value::Part(line.preset.input_ratio).into()
    }),
    column("peak", "the largest request", |line| {
        Value::Tokens(Some(line.preset.peak_tokens)).into()
    }),
    column("mean", "the mean request", |line| Value::Tokens(Some(line.preset.mean_tokens)).into()),
    column("over", "requests that the provider would have refused as too large", |line| {
        Value::Faults(line.preset.overflow_calls, line.preset.gate.sent_over > 0).into()
    }),
    column("folds", "summaries or drops", |line| {
        Value::Count(line.preset.compactions - line.preset.prune_operations).into()
    }),
    column("prunes", "clearings", |line| Value::Count(line.preset.prune_operations).into()),
    column("cleared", "tokens taken out, net, by the preset's own estimator", |line| {
        Value::Tokens(Some(line.preset.tokens_reclaimed)).into()
    }),
    column("cache", "share of the input read from a simulated prompt cache", |line| {
        Value::Percent(line.preset.cache_hit_rate).into()
    }),
    column("broken", "provider rules broken by the preset", |line| {
        Value::Faults(line.preset.strategy_violations, true).into()
    }),
];

fn paid_back(line: Line<'_>) -> Cell<'_> {
    let ledger = &line.preset.ledger;
    if ledger.firings == 0 {
        return Value::Share(None).into();
    }
    let note = format!(
        "{} of {}; {} had an expired cache before them, {} never could",
        ledger.paid_back, ledger.firings, ledger.cold, ledger.never
    );
    let share = ledger.paid_back as f64 / ledger.firings as f64;
    Cell { value: Value::Share(Some(share)), note: Some(note) }
}
