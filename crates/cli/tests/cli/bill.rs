//! What sessions cost and what presets save, in dollars of the models that the sessions ran on.

use crate::common::{foldback, line};
use serde_json::Value;

fn inspected(path: &str) -> Vec<Value> {
    let text = foldback(&["inspect", path, "--json", "-"]).done().stdout;
    let found: Value = serde_json::from_str(&text).unwrap();
    found["sessions"].as_array().unwrap().clone()
}

/// Worked out by hand from the usage in the files.
#[test]
fn usage_is_priced_as_it_was_used() {
    let rows = [
        // 20,000 written for five minutes, 80,000 for an hour, an answer, three searches.
        ("B63-hour-and-searches/session.jsonl", 0.98),
        // One request for each of both caches.
        ("E-mixed-cache-writes/session.jsonl", 1.615),
        // Fast mode, and the priority tier: twice the price.
        ("B24-fast-mode/claude-fast.jsonl", 0.641),
        ("B24-fast-mode/claude-standard.jsonl", 0.3205),
        ("B24-fast-mode/codex-priority.jsonl", 0.513),
        // What the user took back was paid for.
        ("B53-cost-of-branches/claude.jsonl", 1.0775),
        // Each by its own model.
        ("B37-model-ids/old/claude-3-haiku-20240307.jsonl", 0.375),
        ("B37-model-ids/old/claude-3-5-haiku-20241022.jsonl", 1.20),
        ("B37-model-ids/old/claude-3-opus-20240229.jsonl", 22.50),
    ];
    for (case, usd) in rows {
        let [session] = &inspected(&format!("tests/cases/{case}"))[..] else { panic!("{case}") };
        let ours = session["usd"].as_f64().unwrap();
        assert!((ours - usd).abs() < 1e-9, "{case}: {ours}");
        assert_eq!(session["usd_stand_in"], Value::Null, "{case}");
    }
}

/// A model that no table lists has the prices of a model that is named, on every screen.
#[test]
fn a_model_without_a_price_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let case = "tests/cases/E-mixed-cache-writes/session.jsonl";
    let text = std::fs::read_to_string(crate::common::root().join(case)).unwrap();
    let path = folder.path().join("owl.jsonl").display().to_string();
    std::fs::write(&path, text.replace("claude-opus-4-7", "claude-owl-9")).unwrap();
    let [session] = &inspected(&path)[..] else { panic!() };
    assert_eq!(session["usd_stand_in"], "claude-sonnet-5-5");
    let told = |args: &str| {
        let text = line(&format!("{args} {path}")).done().stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let one = told("inspect");
    assert!(one.contains("at the prices of claude-sonnet-5-5: the model table has none"), "{one}");
    let compared = told("compare --store=none --preset window");
    let says =
        "the models' list prices (1 session of an unlisted model is billed as claude-sonnet-5-5)";
    assert!(compared.contains(says), "{compared}");
}

/// The recorder asked for a cache of one hour, and so does every preset: what folds late in the session costs about what was
/// paid.
#[test]
fn recorder_and_presets_have_the_same_cache() {
    let case = "tests/cases/D-one-hour-cache/one-hour-cache.jsonl";
    let compare = format!("compare {case} --preset none,claude-code,indexed --store=none --json -");
    let report: Value = serde_json::from_str(&line(&compare).done().stdout).unwrap();
    assert_eq!(report["base"]["preset"], "as-recorded");
    let [session] = &inspected(case)[..] else { panic!() };
    let (paid, base) = (session["usd"].as_f64().unwrap(), report["base"]["usd"].as_f64().unwrap());
    assert!((paid - base).abs() < 1e-9, "{paid} {base}");
    let lines = report["presets"].as_array().unwrap();
    let ratio = |name: &str| {
        let line = lines.iter().find(|line| line["preset"].as_str().unwrap().starts_with(name));
        line.unwrap()["metrics"]["cost_ratio"]["value"].as_f64().unwrap()
    };
    // None pays for no summary, and what keeps only the last turn reads and writes little.
    for (name, expected) in [("none", 0.911), ("claude-code", 0.911), ("keep-last-1", 0.472)] {
        let ours = ratio(name);
        assert!((ours - expected).abs() < 0.002, "{name}: {ours}");
    }
}

/// What was paid is the base of sessions that say so, however many others there are.
#[test]
fn a_session_without_a_bill_does_not_change_the_base() {
    let compared = |more: &str| {
        let compare = format!("compare tests/four-sessions {more} --preset window --store=none");
        let text = line(&compare).done().stdout;
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let report: Value =
            serde_json::from_str(&line(&format!("{compare} --json -")).done().stdout).unwrap();
        (words, report)
    };
    let (_, alone) = compared("");
    let (words, with) = compared("tests/cases/E-base-flips/compacted-early.jsonl");
    assert_eq!(alone["base"], with["base"]);
    assert_eq!(
        (&with["base"]["preset"], &with["base"]["sessions"]),
        (&"as-recorded".into(), &4.into())
    );
    assert!(words.contains("averages are over the 4 sessions with a bill"), "{words}");
    for (one, other) in
        alone["presets"].as_array().unwrap().iter().zip(with["presets"].as_array().unwrap())
    {
        assert_eq!(
            one["metrics"]["cost_ratio"], other["metrics"]["cost_ratio"],
            "{}",
            one["preset"]
        );
        assert_eq!(one["costs"], other["costs"], "{}", one["preset"]);
    }
}

/// In a smaller window than what was sent, nobody could have paid what was paid.
#[test]
fn a_narrow_window_has_a_base_that_fits() {
    let compare =
        "compare tests/four-sessions --preset window --store=none --window 40000 --max-output 2000";
    let words = line(compare).done().stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("with drop-oldest, which fits this window: $"), "{words}");
}
