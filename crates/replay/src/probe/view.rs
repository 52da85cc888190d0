//! What a request would show of a session at a moment, under a preset or a control.

use super::Question;
use super::score::stands_in;
use crate::judge::request::{Probe, Request};
use crate::judge::retention::Retention;
use crate::read::index::text::text_of;
use crate::read::index::{Index, ReferenceNeed};
use crate::run::drive::replay_with;
use crate::run::setup::{Preset, Setup};
use crate::stats::Share;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part};
use foldback_formats::Session;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Id of the message that stands for the question where the session is at its end.
const ASKED: &str = "foldback-probe-question";

/// A session up to where the questions are asked.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The log before, and behind it the call that the questions take the place of.
    session: Session,
    index: Arc<Index>,
    /// Number of that call.
    call: usize,
}

impl Moment {
    /// The end of a session: the user asks something, and the next request goes out.
    pub fn end(session: &Session) -> Self {
        let mut session = session.clone();
        let call = session.calls();
        let question = Message::user(ASKED, "A question about the work so far.");
        let answer = Message::assistant(format!("{ASKED}-answer"), vec![Part::text("")]);
        session.messages.extend([question, answer].map(Arc::new));
        Self::new(session, call)
    }

    /// Before a call, which counts from 0. `None` where the session has no such call.
    pub fn before(session: &Session, call: usize) -> Option<Self> {
        let answers = session.messages.iter().enumerate().filter(|(_, one)| one.is_answer());
        let (at, _) = answers.into_iter().nth(call)?;
        let mut session = session.clone();
        session.messages.truncate(at + 1);
        session.cleared.retain(|cleared| cleared.at.item <= at);
        session.boundaries.retain(|boundary| boundary.before <= at);
        session.folded = session.folded.filter(|folded| folded.until <= at);
        Some(Self::new(session, call))
    }

    fn new(session: Session, call: usize) -> Self {
        let index = Arc::new(Index::new(&session));
        Self { session, index, call }
    }

    /// Number of the call that the questions take the place of: as many were before.
    pub fn call(&self) -> usize {
        self.call
    }

    /// What was read of the log.
    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// The log before the questions.
    pub(super) fn log(&self) -> &[Arc<Message>] {
        let log = &self.index.log;
        let answer = log.len().saturating_sub(1);
        let end = match answer.checked_sub(1).and_then(|at| log.get(at)) {
            Some(asked) if asked.id == ASKED => answer - 1,
            _ => answer,
        };
        &log[..end]
    }

    /// Id of the session.
    pub fn id(&self) -> &str {
        &self.session.id
    }

    /// What a preset's request shows. A model may be asked for summaries on the way.
    pub fn view(&self, preset: &Preset, setup: &Setup) -> View {
        let mut options = setup.options(&self.session, &preset.strategy);
        options.validate = false;
        options.completions.clone_from(&preset.completions);
        let needs = self.index.calls.get(self.call).map_or(&[][..], |needs| &needs.references);
        let mut capture = Capture { call: self.call, needs, view: View::default() };
        let (index, strategy) = (&self.index, &preset.strategy);
        replay_with(&self.session, index, strategy, &options, &mut [&mut capture]);
        capture.view
    }

    /// What the recorded model did there.
    pub fn action(&self) -> Vec<Arc<Message>> {
        self.index.log.last().filter(|last| last.is_answer()).cloned().into_iter().collect()
    }

    /// The whole log.
    pub fn full(&self) -> View {
        let mut view = View::default();
        for message in self.log() {
            view.push(message, (0..message.parts.len()).collect());
        }
        view
    }
}

/// What a request shows.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The messages as they are sent.
    pub messages: Vec<Arc<Message>>,
    /// The parts of the log that are shown as they were recorded, by the id of their message.
    whole: BTreeMap<String, Vec<usize>>,
    /// What is shown, as answers are looked for in it.
    text: String,
    /// What the call needs of older results, and how much of it is there. None of a control.
    pub kept: Share,
    /// The conversation that it is of: what it leaves out can be looked up there. None of a control.
    pub conversation: Option<Conversation>,
}

impl View {
    fn push(&mut self, message: &Arc<Message>, whole: Vec<usize>) {
        if !message.is_entry() {
            self.whole.insert(message.id.clone(), whole);
        }
        for part in &message.parts {
            self.text.push_str(&text_of(part, &mut |_| ()));
            self.text.push('\n');
        }
        self.messages.push(Arc::clone(message));
    }

    /// Whether the answer to a question stands in it letter by letter.
    pub fn has(&self, question: &Question) -> bool {
        stands_in(&self.text, &question.expected)
    }

    /// Whether what a question was made from is shown as it was recorded; unknown for a question that somebody brought.
    pub fn keeps(&self, question: &Question) -> Option<bool> {
        let place = question.place.as_ref()?;
        let parts = self.whole.get(&place.message);
        Some(parts.is_some_and(|parts| parts.contains(&place.part)))
    }
}

/// Takes what one request shows.
#[derive(Debug)]
struct Capture<'i> {
    call: usize,
    /// The references of the call.
    needs: &'i [ReferenceNeed],
    view: View,
}

impl Probe for Capture<'_> {
    fn call(&mut self, request: &Request<'_>) {
        if request.call != self.call {
            return;
        }
        let mut retention = Retention::default();
        for need in self.needs {
            retention.count(need, request.tracker.presence(need.reference));
        }
        self.view.kept = retention.obs_far;
        self.view.conversation = Some(request.conversation.clone());
        for shown in request.conversation.sent() {
            if shown.message.id == ASKED {
                continue;
            }
            let parts = 0..shown.message.parts.len();
            let whole = parts.filter(|part| shown.edit(*part).is_none()).collect();
            self.view.push(&shown.to_shared(), whole);
        }
    }
}
