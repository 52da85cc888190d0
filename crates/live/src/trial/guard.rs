//! The test by which an arm that does harm is stopped.
//!
//! The n-th unit of an arm is held against the n-th unit of the control, by three measures. A pair counts where one of the two is
//! worse by a margin. An arm that does no harm is the worse one in half of those pairs. With w pairs in which the arm is worse and l in
//! which the control is, `(2p)^w · (2(1-p))^l` is a fair bet for every p, and so is the mean over [`BETS`]. By Ville's inequality
//! (1939) it ever reaches 1/α in at most α of all trials, however often one looks (Ramdas and others, "Game-theoretic statistics and
//! safe anytime-valid inference", Statistical Science 38(4), 2023). α is [`WRONG`] over all arms and measures.

use super::record::{Measure, Trial, UnitLine};
use foldback_core::log::Finish;
use std::collections::BTreeMap;

/// The share of trials in which any harmless arm is stopped is at most this.
pub const WRONG: f64 = 0.02;

/// Shares of pairs in which the arm is worse, on which is bet.
pub const BETS: [f64; 8] = [0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.97];

/// A unit of which nothing was heard for so long is over, even if its last answer called a tool.
pub const SILENT_MS: i64 = 5 * 60 * 1_000;

impl Measure {
    /// Whether the first of two units is worse by the margin.
    fn is_worse(self, one: &UnitLine, other: &UnitLine) -> bool {
        let share = |count: u64, all: u64| count as f64 / all.max(1) as f64;
        let refused =
            |UnitLine { sums, .. }: &UnitLine| share(sums.refusals, sums.calls + sums.refusals);
        let repeated = |unit: &UnitLine| share(unit.sums.repeats, unit.sums.calls);
        match self {
            Self::Refusals => refused(one) > refused(other) + 0.05,
            Self::Repeats => repeated(one) > repeated(other) + 0.2,
            Self::Calls => 2 * one.sums.calls > 3 * other.sums.calls,
        }
    }
}

/// What the test says of an arm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// The measure with the most.
    pub measure: Measure,
    /// The most that the bets ever came to.
    pub amount: f64,
    /// Pairs of units that were held against each other.
    pub pairs: usize,
    /// The arm does harm.
    pub harm: bool,
}

/// The amount at which an arm is stopped, in a trial with so many arms.
pub fn limit(arms: usize) -> f64 {
    (Measure::ALL.len() * arms.saturating_sub(1)) as f64 / WRONG
}

/// What the test says of each arm but the control, at this time. `units` are those of the trial.
pub fn evidence(trial: &Trial, units: &[UnitLine], now: i64) -> BTreeMap<String, Evidence> {
    let (arms, control) = (&trial.head.arms, trial.head.control());
    let of_arm = |arm: &str| units.iter().filter(|unit| unit.arm == arm).collect::<Vec<_>>();
    let others = arms.iter().filter(|arm| arm.name != control);
    let found = others.filter_map(|arm| {
        let (units, controls) = (of_arm(&arm.name), of_arm(control));
        let bets =
            Measure::ALL.map(|measure| bet(&units, &controls, measure, limit(arms.len()), now));
        let most = bets.into_iter().max_by(|a, b| a.amount.total_cmp(&b.amount));
        Some((arm.name.clone(), most?))
    });
    found.collect()
}

