//! What the tests of the workspace share: sessions made in code, every preset compiled, and the
//! laboratory in one call.

/// The examples of the documents compile and run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../../docs/agents.md")]
    struct Agents;
    #[doc = include_str!("../../docs/stages.md")]
    struct Stages;
    #[doc = include_str!("../../docs/testkit.md")]
    struct Testkit;
    #[doc = include_str!("../../crates/providers/README.md")]
    struct Providers;
}

use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_replay::ReplayOptions;
use std::sync::Arc;

pub mod fuzz;
pub mod lab;
pub mod planted;

pub use foldback_testkit::lines as file;

/// All presets, by name.
pub fn presets() -> Vec<Arc<Strategy>> {
    let registry = foldback::registry().expect("a registry");
    registry.presets().map(|preset| strategy(preset.item.name)).collect()
}

/// One preset.
pub fn strategy(name: &str) -> Arc<Strategy> {
    Arc::new(owned(name))
}

/// One preset, to be changed by a test.
pub fn owned(name: &str) -> Strategy {
    let registry = foldback::registry().expect("a registry");
    foldback::preset(&registry, name).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Whether a preset keeps all guards on.
pub fn guarded(strategy: &Strategy) -> bool {
    strategy.guards.off().is_empty()
}

/// A session, told in user turns and model calls, statement by statement.
#[derive(Debug, Default)]
pub struct Script(foldback_testkit::Session);

impl Script {
    /// The user says something.
    pub fn user(&mut self, text: &str) -> &mut Self {
        self.0 = std::mem::take(&mut self.0).user(text);
        self
    }

    /// The model says something and runs tools: name, arguments, result.
    pub fn call(&mut self, text: &str, tools: &[(&str, &str, &str)]) -> &mut Self {
        self.0 = std::mem::take(&mut self.0).calls(text, tools);
        self
    }

    /// The session, as if it had been recorded.
    pub fn session(&self) -> Session {
        Session::of_messages("script", self.0.messages().to_vec())
    }
}

/// Replay options with a window, measured by characters.
pub fn options(context: u64, output: u64) -> ReplayOptions {
    use foldback_stages::estimator::{Rounding, Unit, chars};
    ReplayOptions {
        limits: Limits::new(context, output),
        model: None,
        prices: None,
        measure: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
        validate: true,
        completions: None,
        ceiling: None,
    }
}
