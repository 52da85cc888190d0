//! Gateways that do not tell how large a request was: what is missing is estimated, so a strategy that goes by usage folds
//! as with a provider that tells.

use crate::support::talk::{MODEL, body, calls, path, reply, send_to, streamed, task};
use crate::support::{Proxy, folding, http, outcome};
use foldback::Limits;
use foldback::core::log::{Message, PartKind};
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Script, Told, Usage};
use std::sync::Arc;

const LIMITS: Limits = Limits { context: 60_000, input: 0, output: 8_000 };

/// They go by the usage of the latest answer.
const PRESETS: [&str; 3] = ["opencode-1.18", "pi", "claude-code"];

/// A task whose results are so long that it does not fit in the window.
fn long_task() -> Vec<Arc<Message>> {
    let mut log = task(40);
    for message in &mut log {
        for part in &mut Arc::make_mut(message).parts {
            if let PartKind::Result(result) = &mut part.kind {
                result.text = result.text.repeat(12);
            }
        }
    }
    log
}

/// A provider that gives the answers of a log, with as much of their usage; `None` tells none.
async fn provider(log: &[Arc<Message>], told: Option<Told>) -> FakeProvider {
    let answers: Vec<_> = calls(log).into_iter().map(|(_, answer)| reply(answer)).collect();
    let answer = move |request: &foldback_fake_provider::Recorded| {
        let answer = answers[(request.number - 1) % answers.len()].clone();
        let input = request.tokens;
        let usage = Usage { input, output: 40, cached: input / 10 * 9, written: 0 };
        match told {
            Some(told) => answer.usage_of(usage).told(told),
            None => answer.without_usage(),
        }
    };
    FakeProvider::start(Script::answer(answer)).await.unwrap()
}

/// What the proxy did with each request of a log, and what the provider was sent.
async fn folded(
    log: &[Arc<Message>],
    dialect: Dialect,
    preset: &str,
    told: Option<Told>,
    streams: bool,
) -> (u64, Vec<String>) {
    let provider = provider(log, told).await;
    let proxy = Proxy::folding(&provider, folding(preset, LIMITS)).await;
    let mut folds = 0;
    for (before, _) in calls(log) {
        let own = body(dialect, before);
        let stream = "{ \"stream\" : true, \"stream_options\" : {\"include_usage\":true}, ";
        let (path, text) = match (dialect, streams) {
            (_, false) => (path(dialect), own),
            (Dialect::Gemini, true) => streamed(dialect, &own),
            _ => (path(dialect), own.replacen("{ ", stream, 1)),
        };
        let (done, status) = send_to(&proxy, path, text).await;
        assert_eq!(status, 200, "{done}");
        folds = done.split("folds=").last().unwrap().parse().unwrap();
    }
    (folds, provider.requests().iter().map(|request| request.text.clone()).collect())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_no_zero_in_messages() {
    what_is_missing_is_no_zero(Dialect::Anthropic).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_no_zero_in_chat() {
    what_is_missing_is_no_zero(Dialect::OpenAiChat).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_no_zero_in_responses() {
    what_is_missing_is_no_zero(Dialect::OpenAiResponses).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_missing_is_no_zero_in_gemini() {
    what_is_missing_is_no_zero(Dialect::Gemini).await;
}

async fn what_is_missing_is_no_zero(dialect: Dialect) {
    let log = long_task();
    for (preset, streams) in
        PRESETS.into_iter().flat_map(|preset| [(preset, true), (preset, false)])
    {
        let (folds, sent) = folded(&log, dialect, preset, Some(Told::All), streams).await;
        assert!(folds > 1, "{preset}, {dialect}: {folds} folds with usage");
        for told in [Some(Told::Nulls), Some(Told::Zeros), Some(Told::Output), None] {
            let without = folded(&log, dialect, preset, told, streams).await;
            let row = format!("{preset}, {dialect}, {told:?}, streamed {streams}");
            println!("{row}: {} and {folds}", without.0);
            assert!(without.0.abs_diff(folds) <= 1, "{row}: {} folds, {folds} with", without.0);
            // What a stream told at its beginning stays told.
            let at_beginning = [Dialect::Anthropic, Dialect::OpenAiChat].contains(&dialect);
            if told == Some(Told::Nulls) && streams && at_beginning {
                assert!(without.1 == sent, "{row}: other requests than with usage");
            }
        }
    }
}

/// Dollars of a request whose size nobody tells are an estimate, and those of its answer are what was told.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dollars_of_what_is_missing_are_an_estimate() {
    let log = long_task();
    let (before, _) = calls(&log)[10];
    let dialect = Dialect::Anthropic;
    let mut usd = Vec::new();
    for told in [None, Some(Told::Zeros), Some(Told::Output), Some(Told::Nulls)] {
        let provider = provider(&log, told).await;
        let proxy = Proxy::folding(&provider, folding("none", LIMITS)).await;
        let text = body(dialect, before).replacen(MODEL, "claude-sonnet-4-5", 1);
        let response =
            http().post(format!("{}{}", proxy.url, path(dialect))).body(text).send().await.unwrap();
        assert!(outcome(&response).starts_with("unchanged"));
        response.bytes().await.unwrap();
        let metrics = proxy.metrics().await;
        let count = |by: &str| {
            let name =
                format!("foldback_proxy_priced_total{{protocol=\"anthropic\",by=\"{by}\"}} ");
            metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().to_owned()
        };
        assert_eq!((count("reported"), count("estimate")), ("0".into(), "1".into()), "{told:?}");
        let sent = "foldback_proxy_sent_usd_total{protocol=\"anthropic\"} ";
        let line = metrics.lines().find_map(|line| line.strip_prefix(sent)).unwrap();
        usd.push(line.parse::<f64>().unwrap());
    }
    // 40 tokens of the answer were told, or about as many are estimated.
    for one in &usd[1..] {
        assert!((one - usd[1]).abs() < 1e-6 && (one - usd[0]).abs() < 0.001, "{usd:?}");
    }
    assert!(usd[0] > 0.02, "{usd:?}");
}
