//! What holds for every report alike.

use crate::first::{Commands, screen};
use crate::html::{Details, comparison, tests::fixtures::tiny};
use crate::{Width, facts, recommend, table, tune, verdict};
use foldback_replay::Comparison;
use foldback_replay::compare::{
    Base, CorpusSummary, Difference, Gate, Metric, Metrics, PresetLine, SampleSize, SessionLine,
    Unit,
};
use foldback_replay::study::{Outcome, Score};
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
            net_ratio: metric.clone(),
            frr_obs_far: metric,
            gate,
            ..Measured::default()
        },
        dominated_by: None,
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
        net_ratio: metric(0.9),
        frr_obs_far: metric(0.5),
        verbatim_far: metric(0.25),
        ..Measured::default()
    };
    assert_eq!(tune::point(&measured, tune::value), "net bill 90.0%, kept 50.0%, verbatim 25.0%");
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

/// The answer over presets, each with its bill to that of the base, what it kept, and in how many of forty sessions it acted.
fn answered(unit: Unit, presets: &[(&str, f64, f64, usize)]) -> String {
    let metric = |value| Metric { value: Some(value), ..Metric::default() };
    let line = |(name, ratio, kept, triggered): &(&str, f64, f64, usize)| PresetLine {
        preset: (*name).to_owned(),
        gate: Gate { passed: true, ..Gate::default() },
        sessions: 40,
        triggered: *triggered,
        ratio: metric(*ratio),
        saved: metric(10.0 * (1.0 - ratio)),
        against_base: Some(Difference {
            value: Some(*ratio),
            p_holm: Some(0.01),
            ..Difference::default()
        }),
        metrics: Metrics { frr_obs_far: metric(*kept), ..Metrics::default() },
        ..PresetLine::default()
    };
    let base = Base {
        preset: "as-recorded".to_owned(),
        sessions: 40,
        usd: 10.0,
        net_usd: None,
        narrowed: false,
    };
    let corpus = CorpusSummary {
        imported: 40,
        clusters: 2,
        unit,
        triggering: 2,
        ..CorpusSummary::default()
    };
    let mut comparison = Comparison::default();
    comparison.corpus = corpus;
    comparison.base = Some(base);
    comparison.presets = presets.iter().map(line).collect();
    verdict::verdict(&comparison).unwrap_or_default()
}

#[test]
fn the_answer_names_who_comes_near() {
    let unsolved = " A replay can't tell whether the task would have been solved.";
    let best = ("best", 0.8, 0.97, 17);
    let use_it = "Use best: it costs $2.00 less a session (−20%); 97% of what was needed stays in view. It acts in 17 of 40 sessions.";
    for (others, expected) in [
        (&[][..], ""),
        (&[("near", 0.82, 0.95, 9)], " near (keeps 95%) costs about as much as best."),
        (
            &[("near", 0.82, 0.95, 9), ("other", 0.79, 0.9, 9)],
            " other (keeps 90%) and near (95%) cost about as much as best.",
        ),
        (
            &[("a", 0.81, 0.9, 9), ("b", 0.82, 0.9, 9), ("c", 0.83, 0.9, 9), ("d", 0.84, 0.9, 9)],
            " a (keeps 90%), b (90%), c (90%) and 1 other cost about as much as best.",
        ),
        // It costs about the same, and is named once.
        (
            &[("low", 0.75, 0.82, 9)],
            " low is cheaper at $2.50 less a session (−25%) but keeps only 82%.",
        ),
    ] {
        let presets = [&[best], others].concat();
        assert_eq!(answered(Unit::Repositories, &presets), format!("{use_it}{expected}{unsolved}"));
    }
    let few = " There are only 2 tasks: others may differ.";
    assert_eq!(answered(Unit::Sessions, &[best]), format!("{use_it}{few}{unsolved}"));
    let everywhere = answered(Unit::Repositories, &[("best", 0.8, 0.97, 40)]);
    assert!(!everywhere.contains("It acts in"), "{everywhere}");
}

#[test]
fn an_answer_to_stay_says_who_acted() {
    let stay = "Keep what you have: ";
    for (presets, expected) in [
        (
            &[("dear", 1.1, 1.0, 3), ("idle", 1.0, 1.0, 0)][..],
            "1 of 2 presets acted, and it does not save.",
        ),
        (
            &[("dear", 1.1, 1.0, 3), ("more", 1.2, 1.0, 3), ("idle", 1.0, 1.0, 0)],
            "2 of 3 presets acted, and none of them saves.",
        ),
        (
            &[("dear", 1.1, 1.0, 3), ("poor", 0.97, 0.2, 3)],
            "2 of 2 presets acted, and none of them saves and keeps enough in view.",
        ),
    ] {
        assert_eq!(answered(Unit::Repositories, presets), format!("{stay}{expected}"));
    }
}

#[test]
fn a_bill_that_is_not_known_is_not_told() {
    // No session has a bill in which it acted.
    let told = answered(Unit::Sums, &[("codex", 1.0, 1.0, 1)]);
    let expected = "Too few to tell: presets acted in 2 sessions, and it takes 5. What codex would cost is not known: no session in which it acted has a bill.";
    assert_eq!(told, expected);
}

#[test]
fn sessions_are_of_tasks_or_of_repositories() {
    for (names, expected) in [
        (&["airline/0", "airline/1"][..], "2 tasks"),
        (&["django__django-11299"], "1 task"),
        (
            &["github.com/o/r", "/home/a/r", "c:\\dev", "e636a08f504c17bb94725f03ccc30ead67d304f9"],
            "4 repositories",
        ),
        (&["github.com/o/r", "airline/0"], "2 tasks or repositories"),
        // Not recorded.
        (&["a/path.json"], "1 task"),
        (&["a/path.json", "/home/a/r"], "2 repositories"),
    ] {
        let line = |name: &&str| SessionLine {
            cluster: (*name).into(),
            path: "a/path.json".into(),
            ..SessionLine::default()
        };
        let sessions = names.iter().map(line).collect();
        let corpus = CorpusSummary { sessions, clusters: names.len(), ..CorpusSummary::default() };
        assert_eq!(facts::clusters(&corpus), expected, "{names:?}");
    }
}

#[test]
fn what_a_provider_refuses_most_comes_first() {
    let mut all = tiny();
    all.corpus.unit = Unit::Sessions;
    let refused = |name: &str, over, strategy_violations| PresetLine {
        preset: name.to_owned(),
        triggered: 1,
        gate: Gate { over, strategy_violations, ..Gate::default() },
        ..PresetLine::default()
    };
    all.presets.extend([refused("some", 47, 0), refused("most", 1_355, 0), refused("broke", 0, 3)]);
    for (at, scores) in all.scores.iter_mut().enumerate() {
        let more = (3..6).map(|preset| Score::new(at, preset, Outcome::clone(&scores[1])));
        *scores = scores.iter().cloned().chain(more.collect::<Vec<_>>()).collect();
    }
    let commands = Commands { named: false, others: None, title: "", next: &[], employ: &[] };
    let told = screen(&all, Width::terminal(80), commands);
    for line in [
        "\nunusable, too large: most (1,355 requests) · some (47)\n",
        "\nunusable, a provider refuses: drop&lose (breaks rules 2 times) · broke (breaks rules 3 times)\n",
    ] {
        assert!(
            told.replace("· 1 more", "· broke (breaks rules 3 times)").contains(line),
            "{line}{told}"
        );
    }
}
