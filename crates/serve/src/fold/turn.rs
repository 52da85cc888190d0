//! From the body of a request to the body that its provider is sent.
//!
//! All of this runs apart from the tasks that wait for connections: reading and folding a large request takes
//! milliseconds of computing. After any failure, a panic included, the client's own bytes are sent.

use super::Id;
use super::conversations::state::{SharedState, State, Wish};
use super::conversations::{AnsweredRequest, Conversations};
use super::prefix::{self, ParsedRequest};
use crate::bill::breakpoints;
use crate::bill::requests::{Dispatch, Pair};
use crate::outcome::Outcome;
use crate::trial::arms::Arms;
use crate::trial::log::TrialPlace;
use crate::trial::unit::UnitHints;
use axum::body::Bytes;
use foldback_core::Limits;
use foldback_core::log::Message;
use foldback_live::follow::identity::{self, Key};
use foldback_live::follow::{Followed, Received, Sizes, Unsendable};
use foldback_providers::wire::responses::{Resolved, resolved};
use foldback_providers::wire::{Dialect, Request, Text, WireError};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::sync::Arc;
use tokio::runtime::Handle;

/// A request as it is sent on.
#[derive(Debug)]
pub(crate) struct Rewrite {
    /// What was done with it.
    pub(crate) outcome: Outcome,
    /// What to send.
    pub(crate) body: Bytes,
    /// The conversation, if it is followed.
    pub(crate) turn: Option<Turn>,
    /// A fold for which a model is to be asked.
    pub(crate) wish: Option<Wish>,
}

/// The second attempt for a request that was refused for its size.
#[derive(Debug)]
pub(crate) struct Retry {
    /// The request after one more fold, with its sizes; `None` if nothing was folded.
    pub(crate) sent: Option<(Bytes, Turn)>,
    /// A fold for which a model is to be asked.
    pub(crate) wish: Option<Wish>,
}

/// A request of a conversation that is followed, until its answer is there.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(super) conversations: Arc<Conversations>,
    pub(crate) id: Id,
    pub(super) shared: SharedState,
    /// With the items that it refers to.
    pub(crate) request: Request,
    /// Where it refers to items.
    references: Option<Arc<Resolved>>,
    /// Whether the provider keeps the answer's items, so that later requests may refer to them.
    pub(crate) is_stored: bool,
    pub(crate) keys: Arc<Vec<Key>>,
    /// The sizes of the request.
    pub(crate) sizes: Sizes,
    /// What it is priced by; `None` if the price of its model is not known.
    pub(crate) pair: Option<Pair>,
    /// What the provider was sent.
    pub(crate) sent: Dispatch,
    /// Its place in the trial.
    pub(crate) trial: Option<TrialPlace>,
}

/// Reads a request and folds its conversation. `model` is the one that its path names.
pub(crate) async fn rewrite(
    arms: &Arc<Arms>,
    hints: UnitHints,
    dialect: Dialect,
    model: Option<String>,
    body: Vec<u8>,
) -> Rewrite {
    let passed =
        |why, body| Rewrite { outcome: Outcome::Passed(why), body, turn: None, wish: None };
    let text = match String::from_utf8(body) {
        Ok(text) => Text::from(text),
        Err(error) => return passed("not-text", error.into_bytes().into()),
    };
    // The same bytes in memory.
    let body = Bytes::from_owner(text.clone());
    let (shared, bytes) = (Arc::clone(arms), body.clone());
    let work = move || match begin(&shared, &hints, dialect, model, &text) {
        Ok((turn, limits)) => turn.fold(limits, bytes),
        Err(why) => passed(why, bytes),
    };
    let rewrite = arms.threads.work(body.len(), work).await;
    rewrite.unwrap_or(Rewrite { outcome: Outcome::Fault("panic"), body, turn: None, wish: None })
}

