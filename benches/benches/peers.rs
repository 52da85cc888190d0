//! Count, prune and fit to a budget, beside other libraries that do the same, in one run.
//!
//! Both start from uncounted messages of their own type, and end with a view of at most
//! 46,000 tokens by four bytes each, too little for either to get by on clearing tool results. foldback's
//! figure includes building the conversation. `touch` is the bound of anything that looks at every message.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::driving::{at, configured, counted};
use foldback_benches::shape;
use foldback_core::moment::Moment;
use std::sync::Arc;

fn foldback(c: &mut Criterion) {
    let mut group = c.benchmark_group("count-prune-fit");
    let strategy = Arc::new(configured("fit.toml", include_str!("../fit.toml")));
    let limits = strategy.user_limits;
    for turns in shape::TURNS {
        let messages = shape::messages(turns);
        let mut once = counted(&strategy, limits, &messages);
        at(&mut once, Moment::CallStart);
        assert!(once.tokens() <= limits.context, "{turns}: {} tokens", once.tokens());
        group.throughput(Throughput::Elements(messages.len() as u64));
        group.bench_function(BenchmarkId::new("foldback", messages.len()), |b| {
            b.iter_batched(
                || shape::uncounted(&messages),
                |messages| {
                    let mut conversation = counted(&strategy, limits, &messages);
                    let reports = at(&mut conversation, Moment::CallStart);
                    (messages, conversation, reports)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

/// The bound: every message is looked at once, and the bytes of its parts are summed.
fn touch(c: &mut Criterion) {
    let mut group = c.benchmark_group("count-prune-fit");
    for turns in shape::TURNS {
        let messages = shape::messages(turns);
        group.throughput(Throughput::Elements(messages.len() as u64));
        group.bench_function(BenchmarkId::new("touch", messages.len()), |b| {
            b.iter_batched(
                || shape::uncounted(&messages),
                |messages| {
                    let parts = messages.iter().flat_map(|message| &message.parts);
                    let bytes: usize = parts.map(|part| part.shown().len()).sum();
                    (messages, bytes)
                },
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

#[cfg(feature = "peers")]
fn yoagent(c: &mut Criterion) {
    use foldback_benches::peers::yoagent_messages;
    use yoagent::context::{ContextConfig, compact_messages, total_tokens};

    let mut group = c.benchmark_group("count-prune-fit");
    let config = ContextConfig { max_context_tokens: 50_000, ..ContextConfig::default() };
    for turns in shape::TURNS {
        let messages = yoagent_messages(turns);
        let left = total_tokens(&compact_messages(messages.clone(), &config));
        assert!(left <= config.max_context_tokens, "{turns}: {left} tokens");
        group.throughput(Throughput::Elements(messages.len() as u64));
        group.bench_function(BenchmarkId::new("yoagent-0.26.6", messages.len()), |b| {
            b.iter_batched(
                || messages.clone(),
                |messages| compact_messages(messages, &config),
                BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

#[cfg(not(feature = "peers"))]
fn yoagent(_: &mut Criterion) {
    eprintln!("`--features peers` runs yoagent beside it");
}

criterion_group!(benches, foldback, touch, yoagent);
criterion_main!(benches);
