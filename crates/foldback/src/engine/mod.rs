//! A conversation whose messages stay with somebody else: it takes all of them so far, and gives those to send. Behind
//! [`compact`](crate::compact), and behind the packages for other languages.
//!
//! Messages cross as the JSON text that a provider would be sent, and come back as numbers of messages that stay and as
//! JSON text of those that do not. Each package handles its language's objects.

mod error;
mod preset;
mod source;
pub mod testing;

pub use error::CompactError;
pub use preset::{Preset, from_file, from_toml, preset, presets};

use crate::{Conversation, Limits, Services, Strategy};
use foldback_core::log::{Answer, Message as LogMessage};
use foldback_core::render;
use foldback_core::services::Clock as _;
use foldback_core::view::ShownMessage;
use foldback_live::follow::{Followed, Received, Unsendable, base_of, frame_of, identity};
use foldback_live::{Recall, SystemClock, tools};
use foldback_providers::prices::ModelTable;
use foldback_providers::wire::{Dialect, Item};
use source::{Form, KnownBody, Source, SourceRead};
use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A message to send: the number of one that stays, JSON text of one that is new, or both where one is changed.
pub type Message = (Option<u32>, Option<String>);

/// A conversation that is followed from request to request.
pub struct Engine {
    strategy: Arc<Strategy>,
    form: Form,
    /// In force.
    limits: Limits,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// `None` before the first messages.
    followed: Option<Followed>,
    /// What the provider said of answers, by their numbers in the list of messages.
    answers: BTreeMap<u32, Answer>,
    recall: Recall,
    /// What was read of the latest messages, and their keys.
    known: Option<KnownBody>,
    keys: Vec<identity::Key>,
}

impl Engine {
    /// A conversation under a strategy. `window` and `max_output` are the limits of the model in tokens; else they are those
    /// of `model` in the built-in table, else the strategy's.
    ///
    /// # Errors
    ///
    /// For a protocol that is not known, and limits in which the strategy can't work.
    pub fn new(
        preset: &Preset,
        protocol: &str,
        window: Option<u64>,
        max_output: Option<u64>,
        model: Option<String>,
    ) -> Result<Self, CompactError> {
        let form = Form::by_name(protocol)
            .ok_or_else(|| CompactError::Text(format!("no protocol is called {protocol}")))?;
        let given = Limits::new(window.unwrap_or(0), max_output.unwrap_or(0));
        Self::within(preset, form, given, model.as_deref())
    }

    /// A conversation within limits; those that are zero are looked up.
    fn within(
        preset: &Preset,
        form: Form,
        given: Limits,
        model: Option<&str>,
    ) -> Result<Self, CompactError> {
        let strategy = Arc::clone(&preset.strategy);
        let model = model.or(strategy.model.as_deref());
        let models = ModelTable::embedded();
        let table = model.and_then(|model| models.find(model).map(|model| model.limits()));
        let limits = strategy.limits(given, Limits::default(), table.unwrap_or_default());
        let limits = limits.or(Limits::DEFAULT).consistent(given.output > 0);
        if let Some(why) = strategy.refuses(limits) {
            return Err(CompactError::Text(format!(
                "preset {} can't work in a window of {} tokens with {} of output: {why}",
                strategy.name, limits.context, limits.output
            )));
        }
        Ok(Self { strategy, form, limits, state: Mutex::default() })
    }

    /// Takes the body of a request with all messages so far, and gives the messages to send. `given` are the provider's
    /// responses that are known, by the numbers of the messages that they are.
    ///
    /// # Errors
    ///
    /// For messages that are not of the protocol.
    pub fn fold(&self, body: &str, given: &[(u32, String)]) -> Result<Vec<Message>, CompactError> {
        self.with_view(body, given, |source, shown| {
            Ok(source.items(shown)?.into_iter().map(message).collect())
        })
    }

