//! Clients that end their newest message with blank lines, and leave them out once it is not the newest any more.

use crate::support::talk::{body, list, send};
use crate::support::{Proxy, folding};
use foldback::Limits;
use foldback::core::log::{Message, Part};
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply, Script};
use serde_json::Value;
use std::sync::Arc;

/// The window that the provider has.
const WINDOW: u64 = 24_000;

/// One that the proxy may take it to have, so that only refusals fold.
const WIDE: Limits = Limits { context: 400_000, input: 0, output: 2_000 };

/// What the newest message ends with.
const BLANKS: &str = "\n\n\n";

/// A chat up to a question, which ends so.
fn chat(question: usize, end: &str) -> Vec<Arc<Message>> {
    let text = |number| {
        let lines = (0..60).map(|line| format!("let value_{number}_{line} = {line};\n"));
        format!("What is in part {number}?\n{}End.", lines.collect::<String>())
    };
    let mut log = Vec::new();
    for number in 0..question {
        log.push(Message::user(format!("u{number}"), text(number)));
        let said = vec![Part::text(format!("Values of part {number}."))];
        log.push(Message::assistant(format!("a{number}"), said));
    }
    log.push(Message::user(format!("u{question}"), text(question) + end));
    log.into_iter().map(Arc::new).collect()
}

/// The messages of a body, in the spelling of one library.
fn messages(body: &str, dialect: Dialect) -> Vec<String> {
    let body: Value = serde_json::from_str(body).unwrap();
    body[list(dialect)].as_array().unwrap().iter().map(Value::to_string).collect()
}

/// The name of an outcome.
fn name(outcome: &str) -> &str {
    outcome.split(';').next().unwrap()
}

async fn provider() -> FakeProvider {
    let script = Script::answer(|_| Reply::text("Good.").without_usage());
    FakeProvider::builder(script).input_window(WINDOW).start().await.unwrap()
}

/// A fold after a refusal is kept, over restarts, too: the next request is folded before it is sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_whose_blanks_go_stays_one_and_keeps_its_folds() {
    for dialect in Dialect::ALL {
        let provider = provider().await;
        let folder = tempfile::tempdir().unwrap();
        let mut journaled = folding("tiered", WIDE);
        journaled.journal = Some(folder.path().to_owned());
        let mut proxy = Proxy::folding(&provider, journaled.clone()).await;
        let mut folded = false;
        let mut recovered = 0;
        for question in 0..120 {
            if question % 25 == 24 {
                proxy.stop().await;
                proxy = Proxy::folding(&provider, journaled.clone()).await;
            }
            let own = body(dialect, &chat(question, BLANKS));
            let (outcome, status) = send(&proxy, dialect, own.clone()).await;
            assert_eq!(status, 200, "{dialect}, {question}: {outcome}");
            match name(&outcome) {
                "unchanged" => assert!(!folded, "{dialect}, {question}: the fold is lost"),
                "folded" => assert!(folded, "{dialect}, {question}"),
                "recovered" => (folded, recovered) = (true, recovered + 1),
                other => panic!("{dialect}, {question}: {other}"),
            }
            // All but the summary is as it is in this request.
            let sent = messages(&provider.requests().pop().unwrap().text, dialect);
            let own = messages(&own, dialect);
            let written = sent.iter().filter(|message| !own.contains(message)).count();
            assert!(written <= usize::from(folded), "{dialect}, {question}: {written} are not");
            assert_eq!(sent.last(), own.last(), "{dialect}, {question}");
        }
        let metrics = proxy.metrics().await;
        assert!(metrics.contains("foldback_proxy_conversations 1\n"), "{dialect}: {metrics}");
        assert!((1..=4).contains(&recovered), "{dialect}: {recovered} times");
    }
}

/// Whatever white space ends the messages, what no fold touched goes through byte for byte.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ends_that_change_from_request_to_request_are_those_of_the_newest() {
    let ends = ["", "\n", "\n\n\n", " \t\r\n", "", "\u{3000}", "\n\n"];
    for dialect in Dialect::ALL {
        let provider = provider().await;
        let proxy = Proxy::folding(&provider, folding("window", WIDE)).await;
        for (question, end) in ends.iter().enumerate() {
            let mut own = chat(question, end);
            if let Some(first) = own.first_mut() {
                *first = Arc::new(Message::user("u0", format!("Read the parts.{end}")));
            }
            let own = body(dialect, &own);
            let (outcome, _) = send(&proxy, dialect, own.clone()).await;
            assert_eq!(name(&outcome), "unchanged", "{dialect}, {end:?}");
            assert_eq!(provider.requests().pop().unwrap().text, own, "{dialect}, {end:?}");
        }
        let metrics = proxy.metrics().await;
        assert!(metrics.contains("foldback_proxy_conversations 1\n"), "{dialect}: {metrics}");
    }
}
