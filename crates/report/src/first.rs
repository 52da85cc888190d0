//! The first screen of a comparison: at most 80 columns and 25 lines, whatever was compared.
//!
//! It shows what a decision needs, in dollars and percent, what stands out, and the next command. All else is in
//! [`crate::table`], the page and the JSON.

use crate::number::{count, grouped};
use crate::terminal::{ALWAYS, Head, Rules, Width, lay_out, shortened, wrap};
use crate::{facts, verdict};
use foldback_replay::Comparison;
use foldback_replay::compare::{Answer, MUCH_FORGOTTEN, Metric, PresetLine, Remark, Standing};
use unicode_width::UnicodeWidthStr as _;

/// Columns of the screen at most.
const COLUMNS: usize = 80;
/// Lines of the screen at most.
const LINES: usize = 25;
/// Presets that are shown at least.
const LEAST: usize = 3;
/// Pairs of presets that the screen has room for.
const MOST_PAIRS: usize = 3;
/// Headings that may have no room.
const SAVED: &str = "saved";
const KEPT: &str = "kept";
const REMARK: &str = "what stands out";
/// Lines of a table other than its rows.
const FRAME: usize = 2;

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
    let mut out = page.head();
    let all = page.answer.shown.len();
    // The legend explains what is on the screen. Fewer presets may need less of it.
    let used = |fits: usize, tail: &str| {
        let more = usize::from(fits < all);
        lines(&out) + FRAME + fits + more + lines(tail)
    };
    let least = LEAST.min(all);
    let has_room = |fits: &usize| used(*fits, &page.tail(*fits, commands)) <= LINES;
    let fits = (least..=all).rev().find(has_room).unwrap_or(least);
    page.presets(&mut out, fits);
    out.push_str(&page.tail(fits, commands));
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

    /// What was compared, the verdict, and the bill that it goes by.
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
                "{} of {}, {}{acted}{skipped}",
                count(corpus.imported as u64, "session"),
                count(corpus.clusters as u64, "task"),
                count(calls as u64, "model call"),
            ),
        );
        let sentences = [
            verdict::verdict(self.comparison),
            verdict::experiment(self.comparison),
            verdict::base(self.comparison),
        ];
        for sentence in sentences {
            sentence.iter().for_each(|sentence| self.say(&mut out, sentence));
        }
        out.push('\n');
        out
    }

    /// The table of so many presets, and how many it has no room for. Gives the headings that it has no room for.
    fn presets(&self, out: &mut String, fits: usize) -> Vec<String> {
        let shown = &self.answer.shown;
        if shown.is_empty() {
            return Vec::new();
        }
        let standings = self.comparison.standings();
        let heads = [
            Head::names("  preset"),
            Head::number("bill", ALWAYS),
            Head::number(SAVED, 3),
            Head::number(KEPT, 4),
            Head::words(REMARK, 2),
        ];
        let row = |at: &usize| {
            let line = &self.comparison.presets[*at];
            let mark = verdict::mark(self.comparison, line, standings[*at]);
            let saved = line.metrics.saving_usd.value;
            vec![
                format!("{mark:1} {}", verdict::name(self.comparison, line)),
                verdict::bill(line),
                saved.map_or_else(|| "–".to_owned(), |usd| verdict::amount(self.comparison, usd)),
                kept(line),
                line.remark().map_or_else(String::new, verdict::remark),
            ]
        };
        let rows = shown.iter().take(fits).map(row).collect();
        let left_out = lay_out(out, self.columns, Rules::One, &heads, rows);
        if shown.len() > fits {
            let more = grouped((shown.len() - fits) as u64);
            out.push_str(&format!("  … {more} more with --full\n"));
        }
        left_out
    }

    /// What every heading, mark and word of a table of so many presets means.
    fn legend(&self, fits: usize, commands: Commands<'_>) -> String {
        let shown = || self.answer.shown.iter().take(fits);
        let lines = || shown().map(|at| &self.comparison.presets[*at]);
        let standings = self.comparison.standings();
        let starred =
            self.comparison.ranks() && shown().any(|at| standings[*at] == Standing::Front);
        let left_out = self.presets(&mut String::new(), fits);
        let is_shown = |head: &str| !left_out.iter().any(|name| name == head);
        let remarks = |wanted: fn(&Remark) -> bool| {
            is_shown(REMARK) && lines().filter_map(PresetLine::remark).any(|remark| wanted(&remark))
        };
        let base = self.comparison.base.as_ref().map_or("the base".to_owned(), verdict::paid);
        let unknown = lines().any(|line| {
            let PresetLine { metrics, .. } = line;
            let shown = [&metrics.saving_usd, &metrics.frr_obs_far, &metrics.verbatim_far];
            shown.iter().any(|metric| metric.value.is_none())
        });
        let interval = match lines().any(|line| verdict::bill(line).contains('(')) {
            true => ", with its 95% interval",
            false => "",
        };
        let items = [
            (true, format!("bill: change against {base}{interval}")),
            (is_shown(SAVED), "saved: a session".to_owned()),
            (is_shown(KEPT), "kept: % of older results needed later, by name/verbatim".to_owned()),
            (starred, "★ nothing is cheaper and keeps as much".to_owned()),
            (lines().any(|line| !line.gate.passed), "✗ a provider refuses it".to_owned()),
            (
                remarks(|remark| matches!(remark, Remark::Doubtful(_))),
                "~ over the window if sizes are scaled to recorded usage".to_owned(),
            ),
            (remarks(|remark| *remark == Remark::Tie), "tie: may cost as much".to_owned()),
            (
                remarks(|remark| *remark == Remark::ForgetsMuch),
                format!("forgets much: keeps under {}", facts::whole_percent(MUCH_FORGOTTEN)),
            ),
            (
                self.says_pairs(commands) && self.comparison.ranks(),
                "p: paired over tasks, Holm".to_owned(),
            ),
            (unknown, "– not known".to_owned()),
        ];
        let used = items.into_iter().filter(|(is_used, _)| *is_used).map(|(_, item)| item);
        used.collect::<Vec<_>>().join(" · ")
    }

    /// Whether there is room to say how the presets that were named differ.
    fn says_pairs(&self, commands: Commands<'_>) -> bool {
        commands.named && (1..=MOST_PAIRS).contains(&self.comparison.contrasts.len())
    }

    /// What follows a table of so many presets.
    fn tail(&self, fits: usize, commands: Commands<'_>) -> String {
        let mut out = String::new();
        let names: Vec<String> = self.answer.idle.iter().map(|name| (*name).to_owned()).collect();
        self.list(&mut out, "never acted: ", &names);
        let same = self.answer.same.iter().map(|(name, of)| format!("{name} = {of}"));
        self.list(&mut out, "same results: ", &same.collect::<Vec<_>>());
        if self.says_pairs(commands) {
            verdict::pairs(self.comparison).iter().for_each(|pair| self.say(&mut out, pair));
        }
        if !self.answer.shown.is_empty() {
            self.say(&mut out, &self.legend(fits, commands));
        }
        let outcomes = verdict::outcomes(self.comparison);
        outcomes.iter().take(2 + MOST_PAIRS).for_each(|text| self.say(&mut out, text));
        let cautions = count(self.comparison.cautions.len() as u64, "caution");
        let more = commands.others.map(|others| format!("; more systems: {others}"));
        let summaries =
            verdict::summaries(self.comparison).map(|text| format!("summaries {text}; "));
        let model = self.comparison.prices.split(',').next().filter(|model| !model.is_empty());
        let prices = model.map(|model| format!("{model}; "));
        let (summaries, prices) = (summaries.unwrap_or_default(), prices.unwrap_or_default());
        self.say(
            &mut out,
            &format!(
                "{prices}{summaries}{cautions}, controls, pairs: --full{}",
                more.unwrap_or_default()
            ),
        );
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

/// By references, and by the second judge: a strategy that was chosen by one of them looks better by it than it is.
fn kept(line: &PresetLine) -> String {
    let whole = |share: f64| format!("{:.0}", share * 100.0);
    let percent = |metric: &Metric| match (metric.value, metric.lo, metric.hi) {
        (Some(share), ..) => whole(share),
        // Of summaries that only their provider can read.
        (None, Some(lo), Some(hi)) => format!("{}–{}", whole(lo), whole(hi)),
        _ => "–".to_owned(),
    };
    let PresetLine { metrics, .. } = line;
    format!("{}/{}", percent(&metrics.frr_obs_far), percent(&metrics.verbatim_far))
}
