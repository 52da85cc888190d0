//! A conversation: it takes all messages so far, and gives those to send.

use crate::error::Unusable;
use crate::preset::Preset;
use crate::source::{Form, Known, Read, Source};
use foldback::core::log::{Answer, Message as LogMessage};
use foldback::core::services::{Clock as _, Services};
use foldback::core::view::Shown;
use foldback::live::follow::{Followed, Received, Unsendable, base_of, frame_of, identity};
use foldback::live::{Recall, SystemClock, tools};
use foldback::wire::{Dialect, Item};
use foldback::{Conversation, Limits, Strategy};
use foldback_replay::cost::RegimeTable;
use foldback_replay::{ModelTable, Setup};
use foldback_report::plan;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A message to send: the number of one that stays, JSON text of one that is new, or both where one is changed.
pub type Message = (Option<u32>, Option<String>);

/// A conversation that is followed from request to request.
pub struct Engine {
    strategy: Arc<Strategy>,
    form: Form,
    setup: Setup,
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
    known: Option<Known>,
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
    ) -> Result<Self, Unusable> {
        let strategy = Arc::clone(&preset.strategy);
        let form = Form::of(protocol);
        let form =
            form.ok_or_else(|| Unusable::Text(format!("no protocol is called {protocol}")))?;
        let limits =
            Limits { context: window.unwrap_or(0), input: 0, output: max_output.unwrap_or(0) };
        let setup = Setup {
            limits,
            model,
            models: ModelTable::embedded(),
            regimes: RegimeTable::embedded(),
            measure: Arc::clone(strategy.estimator()),
        };
        let engine = Self { strategy, form, setup, state: Mutex::default() };
        let (limits, strategy) = (engine.limits(), &engine.strategy);
        if let Some(why) = strategy.refuses(limits) {
            return Err(Unusable::Text(format!(
                "preset {} can't work in a window of {} tokens with {} of output: {why}",
                strategy.name, limits.context, limits.output
            )));
        }
        Ok(engine)
    }

    /// Takes the body of a request with all messages so far, and gives the messages to send. `given` are the provider's
    /// responses that are known, by the numbers of the messages that they are.
    ///
    /// # Errors
    ///
    /// For messages that are not of the protocol.
    pub fn fold(&self, body: &str, given: &[(u32, String)]) -> Result<Vec<Message>, Unusable> {
        let mut known = BTreeMap::new();
        for (number, response) in given {
            known.extend(self.answer(response)?.map(|answer| (*number, answer)));
        }
        let mut state = self.state();
        let State { followed, answers, recall, known: before, keys } = &mut *state;
        let Read { source, known: seen, next } =
            Source::read(self.form, body, before.take(), SystemClock.now())?;
        *before = next;
        let messages = source.messages();
        keys.truncate(seen + 1);
        if seen == 0 {
            *keys = vec![identity::first(self.form.name())];
        }
        identity::extend(keys, messages);
        if followed.as_ref().is_none_or(|followed| !followed.is_repeated(keys)) {
            *followed = Some(self.begin(&source, keys));
            *recall = Recall::new();
        }
        let Some(followed) = followed else { return Ok(Vec::new()) };
        let received = Received {
            messages,
            keys,
            frame: source.frame(),
            model: source.model(),
            limits: self.limits(),
        };
        let usage_of = |_: &_, message: &LogMessage| {
            let number = message.record?;
            known.get(&number).or_else(|| answers.get(&number)).cloned()
        };
        // Without a journal nothing is written, so nothing can fail to be.
        let _ = block_on(followed.take(received, usage_of))?;
        let broken = |Unsendable::Rule(rule)| Unusable::Text(rule.to_owned());
        let shown = followed.shown(messages, self.form.rules()).map_err(broken)?;
        let shown = shown.unwrap_or_else(|| messages.iter().map(Shown::plain).collect());
        Ok(source.items(&shown)?.into_iter().map(message).collect())
    }

    /// Takes what the provider said of its answer, which is or will be the message with this number: the body of the
    /// response.
    ///
    /// # Errors
    ///
    /// For what is no response.
    pub fn answered(&self, number: u32, body: &str) -> Result<(), Unusable> {
        if let Some(answer) = self.answer(body)? {
            self.state().answers.insert(number, answer);
        }
        Ok(())
    }

    /// Folds now, whatever the thresholds are. Whether there was something to fold.
    ///
    /// # Errors
    ///
    /// Where the system gives nothing to wait with.
    pub fn compact(&self, instructions: Option<String>) -> Result<bool, Unusable> {
        self.with(|followed| block_on(followed.compact(instructions))).unwrap_or(Ok(false))
    }

    /// The provider refused the latest request for its size: folds once more. Whether there was something to fold.
    ///
    /// # Errors
    ///
    /// As with [`compact`](Self::compact).
    pub fn overflow(&self) -> Result<bool, Unusable> {
        self.with(|followed| block_on(followed.overflow())).unwrap_or(Ok(false))
    }

    /// Takes the last fold back. Whether there was one.
    pub fn undo(&self) -> bool {
        self.with(|followed| followed.conversation_mut().undo().is_some()).unwrap_or(false)
    }

    /// Every fold in force and why, as `foldback compact --plan` prints them.
    pub fn explain(&self) -> String {
        self.with(|followed| plan::plans(followed.conversation())).unwrap_or_default()
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
        let limits = self.limits();
        (limits.context, limits.output)
    }

    fn limits(&self) -> Limits {
        let model = self.setup.model.as_deref().or(self.strategy.model.as_deref());
        self.setup.limits_of(model, Limits::default(), &self.strategy)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is followed; `None` before the first messages.
    fn with<T>(&self, act: impl FnOnce(&mut Followed) -> T) -> Option<T> {
        self.state().followed.as_mut().map(act)
    }

    /// What a response says of its answer.
    fn answer(&self, body: &str) -> Result<Option<Answer>, Unusable> {
        Ok(foldback::wire::answer(self.form.rules(), "answer", body)?.answer)
    }

    /// An engine that has seen nothing.
    fn begin(&self, source: &Source, keys: &[identity::Key]) -> Followed {
        let base = base_of(source.messages());
        let frame = frame_of(source.frame(), source.messages(), base);
        let services = Services::with_clock(Arc::new(SystemClock));
        let strategy = Arc::clone(&self.strategy);
        let conversation = Conversation::new(strategy, self.limits(), frame, services);
        Followed::new(conversation, base, keys[base])
    }
}

/// Runs what a conversation does. Nothing waits: no model is asked.
fn block_on<F: Future>(future: F) -> Result<F::Output, Unusable> {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    Ok(runtime.map_err(Unusable::text)?.block_on(future))
}

fn message(item: Item) -> Message {
    match item {
        Item::Keep(index) => (Some(index), None),
        Item::Changed(index, text) => (Some(index), Some(text)),
        Item::New(value) => (None, Some(value.to_string())),
    }
}
