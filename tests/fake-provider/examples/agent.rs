//! A provider for agents of other languages: calls the tool `read` 99 times and says that it is done at the 100th
//! request of every task. Prints its address and runs until it is killed. Arguments: another number than 100, another
//! window than 16,000 tokens, and how many lines it says with each call.
//!
//! A request without tools asks for a summary, and gets one.
//! A request whose text holds `refuse me` is refused. One that is larger than the window is refused in the words of its
//! protocol, so an agent that does not fold would not get to the end.

use foldback_fake_provider::{Answer, Call, FakeProvider, Recorded, Reply, Script};
use serde_json::{Value, json};

/// The only tool of mini-swe-agent, which ends its task by a command.
const SHELL: &str = "bash";

/// The call that reads a file, by the tool that the agent has for it.
fn read<'a>(request: &'a Recorded, number: usize, path: &str) -> Call {
    let tools = request.body["tools"].as_array().into_iter().flatten();
    let declared = |tool: &'a Value| match tool["functionDeclarations"].as_array() {
        Some(functions) => functions.iter().collect(),
        None => vec![tool],
    };
    let named = tools.flat_map(declared).filter_map(|tool| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str())?;
        Some((name, tool.to_string()))
    });
    let known =
        ["read", "Read", "exec_command", "shell_command", "run_shell_command", "run_commands"];
    let named: Vec<_> = named.collect();
    let is_shell = |(name, _): &&(&str, String)| *name == SHELL;
    let found = named.iter().find(|(name, _)| known.contains(name));
    let found = found.or_else(|| named.iter().find(is_shell)).cloned();
    let (name, definition) = found.unwrap_or(("read", String::new()));
    let members = ["filePath", "file_path", "cmd", "commands", "command"];
    let member = members.into_iter().find(|name| definition.contains(&format!("\"{name}\"")));
    let arguments = match member {
        Some("commands") => json!({ "commands": [format!("cat {path}")] }),
        Some(member @ ("cmd" | "command")) => json!({ member: format!("cat {path}") }),
        member => json!({ member.unwrap_or("path"): path }),
    };
    Call::new(format!("call_{number}"), name, arguments)
}

fn answer(request: &Recorded, task: usize, lines: usize, calls: &mut usize) -> Reply {
    if request.path.contains("/count_tokens") {
        return Reply::status(200, r#"{"input_tokens": 7}"#);
    }
    if request.path.contains("/models") && !request.path.contains("enerateContent") {
        return Reply::status(
            200,
            r#"{"data": [{"id": "m", "object": "model", "type": "model", "display_name": "M", "created_at": "2026-01-01T00:00:00Z"}], "object": "list", "has_more": false}"#,
        );
    }
    if request.text.contains("refuse me") {
        return Reply::status(
            400,
            r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "planted refusal"}}"#,
        );
    }
    // Gemini CLI asks another model now and then whether it turns in circles.
    if request.body["generationConfig"]["responseMimeType"] == "application/json" {
        let text = r#"{"unproductive_state_analysis": "It reads on.", "unproductive_state_confidence": 0}"#;
        return Reply::text(text);
    }
    // Some agents send their tools along with what asks for a summary, and say that none may be called.
    let text = request.text.to_lowercase();
    let asks = ["do not call any tool", "create a handoff summary", "component that summarizes"];
    if asks.iter().any(|words| text.contains(words))
        || request.body["tools"].as_array().is_none_or(Vec::is_empty)
    {
        return Reply::text("All files are to be read, and the first ones were.");
    }
    *calls += 1;
    match *calls % task {
        0 if read(request, *calls, "").name == SHELL => {
            let end = json!({"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"});
            Reply::calls([Call::new("call_end", SHELL, end)])
        }
        0 => Reply::text("Done."),
        call => Reply::answer(Answer {
            text: (0..lines).map(|line| format!("Line {line} of what I think.\n")).collect(),
            calls: vec![read(request, *calls, &format!("src/{call}.rs"))],
            ..Answer::default()
        }),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let mut given = std::env::args().skip(1).filter_map(|number| number.parse::<u64>().ok());
    let (task, window) = (given.next().unwrap_or(100), given.next().unwrap_or(16_000));
    let lines = given.next().unwrap_or(0) as usize;
    let mut calls = 0;
    let script = Script::answer(move |request| answer(request, task as usize, lines, &mut calls));
    let provider =
        FakeProvider::builder(script).input_window(window).pairs().everywhere().start().await?;
    println!("{}", provider.url());
    std::future::pending().await
}
