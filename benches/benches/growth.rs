//! What one append and one moment cost on logs of a thousand, ten thousand and a hundred thousand
//! messages. Both are to stay flat: a log that is ten times as long costs the same per message.

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use foldback::live::AgentLoop;
use foldback_benches::driving::{LIMITS, at, counted, preset, ready, with_fixed_summary};
use foldback_benches::shape;
use foldback_core::Limits;
use foldback_core::log::{Message, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::strategy::Strategy;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LENGTHS: [usize; 3] = [1_000, 10_000, 100_000];

/// Appends between two looks at the clock; then the log is made anew, at its length.
const CHUNK: usize = 1_000;

/// A window in which nothing ever folds.
const ROOMY: Limits = Limits { context: 1_000_000_000, input: 0, output: 32_000 };

type Messages = Vec<Arc<Message>>;

/// For each length, a session of so many messages, and the chunk of messages that comes next.
fn sessions() -> Vec<(Messages, Messages)> {
    let turns = (LENGTHS[2] + CHUNK) / 22 * 10 + 20;
    let all = shape::messages(turns);
    LENGTHS
        .iter()
        .map(|length| (all[..*length].to_vec(), all[*length..*length + CHUNK].to_vec()))
        .collect()
}

fn append(c: &mut Criterion) {
    let mut group = c.benchmark_group("append");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(200));
    let strategy = Arc::new(preset("window"));
    for (log, next) in sessions() {
        group.bench_function(BenchmarkId::from_parameter(log.len()), |b| {
            b.iter_custom(|appends| {
                let mut spent = Duration::ZERO;
                let mut left = appends as usize;
                while left > 0 {
                    let chunk = left.min(CHUNK);
                    let mut conversation = counted(&strategy, ROOMY, &log);
                    let messages = shape::uncounted(&next[..chunk]);
                    let start = Instant::now();
                    for message in messages {
                        conversation.append(message);
                    }
                    spent += start.elapsed();
                    left -= chunk;
                }
                spent
            });
        });
    }
    group.finish();
}

/// A moment with nothing to do: the policy says that there is room, or the pruner finds everything
/// cleared that it would clear.
fn moment(c: &mut Criterion) {
    let mut group = c.benchmark_group("idle-moment");
    let sessions = sessions();
    for (name, moment) in [
        ("window", Moment::CallStart),
        ("opencode", Moment::TurnEnd),
        ("tunacode", Moment::TurnStart),
    ] {
        let strategy = Arc::new(preset(name));
        for (log, _) in &sessions {
            let mut conversation = counted(&strategy, ROOMY, log);
            at(&mut conversation, moment);
            group.bench_function(BenchmarkId::new(name, log.len()), |b| {
                b.iter(|| at(&mut conversation, moment));
            });
        }
    }
    group.finish();
}

/// A loop that has gone on for so many messages, in a window that it fills again and again.
fn looped(strategy: &Arc<Strategy>, log: &[Arc<Message>]) -> AgentLoop {
    let conversation = counted(strategy, LIMITS, &[]);
    let mut agent = AgentLoop::new(conversation);
    for message in log {
        told(&mut agent, message);
    }
    agent
}

/// What a loop does with a message of a session: a user turn begins, a request goes out and is
/// answered, a result comes back.
fn told(agent: &mut AgentLoop, message: &Message) {
    match message.role {
        Role::User => ready(agent.user(message.clone())),
        Role::Assistant => {
            ready(agent.before_call());
            black_box(agent.conversation().view().places().len());
            let mut message = message.clone();
            let answer = message.answer.get_or_insert_default();
            answer.usage =
                Some(Usage { uncached: agent.conversation().tokens(), ..Usage::default() });
            ready(agent.answered(message));
        }
        Role::Tool => {
            ready(agent.results(vec![message.clone()]));
        }
        Role::System => {}
    }
}

/// A message through a whole loop, compactions included as they come: their summaries are written in
/// no time.
fn step(c: &mut Criterion) {
    let mut group = c.benchmark_group("loop-message");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(200));
    let sessions = sessions();
    for name in ["none", "window", "opencode-1.17"] {
        let strategy = Arc::new(with_fixed_summary(preset(name)));
        for (log, next) in &sessions {
            group.bench_function(BenchmarkId::new(name, log.len()), |b| {
                b.iter_custom(|messages| {
                    let mut spent = Duration::ZERO;
                    let mut left = messages as usize;
                    while left > 0 {
                        let chunk = left.min(CHUNK);
                        let mut agent = looped(&strategy, log);
                        let folds = agent.conversation().counters().folds;
                        assert!(name == "none" || log.len() < LENGTHS[1] || folds > 0, "{name}");
                        let start = Instant::now();
                        for message in &next[..chunk] {
                            told(&mut agent, message);
                        }
                        spent += start.elapsed();
                        left -= chunk;
                    }
                    spent
                });
            });
        }
    }
    group.finish();
}

criterion_group!(benches, append, moment, step);
criterion_main!(benches);
