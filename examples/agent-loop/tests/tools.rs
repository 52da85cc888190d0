//! The tools, call by call: what the model is told.

use agent_loop::tools::{LONGEST, Tools};
use foldback::core::log::ToolCall;
use serde_json::{Value, json};
use std::fs;

async fn call(tools: &Tools, tool: &str, arguments: Value) -> (String, bool) {
    let ran = tools
        .run(&ToolCall {
            call_id: "call".into(),
            tool: tool.into(),
            arguments: match arguments {
                Value::String(text) => text,
                value => value.to_string(),
            },
        })
        .await;
    (ran.text, ran.failed)
}

#[tokio::test]
async fn what_the_model_is_told() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("src")).unwrap();
    fs::write(root.join("src/a.rs"), "one\ntwo\nthree two\n").unwrap();
    fs::write(root.join(".hidden"), "two\n").unwrap();
    let tools = Tools::new(root.to_owned(), true);
    let ok = |text: &str| (text.to_owned(), false);
    let error = |text: &str| (text.to_owned(), true);
    let rows = [
        ("read", json!({"path": "src/a.rs"}), ok("one\ntwo\nthree two\n")),
        ("read", json!({"path": "src/a.rs", "from": 2, "lines": 1}), ok("two")),
        ("read", json!({"path": "src/a.rs", "from": 9}), ok("")),
        ("read", json!({}), error("`path` is missing or not a string")),
        ("read", json!({"path": "../x"}), error("../x is not a path inside the working directory")),
        (
            "read",
            json!({"path": "/etc/passwd"}),
            error("/etc/passwd is not a path inside the working directory"),
        ),
        (
            "read",
            json!("{\"path\": "),
            error("the arguments are not JSON: EOF while parsing a value at line 1 column 9"),
        ),
        ("search", json!({"text": "two"}), ok("src/a.rs:2: two\nsrc/a.rs:3: three two")),
        ("search", json!({"text": "four"}), ok("nothing contains \"four\"")),
        ("search", json!({"text": ""}), error("`text` is empty")),
        ("edit", json!({"path": "src/a.rs", "old": "one", "new": "1"}), ok("src/a.rs changed")),
        (
            "edit",
            json!({"path": "src/a.rs", "old": "one", "new": "1"}),
            error("src/a.rs does not contain the text of `old`"),
        ),
        (
            "edit",
            json!({"path": "src/a.rs", "old": "two", "new": "2"}),
            error("src/a.rs contains the text of `old` 2 times"),
        ),
        (
            "edit",
            json!({"path": "src/a.rs", "old": "", "new": "2"}),
            error("src/a.rs exists; say what to replace in `old`"),
        ),
        ("edit", json!({"path": "b/c.rs", "old": "", "new": "new"}), ok("b/c.rs written")),
        ("run", json!({"command": "cat b/c.rs"}), ok("new")),
        ("run", json!({"command": "echo no >&2; exit 3"}), error("no\n\n[ended with 3]")),
        ("fly", json!({}), error("there is no tool `fly`")),
    ];
    for (tool, arguments, expect) in rows {
        assert_eq!(call(&tools, tool, arguments.clone()).await, expect, "{tool} {arguments}");
    }

    let long = format!("{}é", "x".repeat(LONGEST - 1));
    fs::write(root.join("long"), &long).unwrap();
    let (text, _) = call(&tools, "read", json!({"path": "long"})).await;
    assert!(text.ends_with("x\n[2 more bytes are not shown]"), "cut on a character");

    let tools = Tools::new(root.to_owned(), false);
    let told = call(&tools, "run", json!({"command": "true"})).await;
    assert_eq!(told, error("there is no tool `run`"));
    let names: Vec<String> = tools.definitions().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["read", "search", "edit", "recall"]);
}
