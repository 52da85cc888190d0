//! What the proxy costs beside a plain one that only sends bodies on as they come: each is a process of its own, and
//! both are asked in turn by the same client, so that a busy machine is busy for both.
//!
//! ```sh
//! cargo bench -p foldback-serve --bench proxy                # all
//! cargo bench -p foldback-serve --bench proxy -- latency     # one: latency, crowd, weight, day
//! ```

#![allow(clippy::unwrap_used, reason = "a bench may panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]

mod ends;
mod talk;

use ends::{Child, PLAIN, Protocol, answering, child};
use std::future::Future;
use std::time::Instant;
use talk::Talk;
use tokio::task::JoinSet;

/// Sizes of a history, in tokens of four bytes.
const HISTORIES: [usize; 3] = [50_000, 200_000, 800_000];

/// Requests for each size, after those that warm up.
const REQUESTS: usize = 300;
const WARM_UP: usize = 20;

/// Conversations at once, and the requests of each.
const CROWD: usize = 1_000;
const EACH: usize = 5;

/// A request for each second of a day, by so many clients, in conversations of so many calls.
const DAY: usize = 86_400;
const CLIENTS: usize = 8;
const CALLS: usize = 60;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    match &args[..] {
        [kind, rest @ ..] if kind == "child" => runtime.block_on(child(rest)),
        only => runtime.block_on(async {
            let wanted = |name: &str| only.is_empty() || only.iter().any(|only| only == name);
            let upstream = answering().await;
            if wanted("latency") {
                latency(&upstream).await;
            }
            if wanted("crowd") {
                crowd(&upstream).await;
            }
            if wanted("weight") {
                weight(&upstream).await;
            }
            if wanted("day") {
                day(&upstream).await;
            }
        }),
    }
}

/// The quantile of the times, in thousandths.
fn quantile(times: &mut [f64], per_mille: usize) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[(times.len() * per_mille / 1_000).min(times.len() - 1)]
}

/// The time that a future takes, in milliseconds, and its output.
async fn timed<T>(what: impl Future<Output = T>) -> (f64, T) {
    let begun = Instant::now();
    let done = what.await;
    (begun.elapsed().as_secs_f64() * 1e3, done)
}

/// One conversation that grows by a call with each request.
async fn latency(upstream: &str) {
    println!(
        "| history, tokens | protocol | the proxy | plain p50 | p99 | proxy p50 | p99 | added p50 | p99 | processor, plain | proxy |"
    );
    println!("|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for tokens in HISTORIES {
        for protocol in [Protocol::Chat, Protocol::Messages] {
            for (name, window) in [("follows", 2_000_000), ("folds", tokens * 4 / 10)] {
                one(upstream, tokens, protocol, name, window).await;
            }
        }
    }
}

/// The line of one conversation.
async fn one(upstream: &str, tokens: usize, protocol: Protocol, name: &str, window: usize) {
    let plain = Child::start(&[PLAIN, upstream]);
    let proxy = Child::start(&["tiered", upstream, &window.to_string(), "1000"]);
    let mut talk = Talk::new(protocol, 0, tokens);
    let (mut times, mut folded) = ([const { Vec::new() }; 3], 0);
    let mut processor = [0.0; 2];
    for number in 0..WARM_UP + REQUESTS {
        if number == WARM_UP {
            processor = [plain.processor(), proxy.processor()];
        }
        let body = talk.grown();
        let (plain, _) = timed(plain.ask(protocol, body.clone())).await;
        let (proxy, outcome) = timed(proxy.ask(protocol, body)).await;
        if number >= WARM_UP {
            folded += usize::from(outcome.starts_with("folded"));
            let all = [plain, proxy, proxy - plain];
            times.iter_mut().zip(all).for_each(|(of, time)| of.push(time));
        }
    }
    assert_eq!(folded > REQUESTS / 2, name == "folds", "{tokens}: {folded} are folded");
    let mut row = format!("| {tokens} | {} | {name} |", protocol.name());
    for times in &mut times {
        row += &format!(" {:.2} | {:.2} |", quantile(times, 500), quantile(times, 990));
    }
    for (child, before) in [&plain, &proxy].into_iter().zip(processor) {
        row += &format!(" {:.2} |", (child.processor() - before) / REQUESTS as f64);
    }
    println!("{row}");
}

