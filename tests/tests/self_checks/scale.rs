//! Scale: with the window and all token counts doubled, what has no size in tokens decides the same.

use super::{Sent, few, mending, mending_files_of};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::index::Index;
use foldback_replay::replay_with;
use foldback_testkit::stand_in::Doubled;
use foldback_tests::lab::{self, everything};
use foldback_tests::options;
use foldback_tests::planted::Needs;
use std::sync::Arc;

/// The session as a provider would have billed it that counts twice.
fn doubled(session: &Session) -> Session {
    let mut twice = session.clone();
    for message in &mut twice.messages {
        let answer = &mut Arc::make_mut(message).answer;
        if let Some(usage) = answer.as_mut().and_then(|answer| answer.usage.as_mut()) {
            for tokens in [
                &mut usage.uncached,
                &mut usage.cache_read,
                &mut usage.cache_write,
                &mut usage.output,
                &mut usage.reasoning,
            ] {
                *tokens *= 2;
            }
        }
    }
    twice
}

/// What a preset with its own unit of tokens does, in the order of the requests.
fn decided(
    session: &Session,
    strategy: &Arc<Strategy>,
    [context, output]: [u64; 2],
    unit: u64,
) -> (Vec<Vec<String>>, usize) {
    let mut options = options(context * unit, output * unit);
    if unit == 2 {
        options.measure = Doubled::estimator(&options.measure);
    }
    let mut sent = Sent::default();
    let replay =
        replay_with(session, &Arc::new(Index::new(session)), strategy, &options, &mut [&mut sent]);
    let fired = replay.rows.iter().filter(|row| !row.fired.is_empty());
    (sent.views, fired.count())
}

/// What shows that sizes in tokens matter to a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShownMessage {
    /// The small sessions.
    Small,
    /// The large one.
    Large,
    /// None of them: at these sizes none of its fields decides anything.
    Nowhere,
}

/// Presets that say sizes in tokens, and where: their decisions hang on the unit. All others are relative.
const ABSOLUTE: &[(&str, &str, ShownMessage)] = &[
    ("anthropic-clear-tool-uses", "trigger", ShownMessage::Nowhere),
    ("anthropic-compact", "limit, tokens of the block", ShownMessage::Nowhere),
    (
        "brutus",
        "protect_tokens, minimum_tokens, output_token_max, summary_budget",
        ShownMessage::Nowhere,
    ),
    ("claude-code", "reserve, summary_tokens", ShownMessage::Large),
    (
        "claude-code-2.1.17",
        "both reserves, protect_tokens, minimum_tokens, summary_tokens",
        ShownMessage::Large,
    ),
    ("claude-code-2.1.332", "reserve, summary_tokens", ShownMessage::Large),
    ("cline", "units of JSON, three a token", ShownMessage::Small),
    ("codex", "keep_tokens, summary_tokens, limit of a result", ShownMessage::Nowhere),
    ("codex-remote", "keep_tokens, summary_tokens, limit of a result", ShownMessage::Nowhere),
    ("deepagents", "summary_tokens", ShownMessage::Nowhere),
    ("dsh", "summary_tokens, tokens of a message and a part", ShownMessage::Nowhere),
    ("fast-jev", "reserve, a line for each call", ShownMessage::Nowhere),
    (
        "hermes",
        "least, small_window, defer_tokens, summary_least, summary_most, tokens of a message",
        ShownMessage::Large,
    ),
    (
        "indexed",
        "user_tokens, target_tokens, window_at_most, bytes per token of a note",
        ShownMessage::Small,
    ),
    (
        "indexed-large",
        "user_tokens, target_tokens, window_at_most, bytes per token of a note",
        ShownMessage::Small,
    ),
    ("kimi-code", "reserve, keep_tokens, head_tokens, summary_tokens", ShownMessage::Nowhere),
    ("langchain-context-editing", "trigger, tokens of a message", ShownMessage::Nowhere),
    ("langchain-summarization", "trim_tokens, summary_tokens", ShownMessage::Small),
    ("mxf", "threshold", ShownMessage::Nowhere),
    ("openai-compact", "limit, tokens of the item", ShownMessage::Nowhere),
    (
        "oh-my-pi",
        "reserve, suffix_tokens, protect_tokens, minimum_tokens, keep_recent_tokens, summary_tokens",
        ShownMessage::Large,
    ),
    ("openhands", "summary_tokens, tokens of a message", ShownMessage::Nowhere),
    ("openhands-80", "summary_tokens, tokens of a message", ShownMessage::Nowhere),
    (
        "opencode",
        "protect_tokens, minimum_tokens, output_token_max, summary_budget",
        ShownMessage::Nowhere,
    ),
    (
        "opencode-1.17",
        "tail_minimum, tail_maximum, output_token_max, summary_budget",
        ShownMessage::Large,
    ),
    (
        "opencode-1.18",
        "tail_minimum, tail_maximum, output_token_max, summary_budget",
        ShownMessage::Large,
    ),
    ("opencode-2", "reserve, keep_tokens, output_token_max, summary_budget", ShownMessage::Large),
    (
        "gemini-cli",
        "result_tokens, protect_tokens, minimum_tokens, summary_tokens",
        ShownMessage::Nowhere,
    ),
    ("pi", "reserve, keep_recent_tokens", ShownMessage::Large),
    (
        "pi-0.87",
        "reserve, keep_recent_tokens, summary_tokens, turn_summary_tokens",
        ShownMessage::Large,
    ),
    (
        "tiered",
        "min_summary_tokens, min_result_tokens, shares.safety_margin",
        ShownMessage::Nowhere,
    ),
    ("tiered-doc-exact", "budget_tokens", ShownMessage::Nowhere),
    ("tunacode", "protect_tokens, minimum_tokens", ShownMessage::Large),
    ("tunacode-0.2", "reserve, keep_recent_tokens, summary_tokens", ShownMessage::Nowhere),
    ("tunacode-2026-02", "reserve, keep_recent_tokens, summary_tokens", ShownMessage::Nowhere),
    ("tunacode-local", "protect_tokens, minimum_tokens", ShownMessage::Small),
    ("window", "summary_tokens, max_output", ShownMessage::Small),
    ("window-faithful", "summary_tokens, max_output", ShownMessage::Nowhere),
];

