//! Stages written in Python: `use = "python"` in a strategy file, with the name of a function that was registered.

use crate::error::error;
use foldback::Registration;
use foldback::core::registry::{Invalid, StageConfig, StageDescriptor};
use foldback::core::services::Services;
use foldback::core::stage::{
    Filter, Pruner, Pruning, StageContext, Summarizer, Summary, SummaryError, SummaryRequest,
};
use foldback::core::view::EditKind;
use foldback::stages::filter::{DropPairs, Pair, PairsConfig, Scorer};
use foldback::wire::{self, Dialect};
use foldback::{Message, Moment, Why};
use pyo3::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Functions by section and name.
type Functions = BTreeMap<(String, String), Arc<Py<PyAny>>>;

/// Those that are registered. A strategy keeps the ones that it was made with.
static FUNCTIONS: Mutex<Functions> = Mutex::new(Functions::new());

/// Registers a function, in place of one of that name.
#[pyfunction]
pub(crate) fn register(section: &str, name: &str, function: Py<PyAny>) -> PyResult<()> {
    if !REGISTRATION.stages.iter().any(|stage| stage.kind().section() == section) {
        return Err(error(format!("there are no functions for [{section}]")));
    }
    let mut functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = functions.insert((section.to_owned(), name.to_owned()), Arc::new(function));
    Ok(())
}

/// A function as a stage.
struct Function {
    name: String,
    function: Arc<Py<PyAny>>,
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Function {
    fn of(section: &str, name: String) -> Result<Arc<Self>, Invalid> {
        let functions = FUNCTIONS.lock().unwrap_or_else(PoisonError::into_inner);
        let function = functions.get(&(section.to_owned(), name.clone())).ok_or_else(|| {
            let known = functions.keys().filter(|(of, _)| of == section);
            let known: Vec<&str> = known.map(|(_, name)| name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Invalid::new("function", format!("no {section} `{name}` is registered; known: {known}"))
        })?;
        Ok(Arc::new(Self { name: format!("python {name}"), function: Arc::clone(function) }))
    }

    /// What it gives for a text of JSON, or what it raised, which Python is told as well: the engine does not stop at it.
    fn call<T>(&self, given: &str) -> Result<T, String>
    where
        T: for<'a, 'py> FromPyObject<'a, 'py, Error = PyErr>,
    {
        Python::attach(|py| {
            let given = self.function.call1(py, (given,)).and_then(|given| given.extract(py));
            given.map_err(|raised: PyErr| {
                let message = format!("{}: {raised}", self.name);
                raised.write_unraisable(py, Some(self.function.bind(py)));
                message
            })
        })
    }
}

/// A function written in Python.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct Config {
    /// The name under which it was registered.
    function: String,
}

impl StageConfig<dyn Summarizer> for Config {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        Ok(Function::of("summarizer", self.function)?)
    }
}

impl StageConfig<dyn Pruner> for Config {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Function::of("pruner", self.function)?)
    }
}

/// `drop-pairs` with a function that says what pairs are worth.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct ScorerConfig {
    /// The name under which it was registered.
    function: String,
    /// Which pairs may go, and how many do.
    pairs: PairsConfig,
}

impl StageConfig<dyn Filter> for ScorerConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(DropPairs::new(self.pairs, Function::of("filter", self.function)?)?))
    }
}

#[async_trait::async_trait]
impl Summarizer for Function {
    fn id(&self) -> &str {
        &self.name
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _: &Services,
    ) -> Result<Summary, SummaryError> {
        let messages: Vec<Message> =
            request.messages.iter().map(|message| Message::clone(message)).collect();
        let given = json!({
            "messages": wire::messages(Dialect::OpenAiChat, &messages, &mut Vec::new()),
            "budget": request.budget,
            "previous": request.previous,
            "style": request.style,
            "instructions": request.instructions,
        });
        let text: String = self.call(&given.to_string()).map_err(SummaryError::Failed)?;
        let tokens = request.estimator.text(&text);
        Ok(Summary { text, tokens, by: self.name.clone(), usage: None, lacks: None })
    }
}

/// It runs before every request, unless `when` says otherwise, on the results that no pruner changed.
impl Pruner for Function {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let results: Vec<_> =
            context.meter.standing().filter(|result| result.edit.is_none()).collect();
        let given = results.iter().enumerate().map(|(number, result)| {
            let part = &context.history.message(result.at.item).parts[result.at.part];
            let tool = &context.meter.tools()[result.tool as usize];
            json!({ "number": number, "tool": tool, "text": part.shown(), "tokens": result.tokens })
        });
        let given = serde_json::Value::from_iter(given).to_string();
        let texts: BTreeMap<usize, String> = match self.call(&given) {
            Ok(texts) => texts,
            Err(raised) => return Pruning::Nothing(Why::new("failed", raised)),
        };
        let (mut edits, mut prunable) = (Vec::new(), 0);
        for (number, text) in texts {
            let Some(result) = results.get(number) else {
                let why = format!("{}: there is no result {number}", self.name);
                return Pruning::Nothing(Why::new("failed", why));
            };
            let at = result.at;
            let edit =
                context.edit(at.item, at.part, EditKind::Truncate, text.into(), self.name.clone());
            prunable += edit.before.saturating_sub(edit.after);
            edits.push(edit);
        }
        if edits.is_empty() {
            return Pruning::Nothing(Why::new("nothing", format!("{} changes none", self.name)));
        }
        let reason = format!("{} results changed by {}", edits.len(), self.name);
        Pruning::Edits { edits, prunable, reason }
    }
}

impl Scorer for Function {
    fn worth(&self, context: &StageContext<'_>, pairs: &[Pair]) -> Result<Vec<f64>, Why> {
        let given = pairs.iter().enumerate().map(|(number, pair)| {
            let messages = pair
                .positions
                .iter()
                .map(|pos| context.view.show_item(context.history, *pos).to_message());
            let messages: Vec<Message> = messages.collect();
            let messages = wire::messages(Dialect::OpenAiChat, &messages, &mut Vec::new());
            json!({ "number": number, "messages": messages, "tokens": pair.tokens })
        });
        let given = serde_json::Value::from_iter(given).to_string();
        self.call(&given).map_err(|raised| Why::new("failed", raised))
    }
}

const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::pruner::<Config>("python", "A function written in Python"),
        StageDescriptor::filter::<ScorerConfig>(
            "python",
            "drop-pairs, by a function written in Python",
        ),
        StageDescriptor::summarizer::<Config>("python", "A function written in Python"),
    ],
    presets: &[],
};

foldback::core::inventory::submit! { REGISTRATION }
