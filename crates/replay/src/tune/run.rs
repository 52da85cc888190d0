//! Replaying configurations on the one part of the sessions and reporting on the other.

use super::{Candidate, Rejected};
use crate::compare::{
    Base, Contrast, Difference, Gate, Metric, Point, PresetLine, Provenance, adjust, front,
};
use crate::fault::FailedReplay;
use crate::number::count;
use crate::read::corpus::Corpus;
use crate::read::split::Split;
use crate::rows::CompareError;
use crate::run::setup::{Preset, Setup};
use crate::{Comparison, Reporting, Run, compare};
use foldback_core::strategy::Kind;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use thiserror::Error;

/// Below so many sessions in which anything fired, a part of the sessions says next to nothing.
pub(crate) const LEAST_TRIGGERING: usize = 5;

/// What a configuration cost and kept on one part of the sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measured {
    /// Its bill to that of the base, with what was missed read again, or where that is not known, without.
    pub net_ratio: Metric,
    /// Dollars that it saves in a session against the base, on average, by the same.
    pub net_saving_usd: Metric,
    /// Retention of what only observations said, and not lately: what is tuned for.
    pub frr_obs_far: Metric,
    /// Retention of the old texts of edits.
    pub epr: Metric,
    /// Of what was reused word for word and not seen lately: the second judge.
    pub verbatim_far: Metric,
    /// Old texts of edits and pieces that it missed, per hundred calls.
    pub missed_per_100_calls: Metric,
    /// What it must not do.
    pub gate: Gate,
    /// Sessions in which it changed something.
    pub triggered: usize,
    /// How often it did.
    pub compactions: u64,
}

impl Measured {
    fn new(line: &PresetLine) -> Self {
        let metrics = line.metrics.clone();
        Self {
            net_ratio: line.ratio.clone(),
            net_saving_usd: line.saved.clone(),
            frr_obs_far: metrics.frr_obs_far,
            epr: metrics.epr,
            verbatim_far: metrics.verbatim_far,
            missed_per_100_calls: metrics.missed_per_100_calls,
            gate: line.gate,
            triggered: line.triggered,
            compactions: line.compactions,
        }
    }

    /// Its place between cost and retention.
    pub(crate) fn point(&self) -> Option<Point> {
        Some(Point { cost: self.net_ratio.value?, kept: self.frr_obs_far.value? })
    }
}

/// A configuration and how it did.
#[derive(Clone, Debug, Serialize)]
pub struct Trial {
    /// Its name.
    pub name: String,
    /// The strategy that it changes.
    pub of: String,
    /// What it sets, by path.
    #[serde(serialize_with = "by_path")]
    pub settings: Vec<(super::Field, serde_json::Value)>,
    /// On the part that parameters are chosen on, without intervals.
    pub tune: Measured,
    /// Those of the front that beat it there, by index: none of the front itself. `null` where it has no place, or fails a
    /// gate that others pass.
    pub dominated_by: Option<Vec<usize>>,
    /// On the part that is reported on; `null` for what is not reported.
    pub report: Option<Measured>,
    /// How far it is from the strategy's own values, on the part that is reported on.
    pub against_own: Option<AgainstOwn>,
}

impl Trial {
    /// Whether nothing beats it on the part that parameters are chosen on.
    pub fn is_on_front(&self) -> bool {
        self.dominated_by.as_ref().is_some_and(Vec::is_empty)
    }
}

/// How far a configuration is from the strategy's own values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AgainstOwn {
    /// Ratio of the bills with what was missed read again, the configuration's to that of the own values.
    pub net: Difference,
    /// Difference of the retentions, the configuration's less that of the own values.
    pub frr_obs_far: Difference,
}

fn by_path<S: Serializer>(
    settings: &[(super::Field, serde_json::Value)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(settings.iter().map(|(field, value)| (&field.path, value)))
}

/// What one part of the sessions holds.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PartSummary {
    /// Sessions.
    pub sessions: usize,
    /// Tasks or repositories that they fall into.
    pub clusters: usize,
    /// Model calls.
    pub calls: usize,
    /// Sessions in which a configuration changed something.
    pub triggering: usize,
    /// The bill that savings are measured against; `null` if nothing could be billed.
    pub base: Option<Base>,
    /// Files that were not used, with the reason.
    pub skipped: Vec<crate::read::corpus::Skipped>,
    /// Replays that failed; all else is said of the others.
    pub failed: Vec<FailedReplay>,
    /// What its numbers were made of and by.
    pub provenance: Provenance,
}

