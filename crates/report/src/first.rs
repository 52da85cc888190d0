//! The first screen of a comparison: at most 80 columns and 25 lines, whatever was compared.
//!
//! It shows what a decision needs, in dollars and percent, what stands out, and the next command. All else is in
//! [`crate::table`], the page and the JSON.

use crate::facts;
use crate::number::{change, count, decimals, dollars, grouped};
use crate::terminal::{ALWAYS, Head, Width, lay_out, shortened, wrap};
use foldback_replay::Comparison;
use foldback_replay::compare::{Answer, Metric, PresetLine, Remark, Standing};
use unicode_width::UnicodeWidthStr as _;

/// Columns of the screen at most.
const COLUMNS: usize = 80;
/// Lines of the screen at most.
const LINES: usize = 25;
/// Presets that are shown at least.
const LEAST: usize = 3;
/// The number of presets from which the legend takes precedence over them.
const ENOUGH: usize = 8;
/// Lines of a table other than its rows.
const FRAME: usize = 4;

/// What headings, marks and words mean.
const LEGEND: [&str; 9] = [
    "bill: change against none, 95% interval",
    "kept: % of what later calls needed of older results",
    "★ nothing is cheaper and keeps as much",
    "saved: dollars per session",
    "✗ no provider accepts it",
    "tie: the bill may be that of none",
    "! the verbatim judge differs",
    "reread: results to read again per 100 calls",
    "~ by calibrated size",
];

/// Controls that are listed first: chance, foresight, and keeping next to nothing.
const TELLING: [&str; 3] = ["random", "clairvoyant", "keep-last-1"];

/// What the command adds.
#[derive(Clone, Copy, Debug)]
pub struct Commands<'a> {
    /// Whether presets were named, so that all of them are shown.
    pub named: bool,
    /// What names the presets that could be compared besides.
    pub others: Option<&'a str>,
    /// What to look at next: the words of a command, each as a shell takes it.
    pub next: &'a [String],
}

/// The screen.
pub fn screen(comparison: &Comparison, width: Width, commands: Commands<'_>) -> String {
    let columns = width.table.min(COLUMNS);
    let answer = comparison.answer(commands.named);
    let page = Page { comparison, answer, columns };
    let head = page.head();
    let legend = page.legend();
    // Of the legend there is as much as leaves room for the presets.
    let left = |tail: &str| LINES.saturating_sub(lines(&head) + lines(tail) + FRAME);
    let enough = page.answer.shown.len().min(ENOUGH);
    let tails = (0..=legend.len()).rev().map(|items| page.tail(&legend[..items], commands));
    let (mut room, mut tail) = (0, String::new());
    for shorter in tails {
        (room, tail) = (left(&shorter), shorter);
        if room >= enough {
            break;
        }
    }
    let mut out = head;
    page.presets(&mut out, room.max(LEAST));
    out.push_str(&tail);
    out
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

struct Page<'a> {
    comparison: &'a Comparison,
    answer: Answer<'a>,
    columns: usize,
}

