//! What holds for every report alike.

use crate::html::{Details, comparison, tests::fixtures::tiny};
use crate::{Width, recommend, table, tune};
use foldback_replay::Comparison;
use foldback_replay::compare::{Gate, Metric, Outcome, SampleSize, Score, Unit};
use foldback_replay::tune::{Measured, PartSummary, Search, Trial, Tuned};

/// Three requests were refused and mended before they were sent again.
const MENDED: Gate =
    Gate { passed: true, strategy_violations: 0, requests: 9, over: 0, unfittable: 0 };

fn trial(name: &str, gate: Gate) -> Trial {
    let metric = Metric { value: Some(0.5), n: 9, ..Metric::default() };
    Trial {
        name: name.to_owned(),
        of: name.to_owned(),
        settings: Vec::new(),
        tune: Measured {
            cost_ratio: metric.clone(),
            frr_obs_far: metric,
            gate,
            ..Measured::default()
        },
        rank: None,
        dominated_by: Vec::new(),
        report: None,
        against_own: None,
    }
}

fn tuned(trials: Vec<Trial>) -> Tuned {
    Tuned {
        reporting: foldback_replay::Reporting::default(),
        tune: PartSummary::default(),
        report: None,
        gates_passed: trials.iter().any(|trial| trial.tune.gate.passed),
        trials,
        rejected: Vec::new(),
        cautions: Vec::new(),
    }
}

#[test]
fn a_refused_request_that_was_mended_is_not_sent_over_the_window() {
    // On the page: it broke rules, and that is all that is said of it; the session is as it was.
    let mut tiny = tiny();
    let before = comparison(&tiny, &Details::default());
    assert!(before.contains(">breaks rules 2 times</td>"), "{before}");
    let score = &mut tiny.scores[0][2];
    let mut outcome = Outcome::clone(score);
    outcome.metrics.sent_over = 1;
    *score = Score::new(score.session(), score.preset(), outcome);
    let page = comparison(&tiny, &Details::default());
    assert!(page != before, "a session in which one was sent is red");

    // In what `tune` prints: the last column.
    let text =
        tune::tuned(&tuned(vec![trial("mends", MENDED)]), Search::Grid(2), Width::terminal(100));
    let row = text.lines().find(|line| line.contains("○ mends")).unwrap();
    assert!(row.ends_with(" 0"), "{text}");

    // In what `recommend` calls nearest: one broken rule comes nearer than a request that was sent, however
    // many had been refused and mended.
    let gate = |strategy_violations, over| Gate {
        passed: false,
        strategy_violations,
        requests: 9,
        over,
        unfittable: 0,
    };
    let failing = tuned(vec![trial("sends", gate(0, 1)), trial("breaks", gate(1, 0))]);
    let said = recommend::nothing(&failing);
    assert!(said.contains("breaks comes closest, it broke provider rules once;"), "{said}");
}

/// By `kept` alone, what was fitted to it looks better than it is.
#[test]
fn a_configuration_is_named_with_both_judges() {
    let metric = |value| Metric { value: Some(value), n: 9, ..Metric::default() };
    let measured = Measured {
        cost_ratio: metric(0.9),
        frr_obs_far: metric(0.5),
        verbatim_far: metric(0.25),
        ..Measured::default()
    };
    assert_eq!(tune::point(&measured, tune::value), "bill 90.0%, kept 50.0%, verbatim 25.0%");
}

#[test]
fn how_many_sessions_would_show_a_difference_is_told() {
    let mut one = tiny();
    let told = |one: &Comparison, part: &str| {
        let full = table::comparison(one, Width::terminal(100));
        let page = comparison(one, &Details::default());
        [full, page.replace("&lt;b&gt;", "<b>")]
            .map(|text| text.split_whitespace().collect::<Vec<_>>().join(" ").contains(part))
    };
    let start = "A difference of 10 % would show in some ";
    assert_eq!(told(&one, start), [false; 2]);
    one.presets[1].needed = Some(SampleSize { here: 12, five_percent: 1_102, ten_percent: 27 });
    for (unit, units) in [(Unit::Repositories, "repositories"), (Unit::Sessions, "sessions")] {
        one.corpus.unit = unit;
        let sentence = format!(
            "{start}27 {units} in which a preset acts, one of 5 % in some 1,102 (here are 12; by the spread of clear<b>, in four"
        );
        assert_eq!(told(&one, &sentence), [true; 2], "{units}");
    }
}
