//! The first screen of a comparison: at most 80 columns and 25 lines, whatever was compared.
//!
//! It shows what a decision needs, in dollars and percent, what stands out, and the next command. All else is in
//! [`crate::table`], the page and the JSON.

use crate::number::{count, count_of, grouped};
use crate::terminal::{ALWAYS, Head, Rules, Width, lay_out, shortened, wrap};
use crate::verdict::base_name;
use crate::{facts, verdict};
use foldback_core::strategy::Kind;
use foldback_replay::Comparison;
use foldback_replay::compare::{Answer, Base, Metric, PresetLine, Unit, Verdict};
use std::cmp::Reverse;
use unicode_width::UnicodeWidthStr as _;

/// Columns of the screen at most.
const COLUMNS: usize = 80;
/// Lines of the screen at most.
const LINES: usize = 25;
/// Presets that are shown at least.
const LEAST: usize = 2;
/// Pairs of presets that the screen has room for.
const MOST_PAIRS: usize = 3;
/// A repository or session that has more than this share of the money is named.
const HEAVY: f64 = 0.3;
/// Lines below the table that can be read elsewhere, and give way to the answer one by one.
const SPARE: usize = 5;
/// Lines of a table that are no rows: its head and the rule below.
const FRAME: usize = 2;

/// The lines that the command adds.
#[derive(Clone, Copy, Debug)]
pub struct Commands<'a> {
    /// Whether the user named presets: then the table shows each of them.
    pub named: bool,
    /// The group that names the other presets.
    pub others: Option<&'a str>,
    /// The purpose of the next command.
    pub title: &'a str,
    /// The next command: its words, each as a shell takes it.
    pub next: &'a [String],
    /// The command that tries the preset of the verdict.
    pub employ: &'a [String],
}

/// The screen.
pub fn screen(comparison: &Comparison, width: Width, commands: Commands<'_>) -> String {
    let columns = width.table.min(COLUMNS);
    let answer = comparison.answer();
    let page = Page::new(comparison, answer, columns, commands);
    let mut out = page.head();
    let all = page.rows.len();
    let head = lines(&out);
    let used =
        |fits: usize, tail: &str| head + FRAME + fits + usize::from(fits < all) + lines(tail);
    let is_named = |at: &usize| page.is_named(&comparison.presets[*at]);
    let named = page.rows.iter().rposition(is_named).map_or(0, |at| at + 1);
    let least = LEAST.max(named).min(all);
    let fitting = |tail: &String| used(least, tail) <= LINES;
    let tail = (0..SPARE).map(|spared| page.tail(spared)).find(fitting);
    let tail = tail.unwrap_or_else(|| page.tail(SPARE));
    let fits = (least..=all).rev().find(|fits| used(*fits, &tail) <= LINES).unwrap_or(least);
    page.presets(&mut out, fits);
    out.push_str(&tail);
    out
}

fn lines(text: &str) -> usize {
    text.lines().count()
}

struct Page<'a> {
    comparison: &'a Comparison,
    answer: Answer<'a>,
    /// The preset to use, and the one that keeps more.
    named: [Option<&'a PresetLine>; 2],
    /// Indices of the presets that have a row.
    rows: Vec<usize>,
    /// Names of those of which nothing is to say but that they can't be told from the base.
    alike: Vec<String>,
    /// Indices of those that a provider refuses.
    refused: Vec<usize>,
    /// Names of those that acted in no session with a bill, so that their own is not known.
    unbilled: Vec<String>,
    columns: usize,
    commands: Commands<'a>,
}

impl<'a> Page<'a> {
    fn new(
        comparison: &'a Comparison,
        answer: Answer<'a>,
        columns: usize,
        commands: Commands<'a>,
    ) -> Self {
        let named = match comparison.verdict() {
            Verdict::Use { best, fuller, .. } => [Some(best), fuller],
            _ => [comparison.best(), None],
        };
        let mut page = Self {
            comparison,
            answer,
            named,
            rows: Vec::new(),
            alike: Vec::new(),
            refused: Vec::new(),
            unbilled: Vec::new(),
            columns,
            commands,
        };
        for at in &page.answer.shown {
            let line = &comparison.presets[*at];
            let name = || verdict::name(comparison, line).to_owned();
            let acts = line.gate.passed && line.triggered > 0;
            let is_unbilled = acts && comparison.base.is_some() && !comparison.is_billed(line);
            let says_more = commands.named || page.is_named(line) || !comparison.is_tested();
            match () {
                () if is_unbilled => {
                    page.unbilled.push(name());
                }
                () if says_more => page.rows.push(*at),
                () if !line.gate.passed => page.refused.push(*at),
                () if line.saves() || !line.remarks(comparison.reporting.keep).is_empty() => {
                    page.rows.push(*at);
                }
                () => page.alike.push(name()),
            }
        }
        page.refused.sort_by_key(|at| Reverse(comparison.presets[*at].gate.over));
        page
    }

