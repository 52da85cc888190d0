//! Plan and commit on a log that is counted already: the first compaction of an oversized session.
//!
//! The pruners propose thousands of edits at once here; the filters get a summary that costs nothing,
//! so what is left is finding the fold, asking for the summary, planning, checking and committing.

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::corpus;
use foldback_benches::driving::{Caches, LIMITS, at, counted, preset, with_fixed_summary};
use foldback_benches::shape;
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::moment::Moment;
use foldback_core::services::{FixedClock, Services};
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use foldback_formats::Session;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A strategy, the moment at which it folds, and the name of the bench.
const FOLDS: [(&str, &str, Moment); 6] = [
    ("prune-tunacode", "tunacode", Moment::TurnStart),
    ("prune-opencode", "opencode", Moment::TurnEnd),
    ("fold-opencode", "opencode", Moment::Manual),
    ("fold-opencode-1.17", "opencode-1.17", Moment::Manual),
    ("fold-window", "window", Moment::CallStart),
    ("fold-indexed", "indexed", Moment::CallStart),
];

fn plan_and_commit(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan-and-commit");
    for (name, of, moment) in FOLDS {
        let strategy = Arc::new(with_fixed_summary(preset(of)));
        for turns in shape::TURNS {
            let messages = shape::messages(turns);
            let conversation = counted(&strategy, LIMITS, &messages);
            let reports = at(&mut conversation.clone(), moment);
            let changed = reports.iter().any(|report| report.outcome.changed());
            if !changed && turns >= 1_000 {
                panic!("{name} does nothing on {turns} turns: {reports:?}");
            }
            if !changed {
                continue;
            }
            group.throughput(Throughput::Elements(messages.len() as u64));
            group.bench_function(BenchmarkId::new(name, messages.len()), |b| {
                b.iter_batched(
                    || conversation.clone(),
                    |mut conversation| {
                        let reports = at(&mut conversation, moment);
                        (conversation, reports)
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

/// The same from cold caches at two sizes a factor of ten apart: after a model's answer of seconds
/// little of a session is in any cache, and a small one that always is would make growth look steep.
fn growth(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan-and-commit-cold");
    let mut caches = Caches::new();
    for (name, of, moment) in &FOLDS[..2] {
        let strategy = Arc::new(preset(of));
        for turns in [500, 5_000] {
            let messages = shape::messages(turns);
            let conversation = counted(&strategy, LIMITS, &messages);
            group.sample_size(30);
            group.bench_function(BenchmarkId::new(*name, messages.len()), |b| {
                b.iter_batched(
                    || {
                        let copy = conversation.clone();
                        caches.fill_with_something_else();
                        copy
                    },
                    |mut conversation| {
                        let reports = at(&mut conversation, *moment);
                        (conversation, reports)
                    },
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

/// A thousand messages through the tiers, with the summaries that the preset asks for, nothing
/// remembered from a fold before.
fn tiered(c: &mut Criterion) {
    let mut group = c.benchmark_group("tiered");
    let mut messages = shape::messages(460);
    messages.truncate(1_000);
    group.sample_size(20);
    group.bench_function(BenchmarkId::new("compact", messages.len()), |b| {
        b.iter_batched(
            || counted(&Arc::new(preset("tiered")), LIMITS, &messages),
            |mut conversation| {
                let reports = at(&mut conversation, Moment::Manual);
                assert!(reports.iter().any(|report| report.fold.is_some()), "{reports:?}");
                (conversation, reports)
            },
            BatchSize::PerIteration,
        );
    });
    group.finish();
}

/// What a fold of `indexed` takes within a session, in a window of 100,000 tokens: the mean of all its folds, each with
/// the messages that came since the one before still unread. The slowest of them is printed, by its median over the runs.
fn within_a_session(c: &mut Criterion) {
    let mut group = c.benchmark_group("fold-within-a-session");
    let strategy = Arc::new(preset("indexed"));
    let recordings = corpus::largest();
    let recorded = corpus::longest(&recordings).map(|(_, session)| ("recorded", session));
    let generated = ("generated", shape::session(shape::messages(1_000)));
    group.sample_size(10);
    for (name, session) in recorded.into_iter().chain([generated]) {
        let mut slowest: Vec<Duration> = Vec::new();
        group.bench_function(BenchmarkId::new("indexed", name), |b| {
            b.iter_custom(|times| {
                let mut folds = Vec::new();
                for _ in 0..times {
                    let one = folds_of(&strategy, &session);
                    slowest.extend(one.iter().max().copied());
                    folds.extend(one);
                }
                assert!(!folds.is_empty(), "{name}: nothing was folded");
                let taken: Duration = folds.iter().sum();
                taken.mul_f64(times as f64 / folds.len() as f64)
            });
        });
        slowest.sort();
        if let Some(median) = slowest.get(slowest.len() / 2) {
            println!(
                "{name}: the slowest fold takes {median:.1?}, by the median of {} runs",
                slowest.len()
            );
        }
    }
    group.finish();
}

/// The time that each fold of a session takes.
fn folds_of(strategy: &Arc<Strategy>, session: &Session) -> Vec<Duration> {
    let clock = Arc::new(FixedClock::at(0));
    let services = Services::with_clock(Arc::clone(&clock) as _);
    let limits = Limits::new(100_000, 0);
    let mut conversation =
        Conversation::new(Arc::clone(strategy), limits, Frame::default(), services);
    let mut folds = Vec::new();
    for step in steps(session.log()) {
        match step {
            Step::Append(message) => {
                if let Some(at) = message.at {
                    clock.set(at);
                }
                // A copy: nothing of it is counted or read.
                conversation.append(Message::clone(message));
            }
            Step::At(moment) => {
                let begun = Instant::now();
                let reports = at(&mut conversation, moment);
                let taken = begun.elapsed();
                if reports.iter().any(|report| report.outcome.changed()) {
                    folds.push(taken);
                }
            }
            Step::Call { .. } | Step::StepEnd { .. } => {}
        }
    }
    folds
}

criterion_group!(benches, plan_and_commit, growth, tiered, within_a_session);
criterion_main!(benches);
