//! The table that a decision is made from: what each preset costs, sends, keeps and loses, with intervals.

use super::figures::{Axis, NONE, cell, or_dash, share};
use super::front::{Standing, standings};
use super::markup::text;
use super::order::{breakable, controls, ranked, why_not};
use crate::number::short;
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Metric, Metrics, PresetLine, Primary};
use std::fmt::Write as _;

/// A column: its name and what it means.
type Column = (&'static str, &'static str);

/// Columns under their group.
const GROUPS: [(&str, &[Column]); 6] = [
    (
        "bill",
        &[
            ("cost", "the bill of input, output and summaries, of that without compaction"),
            ("at worst", "the same if everything that was forgotten and needed were read again"),
        ],
    ),
    (
        "size and cache",
        &[
            ("tokens", "all requests together, of those without compaction"),
            ("hits", "share of the input read from the simulated cache"),
            ("churn", "tokens that were cached and had to be written again, per 100 calls"),
            ("compactions", "changes of the view per 100 calls"),
            (
                "paid back",
                "share of the compactions that saved more than they cost, up to the next one or the end",
            ),
        ],
    ),
    (
        "kept of what was needed",
        &[
            (
                "obs",
                "FRR-obs: of the references that later calls made to what only tool results and user \
                 messages had said, how many still stood in the view",
            ),
            (
                "far",
                "FRR-far: the same of what was last seen more than three calls ago, whoever said it",
            ),
            ("edits", "EPR: of the old texts of edits, how many stood in the view word for word"),
            (
                "NFR",
                "obs between random eviction (0) and a clairvoyant one (1) at the same sizes of the view, over \
                 the sessions in which it acted",
            ),
            ("re-reads", "results that would have to be read again, per 100 calls, at most"),
        ],
    ),
    (
        "must be kept",
        &[
            ("instructions", "user messages that stand word for word in the view at the end"),
            ("last error", "calls behind a failure whose view shows the latest one"),
            ("files", "F1 of the set of changed files that the view at the end amounts to"),
        ],
    ),
    ("summaries", &[("faithful", "identifiers in summaries that stood in what was summarised")]),
    (
        "front",
        &[(
            "dominated by",
            "a strategy, or doing nothing where all of it fits, that is no dearer and keeps no less (obs), \
             and is better in one of them; by the values alone",
        )],
    ),
];

/// The table, what its columns mean, and who is not ranked.
pub(super) fn section(out: &mut String, comparison: &Comparison) {
    out.push_str(
        "<section id=\"presets\">\n<h2>Costs and what is kept</h2>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"Costs and what is kept\">\n\
         <table class=\"headline\">\n<thead>\n<tr><td></td><td></td>",
    );
    for (group, columns) in GROUPS {
        let _ = write!(out, "<th scope=\"colgroup\" colspan=\"{}\">{group}</th>", columns.len());
    }
    out.push_str("</tr>\n<tr><th scope=\"col\">preset</th><th scope=\"col\">place</th>");
    for (name, meaning) in columns() {
        let _ = write!(out, "<th scope=\"col\" title=\"{}\">{name}</th>", text(meaning));
    }
    out.push_str("</tr>\n</thead>\n");
    let table = Table::of(comparison);
    let all = 2 + columns().count();
    out.push_str("<tbody>\n");
    for at in ranked(&comparison.presets) {
        table.row(out, at);
    }
    out.push_str("</tbody>\n");
    let controls = controls(&comparison.presets);
    if !controls.is_empty() {
        let _ = writeln!(
            out,
            "<tbody class=\"controls\">\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{all}\">Controls, \
             to compare with</th></tr>"
        );
        for at in controls {
            table.row(out, at);
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table>\n</div>\n");
    meanings(out, comparison);
    not_ranked(out, &comparison.presets);
    out.push_str("</section>\n");
}

fn columns() -> impl Iterator<Item = Column> {
    GROUPS.into_iter().flat_map(|(_, columns)| columns.iter().copied())
}

/// What all rows share.
struct Table<'a> {
    presets: &'a [PresetLine],
    standings: Vec<Standing<'a>>,
    cost: Axis,
    kept: Axis,
}

impl<'a> Table<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let presets = &comparison.presets;
        let all = |of: fn(&Metrics) -> &Metric| presets.iter().map(move |line| of(&line.metrics));
        Self {
            presets,
            standings: standings(presets),
            cost: Axis::over(all(|metrics| &metrics.cost_ratio)),
            kept: Axis::over(
                all(|metrics| &metrics.frr_obs).chain(all(|metrics| &metrics.frr_far)),
            ),
        }
    }

    fn row(&self, out: &mut String, at: usize) {
        let line = &self.presets[at];
        let metrics = &line.metrics;
        let _ = write!(
            out,
            "<tr{}><th scope=\"row\">{}</th>",
            if line.kind == Kind::Strategy && !line.gate.passed { " class=\"failed\"" } else { "" },
            breakable(&line.preset)
        );
        place(out, line);
        cell(out, &metrics.cost_ratio, self.cost);
        // To the bill of the same sessions without compaction; not every session can be billed.
        let dollars = &line.dollars;
        let ratio = dollars.ratio.filter(|_| dollars.usd > 0.0);
        let worst = ratio.map(|ratio| ratio * dollars.pessimistic_usd / dollars.usd);
        plain(out, &or_dash(worst, |worst| format!("≤ {}", share(worst))));
        plain(out, &or_dash(metrics.token_ratio.value, share));
        plain(out, &or_dash(metrics.hit_rate.value, share));
        let calls = line.calls as f64;
        let churn = metrics.churn_tokens.value.filter(|_| calls > 0.0);
        let per_100 = |tokens: f64| short((100.0 * tokens / calls).round() as u64);
        plain(out, &or_dash(churn, per_100));
        plain(out, &decimal(line.compactions_per_100_calls));
        paid_back(out, line);
        cell(out, &metrics.frr_obs, self.kept);
        cell(out, &metrics.frr_far, self.kept);
        plain(out, &or_dash(metrics.epr.value, share));
        normalised(out, line);
        plain(out, &or_dash(metrics.rereads_per_100_calls.value, decimal));
        let keep = &line.must_keep;
        for kept in [keep.instructions_end, keep.last_error, keep.modified_f1] {
            plain(out, &or_dash(kept, share));
        }
        plain(out, &or_dash(line.summary_quality.faithfulness, share));
        match self.standings[at] {
            Standing::Front => out.push_str("<td class=\"word\">on the front</td>"),
            Standing::Dominated(by) => {
                let _ = write!(out, "<td class=\"word\">{}</td>", text(by));
            }
            Standing::Apart => plain(out, NONE),
        }
        out.push_str("</tr>\n");
    }
}

