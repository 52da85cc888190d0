//! Summaries by a model of the client's provider: nobody waits for them, and whatever becomes of them, a client is
//! answered as without the proxy.

use crate::support::talk::{MODEL, body, calls, list, path, reply, streamed, task};
use crate::support::{Proxy, WINDOW, http, outcome, settings, strategy, within};
use foldback::Limits;
use foldback::core::conversation::Conversation;
use foldback::core::log::{Answer, Finish, Message, Price};
use foldback::core::provider::{Completion, CompletionRequest, Model, ProviderError};
use foldback::core::services::{FixedClock, Services};
use foldback::wire::{self, Dialect, Request};
use foldback_fake_provider::{FakeProvider, Recorded, Reply, Script, errors};
use foldback_live::follow::identity::{self, Key};
use foldback_live::follow::{Followed, Received, base_of, frame_of};
use foldback_llm::{Prices, Purse};
use foldback_serve::{Folding, Settings};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const CHAT: Dialect = Dialect::OpenAiChat;

/// The model that writes summaries, and what it writes.
const WRITER: &str = "s-1";
const SUMMARY: &str = "The parser was read up to this part.";

/// What the client shows who it is by.
const KEY: &str = "Bearer sk-of-the-client";

/// A preset whose summaries that model writes.
fn asks(preset: &str, seconds: u64) -> String {
    format!(
        "name = \"asks\"\nextends = \"{preset}\"\n[summarizer]\nuse = \"llm\"\nprovider = \"client\"\nmodel = \"{WRITER}\"\n\
         on_failure = \"keep\"\nextractive = false\ntimeout_seconds = {seconds}\nattempts = 1\n"
    )
}

/// Folds by summaries and does nothing else.
fn codex() -> Folding {
    let limits = Limits { context: 6_000, input: 0, output: 500 };
    folding(&asks("codex", 60), limits, None)
}

fn folding(strategy_text: &str, limits: Limits, usd: Option<f64>) -> Folding {
    let limits = Arc::new(move |_: Option<&str>| Some(limits));
    let price = Price { input: 1.0, output: 5.0, ..Price::default() };
    let purse = Purse::new(usd, Prices::new(move |_| Some(price)));
    let mut folding = Folding::summarized(strategy(strategy_text), limits, purse);
    folding.clock = Arc::new(FixedClock::default());
    folding
}

fn is_summary(request: &Recorded) -> bool {
    request.body["model"] == WRITER || request.path.contains(&format!("/{WRITER}:"))
}

/// A provider that answers clients as large as their requests are, and requests for summaries by this.
async fn provider(summary: impl Fn() -> Reply + Send + 'static) -> FakeProvider {
    let answer = move |request: &Recorded| match is_summary(request) {
        true => summary(),
        false => Reply::text("Good.").usage(request.tokens, 9),
    };
    FakeProvider::start(Script::answer(answer)).await.unwrap()
}

/// A request of a client through the proxy, once all summaries that it caused have ended: what the proxy did, and what the
/// provider got from the client.
async fn ask(
    proxy: &Proxy,
    provider: &FakeProvider,
    dialect: Dialect,
    text: &str,
) -> (String, u16, String) {
    ask_at(proxy, provider, path(dialect), text).await
}

/// The same at a path.
async fn ask_at(
    proxy: &Proxy,
    provider: &FakeProvider,
    path: &str,
    text: &str,
) -> (String, u16, String) {
    let asked = ask_only(proxy, provider, path, text).await;
    while under_way(&proxy.metrics().await) > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    asked
}

async fn ask_only(
    proxy: &Proxy,
    provider: &FakeProvider,
    path: &str,
    text: &str,
) -> (String, u16, String) {
    let before = provider.requests().len();
    let url = format!("{}{path}", proxy.url);
    let sent = http()
        .post(url)
        .header("authorization", KEY)
        .header("idempotency-key", "1")
        .body(text.to_owned());
    let response = sent.send().await.unwrap();
    let (done, status) = (outcome(&response), response.status().as_u16());
    response.bytes().await.unwrap();
    let requests = provider.requests();
    let got = requests[before..].iter().find(|request| !is_summary(request)).unwrap();
    (done, status, got.text.clone())
}

