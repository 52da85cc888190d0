//! Counting the messages of a session for the first time, by characters and by a real vocabulary.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::shape;
use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_stages::estimator::{Rounding, Unit, chars, o200k};
use std::hint::black_box;
use std::sync::Arc;

fn total(estimator: &dyn Estimator, messages: &[Arc<Message>]) -> u64 {
    messages.iter().map(|message| estimator.count(message).total()).sum()
}

fn estimate(c: &mut Criterion) {
    let mut group = c.benchmark_group("estimate");
    let messages = shape::messages(1_000);
    let bytes: usize = messages.iter().map(|message| message.shown_text().len()).sum();
    group.throughput(Throughput::Bytes(bytes as u64));
    let estimators: [(&str, Box<dyn Estimator>); 3] = [
        ("chars-bytes", Box::new(chars(Unit::Bytes, Rounding::Ceil))),
        ("chars-utf16", Box::new(chars(Unit::Utf16, Rounding::HalfUp))),
        ("o200k", Box::new(o200k())),
    ];
    for (name, estimator) in &estimators {
        group.sample_size(if *name == "o200k" { 10 } else { 100 });
        group.bench_with_input(
            BenchmarkId::new(*name, messages.len()),
            &messages,
            |b, messages| b.iter(|| total(&**estimator, black_box(messages))),
        );
    }
    // What an estimate costs once it was made: the counts stay with the messages.
    let estimator = o200k();
    let cached = shape::uncounted(&messages);
    for message in &cached {
        estimator.counts(message);
    }
    group.sample_size(100);
    group.bench_function(BenchmarkId::new("o200k-again", cached.len()), |b| {
        b.iter_batched(
            || (),
            |()| {
                cached
                    .iter()
                    .map(|message| {
                        let counts = estimator.counts(message);
                        counts.total()
                    })
                    .sum::<u64>()
            },
            BatchSize::SmallInput,
        );
    });
    group.finish();
}

criterion_group!(benches, estimate);
criterion_main!(benches);
