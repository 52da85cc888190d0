//! The strategy file that `foldback recommend` writes: why this configuration, what it costs, and what it would
//! have forgotten, as comments above the few lines that set it.

use crate::explain::words::{without_text, worst_of};
use crate::number::{count, grouped};
use crate::terminal::{Width, wrap};
use crate::tune::{interval, point, value};
use crate::verdict;
use foldback_replay::Model;
use foldback_replay::compare::Metric;
use foldback_replay::cost::OWN;
use foldback_replay::tune::advice::Budget;
use foldback_replay::tune::{Measured, PartSummary, Trial, Tuned, plain};
use foldback_replay::walk::Walk;

/// Columns of the comments.
const WIDTH: u16 = 96;

/// Forgotten references that are listed.
const EXAMPLES: usize = 3;

/// A recommendation with its figures.
#[derive(Clone, Copy, Debug)]
pub struct Advice<'a> {
    /// All trials.
    pub tuned: &'a Tuned,
    /// Index of the recommended trial.
    pub chosen: usize,
    /// The budget.
    pub budget: Budget,
    /// Model that it is chosen for.
    pub model: Option<&'a str>,
    /// Window that it is chosen for; the model's if zero.
    pub window: u64,
    /// The model's entry in the model table.
    pub table: Option<&'a Model>,
    /// Walks through sessions in which it forgot something, of the part that is reported on.
    pub walks: &'a [Walk],
    /// For whom it is not the right choice.
    pub not_for: &'a [String],
}

impl Advice<'_> {
    fn trial(&self) -> Option<&Trial> {
        self.tuned.trials.get(self.chosen)
    }

    fn for_what(&self) -> String {
        match (self.model, self.window) {
            (Some(model), 0) => match self.table {
                Some(Model { id, context, .. }) => {
                    let id = if id == model { "it" } else { id };
                    let window = grouped(*context);
                    format!("{model} with the window of {window} that the model table has for {id}")
                }
                None => model.to_owned(),
            },
            (Some(model), window) => format!("{model} with a window of {}", grouped(window)),
            (None, window) => format!("a window of {}", grouped(window)),
        }
    }
}

/// The configuration in a sentence.
pub fn description(advice: &Advice<'_>) -> String {
    let settings = advice.trial().map(|trial| trial.settings.as_slice());
    let settings: Vec<String> = settings
        .unwrap_or_default()
        .iter()
        .map(|(field, value)| format!("{} = {}", field.path, plain(value)))
        .collect();
    let of = advice.trial().map_or("", |trial| trial.of.as_str());
    let with = match settings.is_empty() {
        true => "its own values".to_owned(),
        false => settings.join(", "),
    };
    format!("{of} with {with}, chosen for {}", advice.for_what())
}

/// The whole file: comments, then `strategy`, the lines that set the configuration.
pub fn file(advice: &Advice<'_>, strategy: &str) -> String {
    let mut out = String::new();
    let Some(trial) = advice.trial() else {
        return strategy.to_owned();
    };
    let tuned = advice.tuned;
    say(
        &mut out,
        &format!(
            "Recommended for {} on a budget of {}: {}.",
            advice.for_what(),
            advice.budget,
            words(advice)
        ),
    );
    blank(&mut out);
    say(&mut out, "Why this one:");
    item(&mut out, &chosen(advice, trial));
    if trial.tune.triggered == 0 {
        item(
            &mut out,
            "it changed nothing in any of these sessions: nothing that keeps as much is cheaper than no compaction \
             at all, and they can't show what it would forget when it acts",
        );
    }
    if trial.tune.triggered > 0 && trial.tune.net_ratio.value > Some(1.0) {
        let text =
            format!("it costs more than {}: it makes room but saves nothing", paid(&tuned.tune));
        item(&mut out, &text);
    }
    if let Some(runner) = runner_up(advice) {
        item(&mut out, &runner);
    }
    for rejected in &tuned.rejected {
        let text = format!("not tried: {}, because {}", rejected.name, rejected.why);
        item(&mut out, &text);
    }
    blank(&mut out);
    match (&trial.report, &tuned.report) {
        (Some(report), Some(part)) => reported(&mut out, advice, trial, report, part),
        _ => say(
            &mut out,
            "Not verified: no session was left to check it on. The numbers above are those it was chosen by, and are \
             optimistic.",
        ),
    }
    if !advice.not_for.is_empty() {
        blank(&mut out);
        say(&mut out, &format!("{} is not the right choice for:", trial.of));
        advice.not_for.iter().for_each(|phrase| item(&mut out, phrase));
    }
    forgotten(&mut out, advice);
    for caution in &tuned.cautions {
        blank(&mut out);
        say(&mut out, &format!("Caution: {caution}"));
    }
    blank(&mut out);
    say(
        &mut out,
        "Replayed under the recorded actions: a replay can't tell whether the agent would have succeeded on the \
         smaller view.",
    );
    say(&mut out, &format!("{}.", tuned.tune.provenance.made()));
    out.push('\n');
    out.push_str(strategy);
    out
}

