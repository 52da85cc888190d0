//! What `foldback compare` says of windows that recordings contradict, and of requests that fit into none.

use crate::common::{foldback, root};
use serde_json::{Value, json};
use std::path::Path;

/// The comparison of one file, as JSON.
fn compared(file: &Path, args: &[&str]) -> Value {
    let file = file.to_str().unwrap();
    let args = [&["compare", file, "--store=none", "--json", "-"][..], args].concat();
    serde_json::from_str(&foldback(&args).done().stdout).unwrap()
}

fn line<'a>(comparison: &'a Value, preset: &str) -> &'a Value {
    let lines = comparison["presets"].as_array().unwrap();
    lines.iter().find(|line| line["preset"] == preset).unwrap()
}

#[test]
fn a_window_that_recorded_requests_contradict_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let case = root().join("tests/cases/B17-window-contradicted/sonnet-over-200k.jsonl");
    let text = std::fs::read_to_string(case).unwrap();
    let more = "recorded with requests of up to ";
    // By the model's name, the command line, what is told, and how many requests of `none` are over.
    let rows = [
        ("claude-sonnet-4-5-20250929", "", "the 1,000,000 that the model has on request", true),
        ("claude-haiku-4-5", "", "the real window was larger. Set it with --window", false),
        ("some-model", "", "the real window was larger. Set it with --window", false),
        ("claude-haiku-4-5", "1000000", "", true),
        ("claude-sonnet-5", "", "", true),
    ];
    for (model, window, told, fits) in rows {
        let path = folder.path().join("session.jsonl");
        std::fs::write(&path, text.replace("claude-sonnet-4-5-20250929", model)).unwrap();
        let args: &[&str] = match window {
            "" => &["--preset", "opencode"],
            window => &["--preset", "opencode", "--window", window],
        };
        let comparison = compared(&path, args);
        let cautions = comparison["cautions"].to_string();
        assert_eq!(cautions.contains(more), !told.is_empty(), "{model} {window}: {cautions}");
        assert!(cautions.contains(told), "{model} {window}: {cautions}");
        let over = line(&comparison, "none")["gate"]["over"].as_u64();
        assert_eq!(over == Some(0), fits, "{model} {window}: {over:?}");
    }
}

#[test]
fn what_fits_under_no_preset_costs_none_its_rank() {
    let folder = tempfile::tempdir().unwrap();
    let text = |words: usize| "some words of a text ".repeat(words / 5);
    let read = |id: usize| {
        let call = json!({"type": "tool_use", "id": format!("t{id}"), "name": "read", "input": {"path": format!("/a/{id}.rs")}});
        let result =
            json!({"type": "tool_result", "tool_use_id": format!("t{id}"), "content": text(2_000)});
        [
            json!({"role": "assistant", "content": [call]}),
            json!({"role": "user", "content": [result]}),
        ]
    };
    // Words of the system prompt and of the task; then what fits under no preset, and whether `indexed` is ranked.
    let rows = [
        ("all fits", 1_000, 100, false, true),
        ("the frame is too large", 30_000, 100, true, true),
        ("the task is too large", 1_000, 30_000, false, true),
        ("the last fits", 19_000, 100, false, true),
    ];
    for (name, system, task, unfittable, ranked) in rows {
        let mut messages = vec![json!({"role": "user", "content": text(task)})];
        messages.extend((0..12).flat_map(read));
        messages.push(json!({"role": "assistant", "content": "Done."}));
        let path = folder.path().join("session.json");
        let session = json!({"system": text(system), "messages": messages});
        std::fs::write(&path, session.to_string()).unwrap();
        let args = ["--preset", "indexed", "--window", "20000", "--max-output", "1000"];
        let comparison = compared(&path, &args);
        let gate = &line(&comparison, "indexed")["gate"];
        let calls = comparison["corpus"]["sessions"][0]["calls"].as_u64().unwrap();
        let expected = if unfittable { calls } else { 0 };
        assert_eq!(gate["unfittable"], expected, "{name}: {gate}");
        assert_eq!(gate["passed"], ranked, "{name}: {gate}");
        let cautions = comparison["cautions"].to_string();
        let told = cautions.contains("requests do not fit under any preset");
        assert_eq!(told, unfittable, "{name}: {cautions}");
    }
}