impl Page<'_> {
    fn say(&self, out: &mut String, text: &str) {
        let width = Width { text: self.columns, table: self.columns };
        wrap(out, "", "  ", text, width);
    }

    /// What was compared, and the bills that presets are compared with.
    fn head(&self) -> String {
        let mut out = String::new();
        let corpus = &self.comparison.corpus;
        let (calls, _) = facts::calls_and_turns(corpus);
        let skipped = match corpus.skipped.len() {
            0 => String::new(),
            files => format!("; {} skipped", count(files as u64, "file")),
        };
        let acted = match (self.answer.shown.is_empty(), self.answer.too_short) {
            // There was nothing that could have acted.
            (true, _) => String::new(),
            (_, 0) => format!("; presets acted in {}", grouped(corpus.triggering as u64)),
            (_, short) => format!(
                "; presets acted in {}, {} too short for it",
                grouped(corpus.triggering as u64),
                grouped(short as u64)
            ),
        };
        self.say(
            &mut out,
            &format!(
                "{}, {}{acted}{skipped}",
                count(corpus.imported as u64, "session"),
                count(calls as u64, "model call"),
            ),
        );
        self.say(&mut out, &self.baselines());
        out.push('\n');
        out
    }

    fn baselines(&self) -> String {
        let bill = |line: &PresetLine| self.dollars(line.dollars.a_session());
        let none = |requests: &str| {
            self.comparison.baseline().map_or_else(String::new, |none| {
                let over = match none.gate.sent_over + none.gate.unfittable {
                    0 => String::new(),
                    over => format!(", {}{requests} over the window", grouped(over)),
                };
                format!("{}: {} a session{over}", none.name(), bill(none))
            })
        };
        let mut recorded = String::new();
        if let Some(line) = self.answer.recorded {
            let ratio = line.metrics.cost_ratio.value.map(change);
            let known = line.dollars.n;
            let known = (known < self.comparison.corpus.imported)
                .then(|| format!("{} known", grouped(known as u64)));
            let more: Vec<String> = ratio.into_iter().chain(known).collect();
            recorded = format!("; as recorded: {} ({})", bill(line), more.join(", "));
        }
        // The noun, where one line has room for it.
        let text = none(" requests") + &recorded;
        if text.width() <= self.columns { text } else { none("") + &recorded }
    }

    /// The table, and how many presets it has no room for.
    fn presets(&self, out: &mut String, room: usize) {
        let shown = &self.answer.shown;
        if shown.is_empty() {
            return;
        }
        let fits = if shown.len() > room { room.saturating_sub(1).max(1) } else { shown.len() };
        let standings = self.comparison.standings();
        let heads = [
            Head::names("  preset"),
            Head::number("bill", ALWAYS),
            Head::number("saved", 3),
            Head::number("kept", 4),
            Head::number("reread", 1),
            Head::words("what stands out", 2),
        ];
        let row = |at: &usize| {
            let line = &self.comparison.presets[*at];
            let mark = match standings[*at] {
                _ if !line.gate.passed => "✗",
                Standing::Front => "★",
                Standing::Dominated(_) | Standing::Apart => " ",
            };
            let dash = || "–".to_owned();
            vec![
                format!("{mark} {}", self.name(line)),
                bill(&line.metrics.cost_ratio),
                self.dollars(line.dollars.saved_a_session()),
                kept(line),
                line.metrics.rereads_per_100_calls.value.map_or_else(dash, |n| format!("{n:.1}")),
                line.remark().map_or_else(String::new, remark),
            ]
        };
        lay_out(out, self.columns, &heads, shown.iter().take(fits).map(row).collect());
        if shown.len() > fits {
            let more = grouped((shown.len() - fits) as u64);
            out.push_str(&format!("  … {more} more with --full\n"));
        }
    }

    /// Dollars, all with the decimals that the bill without compaction needs.
    fn dollars(&self, usd: Option<f64>) -> String {
        let bill = self.comparison.baseline().and_then(|line| line.dollars.a_session());
        let decimals = decimals(bill.unwrap_or_default());
        usd.map_or_else(|| "–".to_owned(), |usd| dollars(usd, decimals))
    }

    /// The name of a preset, with its summarizer only if that is not the same for all.
    fn name<'l>(&self, line: &'l PresetLine) -> &'l str {
        if self.summarizer().is_some() { line.name() } else { &line.preset }
    }

    /// The summarizer, if it is the same for all.
    fn summarizer(&self) -> Option<&str> {
        let mut all = self.comparison.presets.iter().filter_map(|line| line.summarizer.as_deref());
        let first = all.next()?;
        all.all(|other| other == first).then_some(first)
    }

    /// What the headings and words in use mean, the least needed last.
    fn legend(&self) -> Vec<&'static str> {
        let lines = || self.answer.shown.iter().map(|at| &self.comparison.presets[*at]);
        let is_there = |item: &str| match item.chars().next() {
            Some('!') => lines().any(|line| line.good_by_one.is_some()),
            Some('t') => lines().any(|line| line.remark() == Some(Remark::Tie)),
            Some('~') => lines().any(|line| matches!(line.remark(), Some(Remark::Doubtful(_)))),
            Some('✗') => lines().any(|line| !line.gate.passed),
            _ => true,
        };
        LEGEND.into_iter().filter(|item| is_there(item)).collect()
    }

    /// What follows the table.
    fn tail(&self, legend: &[&str], commands: Commands<'_>) -> String {
        let mut out = String::new();
        self.controls(&mut out);
        self.left_out(&mut out);
        if let Some(by) = self.summarizer() {
            let instead = if by.starts_with("llm") { "" } else { ", in place of a model's" };
            self.say(&mut out, &format!("summaries: {by}{instead}"));
        }
        if !legend.is_empty() && !self.answer.shown.is_empty() {
            self.say(&mut out, &legend.join(" · "));
        }
        if !self.comparison.prices.is_empty() {
            self.say(&mut out, &format!("prices: {}", self.comparison.prices));
        }
        let shown = self.comparison.told_apart(self.comparison.reporting.primary);
        let cautions = count(self.comparison.cautions.len() as u64, "caution");
        let ties = match shown.pairs {
            0 => String::new(),
            pairs => {
                format!(
                    "{} of {} pairs are ties; ",
                    grouped(shown.ties as u64),
                    grouped(pairs as u64)
                )
            }
        };
        let more = commands.others.map(|others| format!("; more: {others}")).unwrap_or_default();
        self.say(&mut out, &format!("{ties}{cautions}, all else: --full{more}"));
        self.next(&mut out, commands.next);
        out
    }

    /// The next command, on more than one line if necessary, as a shell takes it; a command that has no room
    /// even so can't be typed, and the page is named instead.
    fn next(&self, out: &mut String, words: &[String]) {
        let mut text = "next:".to_owned();
        let mut column = text.len();
        for word in words {
            // Room for a blank and, after it, for the stroke that goes on.
            if column + 1 + word.width() + 2 > self.columns {
                text.push_str(" \\\n   ");
                column = 3;
            }
            text.push(' ');
            text.push_str(word);
            column += 1 + word.width();
        }
        if text.lines().any(|line| line.width() > self.columns) {
            "next: the same with --html report.html".clone_into(&mut text);
        }
        out.push_str(&text);
        out.push('\n');
    }

    /// As many controls as one line has room for.
    fn controls(&self, out: &mut String) {
        let mut controls = self.answer.controls.clone();
        controls.sort_by_key(|line| {
            TELLING.iter().position(|name| *name == line.preset).unwrap_or(TELLING.len())
        });
        let shown: Vec<String> = controls
            .into_iter()
            .map(|line| {
                let metrics = &line.metrics;
                let bill = metrics.cost_ratio.value.map_or_else(|| "–".to_owned(), change);
                let kept = metrics.frr_obs_far.value;
                let kept =
                    kept.map_or_else(|| "–".to_owned(), |kept| format!("{:.0}", kept * 100.0));
                format!("{} {bill} {kept}", line.name())
            })
            .collect();
        self.list(out, "controls (bill, kept): ", &shown);
    }

    /// Presets that are not shown.
    fn left_out(&self, out: &mut String) {
        let same = self.answer.same.iter().map(|(name, of)| format!("{name} = {of}"));
        self.list(out, "the same results: ", &same.collect::<Vec<_>>());
        let twins: Vec<String> = self.answer.twins.iter().map(|name| (*name).to_owned()).collect();
        self.list(out, "exact twins, with --full: ", &twins);
    }

    /// A line with a title and as many of the parts as fit, and how many more there are.
    fn list(&self, out: &mut String, title: &str, parts: &[String]) {
        if parts.is_empty() {
            return;
        }
        let line = |fits: usize| {
            let more = match parts.len() - fits {
                0 => String::new(),
                more => format!(" · {more} more"),
            };
            format!("{title}{}{more}", parts[..fits].join(" · "))
        };
        let fits = (1..=parts.len()).rev().find(|fits| line(*fits).width() <= self.columns);
        out.push_str(&shortened(&line(fits.unwrap_or(1)), self.columns));
        out.push('\n');
    }
}

