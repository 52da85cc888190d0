//! The dollars that the proxy adds up are those of a comparison at the same prices.
//!
//! A comparison replays the log and counts everything by its model. The proxy is sent the same log request by request; the
//! provider reports usage by a cache of its own, which compares JSON. What was sent is within one percent of the
//! comparison: texts are rounded up to whole tokens, and several blocks may be one message. What was not sent is within
//! one percent for a task of even texts, and within four for recorded sessions: at a fold, it is scaled by what the provider
//! counted of other texts.

use crate::cache::{Cached, compared, four, setup};
use crate::support::talk::{MODEL, body, calls, list, path, recorded, reply, send, task};
use crate::support::{Proxy, WINDOW, folding, http, strategy};
use foldback::Limits;
use foldback::core::log::Message;
use foldback::core::meter::Meter;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Script, Usage};
use foldback_replay::cost::OWN;
use foldback_replay::setup::AS_RECORDED;
use foldback_replay::{Corpus, Preset, Reporting, Run, Store, compare};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// It folds by its own count, not by what a provider reports.
const PRESET: &str = "tiered";

/// What a provider tells of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tells {
    /// What its cache did.
    Usage,
    /// It has no cache.
    Uncached,
    Nothing,
}

/// A provider that gives the answers of a log.
async fn provider(log: &[Arc<Message>], dialect: Dialect, tells: Tells) -> FakeProvider {
    let answers: Vec<_> = calls(log).into_iter().map(|(_, answer)| Arc::clone(answer)).collect();
    let meter = Meter::new(four());
    let (mut answers, mut cache) = (answers.into_iter(), Cached::default());
    let answer = Script::answer(move |request| {
        let answer = answers.next().unwrap();
        let (all, held) = cache.take(&request.body, dialect);
        let (input, cached) = (all as u64 / 4, held as u64 / 4);
        let step = if dialect == Dialect::Anthropic { 1 } else { 128 };
        let cached = if cached < 1_024 { 0 } else { cached - cached % step };
        let (cached, written) = match tells {
            Tells::Uncached => (0, 0),
            _ => (cached, input - cached),
        };
        let usage = Usage { input, output: meter.measure(&answer), cached, written };
        match tells {
            Tells::Nothing => reply(&answer).without_usage(),
            _ => reply(&answer).usage_of(usage),
        }
    });
    FakeProvider::start(answer).await.unwrap()
}

/// The metrics of a proxy about dollars, by name and labels.
async fn figures(proxy: &Proxy) -> BTreeMap<String, f64> {
    let metrics = proxy.metrics().await;
    let lines = metrics.lines().filter(|line| line.contains("usd") || line.contains("priced"));
    let figures = lines.filter(|line| !line.starts_with('#')).map(|line| {
        let (name, value) = line.rsplit_once(' ').unwrap();
        (name.replace("foldback_proxy_", ""), value.parse().unwrap())
    });
    figures.collect()
}

/// Dollars of a log as it came, as the view shows it, and how many of its answers were priced by which means.
struct Counted {
    usd: [f64; 2],
    by: [f64; 3],
}

async fn counted(
    log: &[Arc<Message>],
    (dialect, model): (Dialect, &str),
    limits: Limits,
    (tells, shadow): (Tells, bool),
) -> Counted {
    let provider = provider(log, dialect, tells).await;
    let mut folding = folding(PRESET, limits);
    folding.shadow = shadow;
    let proxy = Proxy::folding(&provider, folding).await;
    for (before, _) in calls(log) {
        let body = body(dialect, before).replacen(MODEL, model, 1);
        assert_eq!(send(&proxy, dialect, body).await.1, 200);
    }
    let figures = figures(&proxy).await;
    let labels = format!("protocol=\"{}\"", dialect.as_str());
    let of = |name: &str| figures[&format!("{name}{{{labels}}}")];
    let usd = [of("received_usd_total"), of("sent_usd_total")];
    assert!((of("saved_usd") - (usd[0] - usd[1])).abs() < 2e-6, "{figures:?}");
    let by = ["reported", "estimate", "nothing"]
        .map(|by| figures[&format!("priced_total{{{labels},by=\"{by}\"}}")]);
    Counted { usd, by }
}

