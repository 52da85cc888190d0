//! Identifier survival and half-life: how long identifiers stay in the view.
//!
//! For an identifier f that is first in the log before request s, T_f is the number of requests
//! from s on that have it, up to the first whose view does not; it is right-censored where the session
//! ends first. S(d) is the Kaplan–Meier estimate over all identifiers (Kaplan & Meier, JASA 53, 1958),
//! the half-life its median, in calls. What comes back later, because the agent reads it again, does
//! not revive it; identifiers of the frame are left out, as no strategy can lose them.
//!
//! It describes a policy and does not judge it: a larger window always wins. Read it beside the
//! retention of what was needed ([`crate::availability`]).

use crate::drive::Request;
use crate::index::{Id, Index, Speaker};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What ended at one duration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Left the view.
    pub events: u64,
    /// Were still in the view when the session ended.
    pub censored: u64,
}

/// Durations in calls and what ended at each. Sessions [merge](Self::merge) by addition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes(pub BTreeMap<u64, Ended>);

/// A step of a survival curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SurvivalStep {
    /// d, in calls.
    pub duration: u64,
    /// Identifiers that were in the view for at least d calls.
    pub at_risk: u64,
    /// S(d): the estimated share that is in the view for more than d calls.
    pub survival: f64,
}

impl Lifetimes {
    fn event(&mut self, duration: u64) {
        self.0.entry(duration).or_default().events += 1;
    }

    fn censor(&mut self, duration: u64) {
        self.0.entry(duration).or_default().censored += 1;
    }

    /// Adds the lifetimes of other sessions.
    pub fn merge(&mut self, other: &Self) {
        for (duration, more) in &other.0 {
            self.add(*duration, *more);
        }
    }

    fn add(&mut self, duration: u64, more: Ended) {
        let ended = self.0.entry(duration).or_default();
        ended.events += more.events;
        ended.censored += more.censored;
    }

    /// Number of identifiers.
    pub fn count(&self) -> u64 {
        self.0.values().map(|ended| ended.events + ended.censored).sum()
    }

    /// Number of identifiers that left the view.
    pub fn events(&self) -> u64 {
        self.0.values().map(|ended| ended.events).sum()
    }

    /// The Kaplan–Meier curve, one step per duration: S(d) = Π (1 - events/at risk) over durations up
    /// to d. What is censored at a duration is at risk there.
    pub fn curve(&self) -> Vec<SurvivalStep> {
        let mut at_risk = self.count();
        let mut survival = 1.0;
        let mut steps = Vec::with_capacity(self.0.len());
        for (duration, ended) in &self.0 {
            survival *= 1.0 - ended.events as f64 / at_risk.max(1) as f64;
            steps.push(SurvivalStep { duration: *duration, at_risk, survival });
            at_risk -= ended.events + ended.censored;
        }
        steps
    }

    /// The half-life: the least d with S(d) ≤ 1/2, in calls; `None` where more than half outlive the
    /// session.
    pub fn half_life(&self) -> Option<u64> {
        // A half by a product of fractions may come out a rounding error above it.
        let half = 0.5 + 1e-12;
        let mut steps = self.curve().into_iter();
        steps.find(|step| step.survival <= half).map(|step| step.duration)
    }
}

/// Lifetimes of the identifiers of a session by who said them first, by speaker and duration. A list of small
/// numbers, because a comparison keeps one of every session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Survival(Box<[Lived]>);

/// Identifiers of one speaker that lived for one duration. A session has fewer of them, and of calls, than its file
/// has bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Lived {
    speaker: Speaker,
    duration: u32,
    events: u32,
    censored: u32,
}

impl Lived {
    fn of(speaker: Speaker, duration: u64, ended: Ended) -> Self {
        let [duration, events, censored] = [duration, ended.events, ended.censored]
            .map(|number| u32::try_from(number).unwrap_or(u32::MAX));
        Self { speaker, duration, events, censored }
    }

    fn add_to(self, lifetimes: &mut Lifetimes) {
        let ended = Ended { events: self.events.into(), censored: self.censored.into() };
        lifetimes.add(self.duration.into(), ended);
    }
}

impl Survival {
    /// All identifiers together.
    pub fn all(&self) -> Lifetimes {
        let mut all = Lifetimes::default();
        self.0.iter().for_each(|lived| lived.add_to(&mut all));
        all
    }

    /// Memory that it takes besides its own value.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Adds them to those of other sessions.
    pub fn add_to(&self, by_speaker: &mut BTreeMap<Speaker, Lifetimes>) {
        for lived in &self.0 {
            lived.add_to(by_speaker.entry(lived.speaker).or_default());
        }
    }
}

/// A life so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Life {
    Unborn,
    /// In the view since the request with this number.
    Since(usize),
    Over,
}

/// Follows identifiers from request to request.
#[derive(Clone, Debug)]
pub(super) struct Lives {
    index: Arc<Index>,
    lives: Vec<Life>,
    by_speaker: BTreeMap<Speaker, Lifetimes>,
}

impl Lives {
    pub(super) fn new(index: Arc<Index>) -> Self {
        let lives = vec![Life::Unborn; index.entries.len()];
        Self { lives, index, by_speaker: BTreeMap::new() }
    }

