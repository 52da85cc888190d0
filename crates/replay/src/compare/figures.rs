//! The figures of a preset over all sessions, each written down once: name, meaning, how it is made of sums, how it is
//! shown, and whether the outside judge recomputes it. Screens, pages, JSON and its schema are made from this list.
//!
//! A session is the unit: calls of one session depend on each other, so intervals leave out
//! sessions, one cluster of them at a time, and not calls (see [`crate::stats`]).

use super::saving::Paid;
use super::table::Table;
use crate::judge::reread::CHANCE;
use crate::judge::retention::Retention;
use crate::number::{ratio, total};
use crate::rows::study::{Knowledge, Score, Summaries};
use crate::stats::Share;
use crate::stats::{self, Estimate, Pair, Sample};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use std::borrow::Cow;

/// One metric: the value over all sessions that have it, its interval, and how many those are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Metric {
    /// The value; `null` where it does not apply.
    pub value: Option<f64>,
    /// Lower end of the 95 % interval; `null` with fewer than two sessions.
    pub lo: Option<f64>,
    /// Upper end of the interval.
    pub hi: Option<f64>,
    /// Sessions behind the value.
    pub n: usize,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Cow<'static, str>>,
}

impl Metric {
    pub(crate) fn new(estimate: Estimate, why: &'static str) -> Self {
        let Estimate { value, lo, hi, n, .. } = estimate;
        Self { value, lo, hi, n, why: value.is_none().then_some(Cow::Borrowed(why)) }
    }
}

/// How a figure is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureForm {
    /// A share or a ratio with its interval.
    Interval,
    /// A share or a ratio.
    Share,
    /// A share to a tenth of a percent.
    Percent,
    /// The same, of a whole that may be drawn.
    Part,
    /// A number with one decimal.
    Decimal,
    /// A number of tokens.
    Tokens,
    /// In JSON alone.
    Nowhere,
}

/// A figure of the list.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Its name in JSON and in experiment files.
    pub name: &'static str,
    /// Its name on screens and pages.
    pub title: &'static str,
    /// What it means. `{regime}` and `{tokens}` stand for what a comparison is reported by.
    pub meaning: &'static str,
    /// How it is written.
    pub shown: FigureForm,
    /// Whether `tests/judge` recomputes it from outside.
    pub judged: bool,
    /// Takes it from the figures of a preset.
    pub of: fn(&Metrics) -> &Metric,
}

/// The figures as rows: name in JSON, title, whether the judge recomputes it, how it is written, meaning, how it is made.
macro_rules! figures {
    ($($name:ident, $title:literal, $judged:ident, $shown:expr, $meaning:literal => |$of:ident| $made:expr;)+) => {
        /// The figures of a preset, by name.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct Metrics {
            $(#[doc = $meaning] pub $name: Metric,)+
        }

        /// All figures of a preset: what screens, pages, JSON and its schema know of them.
        pub const FIGURES: &[Figure] = &[$(Figure {
            name: stringify!($name),
            title: $title,
            meaning: $meaning,
            shown: $shown,
            judged: figures!($judged),
            of: |metrics| &metrics.$name,
        }),+];

        /// The figures of one preset.
        pub(super) fn metrics(of: &FigureInputs<'_, '_>) -> Metrics {
            Metrics { $($name: { let $of = of; $made },)+ }
        }
    };
    (judged) => { true };
    (alone) => { false };
}

