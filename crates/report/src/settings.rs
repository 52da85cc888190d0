//! What `foldback recommend --for` prints: the change to an agent's settings, what it saves and forgets, or why they stay.

use crate::number::{count, decimals, dollars};
use crate::recommend::whose;
use crate::terminal::{Width, measured, wrap};
use crate::tune::value;
use foldback_replay::tune::agents::{AdvisedSettings, Agent, Setting, today};
use foldback_replay::tune::{Measured, PartSummary, Trial};
use serde_json::Value;
use std::collections::BTreeMap;

/// The advice as text. `present` is what the agent's file says now, by key; `snippet` are the lines that would change it.
pub fn settings(
    agent: &Agent,
    present: &BTreeMap<String, Value>,
    advised: &AdvisedSettings,
    path: &str,
    snippet: &str,
    width: Width,
) -> String {
    let (mut out, tuned) = (String::new(), &advised.tuned);
    let Agent { title, version, preset, note, .. } = agent;
    let stands = format!("{title} ({version}), for which the preset {preset} stands.");
    wrap(&mut out, "", "", &stands, width);
    out.push('\n');
    match advised.stay {
        Some(why) => wrap(&mut out, "", "", &format!("Leave it as it is: {why}."), width),
        None => {
            out.push_str(&format!("Write into {path}:\n\n"));
            snippet.lines().for_each(|line| out.push_str(&format!("  {line}\n")));
        }
    }
    out.push('\n');
    let item = |out: &mut String, text: &str| wrap(out, "- ", "  ", text, width);
    for setting in &agent.settings {
        item(&mut out, &what(setting, present, &advised.changed));
    }
    if let Some(first) = tuned.rejected.first() {
        let others = count(tuned.rejected.len() as u64, "configuration");
        let text =
            format!("not tried: {others}, the first {} because it {}", first.name, first.why);
        item(&mut out, &text);
    }
    let cheapest = advised.cheapest.and_then(|at| tuned.trials.get(at));
    if let (Some(trial), Some(own), Some(part)) = (cheapest, today(tuned), &tuned.report)
        && let (Some(report), Some(own)) = (&trial.report, &own.report)
    {
        let heading = format!(
            "On the {} held out for the check, against the present settings (95 % intervals over sessions, prices of {}):",
            count(part.sessions as u64, "session"),
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
    let parts = || [Some(&tuned.tune), tuned.report.as_ref()].into_iter().flatten();
    let tried = format!(
        "{} tried on {} ({} with a compaction). Replayed under the recorded actions; summaries are extractive, where the agent's model \
         writes them.",
        count(tuned.trials.len() as u64, "configuration"),
        count(parts().map(|part| part.sessions as u64).sum(), "session"),
        parts().map(|part| part.triggering).sum::<usize>()
    );
    wrap(&mut out, "", "", &tried, width);
    out
}

/// A setting: its value now, and the advised one.
fn what(
    setting: &Setting,
    present: &BTreeMap<String, Value>,
    changed: &BTreeMap<String, Value>,
) -> String {
    let now = match (present.get(&setting.key), &setting.default) {
        (Some(value), _) => format!("is {value}"),
        (None, Some(value)) => format!("is not set, which is {value}"),
        (None, None) => "is not set".to_owned(),
    };
    let tried = match changed.get(&setting.key) {
        Some(value) => format!("the cheapest was {value}"),
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
            "missed: {missed:.1} old texts of edits and pieces of results per 100 calls instead of {before:.1}; the net bill charges for \
             reading them again as often as recordings show"
        ));
    }
    lines.push(format!("compactions: {} instead of {}", report.compactions, own.compactions));
    lines
}
