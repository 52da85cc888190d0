//! The native part of the Node package: presets, the engine behind `compact` and `Conversation`, `compare`, and
//! the command.
//!
//! The engine is that of all bindings (`foldback::engine`); objects are handled in JavaScript (`bindings/node/lib`). An
//! error has the place of a message, a JSON pointer, as its `code`.

use foldback::CompactError;
use foldback::engine::testing;
use foldback_report::rows::{self, Format};
use foldback_report::{Width, json, table};
use napi::bindgen_prelude::AsyncTask;
use napi::{Env, Error, Result, Task};
use napi_derive::napi;
use similar::TextDiff;
use std::ffi::OsString;

/// An error with a place.
fn placed(unusable: CompactError) -> Error<String> {
    let (path, message) = unusable.into_parts();
    Error::new(path.unwrap_or_default(), message)
}

/// Whole numbers of JavaScript.
fn number(count: u64) -> f64 {
    count as f64
}

/// A strategy: a preset by its name, or one from TOML.
#[napi]
pub struct Preset {
    preset: foldback::engine::Preset,
}

#[napi]
impl Preset {
    /// A preset by its name or one of its aliases.
    #[napi(constructor)]
    pub fn new(name: String) -> Result<Self, String> {
        Ok(Self { preset: foldback::engine::preset(&name).map_err(placed)? })
    }

    /// A strategy from a strategy file: its path, which ends with `.toml`, or its text.
    #[napi(factory)]
    pub fn from_toml(text_or_path: String) -> Result<Self, String> {
        Ok(Self { preset: foldback::engine::from_toml(&text_or_path).map_err(placed)? })
    }

    #[napi(getter)]
    pub fn name(&self) -> String {
        self.preset.strategy.name.clone()
    }

    #[napi(getter)]
    pub fn description(&self) -> String {
        self.preset.strategy.description.clone()
    }

    #[napi(getter)]
    pub fn reproduces(&self) -> String {
        self.preset.strategy.reproduces.clone()
    }

    /// Whether both were made of equal values.
    #[napi]
    pub fn equals(&self, other: &Preset) -> bool {
        self.preset == other.preset
    }
}

/// The presets, in the order of the registry.
#[napi]
pub fn presets() -> Result<Vec<Preset>, String> {
    let made = foldback::engine::presets().map_err(placed)?;
    Ok(made.into_iter().map(|preset| Preset { preset }).collect())
}

/// Messages to send: the numbers of those that stay, from the first of so many; or JSON text of one that is new, with its number
/// where one is changed.
#[napi(object)]
pub struct Messages {
    pub number: Option<u32>,
    pub count: u32,
    pub text: Option<String>,
}

/// Most messages of a request stay, and an object for each of them takes longer than to fold them.
fn runs(sent: Vec<foldback::engine::Message>) -> Vec<Messages> {
    let mut runs: Vec<Messages> = Vec::new();
    for (number, text) in sent {
        match (runs.last_mut(), number, &text) {
            (Some(Messages { number: Some(first), count, text: None }), Some(number), None)
                if *first + *count == number =>
            {
                *count += 1;
            }
            _ => runs.push(Messages { number, count: 1, text }),
        }
    }
    runs
}

/// Tokens of a request by the strategy's own estimator.
#[napi(object)]
pub struct Sizes {
    pub received: f64,
    pub sent: f64,
    pub folds: f64,
}

/// A conversation that is followed from request to request.
#[napi]
pub struct Engine {
    engine: foldback::engine::Engine,
}

#[napi]
impl Engine {
    #[napi(constructor)]
    pub fn new(
        preset: &Preset,
        protocol: String,
        window: Option<f64>,
        max_output: Option<f64>,
        model: Option<String>,
    ) -> Result<Self, String> {
        Ok(Self { engine: engine(preset, &protocol, window, max_output, model)? })
    }

    #[napi]
    pub fn fold(&self, body: String) -> Result<Vec<Messages>, String> {
        Ok(runs(self.engine.fold(&body, &[]).map_err(placed)?))
    }

    #[napi]
    pub fn answered(&self, number: u32, body: String) -> Result<(), String> {
        self.engine.answered(number, &body).map_err(placed)
    }

    #[napi]
    pub fn compact(&self, instructions: Option<String>) -> Result<bool, String> {
        self.engine.compact(instructions).map_err(placed)
    }

    #[napi]
    pub fn overflow(&self) -> Result<bool, String> {
        self.engine.overflow().map_err(placed)
    }

    #[napi]
    pub fn undo(&self) -> bool {
        self.engine.undo()
    }

