//! A preset that was made for one judge: in the place of every result that it clears it writes all its
//! identifiers, and nothing else. Every reference is kept, and nothing of what stood around it.

use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::{Bound, Kind};
use foldback_core::view::EditKind;
use foldback_replay::compare::Judge;
use foldback_replay::identifiers::identifiers;
use foldback_replay::{Corpus, Preset};
use foldback_tests::lab::{compared, preset, setup};
use foldback_tests::owned;
use foldback_tests::planted::Planted;
use std::collections::BTreeSet;
use std::sync::Arc;

#[derive(Debug)]
struct Lister;

/// Results that stay as they are.
const STAY: usize = 3;

impl Pruner for Lister {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let standing: Vec<_> = context.meter.standing().collect();
        let going = &standing[..standing.len().saturating_sub(STAY)];
        let edits = going.iter().map(|result| {
            let part = &context.history.message(result.at.item).parts[result.at.part];
            let text = part.shown();
            let listed: BTreeSet<&str> = identifiers(&text).map(|id| id.text).collect();
            let text = ["cleared"].into_iter().chain(listed).collect::<Vec<_>>().join(" ");
            let reason = "made for one judge";
            context.edit(result.at.item, result.at.part, EditKind::Clear, text.into(), reason)
        });
        match going.is_empty() {
            true => Pruning::Nothing(Why::new("nothing-to-clear", "all stay".to_owned())),
            false => Pruning::Edits {
                edits: edits.collect(),
                prunable: going.iter().map(|result| result.tokens).sum(),
                reason: "lists identifiers".to_owned(),
            },
        }
    }
}

fn gamer() -> Preset {
    let mut strategy = owned("keep-last-1");
    strategy.name = "gamer".to_owned();
    strategy.kind = Kind::Strategy;
    let stage: Arc<dyn Pruner> = Arc::new(Lister);
    let when = vec![stage.moment()];
    strategy.pruners = vec![Bound { name: "lister".to_owned(), when, stage, meter: MeterId::OWN }];
    Preset::new(strategy, "gamer".to_owned())
}

#[test]
fn what_was_made_for_one_judge_is_flagged() {
    let planted = Planted { sessions: 12, lines: true, ..Planted::default() };
    let corpus = Corpus::from_sessions(planted.sessions());
    let presets = [preset("none"), gamer(), preset("keep-last-1"), preset("random")];
    let comparison = compared(&corpus, &presets, &setup(5_500, 500));
    for line in &comparison.presets {
        let kept = |metric: &foldback_replay::compare::Metric| metric.value.unwrap_or(f64::NAN);
        println!(
            "{:<12} kept {:.3}, verbatim {:.3}: {:?}",
            line.preset,
            kept(&line.metrics.frr_obs_far),
            kept(&line.metrics.verbatim_far),
            line.good_by_one
        );
    }
    let flags: Vec<_> = comparison.presets.iter().map(|line| line.good_by_one).collect();
    assert_eq!(flags, [None, Some(Judge::References), None, None]);
    let gamed = &comparison.presets[1].metrics;
    assert_eq!((gamed.frr_obs_far.value, gamed.verbatim_far.value), (Some(1.0), Some(0.0)));
    let named = |caution: &String| caution.contains("gamer (kept 100, verbatim 0)");
    assert!(comparison.cautions.iter().any(named), "{:?}", comparison.cautions);
}
