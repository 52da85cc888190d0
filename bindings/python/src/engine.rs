//! A conversation in the engine: it takes all messages so far, and gives those to send.

use crate::error::{error, wire};
use crate::preset::Preset;
use foldback::core::services::Services;
use foldback::core::view::Shown;
use foldback::live::SystemClock;
use foldback::live::follow::{Followed, Received, Unsendable, base_of, frame_of, identity};
use foldback::wire::{Dialect, Item, Request, WireError};
use foldback::{Conversation, Limits, Strategy};
use foldback_replay::cost::RegimeTable;
use foldback_replay::{ModelTable, Setup};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A message to send: the number of one that stays, JSON text of one that is new, or both where one is changed.
type Message = (Option<u32>, Option<String>);

/// A conversation that is followed from request to request.
#[pyclass(frozen, module = "foldback")]
pub(crate) struct Engine {
    strategy: Arc<Strategy>,
    dialect: Dialect,
    setup: Setup,
    /// `None` before the first messages.
    followed: Mutex<Option<Followed>>,
}

/// Messages that can't be used.
enum Unusable {
    Wire(WireError),
    Text(String),
}

impl From<WireError> for Unusable {
    fn from(error: WireError) -> Self {
        Self::Wire(error)
    }
}

#[pymethods]
impl Engine {
    #[new]
    #[pyo3(signature = (preset, protocol, window=None, max_output=None, model=None))]
    fn new(
        preset: &Preset,
        protocol: &str,
        window: Option<u64>,
        max_output: Option<u64>,
        model: Option<String>,
    ) -> PyResult<Self> {
        let dialect = Dialect::ALL.into_iter().find(|dialect| dialect.as_str() == protocol);
        let dialect = dialect.ok_or_else(|| error(format!("no protocol is called {protocol}")))?;
        let strategy = Arc::clone(&preset.strategy);
        let limits =
            Limits { context: window.unwrap_or(0), input: 0, output: max_output.unwrap_or(0) };
        let setup = Setup {
            limits,
            model,
            models: ModelTable::embedded(),
            regimes: RegimeTable::embedded(),
            measure: Arc::clone(strategy.estimator()),
        };
        let engine = Self { strategy, dialect, setup, followed: Mutex::default() };
        let (limits, strategy) = (engine.limits(), &engine.strategy);
        if let Some(why) = strategy.refuses(limits) {
            return Err(error(format!(
                "preset {} can't work in a window of {} tokens with {} of output: {why}",
                strategy.name, limits.context, limits.output
            )));
        }
        Ok(engine)
    }

    /// Takes the body of a request with all messages so far, and gives the messages to send.
    fn fold(&self, py: Python<'_>, body: &str) -> PyResult<Vec<Message>> {
        let folded = py.detach(|| self.take(body));
        folded.map_err(|unusable| match unusable {
            Unusable::Wire(wrong) => wire(py, &wrong),
            Unusable::Text(wrong) => error(wrong),
        })
    }

    /// The window and the most output, in tokens.
    #[getter]
    fn window(&self) -> (u64, u64) {
        let limits = self.limits();
        (limits.context, limits.output)
    }
}

impl Engine {
    fn limits(&self) -> Limits {
        let model = self.setup.model.as_deref().or(self.strategy.model.as_deref());
        self.setup.limits_of(model, Limits::default(), &self.strategy)
    }

    fn followed(&self) -> MutexGuard<'_, Option<Followed>> {
        self.followed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, body: &str) -> Result<Vec<Message>, Unusable> {
        let request = Request::parse(self.dialect, body)?;
        let messages = request.messages();
        let keys = identity::keys(self.dialect.as_str(), messages);
        let mut slot = self.followed();
        let continued = slot.take_if(|followed| followed.is_repeated(&keys));
        let mut followed = continued.unwrap_or_else(|| self.begin(&request, &keys));
        let received = Received::of(&request, &keys, self.limits());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let runtime = runtime.map_err(|error| Unusable::Text(error.to_string()))?;
        // Without a journal nothing is written, so nothing can fail to be.
        let _ = runtime.block_on(followed.take(received, |_, _| None));
        let shown = followed.shown(messages, self.dialect).map_err(|error| match error {
            Unsendable::Wire(wrong) => Unusable::Wire(wrong),
            Unsendable::Rule(rule) => Unusable::Text(rule.to_owned()),
        })?;
        let list = match shown {
            Some(shown) => request.folded_list(&shown)?.items,
            None => {
                request.folded_list(&messages.iter().map(Shown::plain).collect::<Vec<_>>())?.items
            }
        };
        *slot = Some(followed);
        Ok(list.into_iter().map(message).collect())
    }

    /// An engine that has seen nothing.
    fn begin(&self, request: &Request, keys: &[identity::Key]) -> Followed {
        let base = base_of(request.messages());
        let frame = frame_of(request.frame(), request.messages(), base);
        let services = Services::with_clock(Arc::new(SystemClock));
        let strategy = Arc::clone(&self.strategy);
        let conversation = Conversation::new(strategy, self.limits(), frame, services);
        Followed::new(conversation, base, keys[base])
    }
}

fn message(item: Item) -> Message {
    match item {
        Item::Keep(index) => (Some(index), None),
        Item::Changed(index, text) => (Some(index), Some(text)),
        Item::New(value) => (None, Some(value.to_string())),
    }
}