figures! {
    cost_ratio, "cost", judged, FigureForm::Interval,
        "the bill for input, output and summaries at the prices of {regime}, in percent of that of the base"
        => |of| of.saving(stats::ratio_of_totals);
    saving_usd, "saved", judged, FigureForm::Nowhere, "dollars that a session costs less than with the base, on average"
        => |of| of.saving(stats::mean_saving);
    net_ratio, "net", judged, FigureForm::Interval,
        "the bill in percent of that of the base, with what was missed read again: old texts of edits, and pieces of results that calls \
         repeat word for word"
        => |of| of.net(stats::ratio_of_totals);
    net_all_ratio, "all read", alone, FigureForm::Share, "net if all that was missed were read again; cost is net if nothing were"
        => |of| of.net_all();
    net_saving_usd, "net saved", alone, FigureForm::Nowhere,
        "dollars that a session costs less than with the base, on average, with what was missed read again"
        => |of| of.net(stats::mean_saving);
    churn_per_100_calls, "churn", alone, FigureForm::Tokens,
        "{tokens} that were cached and had to be written again, per 100 calls"
        => |of| of.if_known(|| of.per_100(|score| score.metrics.churn_tokens));
    frr_obs_far, "kept", judged, FigureForm::Interval,
        "of the references of later calls to what only tool results and user messages had said, and not in the last three calls, \
         how many were still in the view (FRR-obs-far)"
        => |of| of.share(|retention| retention.obs_far);
    frr, "frr", alone, FigureForm::Nowhere, "kept, of all references" => |of| of.share(Retention::frr);
    frr_obs, "frr-obs", judged, FigureForm::Nowhere, "kept, regardless of when it was last seen"
        => |of| of.share(|retention| retention.obs);
    frr_far, "frr-far", judged, FigureForm::Nowhere, "kept, regardless of who had said it"
        => |of| of.share(Retention::far);
    verbatim_far, "verbatim", judged, FigureForm::Interval,
        "the second judge, which ignores references: the same for pieces of results that later calls repeat word for word; \
         ! 20 points or more away from kept"
        => |of| of.share(|retention| retention.pieces_far);
    frr_obs_far_since, "kept since", alone, FigureForm::Share,
        "kept, of what calls needed after the preset's own first act: one that acts late has lost nothing before"
        => |of| of.share_of(|score| score.since_acted);
    epr, "edits", judged, FigureForm::Share, "of the old texts of edits, how many were in the view, line by line (EPR)"
        => |of| of.share(|retention| retention.edits);
    frr_obs_near, "near", alone, FigureForm::Share,
        "kept, of what was last seen in the last three calls; under 90 % the preset loses what was just read"
        => |of| of.share(Retention::obs_near);
    missed_per_100_calls, "missed", alone, FigureForm::Decimal,
        "old texts of edits and pieces of results that calls needed and the view lacked, per 100 calls"
        => |of| of.if_known(|| of.per_100(|score| score.retention.missed()));
    rereads_per_100_calls, "reread", alone, FigureForm::Decimal, "results that are read again per 100 calls (net)"
        => |of| of.if_known(|| match of.nets(CHANCE.value) {
            Some(_) => of.per_100(|score| score.retention.rereads),
            None => of.value(None, NOT_READ),
        });
    rules_kept, "rules", judged, FigureForm::Share,
        "of the rules that users had given (sentences with never, always, do not …), how many were in the view word for word"
        => |of| of.share(|retention| retention.rules);
    rules_named, "rules named", judged, FigureForm::Share,
        "rules, word for word or by all the names (paths, symbols …) in them"
        => |of| of.share(Retention::rules_named);
    last_error, "last error", alone, FigureForm::Share, "calls after a failure whose view shows the latest one"
        => |of| of.known(of.sums.last_error.value());
    faithfulness, "faithful", alone, FigureForm::Share, "identifiers in summaries that were in the summarized text"
        => |of| of.known(of.sums.summaries.faithful.value());
    token_ratio, "input", judged, FigureForm::Part, "all requests together in {tokens}, relative to no compaction"
        => |of| Metric::new(stats::ratio_of_totals(of.sample, &of.pairs(|score, base| {
            Some((score.metrics.input_tokens as f64, base.metrics.input_tokens as f64))
        }).collect::<Vec<_>>()), NO_CALLS);
    peak_tokens, "peak", alone, FigureForm::Tokens, "the largest request in {tokens}"
        => |of| of.value(of.own().map(|score| score.metrics.peak_tokens as f64).reduce(f64::max), NO_CALLS);
    tokens_reclaimed, "cleared", alone, FigureForm::Tokens, "tokens removed, net, by the preset's own estimator"
        => |of| of.value(Some(total(of.own().map(|score| score.metrics.counters.tokens_reclaimed as f64))), NO_CALLS);
    cache_hit_rate, "cache", alone, FigureForm::Percent, "share of the input read from a simulated prompt cache"
        => |of| of.value(of.hit_rate(), NO_CALLS);
}

impl Metrics {
    /// As JSON has them: an object with every figure of [`FIGURES`].
    pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
        let metric = generator.subschema_for::<Metric>();
        let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        let meanings = FIGURES.iter().map(|figure| format!("{}: {}", figure.name, figure.meaning));
        json_schema!({
            "type": "object",
            "propertyNames": { "enum": names, "description": meanings.collect::<Vec<_>>().join("; ") },
            "additionalProperties": metric,
            "required": names,
        })
    }
}

