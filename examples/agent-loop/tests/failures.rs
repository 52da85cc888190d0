//! A provider that never gives in: under every preset the agent stops after a few requests, and says
//! why.

use crate::support::agent;
use crate::support::transcript::Transcript;
use agent_loop::agent::End;
use agent_loop::client;
use agent_loop::setup;
use foldback::Services;
use foldback::core::provider::ErrorKind;
use foldback::live::Stopped;
use foldback_fake_provider::{FakeProvider, Reply, Script, errors};

/// What an end is called in the table.
fn name(end: &End) -> String {
    match end {
        End::Finished => "finished".to_owned(),
        End::OutOfCalls => "out of calls".to_owned(),
        End::Stopped(Stopped::Overflow { .. }) => "overflow".to_owned(),
        End::Stopped(Stopped::Length { .. }) => "length".to_owned(),
        End::Stopped(Stopped::Provider(error)) => error.kind.to_string(),
    }
}

#[tokio::test]
async fn a_provider_that_never_gives_in_is_asked_a_few_times() {
    let slow = r#"{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}"#;
    let key = r#"{"error":{"message":"Incorrect API key provided: sk-test.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#;
    // The answer to every request, how the turn ends, and most requests.
    let rows: [(&str, Reply, &str, usize); 10] = [
        ("overflow", errors::OPENAI_MESSAGES.into(), "overflow", 2),
        ("overflow of another", errors::LLAMA_CPP.into(), "overflow", 2),
        ("length", Reply::length("And then"), "length", 2),
        ("rate limit", Reply::status(429, slow), "rate-limited", 5),
        ("a long wait", Reply::status(429, slow).header("retry-after", "3600"), "rate-limited", 1),
        ("cut", Reply::text("A text of some length").cut(200), "transport", 5),
        ("nothing at all", Reply::text("A text").cut(0), "transport", 5),
        ("garbage", Reply::garbage(), "decode", 5),
        ("a wrong key", Reply::status(401, key), "auth", 1),
        ("nothing to say", Reply::empty(), "finished", 1),
    ];
    let http = client::http().unwrap();
    let registry = foldback::registry().unwrap();
    for preset in registry.presets() {
        let preset = preset.item.name;
        for (case, reply, expect, most) in &rows {
            let reply = reply.clone();
            let script = Script::answer(move |_| reply.clone());
            let provider = FakeProvider::start(script).await.unwrap();
            let directory = tempfile::tempdir().unwrap();
            let transcript = Transcript::default();
            let strategy = setup::strategy(preset).unwrap();
            let conversation = (strategy, Services::fixed());
            let mut agent =
                agent(&http, &provider, directory.path(), conversation, 50, &transcript);
            let end = agent.turn("Look around.").await;
            let requests = provider.requests().len();
            assert_eq!(name(&end), *expect, "{preset}, {case}");
            assert!(requests <= *most, "{preset}, {case}: {requests} requests");
            assert!(!format!("{end:?}").contains("sk-test"), "{preset}, {case}: {end:?}");
        }
    }
}

#[tokio::test]
async fn a_passing_failure_is_waited_out_and_leaves_no_trace() {
    let replies = [
        Reply::status(429, "{}").header("retry-after", "7"),
        Reply::status(503, "{}"),
        Reply::text("Half of a sentence that is never heard of again").cut(300),
        Reply::text("Done."),
    ];
    let http = client::http().unwrap();
    let provider = FakeProvider::start(replies).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let transcript = Transcript::default();
    let strategy = setup::strategy("window").unwrap();
    let conversation = (strategy, Services::fixed());
    let mut agent = agent(&http, &provider, directory.path(), conversation, 50, &transcript);
    assert_eq!(agent.turn("Look around.").await, End::Finished);
    let said: Vec<String> =
        agent.conversation().sent().iter().map(|shown| shown.message.said()).collect();
    assert_eq!(said, ["Look around.", "Done."]);
    assert_eq!(agent.calls(), 1);
    let bodies: Vec<_> =
        provider.requests().into_iter().map(|request| request.body.clone()).collect();
    assert!(bodies.windows(2).all(|pair| pair[0] == pair[1]), "sent again as it was");
    assert_eq!(
        transcript.waits(),
        [(ErrorKind::RateLimited, 7), (ErrorKind::Overloaded, 2), (ErrorKind::Transport, 4)]
    );
}
