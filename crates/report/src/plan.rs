//! Plans for people and for programs.

pub use foldback_core::render::{plans, reports};

use foldback_core::conversation::{Conversation, Fold};
use foldback_core::plan::Plan;
use foldback_core::position::Place;
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_replay::cost::SummaryCall;
use foldback_replay::{Probe, Request};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// Version of [`Plans`]. Fields may be added; one that goes or changes its meaning makes a new one.
pub const VERSION: u32 = 1;

/// All committed plans of a conversation as programs read them: with the session's log, enough to make every
/// view again.
#[derive(Debug, Serialize)]
pub struct Plans<'a> {
    /// [`VERSION`].
    schema_version: u32,
    /// Id of the session.
    session: &'a str,
    /// Id of its format.
    format: &'a str,
    /// Name of the preset, with the summarizer that stood in.
    preset: String,
    /// The folds, in order.
    folds: Vec<PlanLine<'a>>,
    /// The views that calls were sent, in order; empty where no calls were replayed.
    calls: &'a [View],
    /// The requests to a summarizer, in order, those that failed included.
    asked: &'a [SummaryRequestLine],
}

/// A request to a summarizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
struct SummaryRequestLine {
    /// Number of the call that came next, from 0; after the last call the number of calls.
    call: usize,
    /// Its input in tokens, as the bill has it.
    input_tokens: u64,
    /// Those of them that the request before had, which the provider's cache may hold.
    shared_tokens: u64,
}

/// A committed plan.
#[derive(Debug, Serialize)]
struct PlanLine<'a> {
    /// Number of the fold, from 1.
    id: u64,
    /// When it was committed, by the clock of the recording, in milliseconds since the Unix epoch.
    at: i64,
    /// Number of the call that came next, from 0.
    call: usize,
    /// Messages that the history had before it, those of earlier plans included.
    history_len: usize,
    /// What was done.
    #[serde(flatten)]
    plan: &'a Plan,
}

impl<'a> Plans<'a> {
    /// The plans of a conversation that went through a session.
    pub fn new(session: &'a Session, conversation: &'a Conversation, views: &'a Views) -> Self {
        let history = conversation.history();
        let calls = |until: usize| {
            history.range(0..until).filter(|(_, message)| message.is_answer()).count()
        };
        let line = |fold: &'a Fold| PlanLine {
            id: fold.id,
            at: fold.at,
            call: calls(fold.history_len()),
            history_len: fold.history_len(),
            plan: &fold.plan,
        };
        Self {
            schema_version: VERSION,
            session: &session.id,
            format: session.format,
            preset: conversation.strategy().label(),
            folds: conversation.folds().iter().map(line).collect(),
            calls: &views.calls,
            asked: &views.asked,
        }
    }
}

/// What a call was sent, as far as somebody needs it who makes the view again and wants to know whether it
/// is the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct View {
    /// Number of messages.
    messages: usize,
    /// SHA-256 over the messages' own: of the role and, after a zero byte each, of what the parts show.
    sha256: String,
}

/// Notes the view of every call of a replay.
#[derive(Debug, Default)]
pub struct Views {
    /// Of the messages that were shown as they are now.
    known: HashMap<Place, [u8; 32]>,
    calls: Vec<View>,
    asked: Vec<SummaryRequestLine>,
}

impl Views {
    /// Notes the requests to a summarizer, each with the number of the call that came next.
    pub fn asked(&mut self, inputs: &[SummaryCall]) {
        let asked = |asked: &SummaryCall| SummaryRequestLine {
            call: asked.call,
            input_tokens: asked.input_tokens,
            shared_tokens: asked.shared_tokens,
        };
        self.asked = inputs.iter().map(asked).collect();
    }
}

impl Probe for Views {
    fn call(&mut self, request: &Request<'_>) {
        for pos in request.delta.positions() {
            self.known.remove(&Place::Item(pos));
        }
        let (history, view) = (request.conversation.history(), request.conversation.view());
        let mut all = Sha256::new();
        for place in view.places() {
            let digest = self.known.entry(*place);
            all.update(digest.or_insert_with(|| digest_of(&view.show(history, *place))));
        }
        let sha256 = all.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        self.calls.push(View { messages: view.places().len(), sha256 });
    }
}

fn digest_of(shown: &ShownMessage<'_>) -> [u8; 32] {
    let mut digest = Sha256::new();
    digest.update(shown.message.role.as_str());
    for part in 0..shown.message.parts.len() {
        digest.update([0]);
        digest.update(shown.text_of(part).as_bytes());
    }
    digest.finalize().into()
}