fn words(advice: &Advice<'_>) -> String {
    match advice.budget {
        Budget::Cost(most) => {
            format!("a net bill of at most {} of {}", percent(most), paid(&advice.tuned.tune))
        }
        Budget::Keep(least) => format!(
            "at least {} of what later calls refer to, and only tool results and user messages had said, stays in \
             the view",
            percent(least)
        ),
    }
}

/// The bill that the bills of a part are compared with.
fn paid(part: &PartSummary) -> String {
    part.base.as_ref().map_or("the bill of the base".to_owned(), verdict::paid)
}

/// The end of a sentence that says what a configuration costs in a part, in dollars and percent; empty if it is not known.
fn it_costs(measured: &Measured, part: &PartSummary) -> String {
    let Measured { net_ratio, net_saving_usd, .. } = measured;
    let saved = part.base.as_ref();
    let saved = saved.and_then(|base| verdict::saved_likely(base, net_ratio, net_saving_usd));
    saved.map_or_else(String::new, |saved| format!("; it costs {saved}"))
}

fn percent(share: f64) -> String {
    let text = format!("{:.2}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn chosen(advice: &Advice<'_>, trial: &Trial) -> String {
    let tuned = advice.tuned;
    let best = match advice.budget {
        Budget::Cost(_) => "keeps most",
        Budget::Keep(_) => "is cheapest",
    };
    format!(
        "of {} configurations of the shipped presets, {} pass the gates (no request sent over the window, no rule of the \
         provider broken), {} of them meet the budget on {}, and {} {best}: {}",
        tuned.trials.len(),
        tuned.passing().count(),
        tuned.meeting(advice.budget).len(),
        part(&tuned.tune),
        trial.name,
        point(&trial.tune, value)
    )
}

/// The best trial of another preset that meets the budget, too.
fn runner_up(advice: &Advice<'_>) -> Option<String> {
    let (tuned, chosen) = (advice.tuned, advice.trial()?);
    let meeting = tuned.meeting(advice.budget).into_iter();
    let best = meeting.map(|at| &tuned.trials[at]).find(|trial| trial.of != chosen.of)?;
    Some(format!("the best of the other presets is {}: {}", best.name, point(&best.tune, value)))
}

fn reported(
    out: &mut String,
    advice: &Advice<'_>,
    trial: &Trial,
    report: &Measured,
    summary: &PartSummary,
) {
    let text =
        format!("On {} held out for the check (95 % intervals over sessions):", part(summary));
    say(out, &text);
    if let Some(base) = &summary.base {
        item(out, &format!("base: {}", verdict::what_was_paid(base, summary.sessions)));
    }
    let regime = whose(&advice.tuned.reporting.regime);
    let (share, costs) = (interval(&report.net_ratio), it_costs(report, summary));
    item(out, &format!("net bill, by the prices of {regime}: {share} of {}{costs}", paid(summary)));
    item(
        out,
        &format!(
            "kept: {} of what only tool results and user messages had said and was last seen more than three \
             calls ago; {} of what was reused word for word, by the second judge; {} of the old texts of edits",
            interval(&report.frr_obs_far),
            interval(&report.verbatim_far),
            interval(&report.epr)
        ),
    );
    if let Some(missed) = report.missed_per_100_calls.value {
        let text = format!(
            "missed: {missed:.1} old texts of edits and pieces of results per 100 calls; the net bill charges for reading them again \
             as often as recordings show"
        );
        item(out, &text);
    }
    item(out, &held(advice.budget, report));
    if let Some(own) = advice
        .tuned
        .trials
        .iter()
        .find(|other| other.of == trial.of && other.settings.is_empty())
        .filter(|_| !trial.settings.is_empty())
        .and_then(|own| own.report.as_ref())
    {
        let own = point(own, interval);
        item(out, &format!("{} with its own values, on the same sessions: {own}", trial.of));
    }
}

/// Whose prices a regime has.
pub(crate) fn whose(regime: &str) -> &str {
    if regime == OWN { "each session's own model" } else { regime }
}

/// The metric of a budget.
fn asked(budget: Budget, measured: &Measured) -> &Metric {
    match budget {
        Budget::Cost(_) => &measured.net_ratio,
        Budget::Keep(_) => &measured.frr_obs_far,
    }
}

/// Whether the budget holds on the held-out sessions.
fn held(budget: Budget, report: &Measured) -> String {
    let metric = asked(budget, report);
    let worst = match budget {
        Budget::Cost(_) => metric.hi,
        Budget::Keep(_) => metric.lo,
    };
    let Some(at) = metric.value else {
        return "the budget: can't be checked here, nothing was needed".to_owned();
    };
    let holds = |value| budget.holds(value);
    let gate = match report.gate.passed {
        true => "",
        false => {
            "; but here it fails a gate: requests sent over the window, or rules of the provider broken"
        }
    };
    let text = match (holds(at), worst.is_some_and(holds)) {
        (true, true) => "the budget: also met here, over the whole interval",
        (true, false) => "the budget: also met here, but the interval reaches beyond it",
        (false, _) => "the budget: NOT met here; it was only met on the sessions it was chosen on",
    };
    format!("{text}{gate}")
}

fn forgotten(out: &mut String, advice: &Advice<'_>) {
    let worst = worst_of(advice.walks, None, EXAMPLES);
    if worst.is_empty() {
        return;
    }
    blank(out);
    say(out, "What it would have forgotten there, the worst first:");
    // The file is made to be shared: neither paths nor texts of sessions stand in it.
    for (walk, missed) in &worst {
        item(out, &without_text(walk, missed));
    }
    say(out, "`foldback explain` shows what it was.");
}

/// The choice, in a line.
pub fn note(advice: &Advice<'_>) -> String {
    let Some(trial) = advice.trial() else {
        return String::new();
    };
    let on = |part: &PartSummary, at: &Measured, text: &str| {
        format!("{} on {}{text}", point(at, value), self::part(part))
    };
    let tuned = advice.tuned;
    let mut line = format!(
        "chose {} for {}: {}",
        trial.name,
        advice.for_what(),
        on(&tuned.tune, &trial.tune, "")
    );
    match (&trial.report, &tuned.report) {
        (Some(report), Some(part)) => {
            line.push_str("; ");
            line.push_str(&on(part, report, " held out for the check"));
        }
        _ => line.push_str("; no session was left to verify it on"),
    }
    line
}

/// Why the budget is not met on the held-out sessions, how far it is from that, and what the strategy saves all the same.
/// `written` is where the strategy is.
pub fn not_met(advice: &Advice<'_>, written: &str) -> Option<String> {
    let report = advice.trial()?.report.as_ref()?;
    let part = advice.tuned.report.as_ref()?;
    let metric = asked(advice.budget, report);
    let at = metric.value?;
    let missed = !advice.budget.holds(at);
    if !missed && report.gate.passed {
        return None;
    }
    let share = interval(metric);
    let (how, far) = match advice.budget {
        Budget::Cost(most) => (format!("the net bill is {share} of {}", paid(part)), at - most),
        Budget::Keep(least) => (format!("{share} was kept"), least - at),
    };
    let far = match missed {
        true => format!(", {:.1} points from it", far * 100.0),
        false => String::new(),
    };
    let gate = match report.gate.passed {
        true => "",
        false => ", and it sends requests over the window or breaks rules of the provider",
    };
    let costs = it_costs(report, part);
    Some(format!(
        "the budget {} does not hold on {} held out for the check: {how}{far}{gate}{costs}. {written} has the strategy and says \
         so. Change the budget, or provide more sessions",
        advice.budget,
        self::part(part),
    ))
}

/// The text when no configuration meets the budget.
pub fn nearest(tuned: &Tuned, at: usize, budget: Budget) -> String {
    let Some(trial) = tuned.trials.get(at) else {
        return nothing(tuned);
    };
    let rounded = |value: Option<f64>, up: bool| {
        let thousandths = value.unwrap_or_default() * 1_000.0;
        let whole = if up { thousandths.ceil() } else { thousandths.floor() };
        whole / 1_000.0
    };
    let ask = match budget {
        Budget::Cost(_) => Budget::Cost(rounded(trial.tune.net_ratio.value, true)),
        Budget::Keep(_) => Budget::Keep(rounded(trial.tune.frr_obs_far.value, false)),
    };
    format!(
        "no configuration meets {budget} on {}; {} comes closest, with a net bill of {} of {} and {} kept: use --budget \
         {ask} to get it",
        part(&tuned.tune),
        trial.name,
        value(&trial.tune.net_ratio),
        paid(&tuned.tune),
        value(&trial.tune.frr_obs_far)
    )
}

/// The text when there is nothing to choose from.
pub fn nothing(tuned: &Tuned) -> String {
    match tuned.nearest_to_gates() {
        Some(trial) if !tuned.gates_passed => format!(
            "no configuration passes the gates on {}: {} comes closest, it {}; choose a model with a larger window, or \
             leave out the sessions whose first requests do not fit",
            part(&tuned.tune),
            trial.name,
            trial.tune.gate.why().unwrap_or_default()
        ),
        _ => format!(
            "on {} nothing fired, or nothing was needed afterwards, so no configuration is better than \
             another; a smaller --window makes them act",
            part(&tuned.tune)
        ),
    }
}

fn part(part: &PartSummary) -> String {
    format!("{} ({} with a compaction)", count(part.sessions as u64, "session"), part.triggering)
}

fn say(out: &mut String, text: &str) {
    wrap(out, "# ", "# ", &in_a_comment(text), Width::terminal(WIDTH));
}

fn item(out: &mut String, text: &str) {
    wrap(out, "# - ", "#   ", &in_a_comment(text), Width::terminal(WIDTH));
}

/// TOML allows no control character in a comment, and a line break would end it: paths and what sessions
/// say may hold both.
fn in_a_comment(text: &str) -> String {
    text.replace(char::is_control, " ")
}

fn blank(out: &mut String) {
    out.push_str("#\n");
}
