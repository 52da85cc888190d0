//! What the proxy counts, as Prometheus reads it.
//!
//! | metric | labels |
//! |---|---|
//! | `foldback_proxy_requests_total` | `protocol`, `outcome`, `why` |
//! | `foldback_proxy_refused_total` | `why` |
//! | `foldback_proxy_summaries_total` | `ended` |
//! | `foldback_proxy_summaries_usd_total`, `foldback_proxy_summaries_under_way` | |
//! | `foldback_proxy_received_tokens_total`, `foldback_proxy_sent_tokens_total` | `protocol` |
//! | `foldback_proxy_received_usd_total`, `foldback_proxy_sent_usd_total`, `foldback_proxy_saved_usd` | `protocol` |
//! | `foldback_proxy_priced_total` | `protocol`, `by` |
//! | `foldback_proxy_connections`, `foldback_proxy_descriptors`, `foldback_proxy_descriptor_limit` | |
//! | `foldback_proxy_conversations`, `foldback_proxy_conversation_bytes` | |
//! | `foldback_proxy_trial_stopped`, `foldback_proxy_trial_harm` | `number`, `arm` |
//! | `foldback_proxy_evicted_total`, `foldback_proxy_journal_failures_total` | |
//!
//! Tokens are those of requests that were followed, by the strategy's estimator: as they came, and as they were sent
//! or, in shadow, would have been. Dollars are those of the same two requests with their answers
//! ([`bill`](crate::bill)); `by` says what an answer was priced by: what its provider `reported`, an `estimate`, or
//! `nothing`. Behind these are the counters of the engine, [`foldback_live::metrics`].
//!
//! Labels are names of a fixed list, so their number is bounded.

use crate::bill::Sums;
use crate::http::descriptors;
use crate::numbers::{Numbers, in_order};
use crate::summaries::Summaries;
use crate::trial::arms::Arms;
use crate::trial::log::TrialLog;
use foldback_live::trial::guard;
use foldback_live::trial::record::TrialArm;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::Ordering;

/// The text that Prometheus scrapes (exposition format 0.0.4).
pub(crate) fn prometheus(numbers: &Numbers, arms: &Arms, summaries: Option<&Summaries>) -> String {
    let mut out = String::new();
    head(&mut out, "requests_total", "counter", "Requests, by what the proxy did with them.");
    for ((protocol, outcome, why), count) in in_order(&numbers.requests) {
        // Writing to a string can't fail.
        let _ = writeln!(
            out,
            "foldback_proxy_requests_total{{protocol=\"{protocol}\",outcome=\"{outcome}\",why=\"{why}\"}} {count}"
        );
    }
    head(&mut out, "refused_total", "counter", "Requests that the proxy refused itself.");
    for (why, count) in in_order(&numbers.refused) {
        let _ = writeln!(out, "foldback_proxy_refused_total{{why=\"{why}\"}} {count}");
    }
    if let Some(summaries) = summaries {
        head(&mut out, "summaries_total", "counter", "Summaries by a model, by their end.");
        for (ended, count) in in_order(&numbers.summaries) {
            let _ = writeln!(out, "foldback_proxy_summaries_total{{ended=\"{ended}\"}} {count}");
        }
        let help = "Summaries that are being written.";
        single(&mut out, "summaries_under_way", "gauge", help, summaries.under_way());
        let help = "Dollars for summaries, by estimate; in no other sum.";
        head(&mut out, "summaries_usd_total", "counter", help);
        let _ = writeln!(out, "foldback_proxy_summaries_usd_total {:.6}", summaries.bill().usd);
    }
    let tokens = in_order(&numbers.tokens);
    let received = "Tokens of followed requests as clients sent them.";
    head(&mut out, "received_tokens_total", "counter", received);
    for (protocol, (received, _)) in &tokens {
        let _ = writeln!(
            out,
            "foldback_proxy_received_tokens_total{{protocol=\"{protocol}\"}} {received}"
        );
    }
    let sent = "Tokens of the same requests as their views show them.";
    head(&mut out, "sent_tokens_total", "counter", sent);
    for (protocol, (_, sent)) in &tokens {
        let _ = writeln!(out, "foldback_proxy_sent_tokens_total{{protocol=\"{protocol}\"}} {sent}");
    }
    dollars(&mut out, &arms.sums());
    let (count, bytes, evicted) = arms.count();
    single(&mut out, "conversations", "gauge", "Conversations that are kept.", count);
    single(&mut out, "conversation_bytes", "gauge", "Bytes that they take, by estimate.", bytes);
    single(&mut out, "evicted_total", "counter", "Conversations that had to go.", evicted);
    let unwritten = arms.all.iter().map(|arm| arm.unwritten_count()).sum();
    let help = "Times that a conversation could not be written to its journal.";
    single(&mut out, "journal_failures_total", "counter", help, unwritten);
    let connections = numbers.connections.load(Ordering::Relaxed);
    single(&mut out, "connections", "gauge", "Connections that are open.", connections);
    let files = [
        ("descriptors", "Files and connections that the process has open.", descriptors::open()),
        ("descriptor_limit", "How many it may have open.", descriptors::limit()),
    ];
    for (name, help, count) in files {
        if let Some(count) = count {
            single(&mut out, name, "gauge", help, count);
        }
    }
    if let Some(log) = &arms.trial {
        trial(&mut out, log);
    }
    out + &arms.metrics.snapshot().prometheus()
}

