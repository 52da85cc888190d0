//! The idle moment: the agent waits for its user, and the fold is ready for its next request. The clock is the test's.

use crate::support::talk::{MODEL, body, calls, path, send, task};
use crate::support::{Proxy, http, settings, strategy, within};
use foldback::Limits;
use foldback::core::log::{Message, Part, Price};
use foldback::core::services::FixedClock;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Recorded, Reply, Script};
use foldback_llm::{Prices, Purse};
use foldback_serve::Folding;
use std::sync::Arc;
use std::time::Duration;

const CHAT: Dialect = Dialect::OpenAiChat;

/// Folds everything before 22,000 tokens, and while idle from a twentieth of that.
const WAITS: &str = "name = \"waits\"\nextends = \"claude-code\"\n[overflow]\nwhen = [\"call-start\", \"idle\"]\nreserve = 2_000\n\
                     [idle]\nfrom = 0.05\n";

/// The same with summaries by a model.
const ASKS: &str = "[summarizer]\nuse = \"llm\"\nprovider = \"client\"\nmodel = \"s-1\"\non_failure = \"keep\"\nextractive = false\nattempts = 1\n";

const SUMMARY: &str = "The parser was read up to this part.";

fn folding(text: &str, clock: &Arc<FixedClock>) -> Folding {
    let limits = Limits { context: 24_000, input: 0, output: 500 };
    let limits = Arc::new(move |_: Option<&str>| Some(limits));
    let price = Price { input: 1.0, output: 5.0, ..Price::default() };
    let purse = Purse::new(None, Prices::new(move |_| Some(price)));
    let mut folding = match text.contains("llm") {
        true => Folding::summarized(strategy(text), limits, purse),
        false => Folding::new(strategy(text), limits).unwrap(),
    };
    folding.clock = Arc::clone(clock) as _;
    folding
}

/// A provider that says what the task's model said, as large as the request was.
async fn provider(last: &Message) -> FakeProvider {
    let said = last.said();
    let answer = move |request: &Recorded| match request.body["model"] == "s-1" {
        true => Reply::text(SUMMARY).hang(),
        false => Reply::text(&said).usage(request.tokens, 9),
    };
    FakeProvider::start(Script::answer(answer)).await.unwrap()
}

