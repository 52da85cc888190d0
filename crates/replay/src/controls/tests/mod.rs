//! What the tests of the controls share: planted sessions, and what is measured on them.

mod clairvoyant;
mod matched;

use super::choice::{Choice, Greedy, Random, Worth};
use super::holders::FactHolders;
use super::*;
use crate::acted::{options, session, strategy};
use crate::availability::Availability;
use crate::index::Index;
use crate::stats::SplitMix64;
use crate::{Replay, ReplayOptions, replay_with};
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_stages::estimator::CharsConfig;
use foldback_stages::pruner::EvictConfig;
use std::sync::Arc;

/// One call of a planted session: characters of its result, and the facts of earlier results that it
/// names.
type Planted = (usize, Vec<usize>);

/// A session in which the result of each call holds a fact of its own, `planted_fact_N`, which stands
/// nowhere else until a later call names it. What is needed when is known exactly.
fn planted(calls: &[Planted]) -> Session {
    let mut messages = vec![Message::user("u", "Do what is to be done")];
    for (call, (size, named)) in calls.iter().enumerate() {
        let named: Vec<String> = named.iter().map(|n| format!("planted_fact_{n}")).collect();
        let arguments = serde_json::json!({ "of": named }).to_string();
        messages.push(answer(call, "look", &arguments));
        let text = format!("planted_fact_{call} {}", "so on ".repeat(*size / 6));
        messages.push(result(call, &text));
    }
    session(messages)
}

fn answer(call: usize, tool: &str, arguments: &str) -> Message {
    let part = Part::call(format!("c{call}"), tool, arguments);
    Message::assistant(format!("a{call}"), vec![part])
}

fn result(call: usize, text: &str) -> Message {
    Message::tool(format!("t{call}"), format!("c{call}"), "look", text)
}

/// Sixty calls with results of 200 to 3,000 characters; each names two facts of earlier ones.
fn random_session(seed: u64) -> Session {
    let mut rng = SplitMix64::new(seed);
    let calls: Vec<Planted> = (0..60)
        .map(|call| {
            let size = 200 + rng.below(2_800);
            let named = (0..2).filter(|_| call > 0).map(|_| rng.below(call));
            (size, named.collect())
        })
        .collect();
    planted(&calls)
}

fn counting(per_token: u64) -> Arc<dyn Estimator> {
    let config = CharsConfig { per_token, ..CharsConfig::default() };
    Arc::new(config.estimator().unwrap())
}

fn matched_controls(session: &Session, per_token: u64, stub: u64) -> MatchedControls {
    let index = Index::of(session);
    let foresight = Arc::new(Foresight::of(&index));
    MatchedControls::with_stub(&index, foresight, &*counting(per_token), stub)
}

/// What the calls of a session need all told.
fn due(session: &Session) -> usize {
    let foresight = Foresight::of(&Index::of(session));
    (0..session.messages.len()).map(|call| foresight.due(call).len()).sum()
}

fn share(kept: &[bool]) -> f64 {
    kept.iter().filter(|kept| **kept).count() as f64 / kept.len() as f64
}

/// A replay, and what stood in its views of what its calls needed.
fn measured(session: &Session, strategy: Strategy, limits: Limits) -> (Replay, Kept) {
    let measure = counting(4);
    let options = ReplayOptions { validate: true, ..options(limits, measure) };
    let index = Arc::new(Index::of(session));
    let mut probe = Availability::new(Arc::clone(&index));
    let replay = replay_with(session, &index, &Arc::new(strategy), &options, &mut [&mut probe]);
    let findings = probe.finish();
    let kept = Kept {
        references: findings.references.iter().map(|presence| presence.kept).collect(),
        edits: findings.edits,
    };
    (replay, kept)
}

fn seer(session: &Session) -> Strategy {
    seer_down_to(session, EvictConfig::default().target)
}

fn seer_down_to(session: &Session, target: f64) -> Strategy {
    let config = EvictConfig { target, ..EvictConfig::default() };
    clairvoyant(Arc::new(Foresight::of(&Index::of(session))), config).unwrap()
}