#[test]
fn twice_the_window_and_twice_the_tokens_decide_the_same() {
    // Sessions with a window that is small for them.
    let small = [(mending(), [9_000, 1_000]), (few(Needs::Recent).remove(0), [9_000, 1_000])];
    let large = [(mending_files_of(14_000), [60_000, 6_000])];
    // Before how many calls it acted, and whether twice the tokens gave the same requests.
    let twice = |strategy: &Arc<Strategy>, sessions: &[(Session, [u64; 2])]| {
        let mut two = (**strategy).clone();
        two.estimators = two.estimators.iter().map(Doubled::estimator).collect();
        let two = Arc::new(two);
        let outcomes = sessions.iter().map(|(session, limits)| {
            let (plain, acted) = decided(session, strategy, *limits, 1);
            let (twice, _) = decided(&doubled(session), &two, *limits, 2);
            (acted, plain == twice)
        });
        outcomes.fold((0, true), |(sum, all), (acted, same)| (sum + acted, all && same))
    };
    let presets = everything().into_iter().map(|preset| preset.strategy);
    let examples = lab::examples();
    let examples = examples.iter().map(|name| lab::example(name).strategy);
    let (mut relative, mut absolute) = (0, 0);
    for strategy in presets.chain(examples) {
        // The clairvoyant is made for each session and never the same strategy twice.
        let name = strategy.name.as_str();
        if ["none", "clairvoyant", "clairvoyant-lines"].contains(&name) {
            continue;
        }
        let listed = ABSOLUTE.iter().find(|(listed, _, _)| *listed == name);
        match listed {
            None => {
                let (acted, same) = twice(&strategy, &small);
                println!("{name}: relative, acted before {acted} calls");
                assert!(acted > 0, "{name} did nothing, so nothing was tested");
                assert!(same, "{name} is not listed as one with sizes in tokens");
                relative += 1;
            }
            Some((_, fields, shown)) => {
                println!("{name}: absolute by {fields}; shown: {shown:?}");
                let sessions = match shown {
                    ShownMessage::Small => &small[..],
                    ShownMessage::Large => &large[..],
                    ShownMessage::Nowhere => &[],
                };
                let (_, same) = twice(&strategy, sessions);
                assert_eq!(same, *shown == ShownMessage::Nowhere, "{name}");
                absolute += 1;
            }
        }
    }
    assert_eq!((relative, absolute), (14, ABSOLUTE.len()));
}
