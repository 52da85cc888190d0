//! The loop that the README shows, against the provider that is a stand-in. What stands between the marks is in the
//! README, line by line; a test of the command holds it to that.

use agent_loop::client::{self, Client, Target};
use foldback::core::log::ToolCall;
use foldback::core::view::ShownMessage;
use foldback::live::AgentLoop;
use foldback_fake_provider::{Call, FakeProvider, Reply};
use std::cell::Cell;

#[tokio::test]
async fn the_loop_of_the_readme_runs_a_tool_and_ends() {
    let provider = FakeProvider::start([
        Reply::calls([Call::new("c1", "read", serde_json::json!({"path": "build.log"}))]),
        Reply::text("A brace is missing in main.rs."),
    ]);
    let provider = provider.await.unwrap();
    let agent = run(&provider, "You mend builds.", "[]").await.unwrap();
    let roles: Vec<_> =
        agent.conversation().history().iter().map(|(_, message)| message.role.as_str()).collect();
    assert_eq!(roles, ["user", "assistant", "tool", "assistant"]);
    assert_eq!(provider.requests().len(), 2);
}

async fn run(
    provider: &FakeProvider,
    system_prompt: &str,
    tool_definitions: &str,
) -> Result<AgentLoop, Box<dyn std::error::Error>> {
    let target = Target {
        base_url: provider.openai_url(),
        model: "scripted".to_owned(),
        max_output: 32_000,
    };
    let client = Client::new(client::http()?, target, String::new(), system_prompt, &[])?;
    let asked = Cell::new(0);
    let send = async |sent: Vec<ShownMessage<'_>>| {
        asked.set(asked.get() + 1);
        client.ask(&format!("a{}", asked.get()), &sent).await
    };
    let run_tools = |calls: Vec<&ToolCall>| {
        let mut results = Vec::new();
        for call in calls {
            assert_eq!(call.arguments, r#"{"path":"build.log"}"#);
            let id = format!("result-of-{}", call.call_id);
            results.push(Message::tool(id, &call.call_id, &call.tool, "error: expected `}`"));
        }
        results
    };
    // README
    use foldback::{Message, live::Next};

    let mut agent = foldback::agent("indexed")
        .window(200_000)
        .max_output(32_000)
        .system(system_prompt) // both are counted with every request;
        .tools(tool_definitions) // use `no_system()` and `no_tools()` if there are none
        .build()?;

    agent.user(Message::user("m1", "Why does the build fail?")).await;
    let mut next = Next::Call;
    loop {
        next = match next {
            Next::Call => {
                agent.before_call().await;
                // `send` is your model client. An error may say that the request was too long.
                match send(agent.conversation().sent()).await {
                    Ok(answer) => agent.answered(answer).await,
                    Err(error) => agent.refused(&error).await,
                }
            }
            // `run_tools` gives a message for each call: `Message::tool(id, call_id, tool, text)`.
            Next::Tools => agent.results(run_tools(agent.open_calls())).await,
            Next::Finished => break,
            Next::Stopped(why) => return Err(why.into()),
        };
    }
    // README
    Ok(agent)
}