/// The request and its conversation, or why it goes through.
fn begin(
    arms: &Arms,
    hints: &UnitHints,
    dialect: Dialect,
    model: Option<String>,
    body: &Text,
) -> Result<(Turn, Limits), &'static str> {
    let is_stored = dialect == Dialect::OpenAiResponses && !is_not_stored(body);
    let resolved = is_stored
        .then(|| resolved(body, |id| arms.all.iter().find_map(|arm| arm.item(id))))
        .flatten();
    let (references, whole) = match resolved {
        Some(mut resolved) => {
            let whole = std::mem::take(&mut resolved.body);
            (Some(Arc::new(resolved)), Text::from(whole))
        }
        None => (None, body.clone()),
    };
    let matched = arms.all.iter().find_map(|arm| arm.take_prefix(whole.as_bytes()));
    let read = prefix::read(dialect, &whole, matched, arms.first().folding.clock.now()).map_err(
        |error| match error {
            WireError::Elsewhere { pointer } => {
                arms.first().kept_elsewhere(&pointer);
                "kept-elsewhere"
            }
            _ => "not-understood",
        },
    )?;
    let ParsedRequest { mut request, keys, prefix } = read;
    if let Some(model) = model {
        request = request.with_model(model);
    }
    if request.messages().is_empty() {
        return Err("no-messages");
    }
    let (conversations, trial) = arms.choose(hints, &request, &keys);
    let folding = &conversations.folding;
    let limits = conversations.limits(request.model()).ok_or("window-unknown")?;
    if folding.strategy.refuses(limits).is_some() {
        return Err("window-too-small");
    }
    let (id, shared) = conversations.find_or_begin(&request, &keys, limits);
    conversations.keep_prefix(id, prefix);
    let sent = if folding.shadow { Dispatch::Shadow } else { Dispatch::View };
    let (sizes, pair) = (Sizes::default(), None);
    let turn = Turn {
        conversations,
        id,
        shared,
        request,
        references,
        is_stored,
        keys,
        sizes,
        pair,
        sent,
        trial,
    };
    Ok((turn, limits))
}

/// Whether a request says that the provider is to keep nothing of it. In a text its quotes would be escaped.
fn is_not_stored(body: &str) -> bool {
    memchr::memmem::find_iter(body.as_bytes(), "\"store\"").any(|at| {
        let rest = body[at + 7..].trim_start();
        rest.strip_prefix(':').is_some_and(|rest| rest.trim_start().starts_with("false"))
    })
}

/// Forgets the conversation unless all went well: a panic leaves it in an unknown state.
struct Guarded<'a> {
    conversations: &'a Conversations,
    id: Id,
    good: bool,
}

impl Drop for Guarded<'_> {
    fn drop(&mut self) {
        if !self.good {
            self.conversations.forget(self.id);
        }
    }
}

impl Turn {
    fn fold(mut self, limits: Limits, body: Bytes) -> Rewrite {
        let conversations = Arc::clone(&self.conversations);
        let mut guard = Guarded { conversations: &conversations, id: self.id, good: false };
        let shared = Arc::clone(&self.shared);
        let mut state = Handle::current().block_on(shared.lock());
        if !state.followed.is_repeated(&self.keys) {
            // A longer request of the same conversation was faster.
            guard.good = true;
            return Rewrite { outcome: Outcome::Passed("overtaken"), body, turn: None, wish: None };
        }
        if state.catch_up(&self.keys).is_err() {
            conversations.unwritten();
        }
        let State { followed, requests, .. } = &mut *state;
        let answer = |key: &Key, echo: &_| conversations.answers.answer(key, echo);
        let taken = followed.take(Received::new(&self.request, &self.keys, limits), answer);
        if Handle::current().block_on(taken).is_err() {
            conversations.unwritten();
        }
        self.sizes = followed.sizes();
        self.pair = requests.take(&conversations.folding, &self.request, followed);
        let folded = self.written(followed);
        conversations.note(self.id, &self.request, &mut state);
        let wish = state.wish(self.id);
        guard.good = true;
        drop(state);
        let sizes = self.sizes;
        let (outcome, body) = match folded {
            _ if conversations.folding.shadow => (Outcome::Shadow(sizes), body),
            Ok(None) => (Outcome::Unchanged(sizes), body),
            Ok(Some(folded)) => (Outcome::Folded(sizes), folded),
            Err(why) => {
                self.sent = Dispatch::Own;
                (Outcome::Fault(why), body)
            }
        };
        Rewrite { outcome, body, turn: Some(self), wish }
    }