fn summaries(provider: &FakeProvider) -> Vec<Arc<Recorded>> {
    provider.requests().into_iter().filter(|request| is_summary(request)).collect()
}

fn number(metrics: &str, name: &str) -> u64 {
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

fn under_way(metrics: &str) -> u64 {
    number(metrics, "foldback_proxy_summaries_under_way")
}

/// Summaries by what became of them.
fn ended(metrics: &str) -> BTreeMap<String, u64> {
    let lines = metrics.lines().filter_map(|line| {
        let line = line.strip_prefix("foldback_proxy_summaries_total{ended=\"")?;
        let (ended, count) = line.split_once("\"} ")?;
        Some((ended.to_owned(), count.parse().unwrap()))
    });
    lines.collect()
}

/// The model of an engine that waits for it.
#[derive(Debug)]
struct Writes;

#[async_trait::async_trait]
impl Model for Writes {
    async fn complete(&self, _: &CompletionRequest) -> Result<Completion, ProviderError> {
        let text = SUMMARY.to_owned();
        Ok(Completion { text, finish: Finish::Stop, usage: None, model: None })
    }
}

/// What an engine sends at every call that waits for its model.
async fn waiting(log: &[Arc<Message>], dialect: Dialect, text: &str) -> Vec<Value> {
    let services =
        Services::with_clock(Arc::new(FixedClock::default())).with_model(Arc::new(Writes));
    let (mut followed, mut all) = (None, Vec::new());
    for (before, _) in calls(log) {
        let request = Request::parse(dialect, body(dialect, before)).unwrap();
        let keys = identity::keys(dialect.as_str(), request.messages());
        let base = base_of(request.messages());
        let followed: &mut Followed = followed.get_or_insert_with(|| {
            let frame = frame_of(request.frame(), request.messages(), base);
            let new = Conversation::new(strategy(text), WINDOW, frame, services.clone());
            Followed::new(new, base, keys[base])
        });
        // As the provider ends them.
        let answer = |_: &Key, echo: &Message| {
            let calls = echo.call_ids().next().is_some();
            let finish = Some(if calls { Finish::ToolCalls } else { Finish::Stop });
            Some(Answer { finish, ..Answer::default() })
        };
        followed.take(Received::new(&request, &keys, WINDOW), answer).await.unwrap();
        let shown: Vec<Message> = match followed.shown(request.messages(), dialect).unwrap() {
            Some(shown) => shown.iter().map(|shown| shown.to_message()).collect(),
            None => request.messages().iter().map(|message| Message::clone(message)).collect(),
        };
        all.push(Value::from(wire::messages(dialect, &shown, &mut Vec::new())));
    }
    all
}

/// But for the request at which the summary was needed, an engine that waits for it sends the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fold_goes_out_with_the_request_after_its_summary() {
    let log = task(60);
    let text = asks("window", 60);
    for dialect in Dialect::ALL {
        let answers: Vec<_> = calls(&log).into_iter().map(|(_, answer)| reply(answer)).collect();
        let number = Mutex::new(0..);
        let answer = move |request: &Recorded| match is_summary(request) {
            true => Reply::text(SUMMARY).usage(1_000, 10),
            false => answers[number.lock().unwrap().next().unwrap()].clone().without_usage(),
        };
        let provider = FakeProvider::start(Script::answer(answer)).await.unwrap();
        let proxy = Proxy::folding(&provider, folding(&text, WINDOW, Some(1.0))).await;
        let mut late = 0;
        let expected = waiting(&log, dialect, &text).await;
        for ((before, _), expected) in calls(&log).into_iter().zip(expected) {
            let asked = summaries(&provider).len();
            let (done, status, sent) =
                ask(&proxy, &provider, dialect, &body(dialect, before)).await;
            assert_eq!(status, 200);
            if summaries(&provider).len() > asked {
                late += 1;
                continue;
            }
            let sent: Value = serde_json::from_str(&sent).unwrap();
            assert_eq!(sent[list(dialect)], expected, "{dialect}, {done}, after {late} summaries");
        }
        assert!(late > 4, "{dialect}: {late}");
        let metrics = proxy.metrics().await;
        assert_eq!(ended(&metrics), BTreeMap::from([("written".to_owned(), late)]), "{dialect}");
        let usd = format!("foldback_proxy_summaries_usd_total {:.6}\n", late as f64 * 1.05e-3);
        assert!(metrics.contains(&usd), "{dialect}: {usd}");
        let asked = summaries(&provider);
        assert_eq!(asked.len() as u64, late, "{dialect}");
        for request in &asked {
            assert_eq!(request.path, path(dialect).replace(MODEL, WRITER));
            assert_eq!(request.header("authorization"), Some(KEY));
            assert_eq!(request.header("idempotency-key"), None);
            assert_eq!(request.body.get("tools"), None);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_is_streamed_where_the_client_streams() {
    let log = task(60);
    for dialect in Dialect::ALL {
        let provider = provider(|| Reply::text(SUMMARY)).await;
        let proxy = Proxy::folding(&provider, codex()).await;
        let mut folded = 0;
        for (before, _) in calls(&log) {
            let (path, text) = streamed(dialect, &body(dialect, before));
            let (done, ..) = ask_at(&proxy, &provider, path, &text).await;
            folded += u64::from(done.starts_with("folded"));
        }
        assert!(folded > 9, "{dialect}: {folded}");
        assert!(summaries(&provider).iter().all(|request| request.stream));
        assert_eq!(
            ended(&proxy.metrics().await).keys().collect::<Vec<_>>(),
            ["written"],
            "{dialect}"
        );
    }
}

/// A summary that is refused for its size is none, whatever the preset is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_is_too_large_folds_nothing_under_any_preset() {
    let log = task(60);
    let limits = Limits { context: 30_000, input: 0, output: 2_000 };
    let registry = foldback::registry().unwrap();
    let mut asked = 0;
    for preset in registry.presets().map(|known| known.item.name) {
        let text = asks(preset, 60);
        let strategy = strategy(&text);
        if strategy.asks().is_empty() || strategy.refuses(limits).is_some() {
            continue;
        }
        let provider = provider(|| Reply::status(400, TOO_LARGE)).await;
        let said = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let mut settings: Settings = settings(&provider);
        settings.say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
        let proxy = Proxy::both(settings, folding(&text, limits, None)).await;
        // The last third, as a client would come with it.
        for (before, _) in &calls(&log)[40..] {
            ask(&proxy, &provider, CHAT, &body(CHAT, before)).await;
        }
        let ended = ended(&proxy.metrics().await);
        assert_eq!(ended.get("written"), None, "{preset}: {ended:?}");
        let said = said.lock().unwrap();
        let failed = said.iter().filter(|line| line.contains("no summary")).count() as u64;
        assert_eq!(failed, ended.values().sum::<u64>(), "{preset}: {said:?}");
        asked += failed;
    }
    assert!(asked > 10, "{asked}");
}

/// What it forbids is not quoted: the lines hold nothing of a conversation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_summary_that_forbids_what_no_user_named_is_told_of() {
    let log = task(60);
    for (rule, expected) in [("Never touch vendor_table.", true), ("Never ask.", false)] {
        let text = format!("{SUMMARY}\n{rule}");
        let provider = provider(move || Reply::text(text.clone()).usage(1_000, 10)).await;
        let said = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let mut settings: Settings = settings(&provider);
        settings.say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
        let proxy = Proxy::both(settings, folding(&asks("window", 60), WINDOW, None)).await;
        for (before, _) in calls(&log) {
            ask(&proxy, &provider, CHAT, &body(CHAT, before)).await;
        }
        let said: Vec<String> = said.lock().unwrap().clone();
        assert_eq!(said.iter().any(|line| line.contains("forbid")), expected, "{said:?}");
        assert!(!said.iter().any(|line| line.contains("vendor_table")), "{said:?}");
    }
}

const TOO_LARGE: &str = r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}"#;