fn assert_near(ours: f64, theirs: f64, tolerance: f64, what: &str) {
    let off = (ours - theirs).abs() / theirs;
    println!("{what}: {ours:.4} and {theirs:.4}, {:.2} % off", off * 100.0);
    assert!(off < tolerance, "{what}: {ours}, and {theirs} in a comparison");
}

/// Holds the sums of a proxy against those of a comparison. The request that was not sent is an estimate: `others` is how
/// far it may be off.
async fn check(
    log: &[Arc<Message>],
    of: (Dialect, &'static str),
    limits: Limits,
    means: &[Tells],
    shadows: &[bool],
    others: f64,
) {
    let all = calls(log).len() as f64;
    for tells in means.iter().copied() {
        let (by, measure) = match tells {
            Tells::Nothing => ([0.0, all, 0.0], Arc::clone(strategy(PRESET).estimator())),
            _ => ([all, 0.0, 0.0], four()),
        };
        let own = log.to_vec();
        // A comparison has a runtime of its own, which the thread of a test can't have.
        let theirs =
            std::thread::spawn(move || compared(&own, of.0, of.1, PRESET, limits, measure).usd);
        let theirs = theirs.join().unwrap();
        assert!(theirs[1] < theirs[0] * 0.95, "something is saved: {theirs:?}");
        for shadow in shadows.iter().copied() {
            let ours = counted(log, of, limits, (tells, shadow)).await;
            assert_eq!(ours.by, by);
            for (at, what) in ["received", "sent"].iter().enumerate() {
                let was_sent = (at == 0) == shadow;
                let tolerance = if was_sent { 0.01 } else { others };
                let what = format!("{of:?}, {tells:?}, shadow {shadow}, {what}");
                assert_near(ours.usd[at], theirs[at], tolerance, &what);
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dollars_are_those_of_a_comparison() {
    let log = task(150);
    let both = [Tells::Usage, Tells::Nothing];
    check(&log, (Dialect::Anthropic, "claude-sonnet-4-5"), WINDOW, &both, &[false, true], 0.01)
        .await;
    check(&log, (Dialect::OpenAiResponses, "gpt-5.4"), WINDOW, &both, &[false, true], 0.01).await;
}

#[foldback_needs::sessions]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dollars_of_recorded_sessions_are_those_of_a_comparison() {
    let limits = Limits::new(60_000, 8_000);
    let file = "claude-code/cipherbox-1compact-233tools.jsonl";
    let of = (Dialect::Anthropic, "claude-sonnet-4-5");
    check(&recorded(file, of.0), of, limits, &[Tells::Usage], &[false], 0.01).await;
    let file = "codex/agentv-gpt55-2compact-311tools.jsonl";
    let of = (Dialect::OpenAiChat, "gpt-5.4");
    check(&recorded(file, of.0), of, limits, &[Tells::Usage], &[false, true], 0.04).await;
}

/// What an agent keeps of a task that it sends through a proxy, as a file: its own messages, and with each answer the usage that came
/// with it, which is of what the provider was sent. Beside it the dollars that the proxy counted for that.
async fn served(log: &[Arc<Message>], dialect: Dialect, model: &str) -> (Vec<u8>, f64) {
    let provider = provider(log, dialect, Tells::Usage).await;
    let proxy = Proxy::folding(&provider, folding(PRESET, WINDOW)).await;
    let mut told = Vec::new();
    for (before, _) in calls(log) {
        let body = body(dialect, before).replacen(MODEL, model, 1);
        let url = format!("{}{}", proxy.url, path(dialect));
        let answer = http().post(url).body(body).send().await.unwrap();
        let answer: Value = serde_json::from_slice(&answer.bytes().await.unwrap()).unwrap();
        told.push(answer["usage"].clone());
    }
    let mut kept: Value = serde_json::from_str(&body(dialect, log)).unwrap();
    kept["model"] = Value::from(model);
    let messages = kept[list(dialect)].as_array_mut().unwrap();
    let answers = messages.iter_mut().filter(|message| message["role"] == "assistant");
    for (answer, told) in answers.zip(told) {
        answer["usage"] = told;
    }
    let usd =
        figures(&proxy).await[&format!("sent_usd_total{{protocol=\"{}\"}}", dialect.as_str())];
    (kept.to_string().into_bytes(), usd)
}

/// The file of an agent behind a proxy costs what was served: as recorded, and replayed under the preset that folded it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_served_costs_what_was_served() {
    let log = task(150);
    let table = [(Dialect::Anthropic, "claude-sonnet-4-5"), (Dialect::OpenAiChat, "gpt-5.4")];
    for of in table {
        let (file, usd) = served(&log, of.0, of.1).await;
        let sessions = foldback_formats::read(&file, None).unwrap();
        let comparison = std::thread::spawn(move || {
            let mut folds = Arc::into_inner(strategy(PRESET)).unwrap();
            folds.user_limits = WINDOW;
            let presets = [
                Preset::new(Arc::into_inner(strategy("none")).unwrap(), "none".to_owned()),
                Preset::new(folds, PRESET.to_owned()),
                Preset::as_recorded().unwrap(),
            ];
            let setup = setup(four());
            let store = Store::temporary().unwrap();
            let run = Run { store: &store, progress: &|| (), strict: false };
            compare(&Corpus::from_sessions(sessions), &presets, &setup, Reporting::default(), run)
                .unwrap()
        });
        let comparison = comparison.join().unwrap();
        let base = comparison.base.as_ref().unwrap();
        assert_eq!(base.preset, AS_RECORDED, "{of:?}");
        assert_near(base.usd, usd, 0.000_1, &format!("{of:?}, as recorded"));
        let own = comparison.presets[1].costs.iter().find(|dollars| dollars.regime == OWN).unwrap();
        // What a model would have taken for the summaries is no part of it.
        let replayed = own.usd - own.summaries_usd;
        assert_near(replayed, usd, 0.005, &format!("{of:?}, replayed"));
        let none =
            comparison.presets[0].costs.iter().find(|dollars| dollars.regime == OWN).unwrap();
        assert!(none.usd > usd * 1.05, "{of:?}: nothing was folded: {} of {usd}", none.usd);
    }
}

/// Most of a request that is read from the cache costs a tenth. Without a cache, all of it costs the same, whether it was
/// sent or not: folds save about what they save in tokens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provider_without_a_cache_is_not_taken_to_have_one() {
    let (log, of) = (task(150), (Dialect::Anthropic, "claude-sonnet-4-5"));
    let warm = counted(&log, of, WINDOW, (Tells::Usage, false)).await.usd;
    for shadow in [false, true] {
        let ours = counted(&log, of, WINDOW, (Tells::Uncached, shadow)).await;
        let rate = 3.0 / 1e6;
        let mut tokens = 0;
        let mut cache = Cached::default();
        for (before, answer) in calls(&log) {
            let body: serde_json::Value = serde_json::from_str(&body(of.0, before)).unwrap();
            tokens += cache.take(&body, of.0).0 as u64 / 4;
            // Output costs five times as much.
            tokens += 5 * Meter::new(four()).measure(answer);
        }
        assert_near(ours.usd[0], tokens as f64 * rate, 0.02, "every token at the plain price");
        assert!(ours.usd[0] > 3.0 * warm[0] && ours.usd[1] < ours.usd[0] * 0.65, "{:?}", ours.usd);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_saved_where_nothing_folds_and_nothing_is_said_without_a_price() {
    let log = task(12);
    let [claude, unknown] = ["claude-sonnet-4-5", "m-1"].map(|model| (Dialect::Anthropic, model));
    for tells in [Tells::Usage, Tells::Uncached, Tells::Nothing] {
        let ours = counted(&log, claude, WINDOW, (tells, false)).await;
        assert!(ours.usd[0] > 0.0 && ours.usd[0] == ours.usd[1], "{tells:?}: {:?}", ours.usd);
        let ours = counted(&log, unknown, WINDOW, (tells, false)).await;
        assert_eq!((ours.usd, ours.by), ([0.0; 2], [0.0, 0.0, 12.0]), "{tells:?}");
    }
}
