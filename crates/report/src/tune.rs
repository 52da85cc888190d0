//! What `foldback tune` prints: the configurations by cost and retention on the sessions that they were
//! chosen on, and the front of them, with intervals, on those that they were not.

use crate::columns;
use crate::number::{count, count_of, grouped, short};
use crate::terminal::{ALWAYS, Head, Width, measured, table, wrap};
use foldback_replay::compare::{Difference, Gate, Metric};
use foldback_replay::tune::{Field, Measured, PartSummary, Search, Trial, Tuned, plain};
use serde::Serialize;

/// What is measured of a configuration, by the names that the columns of a comparison have, and how much each
/// matters.
const MEASURED: [(&str, u8); 4] =
    [("net", ALWAYS), ("kept", ALWAYS), ("verbatim", 3), ("edits", 2)];

/// Configurations off the front that are listed; the others are in the JSON.
const DOMINATED: usize = 12;

#[derive(Serialize)]
struct Document<'a> {
    search: Search,
    front: Vec<usize>,
    #[serde(flatten)]
    tuned: &'a Tuned,
}

/// Everything as one document.
pub fn document(tuned: &Tuned, search: Search) -> impl Serialize + '_ {
    Document { search, front: tuned.front(), tuned }
}

/// The report for a terminal of so many columns.
pub fn tuned(tuned: &Tuned, search: Search, width: Width) -> String {
    let mut out = String::new();
    let say = |out: &mut String, text: &str| wrap(out, "", "  ", text, width);
    say(&mut out, &head(tuned, search));
    for rejected in &tuned.rejected {
        let text = format!("left out: {}: {}", rejected.name, rejected.why);
        say(&mut out, &text);
    }
    for caution in &tuned.cautions {
        say(&mut out, &format!("Caution: {caution}"));
    }
    out.push('\n');
    say(&mut out, &format!("Tuned on {}", part(&tuned.tune)));
    let left = choosing(&mut out, tuned, width);
    if left > 0 {
        let text = format!("… and {left} more that the front beats (all with --json)");
        say(&mut out, &text);
    }
    if let Some(report) = &tuned.report {
        out.push('\n');
        let title = format!("The front on other sessions: {}", part(report));
        say(&mut out, &title);
        reporting(&mut out, tuned, width);
    }
    out.push('\n');
    say(&mut out, &place(tuned));
    let legend = format!(
        "★ on the front: nothing is cheaper and keeps as much · ○ the preset's own values · {} · over: requests \
         sent over the window, ✗ rules of the provider broken · than own: how it differs from the preset's own \
         values, Holm over all rows · in brackets 95 % intervals over sessions; those it was tuned on have none, \
         because choosing among them biases them",
        columns::meanings(&MEASURED.map(|(name, _)| name), &tuned.reporting)
    );
    say(&mut out, &legend);
    out
}

fn head(tuned: &Tuned, search: Search) -> String {
    let trials = tuned.trials.len();
    let own = tuned.trials.first().map_or("", |trial| trial.of.as_str());
    let how = match search {
        Search::Grid(points) => format!("a grid of up to {points} values per range"),
        Search::Sample { seed, .. } => format!("a random sample, seed {seed}"),
    };
    let fields: Vec<&str> = fields(tuned).map(|field| field.path.as_str()).collect();
    format!(
        "{own}: {} over {} ({how}), its own values among them",
        count(trials as u64, "configuration"),
        fields.join(" and ")
    )
}

fn part(part: &PartSummary) -> String {
    format!(
        "{} of {} with {}; something was compacted in {}",
        count(part.sessions as u64, "session"),
        count_of(part.clusters as u64, "task or repository", "tasks or repositories"),
        count(part.calls as u64, "call"),
        part.triggering
    )
}

/// The fields that are varied, in the order that they were given.
fn fields(tuned: &Tuned) -> impl Iterator<Item = &Field> {
    let first = tuned.trials.iter().find(|trial| !trial.settings.is_empty());
    first.into_iter().flat_map(|trial| &trial.settings).map(|(field, _)| field)
}

/// The values under the heading, after the marks.
fn label(trial: &Trial) -> String {
    let star = if trial.is_on_front() { "★" } else { " " };
    if trial.settings.is_empty() {
        return format!("{star}○ {}", trial.of);
    }
    let values: Vec<String> = trial
        .settings
        .iter()
        .map(|(_, value)| match value.as_u64() {
            Some(number) => grouped(number),
            None => plain(value),
        })
        .collect();
    format!("{star}  {}", values.join("; "))
}

