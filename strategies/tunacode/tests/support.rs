//! Conversations under a tunacode preset, and the stage run on them beneath the guards.

use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::meter::MeterId;
use foldback_core::moment::{Moment, Trigger};
use foldback_core::registry::Registry;
use foldback_core::stage::{AnsweredViews, Pruning, StageContext};
use foldback_core::strategy::Strategy;
use foldback_testkit::talk;

/// The registry with what the presets need.
pub(crate) fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION, &foldback_tunacode::REGISTRATION])
}

/// A shipped preset.
pub(crate) fn preset(name: &str) -> Strategy {
    compile_preset(&registry(), name, Options::default())
        .expect("a shipped preset compiles")
        .strategy
}

/// A file of a user.
pub(crate) fn user_file(toml: &str) -> Strategy {
    talk::compiled(&registry(), toml)
}

/// A conversation with these messages.
pub(crate) fn conversation(
    strategy: Strategy,
    messages: impl IntoIterator<Item = Message>,
) -> Conversation {
    let mut conversation = talk::conversation(strategy, Limits::default());
    talk::append(&mut conversation, messages);
    conversation
}

/// What the strategy's first pruner proposes, beneath the guards.
pub(crate) fn prune(conversation: &Conversation) -> Pruning {
    let strategy = conversation.strategy();
    let answered = AnsweredViews::default();
    let context = StageContext {
        answered_views: &answered,
        prices: None,
        moment: Moment::TurnStart,
        trigger: Trigger::Auto,
        history: conversation.history(),
        view: conversation.view(),
        meter: conversation.meter(MeterId::OWN),
        frame: conversation.frame(),
        limits: conversation.limits(),
        model: None,
        usage: None,
        fold_stats: &[],
        decision: None,
        cleared: 0,
        summarised: false,
        refused: None,
        instructions: &[],
        services: conversation.services(),
    };
    strategy.pruners[0].stage.prune(&context)
}

/// Positions that a proposal clears, oldest first; empty for none.
pub(crate) fn cleared(pruning: &Pruning) -> Vec<usize> {
    let mut positions: Vec<usize> = match pruning {
        Pruning::Edits { edits, .. } => edits.iter().map(|edit| edit.at.item).collect(),
        Pruning::Nothing(_) => Vec::new(),
    };
    positions.sort_unstable();
    positions
}

/// The number in `reclaimed_tokens=N` of a proposal's reason; 0 where nothing is proposed.
pub(crate) fn reclaimed(pruning: &Pruning) -> u64 {
    match pruning {
        Pruning::Nothing(_) => 0,
        Pruning::Edits { reason, .. } => reason
            .strip_prefix("History pruned (reclaimed_tokens=")
            .and_then(|rest| rest.split_once(')'))
            .and_then(|(number, _)| number.parse().ok())
            .expect("the reason is the original's log line"),
    }
}

/// A tool return of so many tokens.
pub(crate) fn tool_return(id: &str, tokens: u64) -> Message {
    let text = "x".repeat(usize::try_from(tokens * 4).expect("fits"));
    Message::tool(id, format!("call-{id}"), "read_file", text)
}