/// Many conversations at the same time, each with several requests.
async fn crowd(upstream: &str) {
    let proxy = Child::start(&["tiered", upstream, "2000000", "1000"]);
    let before = proxy.memory();
    let mut running = JoinSet::new();
    let begun = Instant::now();
    for number in 0..CROWD {
        let proxy = proxy.clone();
        running.spawn(async move {
            let mut talk = Talk::new(Protocol::Chat, number + 1, 20_000);
            let mut times = Vec::new();
            for _ in 0..EACH {
                times.push(timed(proxy.ask(Protocol::Chat, talk.grown())).await.0);
            }
            (times, talk.size())
        });
    }
    let (mut times, mut bytes) = (Vec::new(), 0);
    while let Some(done) = running.join_next().await {
        let (some, size) = done.unwrap();
        times.extend(some);
        bytes += size;
    }
    let took = begun.elapsed().as_secs_f64();
    let per = (proxy.memory() - before) / CROWD as u64 / 1_000;
    println!(
        "\n{CROWD} conversations at once, {EACH} requests each: {took:.1} s, {:.0} requests/s, p50 {:.0} ms, p99 {:.0} ms; {per} kB of memory \
         for each, whose request has {} kB",
        times.len() as f64 / took,
        quantile(&mut times, 500),
        quantile(&mut times, 990),
        bytes / CROWD / 1_000,
    );
}

/// What `conversation_bytes` of `--limits` counts of conversations, beside the memory that they take.
async fn weight(upstream: &str) {
    for (protocol, calls) in [(Protocol::Chat, 60), (Protocol::Messages, 60), (Protocol::Chat, 4)] {
        let proxy = Child::start(&["window", upstream, "24000", "1000"]);
        // One after the other: what connections and threads take is there with the first ones.
        let (mut before, mut counted) = (0, 0);
        // No more than are kept.
        let all = (36_000 / calls).min(1_000);
        for number in 0..all {
            if number == all / 10 {
                (before, counted) = (proxy.memory(), proxy.counted().await);
            }
            let mut talk = Talk::new(protocol, number, 0);
            for _ in 0..calls {
                proxy.ask(protocol, talk.grown()).await;
            }
        }
        let (took, counted) = (proxy.memory() - before, proxy.counted().await - counted);
        println!(
            "{} conversations of {calls} calls ({}): {counted} bytes by estimate, {took} by the process: {:.2}",
            all - all / 10,
            protocol.name(),
            counted as f64 / took as f64,
        );
    }
}

/// As many requests as a day has seconds, as fast as they go.
async fn day(upstream: &str) {
    // Few enough that the first tenth of the day fills the room for conversations.
    let proxy = Child::start(&["window", upstream, "24000", "100"]);
    let (begun, mut memory) = (Instant::now(), Vec::new());
    for tenth in 0..10 {
        let mut running = JoinSet::new();
        for client in 0..CLIENTS {
            let proxy = proxy.clone();
            running.spawn(async move {
                let (mut asked, all) = (0, DAY / 10 / CLIENTS);
                while asked < all {
                    let number = (tenth * CLIENTS + client) * DAY + asked;
                    let mut talk = Talk::new(Protocol::Chat, number, 0);
                    for _ in 0..CALLS.min(all - asked) {
                        proxy.ask(Protocol::Chat, talk.grown()).await;
                        asked += 1;
                    }
                }
            });
        }
        running.join_all().await;
        memory.push(proxy.memory() / 1_000);
    }
    let took = begun.elapsed().as_secs_f64();
    println!(
        "\n{DAY} requests in {took:.0} s, {:.0} requests/s; memory after each tenth, kB: {memory:?}; the last is {:.3} of the first",
        DAY as f64 / took,
        memory[9] as f64 / memory[0] as f64,
    );
}
