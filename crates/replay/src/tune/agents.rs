//! The settings of agents that people run: which field of a preset each changes, the configurations that they make, and which
//! of those is worth a change of the user's file. What can be set is a data file, never code.

use super::candidate::compile;
use super::{
    Bench, Candidate, Field, Range, Rejected, Search, Trial, TuneError, Tuned, candidates,
};
use crate::compare::PresetLine;
use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_core::registry::Registry;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// An agent, and what it lets its user set.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// Its name on the command line.
    pub name: String,
    /// Its name in texts.
    pub title: String,
    /// Package and version in which the settings were read.
    pub version: String,
    /// The preset that stands for it; empty where it has no setting.
    #[serde(default)]
    pub preset: String,
    /// The folder of its settings below the home.
    #[serde(default)]
    pub folder: String,
    /// The variable that moves that folder.
    pub moved: Option<String>,
    /// The names that its settings file may have.
    #[serde(default)]
    pub files: Vec<String>,
    /// Fields of the preset that are otherwise once its user sets anything.
    #[serde(default)]
    pub fixed: BTreeMap<String, Value>,
    /// What can't be set, and what goes before the file.
    pub note: String,
    /// What can be set.
    #[serde(default, rename = "setting")]
    pub settings: Vec<Setting>,
}

/// A setting of an agent.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Its place in the file, names with dots between them.
    pub key: String,
    /// The field of the preset that it changes.
    pub field: String,
    /// What the setting is above the field's value.
    #[serde(default)]
    pub plus: i64,
    /// The least number that the agent takes.
    pub least: Option<f64>,
    /// The largest.
    pub most: Option<f64>,
    /// What holds where the file says nothing; `None`: what the preset says.
    pub default: Option<Value>,
    /// The values that are tried.
    #[serde(rename = "try")]
    pub tries: Vec<Value>,
}

impl Setting {
    /// The field's value under a value of the setting.
    pub fn to_field(&self, value: &Value) -> Value {
        value.as_i64().map_or_else(|| value.clone(), |number| (number - self.plus).into())
    }

    /// The setting's value for a value of the field.
    pub fn to_setting(&self, value: &Value) -> Value {
        value.as_i64().map_or_else(|| value.clone(), |number| (number + self.plus).into())
    }