    /// Takes the body of a request, and makes something of its messages as the view shows them; of `None` where nothing is folded.
    fn with_view<T>(
        &self,
        body: &str,
        given: &[(u32, String)],
        make: impl FnOnce(&Source, Option<&[ShownMessage<'_>]>) -> Result<T, CompactError>,
    ) -> Result<T, CompactError> {
        let mut known = BTreeMap::new();
        for (number, response) in given {
            known.extend(self.answer(response)?.map(|answer| (*number, answer)));
        }
        let mut state = self.state();
        let State { followed, answers, recall, known: before, keys } = &mut *state;
        let SourceRead { source, known: seen, next } =
            Source::read(self.form, body, before.take(), SystemClock.now())?;
        *before = next;
        let messages = source.messages();
        keys.truncate(seen + 1);
        if seen == 0 {
            *keys = vec![identity::first(self.form.name())];
        }
        identity::extend(keys, messages);
        if followed.as_ref().is_some_and(|followed| !followed.is_repeated(keys)) {
            *followed = None;
            *recall = Recall::new();
        }
        let followed = followed.get_or_insert_with(|| self.begin(&source, keys));
        let received = Received {
            messages,
            keys,
            frame: source.frame(),
            model: source.model(),
            limits: self.limits,
        };
        let usage_of = |_: &_, message: &LogMessage| {
            let number = message.record?;
            known.get(&number).or_else(|| answers.get(&number)).cloned()
        };
        // Without a journal nothing is written, so nothing can fail to be.
        let _ = at_once(followed.take(received, usage_of))?;
        let broken = |Unsendable::Rule(rule)| CompactError::Text(rule.to_owned());
        let shown = followed.shown(messages, self.form.rules()).map_err(broken)?;
        make(&source, shown.as_deref())
    }

    /// Takes what the provider said of its answer, which is or will be the message with this number: the body of the
    /// response.
    ///
    /// # Errors
    ///
    /// For what is no response.
    pub fn answered(&self, number: u32, body: &str) -> Result<(), CompactError> {
        if let Some(answer) = self.answer(body)? {
            self.state().answers.insert(number, answer);
        }
        Ok(())
    }

    /// Folds now, whatever the thresholds are. Whether there was something to fold.
    ///
    /// # Errors
    ///
    /// Where a stage waits for something.
    pub fn compact(&self, instructions: Option<String>) -> Result<bool, CompactError> {
        self.with(|followed| at_once(followed.compact(instructions))).unwrap_or(Ok(false))
    }

    /// The provider refused the latest request for its size: folds once more. Whether there was something to fold.
    ///
    /// # Errors
    ///
    /// As with [`compact`](Self::compact).
    pub fn overflow(&self) -> Result<bool, CompactError> {
        self.with(|followed| at_once(followed.overflow())).unwrap_or(Ok(false))
    }

    /// Takes the last fold back. Whether there was one.
    pub fn undo(&self) -> bool {
        self.with(|followed| followed.conversation_mut().undo().is_some()).unwrap_or(false)
    }

    /// Keeps a text word for word in what is sent, whatever is folded: one that some message says. Whether one does.
    pub fn pin(&self, text: &str) -> bool {
        self.with(|followed| followed.conversation_mut().pin_text(text)).unwrap_or(false)
    }

    /// Lets folds have a text again, or all that begin so. Whether one was pinned.
    pub fn unpin(&self, text: &str) -> bool {
        self.with(|followed| followed.conversation_mut().unpin_text(text)).unwrap_or(false)
    }

    /// Every fold in force and why, as `foldback compact --show plan` prints them.
    pub fn explain(&self) -> String {
        self.with(|followed| render::plans(followed.conversation())).unwrap_or_default()
    }

    /// Every fold and what is shown in the end, as `foldback snapshot` writes them.
    pub fn review(&self, title: &str) -> String {
        self.with(|followed| render::review(title, followed.conversation())).unwrap_or_default()
    }

    /// Tokens of all messages and of those to send, by the strategy's estimator, and the folds in force.
    pub fn sizes(&self) -> (u64, u64, u64) {
        let sizes = self.with(|followed| followed.sizes()).unwrap_or_default();
        (sizes.received, sizes.sent, sizes.folds)
    }

    /// Answers a call of the tool `recall`.
    pub fn recall(&self, arguments: &str) -> String {
        let mut state = self.state();
        let State { followed, recall, .. } = &mut *state;
        let Some(followed) = followed else {
            return "Nothing was cleared.".to_owned();
        };
        let answer = tools::handle(recall, followed.conversation(), arguments);
        followed.conversation_mut().note_recall();
        answer
    }

    /// The definition of the tool `recall`, as JSON.
    pub fn recall_tool(&self) -> String {
        match self.form.rules() {
            Dialect::Anthropic => tools::anthropic(),
            Dialect::OpenAiChat | Dialect::OpenAiResponses | Dialect::Gemini => tools::openai(),
        }
        .to_string()
    }

    /// The window and the most output, in tokens.
    pub fn window(&self) -> (u64, u64) {
        (self.limits.context, self.limits.output)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is followed; `None` before the first messages.
    fn with<T>(&self, act: impl FnOnce(&mut Followed) -> T) -> Option<T> {
        self.state().followed.as_mut().map(act)
    }

    /// What a response says of its answer.
    fn answer(&self, body: &str) -> Result<Option<Answer>, CompactError> {
        Ok(foldback_providers::wire::answer(self.form.rules(), "answer", body)?.answer)
    }

    /// An engine that has seen nothing.
    fn begin(&self, source: &Source, keys: &[identity::Key]) -> Followed {
        let base = base_of(source.messages());
        let frame = frame_of(source.frame(), source.messages(), base);
        let services = Services::with_clock(Arc::new(SystemClock));
        let strategy = Arc::clone(&self.strategy);
        let conversation = Conversation::new(strategy, self.limits, frame, services);
        Followed::new(conversation, base, keys[base])
    }
}

/// What a conversation does. Nothing waits, as no model is asked; so this needs no runtime, and may be called inside of one.
fn at_once<F: Future>(future: F) -> Result<F::Output, CompactError> {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Ok(done),
        Poll::Pending => Err(CompactError::text(
            "a stage of the strategy waits for something, as for a model; drive it with `foldback::agent`",
        )),
    }
}

/// The body to send in place of a request's body, which has all messages of a conversation so far.
///
/// The strategy acts as it would have acted at every call of this conversation. So the body for a conversation that has
/// grown begins like the one before, and the provider's prompt cache stays warm. Where nothing is folded, the body comes
/// back as it was; messages that no fold touched keep their bytes.
///
/// The protocol is recognized: OpenAI Chat Completions and Responses, Anthropic Messages, Gemini. Limits that are zero are
/// those of the request's model in the built-in table, else the preset's, else 200,000 and 32,000 tokens. No model is
/// asked: a preset that has one write its summaries is refused. For an agent's loop, [`agent`](crate::agent()) takes each
/// message once.
///
/// ```
/// use foldback::Limits;
///
/// let body = r#"{"model": "gpt-5", "messages": [{"role": "user", "content": "Why does the build fail?"}]}"#;
/// let send = foldback::compact(body, "opencode-1.17", Limits::new(200_000, 32_000))?;
/// assert_eq!(send, body); // It is short.
/// # Ok::<(), foldback::CompactError>(())
/// ```
///
/// # Errors
///
/// For a preset that is not known or can't work within the limits, and for a body that is no request.
pub fn compact(body: &str, preset: &str, limits: Limits) -> Result<String, CompactError> {
    let preset = self::preset(preset)?;
    if !preset.strategy.asks().is_empty() {
        return Err(CompactError::Text(format!(
            "preset {} has a model write its summaries; drive it with `foldback::agent`",
            preset.strategy.name
        )));
    }
    let (form, model) = Form::of_body(body)?;
    let engine = Engine::within(&preset, form, limits, model.as_deref())?;
    engine.with_view(body, &[], |source, shown| source.body(shown))
}

fn message(item: Item) -> Message {
    match item {
        Item::Keep(index) => (Some(index), None),
        Item::Changed(index, text) => (Some(index), Some(text)),
        Item::New(value) => (None, Some(value.to_string())),
    }
}