    /// Whether the answer names a preset before all others.
    fn is_named(&self, line: &PresetLine) -> bool {
        self.named.iter().flatten().any(|named| std::ptr::eq(*named, line))
    }

    fn say(&self, out: &mut String, text: &str) {
        let width = Width { text: self.columns, table: self.columns };
        wrap(out, "", "  ", text, width);
    }

    /// The corpus, its bill today, and the verdict.
    fn head(&self) -> String {
        let mut out = String::new();
        let corpus = &self.comparison.corpus;
        let (calls, _) = facts::calls_and_turns(corpus);
        let short = match (self.answer.shown.is_empty(), self.answer.too_short) {
            // There was nothing that could have acted.
            (true, _) | (_, 0) => String::new(),
            (_, short) => format!("; {} too short to compact", grouped(short as u64)),
        };
        let ways = match self.comparison.of_kind(Kind::Strategy).len() {
            0 => String::new(),
            presets => format!(
                "; {}",
                count_of(presets as u64, "way to compact (preset)", "ways to compact (presets)")
            ),
        };
        let skipped = match corpus.skipped.len() {
            0 => String::new(),
            files => format!("; {} skipped", count(files as u64, "file")),
        };
        self.say(
            &mut out,
            &format!(
                "{} in {}, {}{ways}{short}{skipped}",
                count(corpus.imported as u64, "session"),
                facts::clusters(corpus),
                count(calls as u64, "model call"),
            ),
        );
        if let Some(base) = verdict::base(self.comparison) {
            self.say(&mut out, &base);
        }
        out.push('\n');
        let heavy = self.comparison.heaviest.as_ref().filter(|(_, share)| *share > HEAVY);
        let heavy = heavy.map(|(session, share)| {
            let line = self.comparison.corpus.sessions.get(*session);
            let of = line.map_or("", |line| match corpus.unit {
                Unit::Sessions => &line.path,
                Unit::Repositories | Unit::Sums => &line.cluster,
            });
            let share = facts::whole_percent(*share);
            format!("{share} of the money is in {of}.")
        });
        let verdict = verdict::verdict(self.comparison);
        for sentence in [verdict, verdict::rules(self.comparison), heavy].iter().flatten() {
            self.say(&mut out, sentence);
        }
        out.push('\n');
        out
    }

    /// The table of so many presets, and how many it has no room for.
    fn presets(&self, out: &mut String, fits: usize) {
        let comparison = self.comparison;
        let Some(base) = comparison.base.as_ref().filter(|_| !self.rows.is_empty()) else { return };
        let heads = [
            Head::names("preset"),
            Head::number("$ a session", 2),
            Head::number(versus(base), ALWAYS),
            Head::number("in view", 3),
            Head::words("note", 1),
        ];
        let row = |at: &usize, notes: usize| {
            let line = &comparison.presets[*at];
            let notes = verdict::remarked(comparison, line).into_iter().take(notes);
            cells(comparison, line, notes.collect::<Vec<_>>().join(", ")).to_vec()
        };
        // Where there is no room for all notes, there is for the worst of each preset.
        for notes in [usize::MAX, 1] {
            let rows = self.rows.iter().take(fits).map(|at| row(at, notes)).collect();
            let mut table = String::new();
            let left_out = lay_out(&mut table, self.columns, Rules::One, &heads, rows);
            if left_out.is_empty() || notes == 1 {
                out.push_str(&table);
                break;
            }
        }
        if self.rows.len() > fits {
            let more = grouped((self.rows.len() - fits) as u64);
            out.push_str(&format!("… {more} more with --show full\n"));
        }
    }

    /// Whether there is room to say how the presets that were named differ.
    fn says_pairs(&self) -> bool {
        self.commands.named && (1..=MOST_PAIRS).contains(&self.comparison.contrasts.len())
    }

