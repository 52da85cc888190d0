//! What `foldback recommend --for` prints: the change to an agent's settings, what it saves and forgets, or why they stay.

use crate::number::{count, decimals, dollars};
use crate::recommend::whose;
use crate::terminal::{Width, measured, wrap};
use crate::tune::value;
use foldback_replay::tune::agents::{Agent, Setting, SettingsAdvice, today};
use foldback_replay::tune::{Measured, PartSummary, Trial, Tuned};
use serde_json::Value;
use std::collections::BTreeMap;

/// Advice on the settings of an agent.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The agent.
    pub agent: &'a Agent,
    /// What its file says now, by key.
    pub present: &'a BTreeMap<String, Value>,
    /// All trials.
    pub tuned: &'a Tuned,
    /// The advice.
    pub advice: SettingsAdvice,
    /// The cheapest trial that keeps enough.
    pub cheapest: Option<&'a Trial>,
    /// The settings of the advised trial that differ from the present ones.
    pub changed: &'a [(&'a Setting, Value)],
    /// The lines that set them.
    pub snippet: &'a str,
    /// The settings file.
    pub path: &'a str,
}

/// The advice as text.
pub fn settings(of: Settings<'_>, width: Width) -> String {
    let Settings { agent, tuned, advice, .. } = of;
    let mut out = String::new();
    let Agent { title, version, preset, note, .. } = agent;
    let stands = format!("{title} ({version}), for which the preset {preset} stands.");
    wrap(&mut out, "", "", &stands, width);
    out.push('\n');
    let held_out = tuned.report.as_ref().map(|part| count(part.sessions as u64, "session"));
    let on = format!("the {} held out for the check", held_out.unwrap_or_default());
    let why = match advice {
        SettingsAdvice::Change => {
            out.push_str(&format!("Write into {}:\n\n", of.path));
            for line in of.snippet.lines() {
                out.push_str(&format!("  {line}\n"));
            }
            String::new()
        }
        SettingsAdvice::NothingCheaper if acted(tuned) == 0 => {
            "no session came near a limit, so no value changed anything.".to_owned()
        }
        SettingsAdvice::NothingCheaper if !tuned.gates_passed => {
            "under every value it sends what a provider refuses.".to_owned()
        }
        SettingsAdvice::NothingCheaper => {
            "no value that keeps enough is cheaper on the sessions that it is chosen on.".to_owned()
        }
        SettingsAdvice::Noise => {
            format!("what was cheapest is not cheaper beyond noise on {on}.")
        }
        SettingsAdvice::Forgets => {
            format!("what saves keeps too little on {on}, or sends what a provider refuses.")
        }
        SettingsAdvice::Unchecked => "no session was left to check a change on.".to_owned(),
    };
    if !why.is_empty() {
        wrap(&mut out, "", "", &format!("Leave it as it is: {why}"), width);
    }
    out.push('\n');
    let item = |out: &mut String, text: &str| wrap(out, "- ", "  ", text, width);
    for setting in &agent.settings {
        item(&mut out, &what(of, setting));
    }
    if let Some(first) = tuned.rejected.first() {
        let others = count(tuned.rejected.len() as u64, "configuration");
        let text =
            format!("not tried: {others}, the first {} because it {}", first.name, first.why);
        item(&mut out, &text);
    }
    if let (Some(trial), Some(own), Some(part)) = (of.cheapest, today(tuned), &tuned.report)
        && let (Some(report), Some(own)) = (&trial.report, &own.report)
    {
        let heading = format!(
            "On {on}, against the present settings (95 % intervals over sessions, prices of {}):",
            whose(&tuned.reporting.regime)
        );
        out.push('\n');
        wrap(&mut out, "", "", &heading, width);
        compared(trial, report, own, part).iter().for_each(|text| item(&mut out, text));
    }
    out.push('\n');
    wrap(&mut out, "", "", note, width);
    for caution in &tuned.cautions {
        wrap(&mut out, "", "", &format!("Caution: {caution}"), width);
    }
    let held_out = tuned.report.as_ref().map_or(0, |part| part.sessions);
    let sessions = count((tuned.tune.sessions + held_out) as u64, "session");
    let tried = format!(
        "{} tried on {sessions} ({} with a compaction). Replayed under the recorded actions; summaries are extractive, where the \
         agent's model writes them.",
        count(tuned.trials.len() as u64, "configuration"),
        acted(tuned)
    );
    wrap(&mut out, "", "", &tried, width);
    out
}

/// Sessions of both parts in which a configuration changed something.
fn acted(tuned: &Tuned) -> usize {
    tuned.tune.triggering + tuned.report.as_ref().map_or(0, |part| part.triggering)
}

/// A setting: its value now, and the advised one.
fn what(of: Settings<'_>, setting: &Setting) -> String {
    let now = match (of.present.get(&setting.key), &setting.default) {
        (Some(value), _) => format!("is {value}"),
        (None, Some(value)) => format!("is not set, which is {value}"),
        (None, None) => "is not set".to_owned(),
    };
    let mut changed = of.changed.iter();
    let tried = match changed.find(|(changed, _)| *changed == setting) {
        Some((_, value)) => format!("the cheapest was {value}"),
        None => {
            let tries: Vec<String> = setting.tries.iter().map(Value::to_string).collect();
            format!("tried were {}", tries.join(", "))
        }
    };
    format!("{} {now}; {tried}", setting.key)
}

/// What a trial saves and forgets beside the present settings.
fn compared(trial: &Trial, report: &Measured, own: &Measured, part: &PartSummary) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(against) = &trial.against_own {
        let net = &against.net;
        let bill = part.base.as_ref().and_then(|base| base.net_usd).zip(own.net_ratio.value);
        let saved = bill.zip(net.value).map_or_else(String::new, |((base, share), ratio)| {
            let bill = base * share;
            let usd = |amount: f64| dollars(amount, decimals(bill));
            let range = net.lo.zip(net.hi).map_or_else(String::new, |(lo, hi)| {
                format!(" [{}, {}]", usd(bill * (1.0 - hi)), usd(bill * (1.0 - lo)))
            });
            format!(": of {} a session it saves {}{range}", usd(bill), usd(bill * (1.0 - ratio)))
        });
        let share = measured(net.value, net.lo.zip(net.hi));
        lines.push(format!("net bill: {share} of the present one{saved}"));
        lines.push(match own.frr_obs_far.value {
            Some(_) => format!(
                "kept of what only tool results and user messages had said: {} instead of {}",
                value(&report.frr_obs_far),
                value(&own.frr_obs_far)
            ),
            None => "no call needed what an earlier result or message had said".to_owned(),
        });
    }
    if let (Some(missed), Some(before)) =
        (report.missed_per_100_calls.value, own.missed_per_100_calls.value)
    {
        lines.push(format!(
            "missed, and read again in the net bill: {missed:.1} old texts of edits and pieces of results per 100 calls instead of \
             {before:.1}"
        ));
    }
    lines.push(format!("compactions: {} instead of {}", report.compactions, own.compactions));
    lines
}
