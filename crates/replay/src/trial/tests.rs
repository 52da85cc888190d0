use super::*;
use crate::stats::SplitMix64;
use foldback_live::trial::assign::unit_name;
use foldback_live::trial::record::{ConversationLine, FORMAT, TrialHead, TrialSums, UnitLine};

fn head(arms: &[&str], seed: u64) -> String {
    let arms = arms.iter().map(|name| TrialArm::new(*name, name, 1)).collect();
    let head = TrialHead { foldback_trial: FORMAT, version: "1".to_owned(), seed, arms };
    serde_json::to_string(&head).unwrap() + "\n"
}

fn line(unit: &str, arm: &str, usd: f64) -> String {
    let sums = TrialSums { calls: 10, usd, ..TrialSums::default() };
    let line = ConversationLine {
        conversation: format!("c-{unit}"),
        unit: UnitLine {
            unit: unit_name(1, unit),
            arm: arm.to_owned(),
            model: "m".to_owned(),
            sums,
            ..UnitLine::default()
        },
    };
    serde_json::to_string(&line).unwrap() + "\n"
}

fn result(files: &[&str], outcomes: Option<&str>) -> Result<TrialResult, String> {
    let files =
        files.iter().enumerate().map(|(at, text)| (format!("{at}.jsonl"), (*text).to_owned()));
    TrialResult::new(&files.collect::<Vec<_>>(), outcomes.map(|text| ("o.csv", text)))
}

/// Forty units of two arms: `b` costs `factor` of `a`, and the first of each ten are not solved.
fn pair(factor: f64, solved: [usize; 2]) -> (String, String) {
    let mut rng = SplitMix64::new(5);
    let (mut file, mut outcomes) = (head(&["a", "b"], 1), "unit,solved\n".to_owned());
    for at in 0..40 {
        let (arm, factor) = [("a", 1.0), ("b", factor)][at % 2];
        let usd = (1.0 + rng.below(100) as f64 / 100.0) * factor;
        file += &line(&format!("u{at}"), arm, usd);
        outcomes += &format!("u{at},{}\n", u8::from(at / 2 % 10 < solved[at % 2]));
    }
    (file, outcomes)
}

#[test]
fn sentences_as_a_table() {
    for (factor, solved, expected) in [
        (0.6, [9, 9], "Use b: a unit costs $"),
        (0.6, [9, 2], "Stay with a:"),
        (1.0, [9, 9], "No arm can be recommended over a yet. It takes about"),
        (1.6, [9, 9], "Stay with a:"),
    ] {
        let (file, outcomes) = pair(factor, solved);
        let found = result(&[&file], Some(&outcomes)).unwrap();
        assert!(found.sentence.starts_with(expected), "{factor} {solved:?}: {}", found.sentence);
    }
    let (file, _) = pair(0.6, [9, 9]);
    let found = result(&[&file], None).unwrap();
    assert!(found.sentence.starts_with("Use b: a unit costs $"), "{}", found.sentence);
    assert!(
        found.sentence.ends_with("it is not known whether it solves as much."),
        "{}",
        found.sentence
    );
    let stop = r#"{"stopped":"b","measure":"calls","units":12,"at_ms":1}"#;
    let found = result(&[&(file + stop)], None).unwrap();
    assert!(found.sentence.ends_with("or was stopped."), "{}", found.sentence);
    let few = head(&["a", "b"], 1) + &line("1", "a", 1.0) + &line("2", "b", 1.0);
    assert!(result(&[&few], None).unwrap().sentence.starts_with("Nothing can be said yet"));
}

#[test]
fn figures_of_arms_and_of_what_they_differ_by() {
    let (file, outcomes) = pair(0.5, [8, 8]);
    let found = result(&[&file], Some(&outcomes)).unwrap();
    let [a, b] = &found.arms[..] else { panic!() };
    assert_eq!((a.units, b.units), (20, 20));
    let of = |arm: &ArmResult, figure: &str| arm.figures[figure].value;
    let shown = (of(a, "solved"), of(a, "calls"));
    assert_eq!(shown, (Some(0.8), Some(10.0)));
    // Twenty units, of which sixteen were solved.
    let each = of(a, "usd").unwrap() * 20.0 / 16.0;
    assert!((of(a, "usd_per_solved").unwrap() - each).abs() < 1e-9);
    let [it] = &found.contrasts[..] else { panic!() };
    let ratio = of(b, "usd").unwrap() / of(a, "usd").unwrap();
    let usd = &it.figures["usd"];
    assert!((usd.value.unwrap() - ratio).abs() < 1e-9 && usd.p.unwrap() < 0.001, "{usd:?}");
    let (solved, calls) = (&it.figures["solved"], &it.figures["calls"]);
    assert_eq!((solved.value, calls.value, calls.p), (Some(0.0), Some(1.0), Some(1.0)));
}