fn place(out: &mut String, line: &PresetLine) {
    let _ = match line.rank {
        Some(rank) => write!(out, "<td>{rank}</td>"),
        None if line.kind == Kind::Control => write!(out, "<td class=\"zero\">{NONE}</td>"),
        None => write!(out, "<td class=\"bad\" title=\"not ranked: {}\">✗</td>", why_not(line)),
    };
}

/// A cell of text that was made here. What is nothing or does not apply steps back.
fn plain(out: &mut String, value: &str) {
    let back = matches!(value, NONE | "0" | "0.0");
    let class = if back { " class=\"zero\"" } else { "" };
    let _ = write!(out, "<td{class}>{value}</td>");
}

fn decimal(value: f64) -> String {
    format!("{value:.1}")
}

fn paid_back(out: &mut String, line: &PresetLine) {
    let ledger = &line.ledger;
    if ledger.firings == 0 {
        plain(out, NONE);
        return;
    }
    let _ = write!(
        out,
        "<td title=\"{} of {}; {} had an expired cache before them, {} never could\">{}</td>",
        ledger.paid_back,
        ledger.firings,
        ledger.cold,
        ledger.never,
        share(ledger.paid_back as f64 / ledger.firings as f64)
    );
}

fn normalised(out: &mut String, line: &PresetLine) {
    match (line.nfr_obs.value, &line.nfr_obs.why) {
        (Some(nfr), _) => plain(out, &format!("{nfr:.2}").replace('-', "−")),
        (None, why) => {
            let why = why.as_deref().unwrap_or("does not apply");
            let _ = write!(out, "<td class=\"zero\" title=\"{}\">{NONE}</td>", text(why));
        }
    }
}

fn meanings(out: &mut String, comparison: &Comparison) {
    let primary = match comparison.reporting.primary {
        Primary::Cost => "cost",
        Primary::FrrObs => "obs",
    };
    let _ = writeln!(
        out,
        "<p class=\"key\">Small figures and bars: 95% intervals over sessions; the upright line is 100%.</p>\n\
         <dl class=\"meanings\">\n<div><dt>place</dt> <dd>by {primary}; strategies that can't be told apart share \
         one; ✗: shown, not ranked</dd></div>"
    );
    for (name, meaning) in columns() {
        let _ = writeln!(out, "<div><dt>{name}</dt> <dd>{}</dd></div>", text(meaning));
    }
    out.push_str("</dl>\n");
}

/// Who failed a gate, with why.
fn not_ranked(out: &mut String, presets: &[PresetLine]) {
    let failed: Vec<&PresetLine> =
        presets.iter().filter(|line| line.kind == Kind::Strategy && !line.gate.passed).collect();
    if failed.is_empty() {
        return;
    }
    out.push_str(
        "<p>Not ranked, since no provider would have taken all that they sent:</p>\n<ul>\n",
    );
    for line in failed {
        let _ = writeln!(out, "<li><strong>{}</strong> {}</li>", text(&line.preset), why_not(line));
    }
    out.push_str("</ul>\n");
}
