//! A whole replay of a long session under every preset, provider rules checked, as `foldback compare`
//! does it. The measuring counts are made once and stay with the messages, as they do there.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::driving::{LIMITS, preset};
use foldback_benches::{corpus, shape};
use foldback_core::Limits;
use foldback_formats::Session;
use foldback_replay::{ReplayOptions, replay};
use foldback_stages::estimator::o200k;
use std::sync::Arc;

fn presets() -> Vec<&'static str> {
    match foldback::registry() {
        Ok(registry) => {
            let mut names: Vec<_> = registry.presets().map(|preset| preset.item.name).collect();
            names.sort_unstable();
            names
        }
        Err(error) => panic!("registry: {error}"),
    }
}

fn under_every_preset(c: &mut Criterion, group: &str, session: &Session) {
    let mut group = c.benchmark_group(group);
    group.sample_size(10);
    group.throughput(Throughput::Elements(session.messages.len() as u64));
    let measure = Arc::new(o200k());
    for name in presets() {
        let strategy = Arc::new(preset(name));
        let options = ReplayOptions {
            limits: strategy.limits(Limits::default(), session.limits, LIMITS),
            model: session.model.clone(),
            prices: None,
            measure: Arc::clone(&measure) as _,
            validate: true,
            completions: None,
            ceiling: None,
        };
        group.bench_function(BenchmarkId::new(name, session.messages.len()), |b| {
            b.iter(|| replay(session, &strategy, &options));
        });
    }
    group.finish();
}

fn generated(c: &mut Criterion) {
    let session = shape::session(shape::messages(1_000));
    under_every_preset(c, "replay", &session);
}

fn recorded(c: &mut Criterion) {
    let recordings = corpus::largest();
    if let Some((recording, session)) = corpus::longest(&recordings) {
        eprintln!("recorded session: {}", recording.name);
        under_every_preset(c, "replay-recorded", &session);
    }
}

criterion_group!(benches, generated, recorded);
criterion_main!(benches);