const NOTHING_NEEDED: &str = "no preset fired in any session, or nothing was referred to after it";
const NO_CALLS: &str = "no session has a call";
const NOT_RECORDED: &str =
    "the content of the recorder's requests after its own compactions is not recorded";
const SEALED: &str =
    "only the provider can read its summaries: from what stands beside them to everything";
const NOT_READ: &str = "it is not known what would be read again: there is no bill, it sees what comes, or a model would be asked for other summaries";
pub(super) const NO_BILL: &str = "no session could be billed under the regime";

const NOTHING_TO_KEEP: &str = "there is nothing of the kind in any session";

/// The difference between the judges from which a preset is good by one only.
/// Whole results that go or stay affect both judges alike; on recorded sessions the shipped presets are up
/// to 13 points apart.
pub(crate) const LEAST_GAP: f64 = 0.2;

/// A judge of what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Judge {
    /// Forward references: `frr_obs_far`.
    References,
    /// Verbatim reuse: `verbatim_far`.
    Verbatim,
}

/// A preset that keeps less than this share of what the last three calls showed loses what was just read. In the closed loop
/// (`tests/closed-loop`) agents under such presets loop, and those under others solve their tasks.
pub(crate) const LEAST_NEAR: f64 = 0.9;

impl Metrics {
    /// Whether it loses what was just read.
    pub(super) fn loses_near(&self) -> bool {
        self.frr_obs_near.value.is_some_and(|near| near < LEAST_NEAR)
    }

    /// What each judge says is kept, if both have a value.
    pub(super) fn judged(&self) -> Option<(f64, f64)> {
        Some((self.frr_obs_far.value?, self.verbatim_far.value?))
    }

    /// The only judge by which it is good: the one that says it keeps at least [`LEAST_GAP`] more than the other
    /// does.
    pub(super) fn good_by(&self) -> Option<Judge> {
        let (references, verbatim) = self.judged()?;
        let gap = references - verbatim;
        match gap {
            _ if gap >= LEAST_GAP => Some(Judge::References),
            _ if gap <= -LEAST_GAP => Some(Judge::Verbatim),
            _ => None,
        }
    }
}

/// What the figures of one preset are made of.
pub(super) struct FigureInputs<'t, 'a> {
    sample: &'t Sample,
    table: &'t Table<'a>,
    preset: usize,
    /// The content of every request is known.
    contents: bool,
    /// It is known but for summaries that only their provider can read.
    least: bool,
    sums: &'t Sums,
    /// The bill that savings are measured against.
    paid: Option<Paid>,
}

/// Sums over the sessions of a preset.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) retention: Retention,
    pub(super) last_error: Share,
    pub(super) summaries: Summaries,
}

impl Sums {
    pub(super) fn new(own: &[&Score]) -> Self {
        let mut out = Self::default();
        for score in own {
            out.retention.add(&score.retention);
            out.last_error += score.last_error;
            out.summaries += score.summaries;
        }
        out
    }
}

impl<'t, 'a> FigureInputs<'t, 'a> {
    pub(super) fn new(
        table: &'t Table<'a>,
        preset: usize,
        sums: &'t Sums,
        paid: Option<Paid>,
    ) -> Self {
        let contents = table.knows_contents(preset);
        let readable = [Knowledge::Everything, Knowledge::Least, Knowledge::Failed];
        let known = |score: &Score| readable.contains(&score.known);
        let least = !contents && table.column(preset).all(known);
        let sample = &table.sample;
        Self { sample, table, preset, contents, least, sums, paid }
    }