#[test]
fn files_of_several_machines_are_one_trial_and_copies_count_once() {
    let (one, two) = (line("1", "a", 1.0), line("2", "b", 2.0));
    let more = line("1", "a", 0.25);
    let start = head(&["a", "b"], 1);
    let found =
        result(&[&(start.clone() + &one + &two), &(start.clone() + &two + &more)], None).unwrap();
    let copies: Vec<usize> = found.files.iter().map(|file| file.copies).collect();
    let usd: f64 = found.units.iter().map(|unit| unit.line.sums.usd).sum();
    assert_eq!((copies, found.units.len(), usd), (vec![0, 1], 2, 3.25));
    for (other, expected) in [
        (head(&["a", "b"], 2), "1.jsonl:1: this file is of another trial than 0.jsonl"),
        (head(&["a", "c"], 1), "1.jsonl:1: this file is of another trial"),
        (start.clone() + &line("1", "b", 1.0), "1.jsonl: unit "),
        (start.clone() + "{}", "1.jsonl:2: this is no line of a trial"),
    ] {
        let error = result(&[&(start.clone() + &one), &other], None).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn outcomes_are_joined_by_unit_or_conversation_and_what_does_not_match_is_listed() {
    let file = head(&["a", "b"], 1)
        + &line("one", "a", 1.0)
        + &line("two", "b", 2.0)
        + &line("x", "b", 2.0);
    let table = "conversation, solved, score, seconds\none,true,0.5,12\nc-two,no,,\nstray,1,,\n";
    let found = result(&[&file], Some(table)).unwrap();
    let joined = found.outcomes.unwrap();
    assert_eq!((joined.rows, joined.found, &*joined.unknown), (3, 2, &["stray".to_owned()][..]));
    assert_eq!(joined.missing, [unit_name(1, "x")]);
    let named = found.units.iter().filter(|unit| unit.name.is_some());
    let mut outcomes: Vec<_> = named.map(|unit| (unit.solved, unit.score, unit.seconds)).collect();
    outcomes.sort_by(|a, b| b.2.total_cmp(&a.2));
    assert_eq!(outcomes, [(Some(1.0), Some(0.5), 12.0), (Some(0.0), None, 0.0)]);
    let columns_of_others = "unit,conversation,note,solved,resolved\none,c-one,x,1,0\n";
    assert_eq!(result(&[&file], Some(columns_of_others)).unwrap().outcomes.unwrap().found, 1);
    for (table, expected) in [
        ("unit,result\none,1\n", "o.csv:1: there is no outcome; a line names"),
        ("unit,solved\none,maybe\n", "o.csv:2: \"maybe\" is no number"),
        ("unit,solved\none,0.5\n", "o.csv:2: `solved` is 0.5"),
        ("unit,solved\none,1\none,1\n", "o.csv:3: `one` has an outcome in line 2 already"),
        ("unit,solved\nstray,1\n", "o.csv:2: no row is of anything here, such as `stray`"),
    ] {
        let error = result(&[&file], Some(table)).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    }
}

/// SciPy 1.17.1: (norm.ppf(.9) + norm.ppf(.8)) ** 2 * 4 * spread ** 2 / log(1 - d) ** 2 + norm.ppf(.9) ** 2 / 2, rounded up, for a
/// spread of 0.5.
#[test]
fn a_plan_follows_the_spread_of_bills() {
    let plan = Plan::new(&[0.5, 1.0, 1.5], 2).unwrap();
    assert!((plan.spread - 0.5).abs() < 1e-12);
    let units: Vec<usize> = plan.sizes.iter().map(|size| size.units).collect();
    assert_eq!(units, [1_716, 408, 92]);
    assert!(Plan::new(&[1.0, 2.0], 2).is_none());
    let three = Plan::new(&[0.5, 1.0, 1.5], 3).unwrap();
    assert!(three.sizes[0].each > plan.sizes[0].each);
}
