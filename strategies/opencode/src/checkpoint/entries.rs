//! The messages that a compaction writes: marker, summary, and what makes the model go on.

use super::{CheckpointConfig, Continue};
use crate::boundary::{filter_compacted, latest};
use crate::render::attached;
use crate::stored;
use foldback_core::log::{Answer, EntryKind, Finish, Marker, Message, Part, PartKind, Role};
use foldback_core::moment::{Moment, Trigger};
use foldback_core::stage::{StageContext, Summary};
use foldback_core::view::Pos;

/// Name of the agent that writes summaries.
const AGENT: &str = "compaction";

/// What a marker shows.
const MARKER_TEXT: &str = "What did we do so far?";

/// Stands for a summary that failed, if the strategy goes on without it.
pub(crate) const NO_SUMMARY: &str =
    "[Earlier messages were removed from the conversation without a summary]";

/// Goes before the continue text when the provider had refused the request and the prompt is not
/// repeated.
const MEDIA_REMOVED: &str = "The last request was larger than the provider accepts. The conversation \
    was compacted and its media were removed; if they were asked about, say that they were too large.\n\n";

/// Writes the messages of one compaction.
pub(super) struct NewEntries<'a> {
    config: &'a CheckpointConfig,
    context: &'a StageContext<'a>,
    tail_start: Option<Pos>,
    replay: Option<Pos>,
    /// Agent and model of the newest user message: marker and continue message take them over.
    agent: Option<String>,
    model: Option<Answer>,
}

impl<'a> NewEntries<'a> {
    pub(super) fn new(
        config: &'a CheckpointConfig,
        context: &'a StageContext<'a>,
        tail_start: Option<Pos>,
        replay: Option<Pos>,
    ) -> Self {
        let messages = stored::in_sight(context);
        let seen = stored::seen_all(context.history, &messages);
        let view = filter_compacted(&seen, config.completes);
        let user =
            latest(&seen, &view).user.map(|unit| context.history.message(messages[unit].first()));
        Self {
            config,
            context,
            tail_start,
            replay,
            agent: user.and_then(|user| user.agent.clone()),
            model: model(context, user.map(|user| &**user)),
        }
    }

    /// The entries in stored order.
    pub(super) fn write(&self, summary: Option<&Summary>) -> Vec<Message> {
        let ids = &self.context.services.ids;
        let marker = self.marker(ids.next("marker"));
        let summary = self.summary(ids.next("summary"), &marker.id, summary);
        let mut entries = vec![marker, summary];
        if let Some(replay) = self.replay {
            entries.push(self.replayed(ids.next("continue"), replay));
        } else if self.goes_on() {
            entries.push(self.go_on(ids.next("continue")));
        }
        entries
    }

    /// The user message that asks for the compaction.
    pub(super) fn marker(&self, id: String) -> Message {
        let marker = Marker {
            text: MARKER_TEXT.to_owned(),
            auto: self.context.trigger == Trigger::Auto,
            overflow: self.is_overflow(),
            tail_start: self.tail_start.map(|pos| self.context.history.message(pos).id.clone()),
        };
        let parts = vec![Part::new(PartKind::Marker(marker))];
        self.user(id, EntryKind::Marker, parts)
    }

    fn summary(&self, id: String, marker: &str, summary: Option<&Summary>) -> Message {
        let text = summary.map_or(NO_SUMMARY, |summary| &summary.text);
        let now = self.context.now();
        Message::new(id, Role::Assistant, vec![Part::text(text)])
            .with_parent(marker)
            .with_time(now)
            .with_agent(AGENT)
            .as_entry(EntryKind::Summary)
            .with_answer(Answer {
                usage: summary.and_then(|summary| summary.usage),
                finish: Some(Finish::Stop),
                started: Some(now),
                ended: Some(now),
                ..self.model.clone().unwrap_or_default()
            })
    }

    fn goes_on(&self) -> bool {
        self.context.trigger == Trigger::Auto
            && match self.config.continues {
                Continue::Never => false,
                Continue::Auto => true,
                Continue::Unfinished => is_unfinished(self.context),
            }
    }

    fn go_on(&self, id: String) -> Message {
        let explanation =
            if self.config.replay_on_overflow && self.is_overflow() { MEDIA_REMOVED } else { "" };
        let text = format!("{explanation}{}", self.config.continue_text);
        self.user(id, EntryKind::Continue, vec![Part::synthetic(text)])
    }

    /// The prompt once more: markers left out, media described.
    fn replayed(&self, id: String, prompt: Pos) -> Message {
        let prompt = self.context.history.message(prompt);
        let parts = prompt
            .parts
            .iter()
            .filter_map(|part| match &part.kind {
                PartKind::Marker(_) => None,
                PartKind::File(media) => Some(Part::text(attached(media))),
                kind => Some(Part::new(kind.clone())),
            })
            .collect();
        let mut message = self.user(id, EntryKind::Continue, parts);
        message.agent = prompt.agent.clone();
        message
    }

    fn user(&self, id: String, kind: EntryKind, parts: Vec<Part>) -> Message {
        let mut message =
            Message::new(id, Role::User, parts).as_entry(kind).with_time(self.context.now());
        message.agent = self.agent.clone();
        message.answer = self.model.clone();
        message
    }

    fn is_overflow(&self) -> bool {
        self.context.moment == Moment::ProviderOverflow
    }
}

/// The model that the newest user message was meant for. Few recordings say so; then it is the one
/// that answered last, then the one that the conversation is set to.
fn model(context: &StageContext<'_>, user: Option<&Message>) -> Option<Answer> {
    let last = || {
        context
            .history
            .iter()
            .rev()
            .find(|(_, message)| message.is_answer())
            .and_then(|(_, message)| message.answer.as_ref())
    };
    let answer = user
        .and_then(|user| user.answer.as_ref())
        .or_else(last)
        .filter(|answer| answer.model.is_some());
    let (model, provider) = match answer {
        Some(answer) => (answer.model.clone(), answer.provider.clone()),
        None => (Some(context.model?.to_owned()), None),
    };
    Some(Answer { model, provider, ..Answer::default() })
}

/// Whether the model was in the middle of something: it had asked for tools, was cut off, or had not
/// answered the last message yet.
fn is_unfinished(context: &StageContext<'_>) -> bool {
    let last = context.history.iter().rev().find(|(_, message)| !message.is_entry());
    let Some((_, message)) = last else {
        return false;
    };
    message.role != Role::Assistant
        || message.call_ids().next().is_some()
        || message
            .answer
            .as_ref()
            .and_then(|answer| answer.finish)
            .is_some_and(|finish| finish != Finish::Stop)
}
