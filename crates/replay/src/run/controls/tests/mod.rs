//! What the tests of the controls share: planted sessions, and what is measured on them.

mod clairvoyant;

use super::*;
use crate::acted::{options, session, strategy};
use crate::judge::availability::tests::NeedProbe;
use crate::read::index::Index;
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

fn counting(per_token: u64) -> Arc<dyn Estimator> {
    let config = CharsConfig { per_token, ..CharsConfig::default() };
    Arc::new(config.estimator().unwrap())
}

fn share(kept: &[bool]) -> f64 {
    kept.iter().filter(|kept| **kept).count() as f64 / kept.len() as f64
}

/// What was still there when it was needed.
struct Kept {
    /// By reference, in the order of the findings.
    references: Vec<bool>,
    /// By edit, likewise.
    edits: Vec<bool>,
}

/// A replay, and what stood in its views of what its calls needed.
fn measured(session: &Session, strategy: Strategy, limits: Limits) -> (Replay, Kept) {
    let measure = counting(4);
    let options = ReplayOptions { validate: true, ..options(limits, measure) };
    let index = Arc::new(Index::new(session));
    let mut probe = NeedProbe::new(Arc::clone(&index));
    let replay = replay_with(session, &index, &Arc::new(strategy), &options, &mut [&mut probe]);
    let references = probe.references.iter().map(|presence| presence.kept).collect();
    (replay, Kept { references, edits: probe.edits })
}

fn seer(session: &Session) -> Strategy {
    seer_down_to(session, EvictConfig::default().target)
}

fn seer_down_to(session: &Session, target: f64) -> Strategy {
    let config = EvictConfig { target, ..EvictConfig::default() };
    clairvoyant(Arc::new(Foresight::new(&Index::new(session))), config).unwrap()
}