    /// The lines after the table, without so many of those that the page and the help have as well.
    fn tail(&self, spared: usize) -> String {
        let mut out = String::new();
        let comparison = self.comparison;
        if let Some(base) = &comparison.base {
            self.list(
                &mut out,
                &format!("no clear difference to {}: ", base_name(base)),
                &self.alike,
            );
        }
        self.refused(&mut out);
        self.list(&mut out, "no bill where it acted: ", &self.unbilled);
        let names: Vec<String> = self.answer.idle.iter().map(|name| (*name).to_owned()).collect();
        self.list(&mut out, "never acted: ", &names);
        let same = self.answer.same.iter().map(|(name, of)| format!("{name} = {of}"));
        if spared < 1 {
            self.list(&mut out, "same results: ", &same.collect::<Vec<_>>());
        }
        if self.says_pairs() {
            verdict::pairs(comparison).iter().for_each(|pair| self.say(&mut out, pair));
        }
        let outcomes = verdict::outcomes(comparison);
        outcomes.iter().take(2 + MOST_PAIRS).for_each(|text| self.say(&mut out, text));
        let priced = (!self.rows.is_empty()).then(|| match comparison.netted {
            true => "What agents reread is priced in.".to_owned(),
            false => "What agents reread is not priced in.".to_owned(),
        });
        let summaries = verdict::summaries(comparison).map(|text| format!("Summaries {text}."));
        let said: Vec<String> = [priced, summaries].into_iter().flatten().collect();
        if spared < 5 && !said.is_empty() {
            self.say(&mut out, &said.join(" "));
        }
        let cautions = match comparison.cautions.len() {
            0 => "All".to_owned(),
            cautions => format!("{}, all", count(cautions as u64, "caution")),
        };
        let more = self.commands.others.filter(|_| spared < 3);
        let more = more.map(|others| format!("; other presets: {others}"));
        let more = more.unwrap_or_default();
        self.say(&mut out, &format!("{cautions} figures: --show full, --html r.html{more}"));
        let Commands { title, next, employ, .. } = self.commands;
        if spared < 4 || employ.is_empty() {
            self.next(&mut out, title, next, "next: the same with --html report.html");
        }
        self.next(&mut out, "try:", employ, "try: foldback serve --help");
        if spared < 2 && !employ.is_empty() {
            self.say(&mut out, "then: foldback setup; --write applies, --remove undoes it");
        }
        out
    }

    /// The presets that a provider refuses, those with most refused requests first.
    fn refused(&self, out: &mut String) {
        let lines = || self.refused.iter().map(|at| &self.comparison.presets[*at]);
        let name = |line| verdict::name(self.comparison, line);
        let (broke, large): (Vec<_>, Vec<_>) =
            lines().partition(|line| line.gate.strategy_violations > 0);
        let large = large.iter().enumerate().map(|(at, line)| {
            let over = match at {
                0 => count(line.gate.over, "request"),
                _ => grouped(line.gate.over),
            };
            format!("{} ({over})", name(line))
        });
        let large: Vec<String> = large.collect();
        let broke: Vec<String> = broke
            .iter()
            .map(|line| format!("{} ({})", name(line), verdict::remarks(self.comparison, line)))
            .collect();
        self.list(out, "unusable, too large: ", &large);
        self.list(out, "unusable, a provider refuses: ", &broke);
    }

    /// A command under its title, on more than one line if necessary, as a shell takes it; a command that has no room
    /// even so can't be typed, and another is named instead.
    fn next(&self, out: &mut String, title: &str, words: &[String], instead: &str) {
        if words.is_empty() {
            return;
        }
        let mut text = title.to_owned();
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
            text = instead.to_owned();
        }
        out.push_str(&text);
        out.push('\n');
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

/// The name of the preset that the answer names, as its row has it.
pub fn best(comparison: &Comparison) -> Option<&str> {
    comparison.best().filter(|_| comparison.is_tested()).map(|line| verdict::name(comparison, line))
}

/// The notes in the rows of presets.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let notes = comparison.presets.iter().flat_map(|line| {
        let all = verdict::remarked(comparison, line);
        [all.join(", "), all.into_iter().next().unwrap_or_default()]
    });
    notes.filter(|note| !note.is_empty()).collect()
}

/// How the answer begins, and whether it says what to use.
pub fn answer(comparison: &Comparison) -> Option<(String, bool)> {
    let text = verdict::verdict(comparison)?;
    let ends = [": ", ". ", ", "].iter().filter_map(|end| text.find(end)).min();
    let uses = matches!(comparison.verdict(), Verdict::Use { .. });
    Some((text[..ends.unwrap_or(text.len())].to_owned(), uses))
}

/// The heading of the difference in bills: `vs today`.
pub(crate) fn versus(base: &Base) -> String {
    format!("vs {}", base_name(base))
}

/// The cells of a preset: its name, dollars, the difference in bills, what stays in view, and a note.
pub(crate) fn cells(comparison: &Comparison, line: &PresetLine, note: String) -> [String; 5] {
    let usd = a_session(comparison, line).map(|usd| verdict::amount(comparison, usd));
    [
        verdict::name(comparison, line).to_owned(),
        usd.unwrap_or_else(|| "–".to_owned()),
        verdict::changed(&line.ratio),
        in_view(&line.metrics.frr_obs_far),
        note,
    ]
}

/// Dollars that a session costs under a preset, on average.
pub(crate) fn a_session(comparison: &Comparison, line: &PresetLine) -> Option<f64> {
    let base = comparison.base.as_ref()?;
    Some(base.spent(comparison.netted) - line.saved.value?)
}

/// The share that was kept; of summaries that only their provider can read, from what stands beside them to everything.
fn in_view(metric: &Metric) -> String {
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    match (metric.value, metric.lo, metric.hi) {
        (Some(share), ..) => facts::whole_percent(share),
        (None, Some(lo), Some(hi)) => format!("{}–{}%", whole(lo), whole(hi)),
        _ => "–".to_owned(),
    }
}
