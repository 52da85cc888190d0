//! A planted key is looked for wherever something is written: errors, debug output, logs, recordings.

use crate::support::{KEY, PROVIDERS, client, endpoint, request};
use foldback_core::provider::Model;
use foldback_core::services::Services;
use foldback_fake_provider::{FakeProvider, Reply};
use foldback_llm::{
    Budget, Cassette, Client, DryRun, Keys, LlmConfig, LlmSummarizer, Prices, Watch,
};
use foldback_test_support::trace::Trace;
use std::fmt::Write as _;
use std::sync::Arc;

#[tokio::test]
async fn a_planted_key_is_found_nowhere() {
    let (logs, _listening) = Trace::listen();
    let echo =
        || format!("{{\"error\":{{\"message\":\"no such key: {KEY}\",\"code\":\"{KEY}\"}}}}");
    let overflow = format!(
        "{{\"error\":{{\"message\":\"maximum context length is 10 tokens, said {KEY}\",\"code\":\"context_length_exceeded\"}}}}"
    );
    let replies = || {
        [
            Reply::status(401, echo()),
            Reply::status(500, echo()),
            Reply::raw(200, "application/json", echo()),
            Reply::raw(200, "text/html", format!("<html>{KEY}</html>")),
            Reply::raw(200, "application/json", format!("{{ {KEY}")),
            Reply::status(400, overflow.clone()),
            Reply::text(format!("Your key is {KEY}.")),
        ]
    };
    let folder = tempfile::tempdir().unwrap();
    let mut written = String::new();
    for provider in PROVIDERS {
        // Every protocol sends its key: the two without a usual variable name one.
        let server = FakeProvider::start(replies()).await.unwrap();
        let client: Arc<Client> = Arc::new(client());
        let cassette = Cassette::record(folder.path(), Arc::clone(&client) as _);
        for replicate in 0..7 {
            let mut asked = request(endpoint(provider, &server));
            asked.endpoint.key_variable = Some("ANY".to_owned());
            asked.replicate = replicate;
            let answer = cassette.complete(&asked).await;
            if let Err(error) = &answer {
                write!(written, "{error} ").unwrap();
            }
            writeln!(written, "{answer:?} {asked:?} {cassette:?} {client:?}").unwrap();
        }
        for got in server.requests() {
            let sent = got.headers.iter().any(|(_, value)| value.contains(KEY));
            assert!(sent, "{provider}: the key was not sent, so that the test shows nothing");
        }
        assert_eq!(server.requests().len(), 7, "{provider}");
    }
    for file in std::fs::read_dir(folder.path()).unwrap() {
        written += &std::fs::read_to_string(file.unwrap().path()).unwrap();
    }
    let keys = Keys::new(|_| Some(KEY.to_owned()));
    writeln!(written, "{keys:?} {:?}", keys.get("ANY")).unwrap();
    // Whatever is put around a client shows no more of it.
    let model: Arc<dyn Model> = Arc::new(Client::new(keys).unwrap());
    let prices = Prices::new(|_| None);
    let budget = Budget::new(Arc::clone(&model), Some(1.0), prices.clone());
    let services = Services::fixed().with_model(Arc::clone(&model));
    let config = LlmConfig { key_variable: Some("ANY".to_owned()), ..LlmConfig::default() };
    let summarizer = LlmSummarizer::new(config.clone()).unwrap();
    let (watch, dry) = (Watch::new(model), DryRun::new());
    writeln!(
        written,
        "{budget:?} {prices:?} {services:?} {config:?} {summarizer:?} {watch:?} {dry:?}"
    )
    .unwrap();
    let logged = logs.text();
    assert!(logged.contains("not answered"), "nothing was logged: {logged}");
    assert!(written.contains("[key]"), "nothing was blotted out: {written}");
    for (name, text) in [("written", &written), ("logged", &logged)] {
        let at = text.find(KEY).map(|at| &text[at.saturating_sub(200)..at]);
        assert_eq!(at, None, "{name}: the key stands behind this");
    }
}

/// Long bodies are cut, and the cut may go through the key.
#[tokio::test]
async fn no_half_of_a_key_is_left_where_a_message_is_cut() {
    let half = &KEY[..KEY.len() / 2];
    for (status, length) in [(401, 1_000), (500, 1_000), (400, 2_000), (401, 2_000)] {
        // Wherever the cut is, one of these has it in the middle of a key.
        for more in 0..KEY.len() {
            let filler = "x".repeat(length - KEY.len() + more);
            let server =
                FakeProvider::start([Reply::status(status, format!("{filler}{KEY} and on"))])
                    .await
                    .unwrap();
            let mut asked = request(endpoint("openai-compatible", &server));
            asked.endpoint.key_variable = Some("ANY".to_owned());
            let error = client().complete(&asked).await.unwrap_err();
            assert!(!format!("{error:?}").contains(half), "{status}: {error}");
        }
    }
}