/// `−40% (−47 to −38)`; without an interval that is narrower than a percent.
fn bill(metric: &Metric) -> String {
    let bare = |ratio: f64| change(ratio).trim_end_matches('%').to_owned();
    match (metric.value, metric.lo, metric.hi) {
        (Some(value), Some(lo), Some(hi)) if bare(lo) != bare(hi) => {
            format!("{} ({} to {})", change(value), bare(lo), bare(hi))
        }
        (Some(value), ..) => change(value),
        (None, ..) => "–".to_owned(),
    }
}

fn kept(line: &PresetLine) -> String {
    let Some(kept) = line.metrics.frr_obs_far.value else {
        return "–".to_owned();
    };
    let doubt = if line.good_by_one.is_some() { " !" } else { "" };
    format!("{:.0}{doubt}", kept * 100.0)
}

fn remark(remark: Remark) -> String {
    match remark {
        Remark::SentOver(requests) => format!("{} over the window", grouped(requests)),
        Remark::BrokeRules(times) => format!("broke rules {} times", grouped(times)),
        Remark::NeverActed => "never acted".to_owned(),
        Remark::ForgetsMuch => "forgets much".to_owned(),
        Remark::Doubtful(requests) => format!("~ {} may be over", grouped(requests)),
        Remark::Dearer => "costs more than none".to_owned(),
        Remark::Tie => "tie".to_owned(),
    }
}