    /// The scores of the preset of which something is known.
    fn own(&self) -> impl Iterator<Item = &'a Score> {
        self.table.pairs(self.preset).map(|(score, _)| score)
    }

    /// The bills of the preset and the base with what was missed read again with a chance; `None` where it is not known.
    fn nets(&self, chance: f64) -> Option<Vec<Pair>> {
        self.paid?.nets(self.table, self.preset, chance)
    }

    /// An estimate of these with the likely chance. The interval is that of the sessions, from its lower end to its upper end over
    /// the interval of the chance.
    fn net(&self, estimate: fn(&Sample, &[Pair]) -> Estimate) -> Metric {
        let with = |chance| Some(estimate(self.sample, &self.nets(chance)?));
        let Some(found) = with(CHANCE.value) else { return self.value(None, NOT_READ) };
        let ends = [CHANCE.lo, CHANCE.hi].map(with);
        let ends = ends.into_iter().flatten().chain([found]);
        let (lo, hi): (Vec<_>, Vec<_>) = ends.filter_map(|end| end.lo.zip(end.hi)).unzip();
        Metric {
            lo: lo.into_iter().min_by(f64::total_cmp),
            hi: hi.into_iter().max_by(f64::total_cmp),
            ..Metric::new(found, NO_BILL)
        }
    }

    /// The bill to that of the base with all that was missed read again.
    fn net_all(&self) -> Metric {
        let pairs = self.nets(1.0);
        let ratio = pairs.and_then(|pairs| stats::ratio_of_totals(self.sample, &pairs).value);
        self.value(ratio, NOT_READ)
    }

    /// What is saved against the base.
    fn saving(&self, estimate: fn(&Sample, &[Pair]) -> Estimate) -> Metric {
        let pairs = self.paid.into_iter().flat_map(|paid| paid.pairs(self.table, self.preset));
        Metric::new(estimate(self.sample, &pairs.collect::<Vec<_>>()), NO_BILL)
    }

    /// A figure without an interval.
    fn value(&self, value: Option<f64>, why: &'static str) -> Metric {
        let why = value.is_none().then_some(Cow::Borrowed(why));
        Metric { value, n: self.own().count(), why, ..Metric::default() }
    }

    /// The same of the content of requests.
    fn known(&self, value: Option<f64>) -> Metric {
        self.bounded(self.if_known(|| self.value(value, NOTHING_TO_KEEP)))
    }

    /// A share of what requests held: where summaries can't be read, from what was found beside them to everything.
    fn bounded(&self, found: Metric) -> Metric {
        match found.value.filter(|_| self.least) {
            Some(least) => Metric {
                value: None,
                lo: Some(least),
                hi: Some(1.0),
                n: found.n,
                why: Some(Cow::Borrowed(SEALED)),
            },
            None => found,
        }
    }

    fn per_100(&self, of: impl Fn(&Score) -> u64) -> Metric {
        self.quotient(
            |score| Some([100.0 * of(score) as f64, score.metrics.calls as f64]),
            NO_CALLS,
        )
    }

    /// Share of the input that a simulated prompt cache without expiry held.
    fn hit_rate(&self) -> Option<f64> {
        let sums = self.own().map(|score| &score.metrics);
        let [read, input] = sums.fold([0, 0], |[read, input], metrics| {
            [read + metrics.cache_read_tokens, input + metrics.input_tokens]
        });
        ratio(read, input)
    }

    /// A metric of the content of requests.
    fn if_known(&self, metric: impl FnOnce() -> Metric) -> Metric {
        if self.contents || self.least {
            return metric();
        }
        Metric { why: Some(Cow::Borrowed(NOT_RECORDED)), ..Metric::default() }
    }

    /// A pooled share over the sessions that were asked anything.
    fn share(&self, of: impl Fn(&Retention) -> Share) -> Metric {
        self.share_of(|score| of(&score.retention))
    }

    /// The same of what is not part of the common exam.
    fn share_of(&self, of: impl Fn(&Score) -> Share) -> Metric {
        let shares = self.table.column(self.preset).filter_map(|score| {
            let share = of(score);
            (share.needed > 0).then(|| (self.table.cluster(score), share))
        });
        let found = || Metric::new(stats::proportion(self.sample, shares), NOTHING_NEEDED);
        self.bounded(self.if_known(found))
    }

    /// The sessions that have a value with and without compaction.
    fn pairs<F: Fn(&'a Score, &'a Score) -> Option<(f64, f64)>>(
        &self,
        of: F,
    ) -> impl Iterator<Item = Pair> + use<'t, 'a, F> {
        let table = self.table;
        table.pairs(self.preset).filter_map(move |(score, base)| {
            let (value, base) = of(score, base)?;
            Some(Pair { cluster: table.cluster(score), value, base })
        })
    }

    fn quotient(&self, of: impl Fn(&'a Score) -> Option<[f64; 2]>, why: &'static str) -> Metric {
        let scores = self.table.column(self.preset);
        let rows = scores.filter_map(|score| Some((self.table.cluster(score), of(score)?)));
        let quotient = |[part, whole]: &[f64; 2]| (*whole > 0.0).then(|| part / whole);
        Metric::new(self.sample.of_sums(rows, quotient), why)
    }
}