/// What a provider says, its answer quoting the key and the conversation.
const QUOTES: &str = r#"{"error":{"message":"Bearer sk-of-the-client value_3_1"}}"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_summary_the_client_is_answered_as_without_the_proxy() {
    let log = task(60);
    type Row = (&'static str, fn() -> Reply, &'static str);
    let rows: [Row; 11] = [
        ("too large", || Reply::status(400, TOO_LARGE), "context-overflow"),
        ("the key is rejected", || Reply::status(401, QUOTES), "auth"),
        ("no such model", || Reply::status(404, QUOTES), "invalid-request"),
        ("too many requests", || Reply::status(429, QUOTES), "rate-limited"),
        ("overloaded", || Reply::status(529, QUOTES), "overloaded"),
        ("empty", Reply::empty, "unusable"),
        ("over-long", || Reply::text("long ".repeat(20_000)), "unusable"),
        ("cut off", || Reply::length("And then"), "unusable"),
        ("garbage", Reply::garbage, "decode"),
        ("breaks off", || Reply::text(SUMMARY).cut(20), "transport"),
        ("slow", || Reply::text(SUMMARY).hang(), "timeout"),
    ];
    for dialect in Dialect::ALL {
        for (name, summary, expected) in rows {
            if name == "slow" && dialect != CHAT {
                // Each takes a second.
                continue;
            }
            let provider = provider(summary).await;
            let said = Arc::new(Mutex::new(Vec::new()));
            let into = Arc::clone(&said);
            let mut settings: Settings = settings(&provider);
            settings.say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
            let mut folding = codex();
            if name == "slow" {
                folding.strategy = strategy(&asks("codex", 1));
            }
            let proxy = Proxy::both(settings, folding).await;
            for (before, _) in &calls(&log)[..30] {
                let client = body(dialect, before);
                let (done, status, sent) = ask(&proxy, &provider, dialect, &client).await;
                assert_eq!((status, &sent), (200, &client), "{dialect}, {name}");
                assert!(done.ends_with("folds=0"), "{dialect}, {name}: {done}");
            }
            let metrics = proxy.metrics().await;
            let ended = ended(&metrics);
            assert_eq!(ended.keys().collect::<Vec<_>>(), [expected], "{dialect}, {name}");
            let said = said.lock().unwrap();
            let failed = said.iter().filter(|line| line.contains("no summary")).count() as u64;
            assert_eq!(failed, ended[expected], "{dialect}, {name}: {said:?}");
            // The breaker opens, until the user speaks again.
            assert!(failed < 8, "{dialect}, {name}: {said:?}");
            assert!(said.iter().any(|line| line.contains("3 folds in a row")), "{name}: {said:?}");
            for text in said.iter().chain([&metrics]) {
                assert!(!text.contains("sk-of-the") && !text.contains("value_3"), "{text}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_budget_that_is_used_up_asks_nobody() {
    let log = task(60);
    let provider = provider(|| Reply::text(SUMMARY)).await;
    let limits = Limits { context: 6_000, input: 0, output: 500 };
    let proxy = Proxy::folding(&provider, folding(&asks("codex", 60), limits, Some(0.001))).await;
    for (before, _) in calls(&log) {
        let client = body(CHAT, before);
        let (_, status, sent) = ask(&proxy, &provider, CHAT, &client).await;
        assert_eq!((status, sent), (200, client));
    }
    assert_eq!(summaries(&provider).len(), 0);
    assert_eq!(ended(&proxy.metrics().await).keys().collect::<Vec<_>>(), ["budget"]);
}

/// The calls up to the one that needs a summary, which is asked for and waits.
async fn until_asked(proxy: &Proxy, provider: &FakeProvider, log: &[Arc<Message>]) -> usize {
    for (call, (before, _)) in calls(log).into_iter().enumerate() {
        let client = body(CHAT, before);
        let (_, _, sent) = ask_only(proxy, provider, path(CHAT), &client).await;
        assert_eq!(sent, client);
        if under_way(&proxy.metrics().await) > 0 {
            while summaries(provider).is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            return call;
        }
    }
    panic!("no summary is needed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_go_on_while_a_summary_is_being_written() {
    within(async {
        let log = task(60);
        let all = calls(&log);
        let provider = provider(|| Reply::text(SUMMARY).hang()).await;
        let proxy = Proxy::folding(&provider, codex()).await;
        let call = until_asked(&proxy, &provider, &log).await;
        for (before, _) in &all[call + 1..call + 6] {
            let client = body(CHAT, before);
            let (done, status, sent) = ask_only(&proxy, &provider, path(CHAT), &client).await;
            assert_eq!((status, sent), (200, client), "{done}");
        }
        assert_eq!(summaries(&provider).len(), 1);
        provider.release();
        while under_way(&proxy.metrics().await) > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let (before, _) = all[call + 6];
        let (done, status, sent) =
            ask_only(&proxy, &provider, path(CHAT), &body(CHAT, before)).await;
        assert!(done.starts_with("folded") && status == 200, "{done}");
        assert!(sent.contains(SUMMARY));
        // What came while it was being written is behind it.
        for late in (call + 1..call + 6).filter(|late| late % 25 != 24) {
            assert!(sent.contains(&format!("value_{late}_3")), "{late}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_comes_back_costs_no_summary_once_its_conversation_is_gone() {
    let log = task(60);
    let provider = provider(|| Reply::text(SUMMARY).hang()).await;
    let mut folding = codex();
    folding.max_conversations = 1;
    let proxy = Proxy::folding(&provider, folding).await;
    until_asked(&proxy, &provider, &log).await;
    let other = body(CHAT, &[Arc::new(Message::user("u", "Something else."))]);
    ask(&proxy, &provider, CHAT, &other).await;
    assert_eq!(ended(&proxy.metrics().await), BTreeMap::from([("forgotten".to_owned(), 1)]));
    while provider.cancelled() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_stops_waits_for_no_summary() {
    let log = task(60);
    let provider = provider(|| Reply::text(SUMMARY).hang()).await;
    let proxy = Proxy::folding(&provider, codex()).await;
    until_asked(&proxy, &provider, &log).await;
    proxy.stop().await;
    while provider.cancelled() == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The client has the refusal, and with its next request the fold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_is_too_large_is_folded_when_it_comes_again() {
    let log = task(60);
    let (before, _) = calls(&log).pop().unwrap();
    let first = Mutex::new(true);
    let answer = move |request: &Recorded| match is_summary(request) {
        true => Reply::text(SUMMARY),
        false if std::mem::take(&mut *first.lock().unwrap()) => errors::OPENAI_MESSAGES.into(),
        false => Reply::text("Good."),
    };
    let provider = FakeProvider::start(Script::answer(answer)).await.unwrap();
    let wide = Limits { context: 400_000, input: 0, output: 2_000 };
    let proxy = Proxy::folding(&provider, folding(&asks("codex", 60), wide, None)).await;
    let client = body(CHAT, before);
    let (done, status, sent) = ask(&proxy, &provider, CHAT, &client).await;
    assert_eq!((status, &sent), (400, &client), "{done}");
    let (done, status, sent) = ask(&proxy, &provider, CHAT, &client).await;
    assert!(done.starts_with("folded") && status == 200, "{done}");
    assert!(sent.contains(SUMMARY) && sent.len() < client.len() / 2);
}

/// The fold is in the journal before the provider sees it, and what was written after its moment is written again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_with_the_same_bytes() {
    let log = task(60);
    let text = asks("window", 60);
    let writes = || provider(|| Reply::text(SUMMARY));
    let (one, other) = (writes().await, writes().await);
    let folder = tempfile::tempdir().unwrap();
    let mut kept = folding(&text, WINDOW, None);
    kept.journal = Some(folder.path().to_owned());
    let whole = Proxy::folding(&one, folding(&text, WINDOW, None)).await;
    let mut proxy = Proxy::folding(&other, kept.clone()).await;
    let mut restarts = 0;
    for (call, (before, _)) in calls(&log).into_iter().enumerate() {
        let asked = summaries(&other).len();
        let client = body(CHAT, before);
        let expected = ask(&whole, &one, CHAT, &client).await;
        assert_eq!(ask(&proxy, &other, CHAT, &client).await, expected, "call {call}");
        // A fold that did not go out is asked for again.
        if summaries(&other).len() == asked {
            proxy.stop().await;
            proxy = Proxy::folding(&other, kept.clone()).await;
            restarts += 1;
        }
    }
    assert!(restarts > 30 && summaries(&other).len() > 4, "{restarts}");
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with(".back")));
}

#[test]
fn a_strategy_that_asks_a_model_needs_leave() {
    let limits = Arc::new(|_: Option<&str>| None);
    let error = Folding::new(strategy(&asks("window", 60)), limits).unwrap_err();
    assert!(error.to_string().contains("--summarizer MODEL"), "{error}");
}