impl PartSummary {
    fn new(comparison: &Comparison) -> Self {
        let corpus = &comparison.corpus;
        Self {
            sessions: corpus.imported,
            clusters: corpus.clusters,
            calls: corpus.sessions.iter().map(|session| session.calls).sum(),
            triggering: corpus.triggering,
            base: comparison.base.clone(),
            skipped: corpus.skipped.clone(),
            failed: comparison.failed.clone(),
            provenance: comparison.provenance.clone(),
        }
    }
}

/// Configurations that were tried on one part of the sessions, some of them reported on the other.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// By which prices.
    pub reporting: Reporting,
    /// The part that was chosen on.
    pub tune: PartSummary,
    /// The part that is reported on; `null` where no session falls into it.
    pub report: Option<PartSummary>,
    /// The configurations, in the order that they were given.
    pub trials: Vec<Trial>,
    /// Whether any of them passes the gates; where none does, all are on the front that can be.
    pub gates_passed: bool,
    /// Combinations that make no strategy.
    pub rejected: Vec<Rejected>,
    /// What should make one doubt the numbers, one sentence each.
    pub cautions: Vec<String>,
}

/// What can't be tuned.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TuneError {
    /// No session falls into the part that parameters are chosen on.
    #[error(
        "none of the sessions falls into the part to tune on (three in five, by a hash of their ids); there \
         are too few to tune on: add more, or compare single configurations with `foldback compare`"
    )]
    NothingToTuneOn,
    /// Nothing can be compared.
    #[error(transparent)]
    Compare(#[from] CompareError),
}

/// What every run needs besides the configurations.
#[derive(Clone, Copy)]
pub struct Bench<'a> {
    /// The sessions.
    pub corpus: &'a Corpus,
    /// What all runs share.
    pub setup: &'a Setup,
    /// By which prices; its split is not looked at.
    pub reporting: &'a Reporting,
    /// Replayed beside the configurations, no compaction among them. Retention is asked of every call from the
    /// first on before which anything fired; a control that fires at once makes that the same for both parts and for
    /// every set of configurations.
    pub controls: &'a [Preset],
    /// Where results are kept.
    pub run: Run<'a>,
}