/// What the guard says of the arms of a trial.
fn trial(out: &mut String, log: &TrialLog) {
    let Some((trial, _, evidence)) = log.now() else { return };
    let limit = guard::limit(trial.head.arms.len());
    let mut gauge = |name: &str, help: &str, value: &dyn Fn(&str) -> f64| {
        head(out, name, "gauge", help);
        for (number, TrialArm { name: arm, .. }) in (1..).zip(&trial.head.arms) {
            let (arm, value) = (label(arm), value(arm));
            let _ =
                writeln!(out, "foldback_proxy_{name}{{number=\"{number}\",arm=\"{arm}\"}} {value}");
        }
    };
    let stopped = |arm: &str| f64::from(u8::from(!trial.is_open(arm)));
    let harm = |arm: &str| evidence.get(arm).map_or(0.0, |it| it.amount / limit);
    gauge("trial_stopped", "Whether an arm gets no new units.", &stopped);
    gauge("trial_harm", "Evidence that an arm does harm; at 1 it is stopped.", &harm);
}

/// A name as the value of a label.
fn label(name: &str) -> String {
    name.chars().filter(|letter| !letter.is_control() && !['"', '\\'].contains(letter)).collect()
}

/// What answers cost.
fn dollars(out: &mut String, sums: &BTreeMap<&'static str, Sums>) {
    type Amount = fn(&Sums) -> f64;
    let rows: [(&str, &str, &str, Amount); 3] = [
        (
            "received_usd_total",
            "counter",
            "Dollars that answered requests would have cost as clients sent them, by estimate.",
            |sums| sums.received,
        ),
        (
            "sent_usd_total",
            "counter",
            "Dollars for the same requests as their views show them.",
            |sums| sums.sent,
        ),
        (
            "saved_usd",
            "gauge",
            "Dollars received less dollars sent; negative where folds cost more than they saved.",
            Sums::saved,
        ),
    ];
    for (name, kind, help, amount) in rows {
        head(out, name, kind, help);
        for (protocol, sums) in sums {
            let usd = amount(sums);
            let _ = writeln!(out, "foldback_proxy_{name}{{protocol=\"{protocol}\"}} {usd:.6}");
        }
    }
    head(out, "priced_total", "counter", "Answers, by what they were priced by.");
    for (protocol, Sums { reported, estimated, unpriced, outgrown, .. }) in sums {
        let by = [
            ("reported", reported),
            ("estimate", estimated),
            ("nothing", unpriced),
            ("over-window", outgrown),
        ];
        for (by, count) in by {
            let _ = writeln!(
                out,
                "foldback_proxy_priced_total{{protocol=\"{protocol}\",by=\"{by}\"}} {count}"
            );
        }
    }
}

/// A metric without labels.
fn single(out: &mut String, name: &str, kind: &str, help: &str, value: u64) {
    head(out, name, kind, help);
    let _ = writeln!(out, "foldback_proxy_{name} {value}");
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let name = format!("foldback_proxy_{name}");
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}
