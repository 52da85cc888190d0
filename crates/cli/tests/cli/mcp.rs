//! `foldback mcp`, by the lines that a client writes. The external tests run a client of another SDK against it.

use crate::common::{root, run, start};
use foldback_test_support::deadline::deadline;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};

const SESSION: &str = "examples/sessions/reservations-claude-code.jsonl";

/// What the server answers to these requests, in their order.
fn served(paths: &[&str], requests: &[(&str, Value)]) -> Vec<Value> {
    let _deadline = deadline();
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
        ("inspect", json!({}), true, "12 sessions with 640 calls"),
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
        ("pin", json!({ "text": "Never touch main." }), true, "Pinned"),
        ("pin", json!({ "text": " " }), false, "no text to pin"),
        ("unpin", json!({ "text": "Never" }), true, "Unpinned."),
        ("unpin", json!({ "text": "" }), false, "no text to unpin"),
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
        assert!(text.len() <= 16_000, "{tool} {arguments}: {} bytes", text.len());
    }
}

/// A folder may hold what leads out of it and what never ends; a server answers all the same, and from the folder alone.
#[cfg(unix)]
#[test]
fn only_files_below_the_folders_are_looked_at() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let (inside, outside) = (at("inside"), at("outside"));
    for path in [&inside, &outside] {
        std::fs::create_dir(path).unwrap();
        std::fs::copy(root().join(SESSION), path.join("own.jsonl")).unwrap();
    }
    std::fs::copy(root().join(SESSION), outside.join("secret.jsonl")).unwrap();
    let link = |to: &std::path::Path, name: &str| {
        std::os::unix::fs::symlink(to, inside.join(name)).unwrap();
    };
    link(&outside, "folder");
    link(&outside.join("secret.jsonl"), "linked.jsonl");
    link(&inside.join("own.jsonl"), "again.jsonl");
    link(std::path::Path::new("/dev/zero"), "zero.jsonl");
    let fifo = inside.join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let inside = inside.to_str().unwrap();
    let below = |name: &str| format!("{inside}/{name}");
    let rows = [
        ("inspect", json!({}), true, "1 session"),
        ("inspect", json!({ "path": inside }), true, "1 session"),
        ("inspect", json!({}), true, "2 files: a link leads out of what may be read"),
        ("inspect", json!({ "path": below("linked.jsonl") }), false, "not among the sessions"),
        ("inspect", json!({ "path": below("folder") }), false, "not among the sessions"),
        ("inspect", json!({ "path": below("again.jsonl") }), true, "tool calls    112"),
        ("inspect", json!({ "path": below("zero.jsonl") }), false, "neither a file nor a folder"),
        ("inspect", json!({ "path": below("pipe.jsonl") }), false, "neither a file nor a folder"),
        (
            "recall",
            json!({ "path": below("pipe.jsonl"), "query": "q" }),
            false,
            "neither a file nor a folder",
        ),
        (
            "compact",
            json!({ "path": below("pipe.jsonl"), "preset": "none" }),
            false,
            "neither a file nor a folder",
        ),
        (
            "explain",
            json!({ "path": below("pipe.jsonl"), "preset": "pi" }),
            false,
            "neither a file nor a folder",
        ),
    ];
    let calls: Vec<(&str, Value)> =
        rows.iter().map(|(tool, arguments, ..)| (*tool, arguments.clone())).collect();
    for ((tool, arguments, done, part), (text, failed)) in
        rows.iter().zip(called(&[inside], &calls))
    {
        assert!(text.contains(part), "{tool} {arguments}: {text}");
        assert_eq!(failed, !done, "{tool} {arguments}: {text}");
        assert!(!text.contains("secret"), "{tool} {arguments}: {text}");
    }
    let ran = run(&["mcp", &below("pipe.jsonl")], "", &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("neither a file nor a folder"), "{}", ran.stderr);
}

