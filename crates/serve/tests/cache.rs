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
use foldback::core::stage::Estimator;
use foldback::wire::{self, Dialect};
use foldback_fake_provider::{FakeProvider, Reply, Script};
use foldback_formats::Session;
use foldback_replay::cost::{OWN, RegimeTable};
use foldback_replay::{Corpus, ModelTable, Preset, Reporting, Run, Setup, Store, compare};
use foldback_stages::estimator::{Rounding, Unit, chars};
use serde_json::Value;
use std::sync::Arc;

/// What a comparison says of a log under a preset.
pub(crate) struct Compared {
    /// Tokens that it sends.
    sent: u64,
    /// Those of them that are read from the cache.
    read: u64,
    /// Dollars at the model's own prices for requests and answers, without folds and with them.
    pub(crate) usd: [f64; 2],
}

/// Four characters are a token.
pub(crate) fn four() -> Arc<dyn Estimator> {
    Arc::new(chars(Unit::Utf16, Rounding::Ceil))
}

/// Own prices, and sizes by an estimator.
pub(crate) fn setup(measure: Arc<dyn Estimator>) -> Setup {
    Setup {
        limits: Limits::default(),
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        billed: "own".to_owned(),
        measure,
    }
}

/// Compares a preset with no compaction.
pub(crate) fn compared(
    log: &[Arc<Message>],
    dialect: Dialect,
    model: &str,
    preset: &str,
    limits: Limits,
    measure: Arc<dyn Estimator>,
) -> Compared {
    // The proxy notes when a message came, and its clock stands.
    let came = log.iter().map(|message| Arc::new(Message::clone(message).with_time(0)));
    let mut session = Session::of_messages("s", came.collect());
    session.model = Some(model.to_owned());
    session.frame = wire::Request::parse(dialect, body(dialect, log)).unwrap().frame().clone();
    let presets = ["none", preset].map(|name| {
        let mut strategy = Arc::into_inner(strategy(name)).unwrap();
        // Not those of the provider: the stand-in for it takes requests of any size.
        strategy.user_limits = limits;
        Preset::new(strategy, name.to_owned())
    });
    let setup = setup(measure);
    let store = Store::temporary().unwrap();
    let run = Run { store: &store, progress: &|| (), strict: false };
    let corpus = Corpus::from_sessions([session]);
    let comparison = compare(&corpus, &presets, &setup, Reporting::default(), run).unwrap();
    let records = [0, 1].map(|at| comparison.record(&store, 0, at).unwrap());
    let usd = records.each_ref().map(|record| {
        let mut bills = record.bills.iter();
        let own = bills.find(|(by, _)| &*by.regime == OWN);
        // What a model would have taken for the summaries is no part of it.
        own.map_or(0.0, |(_, bill)| bill.input_usd + bill.output_usd)
    });
    let rows = &records[1].rows;
    let sum = |of: fn(&foldback_replay::CallRow) -> u64| rows.iter().map(of).sum();
    Compared { sent: sum(|row| row.input_tokens), read: sum(|row| row.cache_read), usd }
}

/// Characters of the texts in a message.
fn characters(value: &Value) -> usize {
    const TEXTS: [&str; 5] = ["text", "content", "arguments", "thinking", "output"];
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

/// A provider's cache of one conversation: the blocks of the latest request with their characters, each counted once.
#[derive(Default)]
pub(crate) struct Cached(Vec<(Value, usize)>);

impl Cached {
    /// Characters of a request, and those of its beginning that the cache has.
    pub(crate) fn take(&mut self, request: &Value, dialect: Dialect) -> (usize, usize) {
        let messages = request[list(dialect)].as_array().unwrap();
        let blocks: Vec<&Value> = std::iter::once(&request["tools"]).chain(messages).collect();
        let same =
            blocks.iter().zip(&self.0).take_while(|(one, (other, _))| **one == other).count();
        self.0.truncate(same);
        let sum = |blocks: &[(Value, usize)]| blocks.iter().map(|(_, count)| count).sum();
        let held = sum(&self.0);
        self.0.extend(blocks[same..].iter().map(|block| ((*block).clone(), characters(block))));
        (sum(&self.0), held)
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
    let (mut all, mut read, mut cache) = (0, 0, Cached::default());
    for request in provider.requests() {
        let (sent, held) = cache.take(&request.body, dialect);
        (all, read) = (all + sent, read + held);
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
            let compared =
                std::thread::spawn(move || compared(&of, dialect, "m-1", preset, limits, four()));
            let Compared { sent: input, read, .. } = compared.join().unwrap();
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
