//! Secrets are left out of what is sent, where that is asked for.

use super::support::{Bench, fails, request, says, small};
use crate::support::{Scripted, answer, plain};
use foldback_core::log::{Message, Part, PartKind};
use foldback_core::provider::{ErrorKind, Model};
use foldback_llm::{Budget, LlmConfig, Prices};
use serde_json::json;
use std::sync::Arc;

const SECRET: &str = "ghp_0123456789abcdefghijklmnop";

fn scrubbing() -> LlmConfig {
    // Outputs are cut in the middle of the secret.
    LlmConfig { scrub: true, tool_output_max: 20, ..LlmConfig::default() }
}

/// On every rung, wherever they stand.
#[tokio::test]
async fn no_request_has_a_secret() {
    let mut messages = small();
    let raw = json!({"env": format!("GITHUB_TOKEN={SECRET}")});
    let unknown = Part::new(PartKind::Unknown { name: "step".to_owned(), raw });
    let arguments = json!({"command": format!("git clone https://me:{SECRET}@example.org/x")});
    messages.extend([
        Message::user("u9", format!("the token is {SECRET}")),
        Message::assistant("a9", vec![unknown, Part::call("c9", "bash", arguments.to_string())]),
        Message::tool(
            "t9",
            "c9",
            "bash",
            format!("cloning as {SECRET}\n{}", "a file\n".repeat(4_000)),
        ),
    ]);
    let mut asked = request("opencode.anchored", messages);
    asked.previous = Some(format!("The token is {SECRET}."));
    asked.instructions = vec![format!("use {SECRET}")];

    let bench = Bench::new(scrubbing(), [fails(ErrorKind::ContextOverflow), says("x"), says("x")]);
    let _ = bench.ask(&asked).await;
    assert!(bench.sent() >= 2, "{:?}", bench.steps());
    for number in 0..bench.sent() {
        let text = &bench.request(number).turns[0].text;
        assert!(!text.contains(&SECRET[..8]), "{text}");
        assert!(text.contains("[secret left out: GitHub token]"), "{text}");
    }
    assert!(bench.request(0).turns[0].text.contains("cloning as [secret"), "the rest stays");
    assert!(bench.request(0).turns[0].text.contains("fix the build"));

    let bench = Bench::new(LlmConfig::default(), [says("x")]);
    let _ = bench.ask(&asked).await;
    assert!(bench.request(0).turns[0].text.contains(SECRET), "scrubbing is off");
}

/// A recording of a request with secrets answers none without.
#[tokio::test]
async fn the_summarizer_says_so() {
    let id = |config: LlmConfig| {
        let bench = Bench::new(config, []);
        foldback_core::stage::Summarizer::id(&bench.summarizer).to_owned()
    };
    assert_ne!(id(LlmConfig { scrub: true, ..LlmConfig::default() }), id(LlmConfig::default()));
}

#[tokio::test]
async fn the_bill_counts_what_was_left_out() {
    let model = Scripted::new([Ok(answer("x")), Ok(answer("x"))]);
    let budget = Budget::new(Arc::new(model), None, Prices::new(|_| None));
    for text in ["[secret left out: JWT] and [secret left out: JWT]", "nothing"] {
        budget.complete(&plain(text)).await.unwrap();
    }
    assert_eq!(budget.bill().secrets, 2);
}
