//! Tuning: ranges, fields, grids, fronts and budgets, as tables and properties.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test")]

use foldback::Registry;
use foldback_core::Limits;
use foldback_core::config::{self, Compiled, Document, Options, compile_preset};
use foldback_replay::compare::{Gate, Metric, Point, front};
use foldback_replay::stats::SplitMix64;
use foldback_replay::tune::advice::{Budget, Choice, choose};
use foldback_replay::tune::{
    Candidate, Field, Header, Measured, PartSummary, Range, Rejected, Search, Trial, Tuned,
    candidates, sweeps,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn registry() -> Registry {
    foldback::registry().unwrap()
}

fn preset(name: &str) -> Compiled {
    compile_preset(&registry(), name, Options::default()).unwrap()
}

/// Rows of `tune.toml`.
#[derive(serde::Deserialize)]
struct Rows {
    ranges: Vec<(String, usize, Value)>,
    no_ranges: Vec<(String, String)>,
    fields: Vec<(String, String)>,
    no_fields: Vec<(String, String, String)>,
    files: Vec<(String, String, String)>,
    budgets: Vec<(String, String, usize)>,
    no_budgets: Vec<String>,
}

fn rows() -> Rows {
    toml::from_str(include_str!("tune.toml")).unwrap()
}

#[test]
fn ranges_give_the_points_that_one_expects() {
    for (text, count, expected) in rows().ranges {
        let range = Range::parse(&text).unwrap();
        assert_eq!(Value::from(range.points(count)), expected, "{text}");
    }
}

#[test]
fn ranges_that_hold_nothing_are_told() {
    for (text, why) in rows().no_ranges {
        let error = Range::parse(&text).unwrap_err();
        assert!(error.contains(&why), "{text}: {error}");
    }
}

#[test]
fn a_path_finds_its_field_or_names_the_near_ones() {
    for (name, path) in rows().fields {
        let field = Field::find(&registry(), &preset(&name), &path);
        assert_eq!(field.map(|field| field.path), Ok(path), "{name}");
    }
    for (name, path, why) in rows().no_fields {
        let error = Field::find(&registry(), &preset(&name), &path).unwrap_err();
        assert!(error.contains(&why), "{name} {path}: {error}");
    }
}

/// All configurations of one field.
fn varied(name: &str, path: &str, values: &str) -> (Vec<Candidate>, Vec<Rejected>) {
    let (registry, strategy) = (registry(), preset(name));
    let field = Field::find(&registry, &strategy, path).unwrap();
    let combinations = Search::Grid(5).combinations(&[Range::parse(values).unwrap()]);
    let (limits, options) = (Limits::default(), Options::default());
    candidates(&registry, &strategy, name, &[field], &combinations, limits, options)
}

#[test]
fn what_cant_be_compiled_is_left_out_with_the_reason() {
    let (kept, rejected) = varied("window", "overflow.threshold", "0.5,0.8,7.0");
    let names: Vec<String> = kept.iter().map(Candidate::name).collect();
    // 0.8 is the preset's own value.
    assert_eq!(names, ["window", "window[threshold=0.5]"]);
    assert_eq!(rejected.len(), 1);
    assert_eq!(rejected[0].name, "window[threshold=7.0]");
    assert!(rejected[0].why.contains("`overflow.threshold`"), "{}", rejected[0].why);

    let (kept, rejected) = varied("tunacode", "pruner.protect_tokns", "1,2");
    assert_eq!((kept.len(), rejected.len()), (1, 2));
    let why = &rejected[0].why;
    assert!(why.contains("did you mean `protect_tokens`?"), "{why}");
}

#[test]
fn the_file_of_a_configuration_is_the_configuration() {
    for (name, path, value) in rows().files {
        let (kept, rejected) = varied(&name, &path, &value);
        assert_eq!(rejected, [], "{path}");
        let [_, changed] = kept.as_slice() else {
            panic!("{path}: {} configurations", kept.len());
        };
        let header = Header { name: "mine", ..Header::default() };
        let text = changed.toml(header);
        let document = Document::parse("mine.toml", &text).unwrap();
        let again = config::compile(&registry(), document, Options::default()).unwrap();
        let mut expected: Value = serde_json::from_str(&changed.preset.fingerprint).unwrap();
        expected["name"] = json!("mine");
        assert_eq!(again.root.to_value(), expected, "{text}");
        assert!(text.lines().count() <= 7, "no more than what differs:\n{text}");
    }
}

#[test]
fn a_file_says_only_what_differs() {
    let (registry, strategy) = (registry(), preset("tunacode"));
    let paths = ["pruner.protect_tokens", "pruner.minimum_tokens"];
    let fields = paths.map(|path| Field::find(&registry, &strategy, path).unwrap());
    let (kept, _) = candidates(
        &registry,
        &strategy,
        "tunacode",
        &fields,
        &[vec![json!(40_000), json!(500)]],
        Limits::default(),
        Options::default(),
    );
    assert_eq!(kept[1].name(), "tunacode[protect_tokens=40000,minimum_tokens=500]");
    insta::assert_snapshot!(kept[1].toml(Header { name: "mine", model: Some("m"), ..Header::default() }), @r#"
    schema = "foldback/strategy/1"
    name = "mine"
    extends = "tunacode"
    model = "m"

    [[pruner]]
    minimum_tokens = 500
    use = "tunacode.placeholder"
    "#);
}

#[test]
fn the_embedded_sweeps_all_compile() {
    let table = sweeps::embedded().unwrap();
    assert!(!table.is_empty());
    let names: Vec<String> = table.iter().map(|sweep| sweep.preset.clone()).collect();
    let (kept, rejected) =
        sweeps::all(&registry(), &names, &table, Limits::default(), Options::default()).unwrap();
    assert_eq!(rejected, []);
    for sweep in &table {
        let own = kept.iter().filter(|candidate| candidate.of == sweep.preset);
        let count = own.count();
        assert!((3..=10).contains(&count), "{}: {count} configurations", sweep.preset);
    }
    let mut names: Vec<String> = kept.iter().map(Candidate::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), kept.len(), "every configuration has a name of its own");
}

#[test]
fn a_grid_becomes_a_sample_where_it_is_too_large() {
    let range = |text: &str| Range::parse(text).unwrap();
    let two = [range("1..100"), range("0.1..0.9")];
    let three = [range("1..100"), range("0.1..0.9"), range("a,b,c")];
    assert_eq!(Search::choose(&two, 5), Search::Grid(5));
    assert_eq!(Search::choose(&three, 5), Search::Sample { count: 64, seed: 1 });
    assert_eq!(Search::choose(&two, 5).combinations(&two).len(), 25);
    assert_eq!(Search::choose(&three, 5).combinations(&three).len(), 64);
    // The last range varies fastest.
    let small = [range("1,2"), range("x,y")];
    let grid = Value::from(
        Search::Grid(5).combinations(&small).into_iter().map(Value::from).collect::<Vec<_>>(),
    );
    assert_eq!(grid, json!([[1, "x"], [1, "y"], [2, "x"], [2, "y"]]));
    // There are no more than four.
    assert_eq!(Search::Sample { count: 50, seed: 1 }.combinations(&small).len(), 4);
}

fn at(cost: f64, kept: f64) -> Option<Point> {
    Some(Point { cost, kept })
}

#[test]
fn the_front_is_what_nothing_beats_and_ties_are_kept() {
    let cases = [
        ("one", vec![at(1.0, 1.0)], vec![0]),
        ("a trade", vec![at(0.5, 0.8), at(0.7, 0.9)], vec![0, 1]),
        ("beaten", vec![at(0.5, 0.9), at(0.7, 0.8)], vec![0]),
        ("beaten on one axis", vec![at(0.5, 0.9), at(0.5, 0.8)], vec![0]),
        ("alike", vec![at(0.5, 0.9), at(0.5, 0.9)], vec![0, 1]),
        ("no place", vec![None, at(0.5, 0.9), at(f64::NAN, 1.0)], vec![1]),
    ];
    for (name, points, expected) in cases {
        assert_eq!(front(&points), expected, "{name}");
    }
}

fn trial(of: &str, cost: f64, kept: f64, passed: bool) -> Trial {
    let metric = |value| Metric { value: Some(value), n: 9, ..Metric::default() };
    Trial {
        name: of.to_owned(),
        of: of.to_owned(),
        settings: Vec::new(),
        tune: Measured {
            net_ratio: metric(cost),
            frr_obs_far: metric(kept),
            gate: Gate { passed, ..Gate::default() },
            ..Measured::default()
        },
        dominated_by: None,
        report: None,
        against_own: None,
    }
}

#[test]
fn a_budget_gets_the_best_of_the_other_axis() {
    let tuned = Tuned {
        reporting: foldback_replay::Reporting::default(),
        tune: PartSummary::default(),
        report: None,
        trials: vec![
            trial("keeps all", 1.1, 1.0, true),
            trial("broken", 0.1, 1.0, false),
            trial("middle", 0.7, 0.95, true),
            trial("the same", 0.7, 0.95, true),
            trial("cheap", 0.5, 0.8, true),
        ],
        gates_passed: true,
        rejected: Vec::new(),
        cautions: Vec::new(),
    };
    for (text, what, at) in rows().budgets {
        let expected = if what == "meets" { Choice::Meets(at) } else { Choice::Nearest(at) };
        assert_eq!(choose(&tuned, Budget::parse(&text).unwrap()), expected, "{text}");
    }
    let none = Tuned { trials: vec![trial("broken", 0.1, 1.0, false)], ..tuned };
    assert_eq!(choose(&none, Budget::Keep(0.5)), Choice::Nothing);
    for wrong in rows().no_budgets {
        assert!(Budget::parse(&wrong).is_err(), "{wrong}");
    }
}

fn points() -> impl Strategy<Value = Vec<Option<Point>>> {
    // Few distinct values, so that ties and duplicates come up.
    let point = (0_u8..6, 0_u8..6).prop_map(|(cost, kept)| at(f64::from(cost), f64::from(kept)));
    prop::collection::vec(point, 0..24)
}

proptest! {
    #[test]
    fn nothing_beats_the_front_and_it_beats_the_rest(points in points()) {
        let front = front(&points);
        let point = |at: usize| points[at].unwrap();
        for at in 0..points.len() {
            let beaten_by = |other: usize| point(other).dominates(point(at));
            if front.contains(&at) {
                prop_assert!(!(0..points.len()).any(beaten_by));
            } else {
                prop_assert!(front.iter().copied().any(beaten_by));
            }
        }
    }

    #[test]
    fn points_and_draws_stay_in_their_range(lo in -1_000_i64..100_000, width in 0_i64..1_000_000, count in 1_usize..40, seed: u64) {
        let hi = lo + width;
        let range = Range::Integers(lo, hi);
        let points: Vec<i64> = range.points(count).iter().map(|value| value.as_i64().unwrap()).collect();
        prop_assert_eq!(points.first(), Some(&lo));
        prop_assert_eq!(points.last(), Some(&hi));
        prop_assert!(points.len() <= count.max(2));
        prop_assert!(points.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", points);
        let drawn = range.draw(&mut SplitMix64::new(seed)).as_i64().unwrap();
        prop_assert!((lo..=hi).contains(&drawn));
    }

    #[test]
    fn a_sample_depends_on_its_seed_alone_and_repeats_nothing(seed: u64, count in 1_usize..60) {
        let ranges = [Range::Integers(1, 5_000), Range::Floats(0.1, 0.9)];
        let search = Search::Sample { count, seed };
        let sample = search.combinations(&ranges);
        prop_assert_eq!(&sample, &search.combinations(&ranges));
        prop_assert_eq!(sample.len(), count);
        for (at, one) in sample.iter().enumerate() {
            prop_assert!(!sample[..at].contains(one));
        }
    }
}
