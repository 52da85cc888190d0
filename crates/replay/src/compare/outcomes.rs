//! Outcomes of sessions: what a file says was solved, joined to the sessions of a comparison, and the arms that they were
//! recorded under compared task by task.
//!
//! A replay can't tell whether a task would have been solved. Whoever ran an agent under several strategies knows, and
//! has a recording of each run: its strategy is the *arm*. With d the outcome of a task under one arm less that under
//! another, a pair is the mean of d, its interval and the sign-flip test over clusters, and for outcomes of 0 and 1 McNemar's exact
//! test (1947; two-sided, binomial).

use super::sessions::SessionLine;
use super::table::Reporting;
use crate::in_order;
use crate::outcomes::{self, JoinedRows, OutcomeRow};
use crate::stats::{self, Estimate, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{Binomial, DiscreteCDF};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// What a row may call a session.
const NAMES: &str = "`session` is a path as rows spell it, the recorder's id, or the name of the file without its ending";

/// What was joined.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Outcomes {
    /// Rows of the file.
    pub rows: usize,
    /// Sessions found by their path, by the recorder's id, and by the name of their file without its ending.
    pub found: FoundSessions,
    /// Sessions of the file that are not compared.
    pub unknown: Vec<String>,
    /// Sessions that are compared and that the file has no outcome of.
    pub missing: Vec<Arc<str>>,
    /// Sessions with an outcome.
    pub sessions: Vec<SessionOutcome>,
    /// Every outcome is 0 or 1.
    pub binary: bool,
    /// The arms, in the order of the file.
    pub arms: Vec<Arm>,
    /// Every arm against every one before it.
    pub pairs: Vec<ArmPair>,
}

/// How sessions were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FoundSessions {
    /// By path, as rows spell it.
    pub path: usize,
    /// By the recorder's id.
    pub id: usize,
    /// By the name of the file.
    pub name: usize,
}

/// The outcome of a session.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SessionOutcome {
    /// Path of the session.
    pub session: Arc<str>,
    /// Its place among the sessions of the comparison.
    #[serde(skip)]
    pub at: usize,
    /// Line of the file.
    #[serde(skip)]
    pub line: usize,
    /// What it was recorded under.
    pub arm: Option<Arc<str>>,
    /// What it is paired by; `null` if neither file nor recording says.
    pub task: Option<Arc<str>>,
    /// 1 for solved, 0 for not; or any number.
    pub outcome: f64,
}

/// An arm.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Arm {
    /// Its name in the file.
    pub arm: Arc<str>,
    /// Mean outcome; 0.4 where four of ten sessions were solved.
    pub mean: Option<f64>,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end of its interval.
    pub hi: Option<f64>,
    /// Sessions.
    pub n: usize,
}

/// Two arms on the tasks that both have.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ArmPair {
    /// The arm.
    pub arm: Arc<str>,
    /// The one that it is compared with.
    pub against: Arc<str>,
    /// Mean difference.
    pub value: Option<f64>,
    /// Lower end of its interval.
    pub lo: Option<f64>,
    /// Upper end of its interval.
    pub hi: Option<f64>,
    /// Two-sided p-value of the sign-flip test.
    pub p: Option<f64>,
    /// Tasks.
    pub tasks: usize,
    /// Tasks or repositories that they fall into.
    pub clusters: usize,
    /// McNemar's exact test, where all outcomes are 0 or 1.
    pub mcnemar: Option<McNemar>,
}

/// The tasks that one of two arms solved.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct McNemar {
    /// Tasks that the arm alone solved.
    pub gained: u64,
    /// Tasks that the other arm alone solved.
    pub lost: u64,
    /// Two-sided exact p-value, adjusted for nothing.
    pub p: f64,
    /// The same with Holm's adjustment over all pairs.
    pub p_holm: f64,
}

impl Outcomes {
    /// Joins outcomes to the sessions, the recorder's id of each given by its place, and compares the arms that they were
    /// recorded under.
    pub(super) fn join(
        sessions: &[SessionLine],
        id: impl Fn(usize) -> Option<String>,
        rows: &[OutcomeRow],
        reporting: &Reporting,
    ) -> Result<Self, String> {
        let mut out = Self { rows: rows.len(), ..Self::default() };
        // What sessions are called: by path, by id, by name of the file.
        let mut names: [BTreeMap<String, Vec<usize>>; 3] = Default::default();
        for (at, session) in sessions.iter().enumerate() {
            let stem = Path::new(&*session.path).file_stem();
            let stem = stem.map(|name| name.to_string_lossy().into_owned());
            let called = [Some(session.path.to_string()), id(at), stem];
            for (names, name) in names.iter_mut().zip(called) {
                if let Some(name) = name {
                    names.entry(name).or_default().push(at);
                }
            }
        }
        let FoundSessions { path, id, name } = &mut out.found;
        let mut counts = [path, id, name];
        let find = |row: &OutcomeRow| {
            let found = names.iter().zip(&mut counts);
            let found = found.filter_map(|(names, count)| Some((names.get(&row.name)?, count)));
            match found.map(|(found, count)| (&**found, count)).next() {
                None => Ok(None),
                Some(([at], count)) => {
                    **count += 1;
                    Ok(Some(*at))
                }
                Some((several, _)) => {
                    let paths: Vec<&str> = several.iter().map(|at| &*sessions[*at].path).collect();
                    let (name, paths) = (&row.name, paths.join(", "));
                    Err(format!("session `{name}` may be each of {paths}; write the path"))
                }
            }
        };
        let JoinedRows { found, unknown } = outcomes::join(rows, find, NAMES)?;
        for (at, row) in found {
            let (line, session) = (row.line, &sessions[at]);
            let recorded = (session.cluster != session.path).then(|| Arc::clone(&session.cluster));
            out.sessions.push(SessionOutcome {
                session: Arc::clone(&session.path),
                at,
                line,
                arm: row.arm.as_deref().map(Into::into),
                task: row.task.as_deref().map(Into::into).or(recorded),
                outcome: row.solved.or(row.score).ok_or_else(|| {
                    format!("{line}: `{}` has neither `solved` nor `score`", row.name)
                })?,
            });
        }
        out.unknown = unknown;
        out.missing = out.without_outcome(sessions);
        out.binary = out.sessions.iter().all(|one| one.outcome == 0.0 || one.outcome == 1.0);
        out.compare(sessions, reporting)?;
        Ok(out)
    }