impl Bench<'_> {
    /// Compares configurations on all sessions. Their lines come after those of the controls.
    pub(super) fn all(&self, candidates: &[Candidate]) -> Result<Comparison, CompareError> {
        self.compared(None, candidates.iter())
    }

    fn compared<'c>(
        &self,
        split: Option<Split>,
        candidates: impl Iterator<Item = &'c Candidate>,
    ) -> Result<Comparison, CompareError> {
        let mut presets = self.controls.to_vec();
        presets.extend(candidates.map(|candidate| candidate.preset.clone()));
        let reporting = Reporting { split, ..self.reporting.clone() };
        compare(self.corpus, &presets, self.setup, reporting, self.run)
    }

    /// The same on one part of the sessions; `None` where no session falls into it.
    fn on(
        &self,
        split: Split,
        candidates: &[&Candidate],
    ) -> Result<Option<Comparison>, CompareError> {
        match self.compared(Some(split), candidates.iter().copied()) {
            // Files that were read and hold no session of this part are skipped for no reason.
            Err(CompareError::NothingImported(skipped))
                if skipped.len() < self.corpus.sources.len() =>
            {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Tries configurations on the part of the sessions that is for it.
    pub fn tune(&self, candidates: &[Candidate]) -> Result<Tuned, TuneError> {
        let all: Vec<&Candidate> = candidates.iter().collect();
        let comparison = self.on(Split::Tune, &all)?.ok_or(TuneError::NothingToTuneOn)?;
        let lines = &comparison.presets[self.controls.len()..];
        let measured: Vec<Measured> = lines.iter().map(Measured::new).collect();
        let gates_passed = measured.iter().any(|measured| measured.gate.passed);
        let points: Vec<Option<Point>> = measured
            .iter()
            .map(|measured| measured.point().filter(|_| measured.gate.passed || !gates_passed))
            .collect();
        let beats =
            |other: usize, point: Point| points[other].is_some_and(|other| other.dominates(point));
        let front = front(&points);
        let dominated_by = |point| front.iter().copied().filter(|at| beats(*at, point)).collect();
        let trials = candidates
            .iter()
            .zip(measured)
            .enumerate()
            .map(|(at, (candidate, tune))| Trial {
                name: candidate.name(),
                of: candidate.of.clone(),
                settings: candidate.settings.clone(),
                tune,
                dominated_by: points[at].map(dominated_by),
                report: None,
                against_own: None,
            })
            .collect();
        let mut tuned = Tuned {
            reporting: self.reporting.clone(),
            tune: PartSummary::new(&comparison),
            report: None,
            trials,
            gates_passed,
            rejected: Vec::new(),
            cautions: Vec::new(),
        };
        tuned.doubt(Split::Tune);
        if !gates_passed {
            tuned.cautions.push(
                "No configuration passes the gates: each broke a rule of the provider or sent requests over the \
                 window. The front includes all of them anyway."
                    .to_owned(),
            );
        }
        Ok(tuned)
    }

    /// Reports some of the trials, by index, on the other part of the sessions, beside the own values of
    /// what they change. Gives the comparison with the indices of the trials after the controls' lines.
    pub fn report(
        &self,
        tuned: &mut Tuned,
        candidates: &[Candidate],
        which: &[usize],
    ) -> Result<Option<(Comparison, Vec<usize>)>, TuneError> {
        let owns: BTreeMap<&str, usize> = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| candidate.is_own())
            .map(|(at, candidate)| (candidate.of.as_str(), at))
            .collect();
        let own_of = |at: usize| owns.get(candidates.get(at)?.of.as_str()).copied();
        let mut shown: Vec<usize> = which.to_vec();
        shown.extend(which.iter().filter_map(|at| own_of(*at)));
        shown.retain(|at| *at < candidates.len());
        shown.sort_unstable();
        shown.dedup();
        let chosen: Vec<&Candidate> = shown.iter().map(|at| &candidates[*at]).collect();
        let comparison = self.on(Split::Report, &chosen)?;
        let Some(comparison) = comparison else {
            tuned.cautions.push(
                "No session falls into the part to report on (two in five, by a hash of their ids). The \
                 numbers are those of the sessions that the configurations were chosen on, and are optimistic."
                    .to_owned(),
            );
            return Ok(None);
        };
        tuned.report = Some(PartSummary::new(&comparison));
        let lines = &comparison.presets[self.controls.len()..];
        let line_of = |at: usize| lines.get(shown.iter().position(|other| *other == at)?);
        for at in &shown {
            let Some(line) = line_of(*at) else { continue };
            let own = own_of(*at).filter(|own| own != at).and_then(line_of);
            let trial = &mut tuned.trials[*at];
            trial.report = Some(Measured::new(line));
            trial.against_own = own.and_then(|own| {
                let mut contrasts = comparison.contrasts.iter();
                let found = contrasts.find_map(|pair| pair.between(&line.preset, &own.preset))?;
                let Contrast { net, frr_obs_far, .. } = found;
                (line.kind == Kind::Strategy).then_some(AgainstOwn { net, frr_obs_far })
            });
        }
        // The family is what is asked here: every configuration that is shown against the own values. The
        // comparison's own is all pairs, most of which are irrelevant here.
        let asked = tuned.trials.iter_mut();
        let asked = asked.filter_map(|trial| trial.against_own.as_mut());
        adjust(asked.map(|against| (&mut against.net, &mut against.frr_obs_far)));
        tuned.doubt(Split::Report);
        Ok(Some((comparison, shown)))
    }
}

impl Tuned {
    /// Replays that failed.
    pub fn failed(&self) -> Vec<FailedReplay> {
        let parts = [Some(&self.tune), self.report.as_ref()].into_iter().flatten();
        parts.flat_map(|part| part.failed.iter().cloned()).collect()
    }

    /// Indices of the trials that nothing beats.
    pub fn front(&self) -> Vec<usize> {
        (0..self.trials.len()).filter(|at| self.trials[*at].is_on_front()).collect()
    }

    /// Of the front, the cheapest that keeps no less than the own values of what is tuned.
    pub fn no_worse(&self) -> Option<usize> {
        let own = self.trials.iter().find(|trial| trial.settings.is_empty())?;
        let own = own.tune.point()?;
        let point = |at: &usize| self.trials[*at].tune.point();
        let front = self.front().into_iter();
        front.filter(|at| point(at).is_some_and(|point| point.kept >= own.kept)).min_by(|a, b| {
            let cost = |at| point(at).map_or(f64::INFINITY, |point| point.cost);
            cost(a).total_cmp(&cost(b))
        })
    }

    fn doubt(&mut self, split: Split) {
        let (part, name) = match (split, &self.report) {
            (Split::Report, Some(report)) => (report, "reported on"),
            _ => (&self.tune, "tuned on"),
        };
        if part.triggering < LEAST_TRIGGERING {
            self.cautions.push(format!(
                "A configuration changed something in {} of {} {name}: too few for a conclusion. Add sessions, or use a smaller window.",
                part.triggering,
                count(part.sessions as u64, "session")
            ));
        }
    }
}