async fn until(what: &str, mut is: impl AsyncFnMut() -> bool) {
    for _ in 0..5_000 {
        if is().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("never: {what}");
}

async fn folds(proxy: &Proxy) -> bool {
    proxy.metrics().await.contains("foldback_folds_total{trigger=\"auto\"} 1")
}

/// The log with another text in a message.
fn changed(log: &[Arc<Message>], at: usize) -> Vec<Arc<Message>> {
    let mut log = log.to_vec();
    Arc::make_mut(&mut log[at]).parts = vec![Part::text("Something else.")];
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_next_request_finds() {
    let log = task(26);
    // The request whose answer ends the turn, and the user's next one.
    let [.., (before, answer), (next, _)] = &calls(&log)[..] else { panic!() };
    let end = before.len();
    let unlisted = WAITS.replace(", \"idle\"", "");
    // What is tried, the strategy, the clock in seconds, whether it folds meanwhile, the next request, what is done with it.
    let rows = [
        ("the user is back before", WAITS, 239, false, next.to_vec(), "unchanged"),
        ("idle", WAITS, 240, true, next.to_vec(), "folded"),
        ("the moment is not listed", &unlisted, 999, false, next.to_vec(), "unchanged"),
        ("another answer", WAITS, 240, true, changed(next, end), "unchanged"),
        ("another beginning", WAITS, 240, true, changed(next, 0), "unchanged"),
        ("the same request again", WAITS, 240, true, before.to_vec(), "unchanged"),
    ];
    for dialect in Dialect::ALL {
        for (name, text, seconds, is_folded, next, done) in &rows {
            if dialect != CHAT && *done != "folded" {
                continue;
            }
            let name = format!("{dialect}, {name}");
            let provider = provider(answer).await;
            let clock = Arc::new(FixedClock::default());
            let proxy = Proxy::folding(&provider, folding(text, &clock)).await;
            let got = send(&proxy, dialect, body(dialect, before)).await.0;
            assert!(got.starts_with("unchanged"), "{name}: {got}");
            clock.set(seconds * 1_000);
            match is_folded {
                true => until(&name, async || folds(&proxy).await).await,
                false => tokio::time::sleep(Duration::from_millis(1_200)).await,
            }
            assert_eq!(folds(&proxy).await, *is_folded, "{name}");
            let client = body(dialect, next);
            let got = send(&proxy, dialect, client.clone()).await.0;
            assert!(got.starts_with(done), "{name}: {got}");
            let sent = provider.requests().pop().unwrap().text.clone();
            assert_eq!(sent == client, *done == "unchanged", "{name}");
            if *done == "folded" {
                // The newest words of both are there as they were.
                assert!(
                    sent.contains("Now fix part 24, too.") && !sent.contains("value_3_3"),
                    "{name}"
                );
            }
            proxy.stop().await;
        }
    }
}

/// The summary is asked for while the agent waits. A request that comes meanwhile goes out as it came, the next one is folded.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_comes_while_it_folds_waits_for_nothing() {
    within(async {
        let log = task(30);
        let all = calls(&log);
        let [(before, answer), (next, _), (later, _), ..] = &all[24..] else { panic!() };
        let provider = provider(answer).await;
        let clock = Arc::new(FixedClock::default());
        let proxy = Proxy::folding(&provider, folding(&format!("{WAITS}{ASKS}"), &clock)).await;
        send(&proxy, CHAT, body(CHAT, before)).await;
        clock.set(240_000);
        let asked = || provider.requests().iter().any(|it| it.body["model"] == "s-1");
        until("asked", async || asked()).await;
        for (folds, next) in [("unchanged", next), ("folded", later)] {
            let got = send(&proxy, CHAT, body(CHAT, next)).await.0;
            assert!(got.starts_with(folds), "{got}");
            let sent = provider.requests().into_iter().rfind(|it| it.body["model"] == MODEL);
            assert_eq!(sent.unwrap().text.contains(SUMMARY), folds == "folded");
            provider.release();
            let written = "foldback_proxy_summaries_total{ended=\"written\"} 1";
            until("written", async || proxy.metrics().await.contains(written)).await;
        }
    })
    .await;
}

/// Until a request adopts it, nothing of a fold is on disk: a proxy that was started anew sends what the client sent.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_forgets_what_was_prepared() {
    let log = task(28);
    let all = calls(&log);
    let [(before, answer), (next, _), (later, _), ..] = &all[24..] else { panic!() };
    for stops_before in [true, false] {
        let provider = provider(answer).await;
        let clock = Arc::new(FixedClock::default());
        let folder = tempfile::tempdir().unwrap();
        let journaled = || {
            let mut folding = folding(WAITS, &clock);
            folding.journal = Some(folder.path().to_owned());
            folding
        };
        let mut proxy = Proxy::both(settings(&provider), journaled()).await;
        send(&proxy, CHAT, body(CHAT, before)).await;
        clock.set(240_000);
        until("folded", async || folds(&proxy).await).await;
        let mut sent = Vec::new();
        for (is_first, next) in [(true, next), (false, later)] {
            if is_first == stops_before {
                proxy.stop().await;
                proxy = Proxy::both(settings(&provider), journaled()).await;
            }
            sent.push(send(&proxy, CHAT, body(CHAT, next)).await.0.starts_with("folded"));
        }
        assert_eq!(sent, [!stops_before; 2]);
        let journal = proxy.metrics().await.contains("foldback_proxy_journal_failures_total 0\n");
        assert!(journal);
    }
}

/// A proxy that stops does not wait for the moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_stops_does_not_wait() {
    let log = task(26);
    let (before, answer) = calls(&log)[24];
    let provider = provider(answer).await;
    let proxy = Proxy::folding(&provider, folding(WAITS, &Arc::default())).await;
    let url = format!("{}{}", proxy.url, path(CHAT));
    http().post(url).body(body(CHAT, before)).send().await.unwrap().bytes().await.unwrap();
    within(proxy.stop()).await;
}
