//! Sessions in which a preset did nothing. They are read off the scores: one of each session and preset would
//! weigh more than anything else that a comparison keeps.

use super::comparison::Comparison;
use crate::run::idle::NO_STAGE;
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// A session in which a preset did nothing, and why.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Idle<'a> {
    /// Path of the session.
    pub path: &'a str,
    /// Why it did nothing, at the moment when it was closest to acting.
    pub why: &'a str,
    /// A window at which it would have acted, if there is one.
    pub window: Option<u64>,
}

impl Comparison {
    /// The sessions in which a preset did nothing, in their order.
    pub fn idle(&self, preset: usize) -> impl Iterator<Item = Idle<'_>> {
        let own = self.scores.iter().filter_map(move |scores| scores.get(preset));
        own.filter_map(|score| {
            let inaction = score.inaction.as_deref()?;
            let path = &self.corpus.sessions.get(score.session())?.path;
            Some(Idle { path, why: &inaction.why, window: inaction.window })
        })
    }

    /// The same, those closest to acting first: it would act at a larger window than in the others. Empty for
    /// controls and strategies without stages, which do nothing on purpose.
    pub fn nearest_idle(&self, preset: usize) -> Vec<Idle<'_>> {
        let mut nearest: Vec<Idle<'_>> = self.idle(preset).collect();
        let control = self.presets.get(preset).is_none_or(|line| line.kind == Kind::Control);
        if control || nearest.iter().all(|idle| idle.why == NO_STAGE) {
            return Vec::new();
        }
        nearest.sort_by_key(|idle| std::cmp::Reverse(idle.window));
        nearest
    }
}