    /// The request as the view shows it; `None` if nothing changed.
    fn written(&self, followed: &Followed) -> Result<Option<Bytes>, &'static str> {
        let (request, dialect) = (&self.request, self.request.dialect());
        let shown = followed.shown(request.messages(), dialect);
        let Some(shown) = shown.map_err(|Unsendable::Rule(rule)| rule)? else { return Ok(None) };
        let not_written = |_| "not-written";
        let body = match dialect {
            Dialect::Anthropic => {
                let mut list = request.folded_list(&shown).map_err(not_written)?.items;
                breakpoints::moved(request, &mut list).map_err(|_| "breakpoints")?;
                request.with_list(&list)
            }
            _ => match &self.references {
                Some(references) => {
                    let mut list = request.folded_list(&shown).map_err(not_written)?.items;
                    references.refer(&mut list);
                    request.with_list(&list)
                }
                None => request.folded(&shown).map_err(not_written)?.body,
            },
        };
        Ok(Some(body.into()))
    }

    /// The provider's answer to the request, and its items that later requests may refer to.
    pub(crate) fn answered(&self, answer: &Message, items: Vec<(String, String)>) {
        let request = AnsweredRequest {
            id: self.id,
            dialect: self.request.dialect(),
            key: identity::end(&self.keys),
            sizes: self.sizes,
            pair: self.pair.as_ref(),
            sent: self.sent,
        };
        let bill = self.conversations.answered(&request, answer);
        if let Some(place) = &self.trial {
            let (folds, not_sent) = (self.sizes.folds, self.sent == Dispatch::Own);
            place.answered(answer, &bill, folds, not_sent);
        }
        self.conversations.keep_items(self.id, items);
    }

    /// Whether the strategy waits for the idle moment behind an answer.
    pub(crate) fn waits_for_idle(&self) -> bool {
        self.conversations.folding.strategy.waits_for_idle()
    }

    /// Whether the client has the answer streamed, where the body says so: Gemini's protocol has it in the path.
    pub(crate) fn streams(&self) -> bool {
        // Only its members are looked at.
        let members: Option<BTreeMap<&str, &RawValue>> =
            serde_json::from_str(self.request.body()).ok();
        members.is_some_and(|members| members.get("stream").is_some_and(|it| it.get() == "true"))
    }

    /// Takes note of the window of the model, in tokens, which the provider named in a refusal.
    pub(crate) fn learn_window(&self, tokens: u64) {
        self.conversations.learn_window(self.request.model(), tokens);
    }

    /// The provider refused the request for its size, so it is folded once more.
    pub(crate) async fn retry(&self) -> Retry {
        let mut turn = self.clone();
        let bytes = turn.request.body().len();
        let again = move || {
            let conversations = Arc::clone(&turn.conversations);
            let mut guard = Guarded { conversations: &conversations, id: turn.id, good: false };
            let shared = Arc::clone(&turn.shared);
            let mut state = Handle::current().block_on(shared.lock());
            let State { followed, requests, .. } = &mut *state;
            let current = followed.is_at(&turn.keys);
            let folded = current && Handle::current().block_on(followed.overflow());
            if followed.record().is_err() {
                conversations.unwritten();
            }
            let body = if folded { turn.written(followed) } else { Ok(None) };
            turn.sizes = followed.sizes();
            guard.good = true;
            let now = conversations.folding.clock.now();
            let body = body.ok().flatten();
            if body.is_some() {
                turn.pair = turn.pair.map(|pair| requests.again(pair, followed, now));
                conversations.note(turn.id, &turn.request, &mut state);
            }
            let wish = state.wish(turn.id);
            drop(state);
            Retry { sent: body.map(|body| (body, turn)), wish }
        };
        let again = self.conversations.threads.work(bytes, again).await;
        again.unwrap_or(Retry { sent: None, wish: None })
    }
}