/// The most that bets on an arm came to, and the pairs up to there.
fn bet(
    arm: &[&UnitLine],
    control: &[&UnitLine],
    measure: Measure,
    limit: f64,
    now: i64,
) -> Evidence {
    let mut amounts = BETS.map(|_| 1.0);
    let mut found = Evidence { measure, amount: 1.0, pairs: 0, harm: false };
    let over = |unit: &UnitLine| unit.stop == Some(Finish::Stop) || now - unit.last_ms > SILENT_MS;
    // Calls of a unit that goes on can only become more. All else waits until both are over.
    let is_known = |worse: bool, unit: &UnitLine, other: &UnitLine| {
        over(other) && (over(unit) || worse && measure == Measure::Calls)
    };
    for (one, other) in arm.iter().zip(control) {
        let (worse, better) = (measure.is_worse(one, other), measure.is_worse(other, one));
        if found.harm || !(is_known(worse, one, other) || is_known(better, other, one)) {
            break;
        }
        found.pairs += 1;
        for (amount, share) in amounts.iter_mut().zip(BETS) {
            *amount *= match (worse, better) {
                (true, _) => 2.0 * share,
                (_, true) => 2.0 * (1.0 - share),
                _ => 1.0,
            };
        }
        found.amount = found.amount.max(amounts.iter().sum::<f64>() / amounts.len() as f64);
        found.harm = found.amount >= limit;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::record::{ConversationLine, FORMAT, TrialArm, TrialHead, TrialSums};
    use super::*;

    /// A trial of three arms whose units are drawn: `none` needs 20 to 59 calls, `b` `more` times as many in `harmed` of ten units.
    fn trial(seed: u64, units: usize, more: f64, harmed: u64) -> Trial {
        let arms = ["none", "a", "b"].map(|name| TrialArm::new(name, "", 1)).to_vec();
        let head = TrialHead { foldback_trial: FORMAT, version: String::new(), seed, arms };
        let mut state = seed;
        let mut draw = |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let line = |at: usize| {
            let (arm, calls) = (["none", "a", "b"][draw(3) as usize], 20 + draw(40));
            let hit = draw(10) < harmed && arm == "b";
            let calls = if hit { (calls as f64 * more) as u64 } else { calls };
            let (refusals, repeats) = (draw(40) / 39, calls / 5 + draw(4));
            let sums = TrialSums { calls, refusals, repeats, ..TrialSums::default() };
            let unit = format!("u{at}");
            let (arm, first_ms, stop) = (arm.to_owned(), at as i64, Some(Finish::Stop));
            let unit = UnitLine { unit, arm, first_ms, sums, stop, ..UnitLine::default() };
            ConversationLine { conversation: String::new(), unit }
        };
        Trial { head, conversations: (0..units).map(line).collect(), stops: Vec::new() }
    }

    /// Looks after every tenth unit. The arm that was stopped first, and how many of its units the test had seen.
    fn stopped(trial: &Trial) -> Option<(String, usize)> {
        (1..=trial.conversations.len() / 10).find_map(|tens| {
            let conversations = trial.conversations[..tens * 10].to_vec();
            let trial = Trial { conversations, ..trial.clone() };
            let found = evidence(&trial, &trial.units(), 0);
            found.into_iter().find_map(|(arm, it)| it.harm.then_some((arm, it.pairs)))
        })
    }

    #[test]
    fn harmless_arms_are_hardly_ever_stopped_and_harmful_ones_soon() {
        const TRIALS: u64 = 400;
        let wrong = (0..TRIALS).filter(|seed| stopped(&trial(*seed, 120, 1.0, 0)).is_some());
        assert!(wrong.count() as f64 <= WRONG * TRIALS as f64);
        // Three times the calls: always, and in nine of ten units.
        for (harmed, most) in [(10, 25), (9, 40)] {
            let found = (0..100).map(|seed| stopped(&trial(seed, 400, 3.0, harmed)));
            let found: Vec<(String, usize)> = found.flatten().collect();
            assert_eq!(found.len(), 100);
            let late = found.iter().filter(|(arm, pairs)| arm != "b" || *pairs > most);
            assert!(late.count() <= 5, "{found:?}");
        }
    }

    #[test]
    fn a_unit_that_goes_on_is_counted_once_it_can_t_get_better() {
        let mut trial = trial(1, 3, 1.0, 0);
        for (line, (arm, calls)) in
            trial.conversations.iter_mut().zip([("none", 10), ("b", 12), ("a", 1)])
        {
            let line = &mut line.unit;
            (line.arm, line.sums.calls, line.last_ms) = (arm.to_owned(), calls, 1_000);
        }
        trial.conversations[1].unit.stop = Some(Finish::ToolCalls);
        // Nothing is known yet; it is over by silence; it has too many calls.
        assert_eq!(bets_on_calls(&trial, 1_000), 0);
        assert_eq!(bets_on_calls(&trial, 1_001 + SILENT_MS), 1);
        trial.conversations[1].unit.sums.calls = 16;
        assert_eq!(bets_on_calls(&trial, 1_000), 1);
    }

    fn bets_on_calls(trial: &Trial, now: i64) -> usize {
        let units = trial.units();
        let of = |arm: &str| units.iter().filter(|unit| unit.arm == arm).collect::<Vec<_>>();
        bet(&of("b"), &of("none"), Measure::Calls, limit(3), now).pairs
    }
}