    /// Whether the agent takes a value.
    pub fn takes(&self, value: &Value) -> bool {
        match value.as_f64() {
            Some(number) => {
                self.least.is_some_and(|least| least <= number)
                    && self.most.is_some_and(|most| number <= most)
            }
            None => value.is_boolean() && self.least.is_none(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    agent: Vec<Agent>,
}

/// The agents that are known.
///
/// # Errors
///
/// The table can't be read, which would be a defect of this crate.
pub fn embedded() -> Result<Vec<Agent>, String> {
    let table: Table = toml::from_str(include_str!("../../data/agents.toml"))
        .map_err(|error| format!("agents.toml: {error}"))?;
    Ok(table.agent)
}

impl Agent {
    /// What the agent does under the values that its file has, by key, then under every combination of values that are tried.
    ///
    /// # Errors
    ///
    /// The preset can't be compiled with the values of the file.
    pub fn candidates(
        &self,
        registry: &Registry,
        present: &BTreeMap<String, Value>,
        limits: Limits,
        options: Options<'_>,
    ) -> Result<(Vec<Candidate>, Vec<Rejected>), String> {
        let own = compile_preset(registry, &self.preset, options).map_err(|why| why.to_string())?;
        let (mut fields, mut ranges, mut today) = (Vec::new(), Vec::new(), Vec::new());
        for setting in &self.settings {
            let field = Field::find(registry, &own, &setting.field)?;
            let now = present.get(&setting.key).or(setting.default.as_ref());
            let now = now.map(|value| setting.to_field(value));
            let mut values: Vec<Value> =
                setting.tries.iter().map(|value| setting.to_field(value)).collect();
            if let Some(now) = now {
                if !values.contains(&now) {
                    values.push(now.clone());
                }
                today.push((field.clone(), now));
            }
            fields.push(field);
            ranges.push(Range::List(values));
        }
        for (field, value) in &self.fixed {
            let field = Field::find(registry, &own, field)?;
            today.push((field.clone(), value.clone()));
            fields.push(field);
            ranges.push(Range::List(vec![value.clone()]));
        }
        let name = format!("{}-today", self.preset);
        let today = compile(registry, &self.preset, &name, &today, limits, options)?;
        let combinations = Search::Grid(super::MOST).combinations(&ranges);
        Ok(candidates(registry, &today, &self.preset, &fields, &combinations, limits, options))
    }

    /// The values of the file under a configuration of [`candidates`](Self::candidates) that differ from those of today.
    pub fn changed(&self, candidate: &Candidate) -> Vec<(&Setting, Value)> {
        let values = self.settings.iter().zip(&candidate.settings);
        let changed = values.filter(|(_, (field, value))| {
            candidate.changes.iter().any(|(other, new)| other == field && new == value)
        });
        changed.map(|(setting, (_, value))| (setting, setting.to_setting(value))).collect()
    }
}

/// What the cheapest other value of an agent's first setting, its threshold, would have made of sessions.
#[derive(Clone, Debug, Serialize)]
pub struct OtherThreshold {
    /// The agent's name on the command line.
    pub agent: String,
    /// The setting.
    pub key: String,
    /// The value; `null` where none is cheaper than the agent's default.
    pub value: Option<Value>,
    /// Sessions that were replayed.
    pub sessions: usize,
    /// Their mean net bill under the default, and under the value.
    pub net_usd: [f64; 2],
    /// Old texts of edits and pieces of results that were missed in 100 calls, under the default and the value.
    pub missed_per_100_calls: [f64; 2],
}

impl Agent {
    /// Replays sessions under the agent's default and under other values of its first setting. `None` where nothing could be billed.
    /// The corpus of the bench holds the sessions.
    ///
    /// # Errors
    ///
    /// The preset can't be compiled, or the sessions can't be compared.
    pub fn other_threshold(
        &self,
        registry: &Registry,
        bench: &Bench<'_>,
        options: Options<'_>,
    ) -> Result<Option<OtherThreshold>, String> {
        let mut agent = self.clone();
        agent.settings.truncate(1);
        let limits = bench.setup.limits;
        let (all, _) = agent.candidates(registry, &BTreeMap::new(), limits, options)?;
        let compared = bench.all(&all).map_err(|why| why.to_string())?;
        let base = compared.base.as_ref().and_then(|base| base.net_usd);
        let lines = &compared.presets[bench.controls.len()..];
        let net = |line: &PresetLine| Some(line.metrics.net_ratio.value? * base?);
        let missed = |line: &PresetLine| line.metrics.missed_per_100_calls.value.unwrap_or(0.0);
        let billed = all
            .iter()
            .zip(lines)
            .filter_map(|(one, line)| Some((agent.changed(one).pop(), net(line)?, missed(line))));
        let billed: Vec<_> = billed.collect();
        let Some(own) = billed.iter().find(|(changed, ..)| changed.is_none()) else {
            return Ok(None);
        };
        let best = billed.iter().min_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or(own);
        let Some(setting) = agent.settings.first() else { return Ok(None) };
        Ok(Some(OtherThreshold {
            agent: self.name.clone(),
            key: setting.key.clone(),
            value: best.0.as_ref().filter(|_| best.1 < own.1).map(|(_, value)| value.clone()),
            sessions: compared.corpus.imported,
            net_usd: [own.1, best.1],
            missed_per_100_calls: [own.2, best.2],
        }))
    }
}

/// The advice on the settings of an agent.
#[derive(Debug)]
pub struct AdvisedSettings {
    /// All trials.
    pub tuned: Tuned,
    /// The cheapest trial that keeps enough.
    pub cheapest: Option<usize>,
    /// What it sets otherwise than the present settings, by key.
    pub changed: BTreeMap<String, Value>,
    /// Why the settings are to stay as they are; `None` if those are to be set.
    pub stay: Option<&'static str>,
}

impl Agent {
    /// The advice by the sessions of a bench: the cheapest of the candidates that keep at least this share of what the present settings
    /// keep is to be set if it is cheaper beyond noise on the sessions held out, and keeps enough there.
    ///
    /// # Errors
    ///
    /// The sessions can't be compared.
    pub fn advise(
        &self,
        bench: &Bench<'_>,
        candidates: &[Candidate],
        keep: f64,
    ) -> Result<AdvisedSettings, TuneError> {
        let mut tuned = bench.tune(candidates)?;
        let cheapest = cheapest(&tuned, candidates, keep);
        if let Some(at) = cheapest {
            bench.report(&mut tuned, candidates, &[at])?;
        }
        let changed = cheapest.map_or_else(Vec::new, |at| self.changed(&candidates[at]));
        let changed = changed.into_iter().map(|(setting, value)| (setting.key.clone(), value));
        let stay = reason_to_stay(&tuned, cheapest, keep);
        Ok(AdvisedSettings { tuned, cheapest, changed: changed.collect(), stay })
    }
}

/// The trial of the present settings.
pub fn today(tuned: &Tuned) -> Option<&Trial> {
    tuned.trials.iter().find(|trial| trial.settings.is_empty())
}

/// The trial with the least net bill of those that keep at least this share of what the present settings keep, on the sessions
/// that are for choosing; of what is alike, the one that changes least. `None` if that is no less than the present bill.
fn cheapest(tuned: &Tuned, candidates: &[Candidate], keep: f64) -> Option<usize> {
    let today = today(tuned)?;
    let least = today.tune.frr_obs_far.value.map_or(0.0, |kept| kept * keep);
    let net = |at: &usize| tuned.trials[*at].tune.net_ratio.value;
    let changes = |at: &usize| candidates.get(*at).map_or(0, |candidate| candidate.changes.len());
    let enough =
        |at: &usize| tuned.trials[*at].tune.frr_obs_far.value.is_none_or(|kept| kept >= least);
    let billed = tuned.passing().filter(enough).filter_map(|at| Some((at, net(&at)?)));
    let (at, bill) = billed
        .min_by(|(one, a), (other, b)| a.total_cmp(b).then(changes(one).cmp(&changes(other))))?;
    today.tune.net_ratio.value.is_none_or(|present| bill < present).then_some(at)
}

/// Why the settings are to stay as they are, once the cheapest trial was reported on the sessions held out.
fn reason_to_stay(tuned: &Tuned, cheapest: Option<usize>, keep: f64) -> Option<&'static str> {
    let Some(at) = cheapest else {
        return Some(match (tuned.tune.triggering, tuned.gates_passed) {
            (0, _) => "no session came near a limit, so no value changed anything",
            (_, false) => "under every value it sends what a provider refuses",
            _ => "no value that keeps enough is cheaper on the sessions that it is chosen on",
        });
    };
    let (trial, own) = (&tuned.trials[at], today(tuned).and_then(|own| own.report.as_ref()));
    let (Some(report), Some(own)) = (&trial.report, own) else {
        return Some("no session was left to check a change on");
    };
    let net = trial.against_own.as_ref().map(|against| &against.net);
    let is_cheaper = net.is_some_and(|net| !net.tie && net.hi.is_some_and(|most| most < 1.0));
    let kept = report.frr_obs_far.value.zip(own.frr_obs_far.value);
    match (is_cheaper, kept.is_none_or(|(kept, own)| kept >= own * keep) && report.gate.passed) {
        (false, _) => Some(
            "what was cheapest is not cheaper beyond noise on the sessions held out for the check",
        ),
        (true, false) => Some(
            "what saves keeps too little on the sessions held out for the check, or sends what a provider refuses",
        ),
        (true, true) => None,
    }
}
