//! `foldback mcp`, by the lines that a client writes. The external tests run a client of another SDK against it.

use crate::common::{root, run, start};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};

const SESSION: &str = "examples/sessions/reservations-claude-code.jsonl";

/// What the server answers to these requests, in their order.
fn served(paths: &[&str], requests: &[(&str, Value)]) -> Vec<Value> {
    let params = json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let mut lines = vec![
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
    ];
    for (id, (method, params)) in (1..).zip(requests) {
        lines.push(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
    }
    let args: Vec<&str> = ["mcp"].iter().chain(paths).copied().collect();
    let mut server = start(&args, &[]);
    // A client that wants answers keeps the pipe open until it has them.
    let mut input = server.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
    let answers = BufReader::new(server.stdout.take().unwrap()).lines().take(requests.len() + 1);
    let answers = answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap());
    let mut answers: BTreeMap<u64, Value> =
        answers.map(|answer: Value| (answer["id"].as_u64().unwrap(), answer)).collect();
    assert_eq!(answers.len(), requests.len() + 1);
    drop(input);
    assert!(server.wait().unwrap().success());
    let told = answers.remove(&0).unwrap();
    assert_eq!(told["result"]["serverInfo"]["name"], "foldback");
    answers.into_values().collect()
}

/// What tools say, and whether they could not do it.
fn called(paths: &[&str], calls: &[(&str, Value)]) -> Vec<(String, bool)> {
    let request = |(tool, arguments): &(&str, Value)| {
        ("tools/call", json!({ "name": tool, "arguments": arguments }))
    };
    let requests: Vec<_> = calls.iter().map(request).collect();
    let answers = served(paths, &requests);
    let said = |answer: &Value| {
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("{answer}")).to_owned();
        (text, result["isError"].as_bool().unwrap_or(false))
    };
    answers.iter().map(said).collect()
}

#[test]
fn tools() {
    let listed = served(&["examples/sessions"], &[("tools/list", json!({}))]).remove(0);
    let tools = listed["result"]["tools"].as_array().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(tools).unwrap());
}

#[test]
fn each_tool_says_what_it_should() {
    // Tool, arguments, whether it can be done, what is in the answer.
    let rows = [
        ("inspect", json!({}), true, "4 sessions with 301 calls"),
        ("inspect", json!({ "path": SESSION }), true, "tool calls    112"),
        ("inspect", json!({ "path": SESSION, "offset": 100_000 }), true, "nothing from 100000 on"),
        ("inspect", json!({ "path": "nowhere" }), false, "nowhere: No such file"),
        ("inspect", json!({ "path": "README.md" }), false, "not among the sessions"),
        ("inspect", json!({ "path": "examples/sessions/../../README.md" }), false, "not among"),
        (
            "recall",
            json!({ "path": SESSION, "query": "reservations" }),
            true,
            "passages match `reservations`:\n1. ",
        ),
        ("recall", json!({ "path": SESSION, "query": "qqqqq" }), true, "Nothing matches `qqqqq`"),
        // The recorder compacted nothing, a preset would have.
        (
            "recall",
            json!({ "path": SESSION, "query": "reservations", "cleared": true }),
            true,
            "Nothing that was cleared matches",
        ),
        (
            "recall",
            json!({ "path": SESSION, "query": "reservations", "cleared": true, "preset": "window" }),
            true,
            "cleared passages match",
        ),
        (
            "recall",
            json!({ "path": SESSION, "reference": "8bab127a-20d1-41ce-ad1d-d7b3d80bd5ed" }),
            true,
            ": result of Bash, bytes 0 to 4408 of 4408]",
        ),
        ("recall", json!({ "path": SESSION, "reference": "r", "query": "q" }), true, "not both"),
        (
            "explain",
            json!({ "path": SESSION, "preset": "tunacode", "window": 100_000 }),
            true,
            "under tunacode",
        ),
        (
            "explain",
            json!({ "path": SESSION, "preset": "tunacode, pi", "window": 60_000 }),
            true,
            "under pi",
        ),
        (
            "explain",
            json!({ "path": SESSION, "preset": "window", "window": 8_000 }),
            false,
            "leaves no room",
        ),
        (
            "compact",
            json!({ "path": SESSION, "preset": "pi", "when": "manual" }),
            true,
            "manual pi.checkpoint: changed",
        ),
        (
            "compact",
            json!({ "path": SESSION, "preset": "pi", "when": "live", "window": 60_000 }),
            true,
            "pi.checkpoint",
        ),
        ("compact", json!({ "path": SESSION, "preset": "none", "show": "view" }), true, "## View"),
        (
            "compact",
            json!({ "path": SESSION, "preset": "none", "show": "session" }),
            true,
            "more bytes: the same with \"offset\": ",
        ),
        (
            "compact",
            json!({ "path": SESSION, "preset": "examples/mine.toml" }),
            false,
            "no preset is called",
        ),
        (
            "compact",
            json!({ "path": SESSION, "preset": "none", "session": "other" }),
            false,
            "other",
        ),
    ];
    let calls: Vec<(&str, Value)> =
        rows.iter().map(|(tool, arguments, ..)| (*tool, arguments.clone())).collect();
    let said = called(&["examples/sessions"], &calls);
    for ((tool, arguments, done, part), (text, failed)) in rows.iter().zip(said) {
        assert!(text.contains(part), "{tool} {arguments}: {text}");
        assert_eq!(failed, !done, "{tool} {arguments}: {text}");
        assert!(text.len() <= 16_100, "{tool} {arguments}: {} bytes", text.len());
    }
}

#[test]
fn pages_are_the_whole() {
    let whole = std::fs::read_to_string(root().join(SESSION)).unwrap();
    let arguments = |offset: usize| json!({ "path": SESSION, "preset": "none", "show": "session", "offset": offset });
    let (mut text, mut offset) = (String::new(), 0);
    for _ in 0..3 {
        let (page, _) = called(&[SESSION], &[("compact", arguments(offset))]).remove(0);
        let (page, next) = page.rsplit_once("\n[").unwrap();
        text.push_str(page);
        offset = next.rsplit(": ").next().unwrap().trim_end_matches(']').parse().unwrap();
    }
    assert!(text.len() == offset && whole.starts_with(&text));
}

#[test]
fn what_is_not_there_can_not_be_served() {
    let ran = run(&["mcp", "nowhere"], "", &[]);
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("nowhere: No such file"), "{}", ran.stderr);
    let ran = run(
        &["mcp"],
        "",
        &[
            ("HOME", "/nonexistent"),
            ("CODEX_HOME", ""),
            ("CLAUDE_CONFIG_DIR", ""),
            ("XDG_DATA_HOME", ""),
        ],
    );
    assert_eq!((ran.code, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("/nonexistent/.claude/projects does not exist"), "{}", ran.stderr);
}
