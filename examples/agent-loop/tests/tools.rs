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
    // Tool, arguments (those that are text are sent as they are), what the model is told.
    let rows: Vec<(String, Value, String)> =
        serde_json::from_str(include_str!("tools.json")).unwrap();
    for (tool, arguments, expect) in rows {
        let (told, failed) = call(&tools, &tool, arguments.clone()).await;
        let told = if failed { format!("error: {told}") } else { told };
        assert_eq!(told, expect, "{tool} {arguments}");
    }

    let long = format!("{}é", "x".repeat(LONGEST - 1));
    fs::write(root.join("long"), &long).unwrap();
    let (text, _) = call(&tools, "read", json!({"path": "long"})).await;
    assert!(text.ends_with("x\n[2 more bytes are not shown]"), "cut on a character");

    let tools = Tools::new(root.to_owned(), false);
    let told = call(&tools, "run", json!({"command": "true"})).await;
    assert_eq!(told, ("there is no tool `run`".to_owned(), true));
    let names: Vec<String> = tools
        .definitions()
        .iter()
        .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["read", "search", "edit", "recall"]);
}