#[test]
fn errors_have_pages_like_answers() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(40_000);
    let folder = folder.path().to_str().unwrap();
    let rows = [
        ("inspect", json!({ "path": long }), "more bytes: the same with \"offset\": "),
        (
            "inspect",
            json!({ "path": long, "offset": 16_000 }),
            "more bytes: the same with \"offset\": ",
        ),
        ("explain", json!({ "path": folder, "preset": long }), "more bytes"),
        ("recall", json!({ "path": long, "query": "q" }), "more bytes"),
    ];
    let calls: Vec<(&str, Value)> =
        rows.iter().map(|(tool, arguments, ..)| (*tool, arguments.clone())).collect();
    for ((tool, _, part), (text, failed)) in rows.iter().zip(called(&[folder], &calls)) {
        assert!(failed && text.contains(part), "{tool}: {text}");
        assert!(text.len() <= 16_000, "{tool}: {} bytes", text.len());
    }
    // What is no call of a tool is refused by the protocol's library, and quoted.
    let rows = [
        ("tools/call", json!({ "name": long, "arguments": {} })),
        ("tools/call", json!({ "name": "recall", "arguments": { "path": folder, &long: 1 } })),
        (
            "tools/call",
            json!({ "name": "compact", "arguments": { "path": folder, "preset": "none", "when": long } }),
        ),
        (&*long, json!({})),
    ];
    for ((method, params), answer) in rows.iter().zip(served(&[folder], &rows)) {
        let said = [&answer["error"]["message"], &answer["result"]["content"][0]["text"]];
        let said = said.into_iter().find_map(Value::as_str).unwrap_or_else(|| panic!("{answer}"));
        let tool = params["name"].as_str().unwrap_or_default().get(..7).unwrap_or(&method[..7]);
        assert!(said.len() <= 16_000, "{tool}: {} bytes", said.len());
        assert!(answer.to_string().len() <= 17_000, "{tool}");
    }
}

/// What stood before the recorder's own compaction is found, by words and by reference; what is in view behind it is not.
#[test]
fn what_the_recorder_took_out_of_sight_is_found() {
    let folder = "tests/cases/D-mcp-cleared";
    for (file, query, expected) in [
        ("cc-compaction.jsonl", "index", "Build the index"),
        ("cc-compaction.jsonl", "entries", "made 200 entries"),
        ("cc-compaction.jsonl", "changed", "Nothing that was cleared matches"),
        ("compaction.jsonl", "index", "Build the index"),
        ("compaction.jsonl", "commit", "Nothing that was cleared matches"),
    ] {
        let path = format!("{folder}/{file}");
        let given = json!({ "path": path, "query": query, "cleared": true });
        let (text, failed) = called(&[folder], &[("recall", given)]).remove(0);
        assert!(!failed && text.contains(expected), "{file} {query}: {text}");
    }
    let path = format!("{folder}/cc-compaction.jsonl");
    let references = [("u001", "Build the index"), ("u013", "was not cleared")];
    for (reference, expected) in references {
        let given = json!({ "path": path, "reference": reference, "cleared": true });
        let (text, _) = called(&[folder], &[("recall", given)]).remove(0);
        assert!(text.contains(expected), "{reference}: {text}");
    }
}

#[test]
fn a_line_that_is_no_json_is_answered() {
    let _deadline = deadline();
    let rows: [(&str, &[u8]); 6] = [
        ("words", b"not json"),
        ("cut", br#"{"jsonrpc": "2.0", "id": 7, "method": "#),
        ("two", br#"{"jsonrpc": "2.0"}{"#),
        ("no text", b"\"\xff\xfe\""),
        ("too deep", &[b'['; 1_000]),
        ("too long", &vec![b' '; 17 << 20]),
    ];
    for (name, line) in rows {
        for is_begun in [false, true] {
            let mut server = start(&["mcp", "examples/sessions"], &[]);
            let mut input = server.stdin.take().unwrap();
            let mut answers = BufReader::new(server.stdout.take().unwrap()).lines();
            let mut answer =
                || -> Value { serde_json::from_str(&answers.next().unwrap().unwrap()).unwrap() };
            let params = json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": { "name": "test", "version": "1" },
            });
            let begin =
                json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
            if is_begun {
                writeln!(input, "{begin}\n\n").unwrap();
                assert_eq!(answer()["id"], 1, "{name}");
            }
            input.write_all(&[line, b"\n"].concat()).unwrap();
            let refused = answer();
            assert_eq!(refused["error"]["code"], -32_700, "{name}: {refused}");
            // It goes on.
            if !is_begun {
                writeln!(input, "{begin}").unwrap();
                assert_eq!(answer()["id"], 1, "{name}");
            }
            writeln!(input, "{}", json!({ "jsonrpc": "2.0", "id": 2, "method": "ping" })).unwrap();
            assert_eq!(answer()["id"], 2, "{name}");
            // The last line counts, too, and is answered before the end.
            input.write_all(b"{").unwrap();
            drop(input);
            assert_eq!(answer()["error"]["code"], -32_700, "{name}");
            assert!(server.wait().unwrap().success());
        }
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
    assert!(ran.stderr.contains("nothing in /nonexistent of Claude Code, "), "{}", ran.stderr);
}
