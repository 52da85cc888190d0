//! The command on real recorded sessions, where they are beside the project.

use crate::common::{foldback, root, run};
use foldback_test_support::{outline, sessions, table};
use serde_json::Value;
use std::collections::BTreeSet;

/// Parts of an OpenCode export that carry `state.time.compacted`, by message and part.
fn marks(export: &Value) -> BTreeSet<(usize, usize)> {
    let messages = export["messages"].as_array().into_iter().flatten().enumerate();
    messages
        .flat_map(|(m, message)| {
            let parts = message["parts"].as_array().into_iter().flatten().enumerate();
            parts
                .filter(|(_, part)| part["state"]["time"]["compacted"].is_number())
                .map(move |(p, _)| (m, p))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// OpenCode's own decisions: with its marks taken out, the preset sets exactly the same ones again.
#[foldback_needs::sessions]
#[test]
fn opencode_clears_what_the_real_program_cleared() {
    for (file, count) in [("nimbus-171msg-pruned.json", 116), ("nimbus-82msg-pruned.json", 52)] {
        let text = std::fs::read(sessions().join("opencode").join(file)).expect("a file");
        sets_the_same_marks_again(file, &text, count);
    }
}

/// The same on the outlines of these two sessions, which have filler for text.
#[test]
fn opencode_clears_what_the_real_program_cleared_in_the_outlines_of_its_sessions() {
    for (name, count) in [("opencode-171msg", 116), ("opencode-82msg", 52)] {
        sets_the_same_marks_again(name, &outline::export(name), count);
    }
}

fn sets_the_same_marks_again(name: &str, export: &[u8], count: usize) {
    let recorded: Value = serde_json::from_slice(export).expect("JSON");
    assert_eq!(marks(&recorded).len(), count, "{name}");
    let mut bare = recorded.clone();
    for (m, p) in marks(&recorded) {
        let time = &mut bare["messages"][m]["parts"][p]["state"]["time"];
        time.as_object_mut().expect("a table").remove("compacted");
    }
    let ran =
        run(&["compact", "-", "--preset", "opencode", "--when", "live"], &bare.to_string(), &[]);
    assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
    let written: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(marks(&written), marks(&recorded), "{name}");
}

#[foldback_needs::sessions]
#[test]
fn every_file_is_imported_whole_and_no_guarded_preset_breaks_a_rule() {
    let files: Vec<(String, String, u64, u64)> =
        table::rows(include_str!("sessions.toml"), "files");
    let paths: Vec<String> =
        files.iter().map(|(path, ..)| format!("../shared/sessions/{path}")).collect();
    let mut args = vec!["compare", "--json", "-"];
    args.extend(paths.iter().map(String::as_str));
    let ran = foldback(&args).done();
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["corpus"]["skipped"], serde_json::json!([]));
    let sessions = report["corpus"]["sessions"].as_array().expect("a list");
    for (path, format, messages, tool_calls) in files {
        // A file may hold several sessions: sub-agents are sessions of their own.
        let own: Vec<&Value> = sessions
            .iter()
            .filter(|session| {
                session["path"]
                    .as_str()
                    .and_then(|p| p.split('#').next())
                    .is_some_and(|p| p.ends_with(&path))
            })
            .collect();
        let sum = |key: &str| own.iter().filter_map(|session| session[key].as_u64()).sum::<u64>();
        assert!(own.iter().all(|session| session["format"] == *format), "{path}");
        assert_eq!((sum("messages"), sum("tool_calls")), (messages, tool_calls), "{path}");
    }
    for preset in report["presets"].as_array().expect("a list") {
        let guarded = preset["guards_off"].as_array().is_some_and(Vec::is_empty);
        assert!(!guarded || preset["gate"]["strategy_violations"] == 0, "{}", preset["preset"]);
        assert!(
            preset["kind"] == "control" || preset["triggered"].as_u64() > Some(0),
            "{}",
            preset["preset"]
        );
    }
}

/// The examples that ship: every pruning preset clears, every summarizing one compacts, and no two
/// rows of the table are alike.
#[test]
fn the_examples_tell_the_presets_apart() {
    let path = root().join("tests/four-sessions");
    let ran = foldback(&["compare", path.to_str().expect("UTF-8"), "--json", "-"]).done();
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let mut rows = BTreeSet::new();
    for preset in report["presets"].as_array().expect("a list") {
        let name = &preset["preset"];
        let count = |key: &str| preset[key].as_u64().expect("a number");
        if preset["kind"] == "strategy" {
            assert!(count("compactions") > 0, "{name} did nothing");
            assert!(
                preset["summarizer"].is_null()
                    || preset["costs"][0]["summaries_usd"].as_f64() > Some(0.0),
                "{name} wrote no summary"
            );
        }
        let figure = |key: &str| preset["metrics"][key]["value"].to_string();
        let figures =
            ["token_ratio", "peak_tokens", "tokens_reclaimed", "churn_per_100_calls"].map(figure);
        let row = (count("compactions"), figures);
        assert!(rows.insert(row), "{name} has the row of another preset");
    }
}

/// What no compaction keeps and costs is known: the metrics must find it.
#[test]
fn no_compaction_forgets_nothing_and_costs_what_it_costs() {
    let path = root().join("tests/four-sessions");
    let path = path.to_str().expect("UTF-8");
    let ran = foldback(&["compare", path, "--preset", "none,tunacode-local", "--json", "-"]).done();
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let value = |preset: usize, metric: &str| {
        report["presets"][preset]["metrics"][metric]["value"].as_f64()
    };
    for metric in ["frr", "frr_obs", "frr_far", "frr_obs_far", "epr", "verbatim_far"] {
        assert_eq!(value(0, metric), Some(1.0), "none, {metric}");
        let other = value(1, metric).expect("a value");
        assert!(other < 1.0, "tunacode-local, {metric}: {other}");
    }
    for metric in ["churn_per_100_calls", "rereads_per_100_calls"] {
        assert_eq!(value(0, metric), Some(0.0), "none, {metric}");
        assert!(value(1, metric) > Some(0.0), "tunacode-local, {metric}");
    }
    // One of the four recorders compacted, and so paid less than no compaction costs.
    let (none, base) = (&report["presets"][0]["costs"][0], &report["base"]);
    let usd = none["usd"].as_f64().unwrap() / none["n"].as_f64().unwrap();
    let ratio = usd / base["usd"].as_f64().unwrap();
    assert!(value(0, "cost_ratio").is_some_and(|cost| (cost - ratio).abs() < 1e-9), "{ratio}");
    assert!(ratio > 1.0 && value(1, "cost_ratio").is_some_and(|cost| cost < ratio), "{ratio}");
}

/// What a provider counts after a fold decides when the next one comes. The calls are those at which the same agent's requests
/// were folded behind the proxy.
#[foldback_needs::sessions]
#[test]
fn a_replay_folds_where_the_proxy_did() {
    let log = sessions().join("../cases/J-usage-after-fold/log.json");
    let limits = ["--window", "100000", "--max-output", "8000"];
    let args =
        ["compact", log.to_str().expect("a path"), "--preset", "claude-code", "--when", "live"];
    let plan = [&args[..], &["--show", "plan-json", "-o", "-"], &limits].concat();
    let plan: Value = serde_json::from_str(&foldback(&plan).done().stdout).expect("JSON");
    let folds = plan["folds"].as_array().expect("folds").iter();
    let folds: Vec<u64> = folds
        .filter(|fold| !fold["layout"].is_null())
        .map(|fold| fold["call"].as_u64().expect("a number"))
        .collect();
    assert_eq!(folds, [92, 183, 260, 336]);
}

/// The change of a bill against what was paid, in percent, by its session's own prices.
fn against_paid(preset: &str, files: &[String]) -> f64 {
    let mut args = vec!["compare", "--store=none", "--preset", preset, "--json", "-"];
    args.extend(files.iter().map(String::as_str));
    let report: Value = serde_json::from_str(&foldback(&args).done().stdout).expect("JSON");
    assert_eq!(report["base"]["preset"], "as-recorded", "{preset}");
    let lines = report["presets"].as_array().expect("a list");
    let named = |line: &&Value| line["preset"].as_str().is_some_and(|it| it.starts_with(preset));
    let line = lines.iter().find(named).expect("the preset");
    100.0 * (line["metrics"]["cost_ratio"]["value"].as_f64().expect("a ratio") - 1.0)
}

/// Replicas of the agents, by default and in the windows that the agents had, cost what the agents paid. Each is held against
/// recordings of the versions that it reproduces.
#[foldback_needs::sessions]
#[test]
fn a_replica_costs_what_its_agent_paid() {
    const BOUND: f64 = 10.0;
    let table: [(&str, &str, &[&str]); 6] = [
        // 2.1.39 and 2.1.45.
        ("claude-code", "claude-code", &["cipherbox-1compact-233tools", "packmind-1compact"]),
        // 2.1.17.
        ("claude-code-2.1.17", "claude-code", &["entire-cli-2compact", "entire-cli-microcompact"]),
        ("codex", "codex", &[""]),
        // 1.2.20 and 1.2.26, which clear old results by default.
        ("opencode", "opencode", &["nimbus"]),
        // 1.4.3 and 1.14.30, which do not.
        ("opencode-1.18", "opencode", &["gatomia", "sessionbridge"]),
        ("pi", "pi", &[""]),
    ];
    for (preset, agent, wanted) in table {
        let paths = foldback_test_support::sessions_of(agent).into_iter();
        let paths = paths.map(|path| path.to_str().expect("a path").to_owned());
        let wanted = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            wanted.iter().any(|beginning| name.starts_with(beginning))
        };
        let files: Vec<String> = paths.filter(wanted).collect();
        let change = against_paid(preset, &files);
        println!("{preset} on {} recordings of {agent}: {change:+.1} %", files.len());
        assert!(change.abs() <= BOUND, "{preset} on {files:?}: {change:+.1} %");
    }
}

/// A cache that lives an hour is not cold after five minutes: folding then costs a prefix that is still held.
#[foldback_needs::sessions]
#[test]
fn a_pause_within_the_life_of_the_cache_is_no_reason_to_fold() {
    let file = sessions().join("../cases/D-one-hour-cache/one-hour-cache.jsonl");
    let change = against_paid("indexed", &[file.to_str().expect("a path").to_owned()]);
    // It is never folded. What is saved is the summary that the recorder asked for.
    assert!((-10.0..=0.0).contains(&change), "{change:+.1} %");
}
