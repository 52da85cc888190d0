//! One session under one strategy: the state that an agent would have ended
//! with, or the result of the strategy on a stored history.

use crate::run::drive::{Replay, ReplayOptions, block_on, conversation_for};
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::log::{Message, Usage};
use foldback_core::moment::Moment;
use foldback_core::stage::{UsageReading, UsageSource};
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_stages::sealed::Sealed;
use std::sync::Arc;

impl Replay {
    /// Whether the views hold summaries that only their provider can read. What they lack is then the most that was forgotten.
    pub(crate) fn sealed(&self) -> bool {
        let summarizer = self.conversation.strategy().summarizer.as_ref();
        self.metrics.counters.summaries > 0 && summarizer.is_some_and(|by| Sealed::is(by.id()))
    }

    /// What an agent would have been left with, and what the stages reported.
    pub fn into_state(self) -> (Conversation, Vec<Report>) {
        (self.conversation, self.reports.into_iter().map(|(_, report)| report).collect())
    }
}

/// What is done to a stored history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// What the strategy does by itself between two turns: the turn ends, the next one starts, its
    /// first call starts.
    NextTurn,
    /// What it does when a person asks for it.
    Manual,
}

impl Ask {
    /// The moments that it is.
    pub fn moments(self) -> &'static [Moment] {
        match self {
            Self::NextTurn => &[Moment::TurnEnd, Moment::TurnStart, Moment::CallStart],
            Self::Manual => &[Moment::Manual],
        }
    }
}

/// Takes the session as a stored history, the recorder's own marks and entries in force, and lets
/// the strategy act on it once.
pub fn stored(
    session: &Session,
    strategy: &Arc<Strategy>,
    options: &ReplayOptions,
    ask: Ask,
) -> (Conversation, Vec<Report>) {
    let (mut conversation, clock) = conversation_for(session, Arc::clone(strategy), options);
    for (index, message) in session.messages.iter().enumerate() {
        conversation.append(Arc::clone(message));
        if session.folded.is_some_and(|folded| folded.until == index + 1) {
            conversation.mark_folded();
        }
    }
    for (at, edit) in session.recorded_edits() {
        conversation.mark_cleared(at, edit.text, edit.at);
    }
    conversation.restore();
    // The strategy acts after everything that was recorded.
    let last = |message: &Arc<Message>| {
        message.answer.as_ref().and_then(|answer| answer.ended).max(message.at)
    };
    if let Some(time) = session.messages.iter().filter_map(last).max() {
        clock.set(time);
    }
    let usage = last_usage(session);
    let run = async {
        let mut reports = Vec::new();
        for moment in ask.moments() {
            // A program that looks at the last answer's usage before a call has it at hand.
            let usage = usage.filter(|_| *moment == Moment::CallStart);
            reports.extend(conversation.at(*moment, Signals { usage, instructions: None }).await);
        }
        reports
    };
    let reports = block_on(options, run);
    (conversation, reports)
}

/// Usage of the last finished answer, unless a summary was written or messages were left out after it.
fn last_usage(session: &Session) -> Option<UsageReading> {
    let mut messages = session.messages.iter().enumerate().rev();
    let (index, last) = messages.find(|(_, message)| message.answer.is_some())?;
    if last.is_entry() || session.folded.is_some_and(|folded| index < folded.until) {
        return None;
    }
    let usage = last.answer.as_ref()?.usage.filter(Usage::has_input)?;
    Some(UsageReading { usage, source: UsageSource::Recorded })
}