    /// Paths of the sessions that have none.
    fn without_outcome(&self, sessions: &[SessionLine]) -> Vec<Arc<str>> {
        let found: BTreeSet<usize> = self.sessions.iter().map(|one| one.at).collect();
        let missing = (0..sessions.len()).filter(|at| !found.contains(at));
        missing.map(|at| Arc::clone(&sessions[at].path)).collect()
    }

    fn compare(&mut self, sessions: &[SessionLine], reporting: &Reporting) -> Result<(), String> {
        let arms = in_order(self.sessions.iter().filter_map(|one| one.arm.clone()));
        let sample = Sample::new(reporting.seed);
        let estimated = |values: &[(&SessionOutcome, f64)]| {
            // A repository where one is recorded, else the task: sessions of one are left out and flipped together.
            let label = |one: &SessionOutcome| {
                let session = &sessions[one.at];
                let recorded = session.cluster != session.path;
                let task = one.task.as_ref().filter(|_| !recorded).unwrap_or(&session.cluster);
                Arc::clone(task)
            };
            let labels: Vec<Arc<str>> = values.iter().map(|(one, _)| label(one)).collect();
            let (clusters, _) = stats::clusters(&labels);
            let values = clusters.into_iter().zip(values.iter().map(|(_, value)| *value));
            stats::tested_mean(&sample, &values.collect::<Vec<_>>())
        };
        // By arm, its sessions by task.
        let mut tasks: Vec<BTreeMap<&str, &SessionOutcome>> = vec![BTreeMap::new(); arms.len()];
        for (tasks, arm) in tasks.iter_mut().zip(&arms) {
            let of_arm = self.sessions.iter().filter(|one| one.arm.as_ref() == Some(arm));
            for one in of_arm.clone() {
                let Some(task) = &one.task else { continue };
                if let Some(other) = tasks.insert(task, one).filter(|_| arms.len() > 1) {
                    return Err(format!(
                        "{}: arm `{arm}` has task `{task}` in line {} already; give the sessions a `task` each, or each run of \
                         a task an `arm`",
                        one.line, other.line
                    ));
                }
            }
            let Estimate { value: mean, lo, hi, n, .. } =
                estimated(&of_arm.map(|one| (one, one.outcome)).collect::<Vec<_>>());
            self.arms.push(Arm { arm: Arc::clone(arm), mean, lo, hi, n });
        }
        for (second, arm) in arms.iter().enumerate() {
            for (first, against) in arms[..second].iter().enumerate() {
                let both = tasks[second].iter().filter_map(|(task, one)| {
                    Some((*one, one.outcome - tasks[first].get(task)?.outcome))
                });
                let both: Vec<(&SessionOutcome, f64)> = both.collect();
                let estimate = estimated(&both);
                let Estimate { value, lo, hi, p, n, clusters, .. } = estimate;
                let count = |sign: f64| both.iter().filter(|(_, d)| *d == sign).count() as u64;
                self.pairs.push(ArmPair {
                    arm: Arc::clone(arm),
                    against: Arc::clone(against),
                    value,
                    lo,
                    hi,
                    p,
                    tasks: n,
                    clusters,
                    mcnemar: self.binary.then(|| McNemar::new(count(1.0), count(-1.0))),
                });
            }
        }
        let mut tests: Vec<&mut McNemar> =
            self.pairs.iter_mut().filter_map(|pair| pair.mcnemar.as_mut()).collect();
        let p: Vec<f64> = tests.iter().map(|test| test.p).collect();
        for (test, adjusted) in tests.iter_mut().zip(stats::holm(&p)) {
            test.p_holm = adjusted;
        }
        Ok(())
    }

    /// Takes over the pseudonyms of the sessions, and leaves out all else that names one.
    pub(super) fn redact(&mut self, sessions: &[SessionLine]) {
        for one in &mut self.sessions {
            one.session = Arc::clone(&sessions[one.at].path);
            one.task = None;
        }
        self.missing = self.without_outcome(sessions);
        for (number, name) in self.unknown.iter_mut().enumerate() {
            *name = format!("unknown-{}", number + 1);
        }
    }
}

impl McNemar {
    fn new(gained: u64, lost: u64) -> Self {
        let tail = Binomial::new(0.5, gained + lost).map(|both| both.cdf(gained.min(lost)));
        let p = tail.map_or(1.0, |tail| (2.0 * tail).min(1.0));
        Self { gained, lost, p, p_holm: p }
    }
}