    /// Takes over what the request has that the one before had not, and the other way round.
    pub(super) fn look(&mut self, request: &Request<'_>) {
        let call = request.call;
        for id in &request.change.touched {
            let at = *id as usize;
            if self.index.entries[at].in_frame {
                continue;
            }
            let there = request.tracker.has(*id);
            match self.lives[at] {
                Life::Unborn if there => self.lives[at] = Life::Since(call),
                Life::Unborn => self.end(*id, 0, Lifetimes::event),
                Life::Since(born) if !there => {
                    self.end(*id, (call - born) as u64, Lifetimes::event);
                }
                Life::Since(_) | Life::Over => {}
            }
        }
    }

    /// Closes the lives that are left at the end of a session of `calls` requests.
    pub(super) fn finish(mut self, calls: usize) -> Survival {
        for at in 0..self.lives.len() {
            if let Life::Since(born) = self.lives[at] {
                let id = Id::try_from(at).unwrap_or(Id::MAX);
                self.end(id, (calls - born) as u64, Lifetimes::censor);
            }
        }
        let lives = self.by_speaker.iter().flat_map(|(speaker, lives)| {
            lives.0.iter().map(|(duration, ended)| Lived::of(*speaker, *duration, *ended))
        });
        Survival(lives.collect())
    }

    fn end(&mut self, id: Id, duration: u64, how: fn(&mut Lifetimes, u64)) {
        self.lives[id as usize] = Life::Over;
        let entry = &self.index.entries[id as usize];
        how(self.by_speaker.entry(entry.source).or_default(), duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Curves and medians by lifelines 0.30.3 (Python), `KaplanMeierFitter().fit(T, E)`. The first two
    /// are the remission times of Freireich et al. 1963, treated and placebo.
    #[test]
    fn curves_agree_with_lifelines() {
        type Case<'a> = (&'a str, &'a [(u64, u64, u64)], &'a [(u64, f64)], Option<u64>);
        let cases: [Case<'_>; 5] = [
            (
                "treated",
                &[
                    (6, 3, 1),
                    (7, 1, 0),
                    (9, 0, 1),
                    (10, 1, 1),
                    (11, 0, 1),
                    (13, 1, 0),
                    (16, 1, 0),
                    (17, 0, 1),
                    (19, 0, 1),
                    (20, 0, 1),
                    (22, 1, 0),
                    (23, 1, 0),
                    (25, 0, 1),
                    (32, 0, 2),
                    (34, 0, 1),
                    (35, 0, 1),
                ],
                &[
                    (6, 0.857143),
                    (7, 0.806723),
                    (9, 0.806723),
                    (10, 0.752941),
                    (13, 0.690196),
                    (16, 0.627451),
                    (20, 0.627451),
                    (22, 0.537815),
                    (23, 0.448179),
                    (35, 0.448179),
                ],
                Some(23),
            ),
            (
                "placebo",
                &[
                    (1, 2, 0),
                    (2, 2, 0),
                    (3, 1, 0),
                    (4, 2, 0),
                    (5, 2, 0),
                    (8, 4, 0),
                    (11, 2, 0),
                    (12, 2, 0),
                    (15, 1, 0),
                    (17, 1, 0),
                    (22, 1, 0),
                    (23, 1, 0),
                ],
                &[(1, 0.904762), (5, 0.571429), (8, 0.380952), (17, 0.095238), (23, 0.0)],
                Some(8),
            ),
            (
                "lost before any request",
                &[(0, 2, 0), (1, 1, 0), (2, 1, 1), (3, 1, 0), (5, 0, 2)],
                &[(0, 0.75), (1, 0.625), (2, 0.5), (3, 0.333333), (5, 0.333333)],
                // By the definition; lifelines says 3, its S(2) being a rounding error above 1/2.
                Some(2),
            ),
            (
                "exactly a half",
                &[(1, 1, 0), (2, 1, 0), (3, 0, 1), (4, 0, 1)],
                &[(1, 0.75), (4, 0.5)],
                Some(2),
            ),
            ("all censored", &[(4, 0, 2), (7, 0, 1)], &[(4, 1.0), (7, 1.0)], None),
        ];
        for (name, durations, curve, median) in cases {
            let ended = durations.iter().map(|(duration, events, censored)| {
                let (events, censored) = (*events, *censored);
                (*duration, Ended { events, censored })
            });
            let lifetimes = Lifetimes(ended.collect());
            let steps = lifetimes.curve();
            for (duration, expected) in curve {
                let step = steps.iter().find(|step| step.duration == *duration).unwrap();
                let off = (step.survival - expected).abs();
                assert!(off < 1e-6, "{name} at {duration}: {step:?}, not {expected}");
            }
            assert_eq!(lifetimes.half_life(), median, "{name}");
        }
    }

    #[test]
    fn lifetimes_merge() {
        let mut one = Lifetimes::default();
        one.event(3);
        one.censor(5);
        let mut other = Lifetimes::default();
        other.event(3);
        other.event(4);
        one.merge(&other);
        assert_eq!((one.count(), one.events()), (4, 3));
        assert_eq!(one.0[&3].events, 2);
        assert_eq!(one.curve()[0].at_risk, 4);
    }
}
