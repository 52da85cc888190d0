//! `compare --outcomes`: what sessions came to, joined from a file, and arms compared task by task.

use crate::common::{foldback, refused, root, write};
use serde_json::{Value, json};
use std::path::Path;

/// The comparison as JSON, after the options.
fn compared(folder: &Path, more: &[&str]) -> Value {
    let out = folder.join("out.json");
    let arguments = [&["compare"], more, &["--json", out.to_str().unwrap()]].concat();
    foldback(&arguments).done();
    serde_json::from_slice(&std::fs::read(out).unwrap()).unwrap()
}

#[test]
fn sessions_are_found_by_path_id_or_name() {
    let folder = tempfile::tempdir().unwrap();
    let given = write(
        folder.path(),
        "outcomes.jsonl",
        r#"{"session": "berths-claude-code", "arm": "one", "task": "a", "resolved": true}
{"session": "examples/sessions/journal-opencode.json", "arm": "two", "task": "a", "resolved": false}

{"session": "gone", "resolved": 1}
{"session": "dues-pydantic-ai", "arm": "two", "task": "b", "resolved": 0.25}
"#,
    );
    let options = ["examples/sessions", "--preset", "indexed", "--outcomes", &given];
    let outcomes = &compared(folder.path(), &options)["outcomes"];
    assert_eq!(outcomes["rows"], 4);
    assert_eq!(outcomes["found"], json!({"path": 1, "id": 0, "name": 2}));
    assert_eq!(outcomes["unknown"], json!(["gone"]));
    assert_eq!(outcomes["missing"].as_array().unwrap().len(), 9);
    assert_eq!(outcomes["binary"], false);
    assert_eq!(outcomes["sessions"][0]["outcome"], 1.0);
    let pair = &outcomes["pairs"][0];
    assert_eq!([&pair["arm"], &pair["against"]], ["two", "one"]);
    assert_eq!(
        [&pair["value"], &pair["tasks"], &pair["mcnemar"]],
        [&json!(-1.0), &json!(1), &Value::Null]
    );

    // A column of the rows.
    let rows = folder.path().join("rows.jsonl");
    foldback(&[&["compare"], &options[..], &["--rows", rows.to_str().unwrap()]].concat()).done();
    let rows = std::fs::read_to_string(rows).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        seen.insert(format!("{} {} {}", row["session"], row["arm"], row["outcome"]));
    }
    assert_eq!(seen.len(), 12, "one of each session");
    let of = |name: &str| seen.iter().find(|line| line.contains(name)).unwrap();
    assert!(of("berths").ends_with(r#""one" 1.0"#), "{}", of("berths"));
    assert!(of("dues").ends_with(r#""two" 0.25"#) && of("alarms").ends_with(r#""" null"#));

    // In words, and without the names of sessions where they are left out.
    let screen =
        foldback(&[&["compare"], &options[..]].concat()).done().stdout.replace("\n  ", " ");
    assert!(
        screen.contains("Outcomes of 3 of 12 sessions: 1 by path, 2 by file name; none of"),
        "{screen}"
    );
    assert!(screen.contains("1 of 4 rows are of no session here: gone."), "{screen}");
    assert!(screen.contains("two against one: −1.000 over 1 task."), "{screen}");
    let page = folder.path().join("page.html");
    let with_page = [&["compare"], &options[..], &["--html", page.to_str().unwrap()]].concat();
    foldback(&with_page).done();
    let page = std::fs::read_to_string(page).unwrap();
    let (_, section) = page.split_once("<section id=\"outcomes\">").unwrap();
    assert!(section.contains("<li>two against one: −1.000 over 1 task.</li>"), "{section}");
    let redacted = compared(folder.path(), &[&options[..], &["--redact"]].concat());
    let text = redacted["outcomes"].to_string();
    assert!(
        !text.contains("berths") && !text.contains("gone") && !text.contains("\"a\""),
        "{text}"
    );
}

/// The study's runs as sessions of one answer, told by what they are called: its published pair comes out.
#[test]
fn a_published_pair_is_reproduced() {
    let extract = std::fs::read_to_string(root().join("tests/evidence/outcomes.tsv")).unwrap();
    let rows: Vec<Vec<&str>> = extract.lines().map(|line| line.split('\t').collect()).collect();
    let of = |model: &str, arm: &str| {
        let row = rows.iter().find(|row| row[..3] == ["verified-500", model, arm]).unwrap();
        row[3]
    };
    let tasks: Vec<&str> = of("", "").split(' ').collect();
    assert_eq!(tasks.len(), 500);
    let (folder, sessions) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut outcomes = String::new();
    for arm in ["raw", "masking-10"] {
        for (task, solved) in tasks.iter().zip(of("gemini-2.5-flash-thinking", arm).chars()) {
            let name = format!("{arm}-{task}");
            let session = json!({"messages": [
                {"role": "user", "content": format!("Mend {task} ({arm}).")},
                {"role": "assistant", "content": format!("{name} is done.")},
            ]});
            write(sessions.path(), &format!("{name}.json"), session.to_string());
            outcomes +=
                &json!({"session": name, "arm": arm, "task": task, "resolved": solved == '1'})
                    .to_string();
            outcomes.push('\n');
        }
    }
    let given = write(folder.path(), "outcomes.jsonl", outcomes);
    let options =
        [sessions.path().to_str().unwrap(), "--preset", "masking-10", "--outcomes", &given];
    let outcomes = &compared(folder.path(), &options)["outcomes"];
    assert_eq!(outcomes["found"]["name"], 1_000);
    let pair = &outcomes["pairs"][0];
    assert_eq!([&pair["tasks"], &pair["clusters"]], [500, 500]);
    let close = |value: &Value, published: f64, by: f64| {
        let value = value.as_f64().unwrap();
        assert!((value - published).abs() <= by, "{value} and not {published}: {pair}");
    };
    close(&pair["value"], -0.040, 1e-9);
    // A bound is one of steps of 0.2 points.
    close(&pair["lo"], -0.078, 0.004_1);
    close(&pair["hi"], -0.002, 0.004_1);
    let test = &pair["mcnemar"];
    close(&test["p"], 0.049, 0.000_5);
    assert_eq!(test["gained"].as_i64().unwrap() - test["lost"].as_i64().unwrap(), -20);
}

#[test]
fn a_wrong_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let table = [
        ("empty", "\n"),
        ("cut", "{\"session\": \"berths-claude-code\", \"resolved\": true}\n{\"session\": "),
        ("misspelt", "{\"session\": \"berths-claude-code\", \"result\": true}\n"),
        ("text", "{\"session\": \"berths-claude-code\", \"resolved\": \"maybe\"}\n"),
        (
            "twice",
            "{\"session\": \"berths-claude-code\", \"resolved\": 1}\n{\"session\": \"examples/sessions/berths-claude-code.jsonl\", \"resolved\": 1}\n",
        ),
        ("unknown", "{\"session\": \"nowhere\", \"resolved\": true}\n"),
        (
            "again",
            "{\"session\": \"berths-claude-code\", \"arm\": \"a\", \"task\": \"t\", \"resolved\": 1}\n{\"session\": \"journal-opencode\", \"arm\": \"b\", \"task\": \"t\", \"resolved\": 1}\n{\"session\": \"dues-pydantic-ai\", \"arm\": \"b\", \"task\": \"t\", \"resolved\": 1}\n",
        ),
    ];
    let names: Vec<(&str, String)> = table
        .iter()
        .map(|(name, text)| (*name, write(folder.path(), &format!("{name}.jsonl"), text)))
        .collect();
    refused("outcomes", &names);
}