    #[napi]
    pub fn pin(&self, text: String) -> bool {
        self.engine.pin(&text)
    }

    #[napi]
    pub fn unpin(&self, text: String) -> bool {
        self.engine.unpin(&text)
    }

    #[napi]
    pub fn explain(&self) -> String {
        self.engine.explain()
    }

    #[napi]
    pub fn review(&self, title: String) -> String {
        self.engine.review(&title)
    }

    #[napi]
    pub fn sizes(&self) -> Sizes {
        let (received, sent, folds) = self.engine.sizes();
        Sizes { received: number(received), sent: number(sent), folds: number(folds) }
    }

    #[napi]
    pub fn recall(&self, arguments: String) -> String {
        self.engine.recall(&arguments)
    }

    #[napi]
    pub fn recall_tool(&self) -> String {
        self.engine.recall_tool()
    }
}

fn engine(
    preset: &Preset,
    protocol: &str,
    window: Option<f64>,
    max_output: Option<f64>,
    model: Option<String>,
) -> Result<foldback::engine::Engine, String> {
    let tokens = |count: Option<f64>| count.map(|count| count as u64);
    let (window, max_output) = (tokens(window), tokens(max_output));
    let made = foldback::engine::Engine::new(&preset.preset, protocol, window, max_output, model);
    made.map_err(placed)
}

/// Says what is wrong with the settings of an engine.
#[napi]
pub fn check(
    preset: &Preset,
    protocol: String,
    window: Option<f64>,
    max_output: Option<f64>,
    model: Option<String>,
) -> Result<(), String> {
    engine(preset, &protocol, window, max_output, model).map(|_| ())
}

/// Folds once, in an engine that is gone then: an object of JavaScript would be there until the event loop turns.
#[napi]
pub fn compact(
    preset: &Preset,
    protocol: String,
    window: Option<f64>,
    max_output: Option<f64>,
    model: Option<String>,
    body: String,
) -> Result<Vec<Messages>, String> {
    let engine = engine(preset, &protocol, window, max_output, model)?;
    Ok(runs(engine.fold(&body, &[]).map_err(placed)?))
}

/// What of one list of messages is shown in another. Lists are bodies of requests.
#[napi]
pub fn review(
    protocol: String,
    title: String,
    before: String,
    after: String,
) -> Result<String, String> {
    testing::review(&protocol, &title, &before, &after).map_err(placed)
}

/// The rules of its provider that a list of messages breaks.
#[napi]
pub fn violations(protocol: String, body: String) -> Result<Vec<String>, String> {
    testing::violations(&protocol, &body).map_err(placed)
}

/// The lines in which two texts differ; empty if they are the same.
#[napi]
pub fn diff(before: String, after: String, named: String) -> String {
    let lines = TextDiff::from_lines(&before, &after);
    lines.unified_diff().header(&named, "now").to_string()
}

/// What a comparison gives: its rows as JSON lines, what `--json` writes, and the tables of `--show full`.
#[napi(object)]
pub struct Comparison {
    pub rows: String,
    pub json: String,
    pub text: String,
}

/// A comparison on a thread of its own.
pub struct Comparing(Vec<String>);

impl Task for Comparing {
    type Output = Comparison;
    type JsValue = Comparison;

    fn compute(&mut self) -> Result<Comparison> {
        let arguments = self.0.drain(..).map(OsString::from);
        let compared = foldback_cli::compare(arguments)
            .map_err(|wrong| Error::from_reason(wrong.trim_end()))?;
        let comparison = &compared.comparison;
        let mut rows = Vec::new();
        rows::write(comparison, &compared.store, Format::Jsonl, &mut rows).map_err(reason)?;
        Ok(Comparison {
            rows: String::from_utf8(rows).map_err(reason)?,
            json: json::comparison(comparison).map_err(reason)?,
            text: table::comparison(comparison, Width::pipe()),
        })
    }

    fn resolve(&mut self, _: Env, comparison: Comparison) -> Result<Comparison> {
        Ok(comparison)
    }
}

fn reason(error: impl std::fmt::Display) -> Error {
    Error::from_reason(error.to_string())
}

/// Compares, with the arguments of the command.
#[napi]
pub fn compare(arguments: Vec<String>) -> AsyncTask<Comparing> {
    AsyncTask::new(Comparing(arguments))
}

/// Runs the command `foldback` and gives its exit code. `library` is the file of this library: the package holds the engine
/// once.
#[napi]
pub fn command(library: String, arguments: Vec<String>) -> u32 {
    foldback_cli::run_in(library.into(), arguments.into_iter().map(OsString::from)).into()
}
