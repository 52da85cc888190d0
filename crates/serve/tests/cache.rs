//! A provider's cache holds of real requests what a comparison says that it holds.
//!
//! A comparison counts by blocks of the view: a message is the same one if it is at the same place of the history with the
//! same edits. Here the requests that the provider was sent are compared as JSON, message by message, and a message weighs
//! the characters of its texts.
//!
//! What is left between the two is less than half a percent. A comparison rounds every text up to whole tokens; and a
//! message of the provider's may hold several blocks (the results of one answer are one message of Anthropic's), so that
//! with one of them changed it is another message.

use crate::support::talk::{body, calls, list, recorded, send};
use crate::support::{Proxy, folding, strategy};
use foldback::Limits;
use foldback::core::log::Message;
use foldback::wire::{self, Dialect};
use foldback_fake_provider::{FakeProvider, Reply, Script};
use foldback_formats::Session;
use foldback_replay::cost::RegimeTable;
use foldback_replay::{Corpus, ModelTable, Preset, Reporting, Run, Setup, Store, compare};
use foldback_stages::estimator::{Rounding, Unit, chars};
use serde_json::Value;
use std::sync::Arc;

/// Tokens that a comparison sends under a preset, and those of them that are read from the cache.
fn compared(log: &[Arc<Message>], dialect: Dialect, preset: &str, limits: Limits) -> (u64, u64) {
    // The proxy notes when a message came, and its clock stands.
    let came = log.iter().map(|message| Arc::new(Message::clone(message).with_time(0)));
    let mut session = Session::of_messages("s", came.collect());
    session.frame = wire::Request::parse(dialect, body(dialect, log)).unwrap().frame().clone();
    let presets = ["none", preset].map(|name| {
        let mut strategy = Arc::into_inner(strategy(name)).unwrap();
        // Not those of the provider: the stand-in for it takes requests of any size.
        strategy.user_limits = limits;
        Preset::new(strategy, name.to_owned())
    });
    let setup = Setup {
        limits: Limits::default(),
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        measure: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
    };
    let store = Store::temporary().unwrap();
    let run = Run { store: &store, progress: &|| (), strict: false };
    let corpus = Corpus::of([session]);
    let comparison = compare(&corpus, &presets, &setup, Reporting::default(), run).unwrap();
    let rows = comparison.record(&store, 0, 1).unwrap().rows;
    let sum = |of: fn(&foldback_replay::CallRow) -> u64| rows.iter().map(of).sum();
    (sum(|row| row.input_tokens), sum(|row| row.cache_read))
}

/// Characters of the texts in a message.
fn characters(value: &Value) -> usize {
    const TEXTS: [&str; 4] = ["text", "content", "arguments", "thinking"];
    match value {
        Value::Array(items) => items.iter().map(characters).sum(),
        Value::Object(members) => {
            let of = |(key, value): (&String, &Value)| match value {
                Value::String(text) if TEXTS.contains(&key.as_str()) => text.encode_utf16().count(),
                // Names of tools are counted, too.
                Value::String(text) if key == "name" => text.len(),
                Value::Object(_) if key == "input" => value.to_string().encode_utf16().count(),
                other => characters(other),
            };
            members.iter().map(of).sum()
        }
        _ => 0,
    }
}

/// The same of what the provider was sent.
async fn seen(log: &[Arc<Message>], dialect: Dialect, preset: &str, limits: Limits) -> (u64, u64) {
    let answer = Script::answer(|_| Reply::text("ok").without_usage());
    let provider = FakeProvider::start(answer).await.unwrap();
    let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
    for (before, _) in calls(log) {
        assert_eq!(send(&proxy, dialect, body(dialect, before)).await.1, 200);
    }
    let (mut all, mut read, mut last) = (0, 0, Vec::new());
    for request in provider.requests() {
        let blocks: Vec<Value> = std::iter::once(request.body["tools"].clone())
            .chain(request.body[list(dialect)].as_array().unwrap().iter().cloned())
            .collect();
        let same = blocks.iter().zip(&last).take_while(|(one, other)| one == other).count();
        all += blocks.iter().map(characters).sum::<usize>();
        read += blocks[..same].iter().map(characters).sum::<usize>();
        last = blocks;
    }
    (all as u64 / 4, read as u64 / 4)
}

#[foldback_needs::sessions]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cache_reads_of_what_is_sent_are_those_of_a_comparison() {
    let limits = Limits::new(60_000, 8_000);
    for (file, dialect, least) in [
        ("claude-code/cipherbox-1compact-233tools.jsonl", Dialect::Anthropic, 200),
        ("codex/agentv-gpt55-2compact-311tools.jsonl", Dialect::OpenAiChat, 150),
    ] {
        let log = recorded(file, dialect);
        assert!(calls(&log).len() > least, "{file}: {} calls", calls(&log).len());
        for preset in ["tiered", "tunacode"] {
            let of = log.clone();
            // A comparison has a runtime of its own, which the thread of a test can't have.
            let compared = std::thread::spawn(move || compared(&of, dialect, preset, limits));
            let (input, read) = compared.join().unwrap();
            let (sent, cached) = seen(&log, dialect, preset, limits).await;
            println!("{file}, {preset}: sent {sent}, {input}; read {cached}, {read}");
            assert!(read < input * 99 / 100, "{file}, {preset}: something is folded");
            for (by, comparison, what) in [(sent, input, "sent"), (cached, read, "read")] {
                let off = by.abs_diff(comparison) as f64 / comparison as f64;
                assert!(
                    off < 0.01,
                    "{file}, {preset}, {what}: {by}, and {comparison} in a comparison"
                );
            }
        }
    }
}