/// The first table. Gives how many configurations are not shown.
fn choosing(out: &mut String, tuned: &Tuned, width: Width) -> usize {
    let mut order: Vec<&Trial> = tuned.trials.iter().collect();
    let cost = |trial: &Trial| trial.tune.net_ratio.value.unwrap_or(f64::INFINITY);
    order.sort_by(|a, b| {
        let has_no_place = |trial: &Trial| trial.dominated_by.is_none();
        has_no_place(a).cmp(&has_no_place(b)).then(cost(a).total_cmp(&cost(b)))
    });
    let (front, others): (Vec<&Trial>, Vec<&Trial>) =
        order.into_iter().partition(|trial| trial.is_on_front());
    // The own values are always there, wherever they stand.
    let (own, others): (Vec<&Trial>, Vec<&Trial>) =
        others.into_iter().partition(|trial| trial.settings.is_empty());
    let left = others.len().saturating_sub(DOMINATED);
    let rows = front.into_iter().chain(own).chain(others.into_iter().take(DOMINATED));
    let row = |trial: &Trial| {
        let measured = &trial.tune;
        let acted = format!("{}/{}", measured.triggered, tuned.tune.sessions);
        [vec![label(trial)], values(measured, value), vec![acted, over(&measured.gate)]].concat()
    };
    let last = [Head::number("acted", 1), Head::number("over", 5)];
    table(out, width, &heads(tuned, last), rows.map(row).collect());
    left
}

fn reporting(out: &mut String, tuned: &Tuned, width: Width) {
    let mut shown: Vec<(&Trial, _)> =
        tuned.trials.iter().filter_map(|trial| Some((trial, trial.report.as_ref()?))).collect();
    let cost = |trial: &Trial| trial.tune.net_ratio.value.unwrap_or(f64::INFINITY);
    shown.sort_by(|(a, _), (b, _)| cost(a).total_cmp(&cost(b)));
    let row = |(trial, measured): (&Trial, &Measured)| {
        let end = vec![over(&measured.gate), against(trial)];
        [vec![label(trial)], values(measured, interval), end].concat()
    };
    let last = [Head::number("over", 5), Head::number("than own", 4)];
    table(out, width, &heads(tuned, last), shown.into_iter().map(row).collect());
}

/// The headings: the varied fields, what is measured, and what is said last.
fn heads(tuned: &Tuned, last: [Head; 2]) -> Vec<Head> {
    let fields = fields(tuned).map(Field::short).collect::<Vec<_>>().join("; ");
    let measured = MEASURED.map(|(name, keep)| Head::number(name, keep));
    std::iter::once(Head::names(fields)).chain(measured).chain(last).collect()
}

/// The measured figures; `write` formats cost and retention.
fn values(measured: &Measured, write: fn(&Metric) -> String) -> Vec<String> {
    let Measured { net_ratio, frr_obs_far, verbatim_far, epr, .. } = measured;
    vec![write(net_ratio), write(frr_obs_far), value(verbatim_far), value(epr)]
}

/// Whether the configuration differs from the own values, on both axes: `cheaper, keeps less`; a tie is a
/// result.
fn against(trial: &Trial) -> String {
    let Some(against) = &trial.against_own else {
        return String::new();
    };
    let word = |difference: &Difference, null: f64, less: &'static str, more: &'static str| {
        let value = difference.value.filter(|_| !difference.tie)?;
        Some(if value < null { less } else { more })
    };
    let words: Vec<&str> = [
        word(&against.net, 1.0, "cheaper", "costlier"),
        word(&against.frr_obs_far, 0.0, "keeps less", "keeps more"),
    ]
    .into_iter()
    .flatten()
    .collect();
    if words.is_empty() { "tie".to_owned() } else { words.join(", ") }
}

/// Where the preset's own values stand.
fn place(tuned: &Tuned) -> String {
    let Some(own) = tuned.trials.iter().find(|trial| trial.settings.is_empty()) else {
        return String::new();
    };
    let name = &own.of;
    if own.is_on_front() {
        return format!(
            "{name} with its own values is on the front of the sessions tuned on: nothing that was tried is cheaper there and keeps as much."
        );
    }
    let Some(beaten) = &own.dominated_by else {
        return format!(
            "{name} with its own values has no place: it fails a gate that others pass, or nothing was needed."
        );
    };
    let beaten: Vec<&Trial> = beaten.iter().filter_map(|at| tuned.trials.get(*at)).collect();
    let named = |trial: &&Trial| format!("{} ({})", trial.name, point(&trial.tune, value));
    let names: Vec<String> = beaten.iter().take(3).map(named).collect();
    let more = match beaten.len().saturating_sub(3) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!(
        "{name} with its own values ({}) is dominated, on the sessions tuned on, by {}{more}.",
        point(&own.tune, value),
        names.join(", ")
    )
}

fn over(gate: &Gate) -> String {
    let broken = if gate.strategy_violations > 0 { " ✗" } else { "" };
    format!("{}{broken}", short(gate.over))
}

/// Where a configuration lies between cost and retention, by both judges.
pub(crate) fn point(measured: &Measured, write: fn(&Metric) -> String) -> String {
    format!(
        "net bill {}, kept {}, verbatim {}",
        write(&measured.net_ratio),
        write(&measured.frr_obs_far),
        write(&measured.verbatim_far)
    )
}

/// A share in percent with a decimal, as fine as a front needs.
pub(crate) fn value(metric: &Metric) -> String {
    measured(metric.value, None)
}

/// The same with its interval.
pub(crate) fn interval(metric: &Metric) -> String {
    measured(metric.value, metric.lo.zip(metric.hi))
}
