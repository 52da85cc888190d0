#![doc = include_str!("../README.md")]
//!
//! # Stages and presets
//!
//! The names of the stages and the presets are found in the registry of the linked crates.
//! This crate names every strategy crate behind a feature, so that `use foldback as _;` is enough.

mod agent;
#[doc(hidden)]
pub mod engine;

pub use agent::{AgentBuilder, AgentError, Missing, agent};
pub use engine::{CompactError, compact};
pub use foldback_core as core;
pub use foldback_core::config::{self, Compiled, ConfigErrors, Document, Options};
pub use foldback_core::conversation::{Conversation, Report, Signals};
pub use foldback_core::moment::{Moment, Trigger};
pub use foldback_core::outcome::{Outcome, Why};
pub use foldback_core::plan::Plan;
pub use foldback_core::registry::{Registration, Registry, RegistryError};
pub use foldback_core::services::Services;
pub use foldback_core::stage;
pub use foldback_core::strategy::{Strategy, StrategyBuilder, StrategyError};
pub use foldback_core::{Frame, Limits, Message, Part, PartKind, Role, SegmentKind};
pub use foldback_live as live;
pub use foldback_provider_errors as provider_errors;
pub use foldback_stages as stages;
pub use foldback_wire as wire;

/// What an agent's loop uses, to be imported whole: `use foldback::prelude::*;`.
pub mod prelude {
    pub use crate::live::{AgentLoop, Next, Stopped};
    pub use crate::{AgentBuilder, AgentError, agent};
    pub use crate::{Conversation, Limits, Message, Moment, Outcome, Part, Role, Signals};
}

#[cfg(feature = "claude-code")]
pub use foldback_claude_code as claude_code;
#[cfg(feature = "codex")]
pub use foldback_codex as codex;
#[cfg(feature = "gemini")]
pub use foldback_gemini as gemini;
#[cfg(feature = "indexed")]
pub use foldback_indexed as indexed;
#[cfg(feature = "langchain")]
pub use foldback_langchain as langchain;
#[cfg(feature = "llm")]
pub use foldback_llm as llm;
#[cfg(feature = "masking")]
pub use foldback_masking as masking;
#[cfg(feature = "mxf")]
pub use foldback_mxf as mxf;
#[cfg(feature = "opencode")]
pub use foldback_opencode as opencode;
#[cfg(feature = "openhands")]
pub use foldback_openhands as openhands;
#[cfg(feature = "pi")]
pub use foldback_pi as pi;
#[cfg(feature = "tiered")]
pub use foldback_tiered as tiered;
#[cfg(feature = "tunacode")]
pub use foldback_tunacode as tunacode;
#[cfg(feature = "window")]
pub use foldback_window as window;
use std::path::Path;

/// What the crates that this one names register, without the link-time registry: for static
/// libraries, whose constructors do not run.
pub fn registrations() -> Vec<&'static Registration> {
    vec![
        &foldback_stages::REGISTRATION,
        #[cfg(feature = "indexed")]
        &foldback_indexed::REGISTRATION,
        #[cfg(feature = "langchain")]
        &foldback_langchain::REGISTRATION,
        #[cfg(feature = "llm")]
        &foldback_llm::REGISTRATION,
        #[cfg(feature = "opencode")]
        &foldback_opencode::REGISTRATION,
        #[cfg(feature = "tunacode")]
        &foldback_tunacode::REGISTRATION,
        #[cfg(feature = "masking")]
        &foldback_masking::REGISTRATION,
        #[cfg(feature = "gemini")]
        &foldback_gemini::REGISTRATION,
        #[cfg(feature = "mxf")]
        &foldback_mxf::REGISTRATION,
        #[cfg(feature = "pi")]
        &foldback_pi::REGISTRATION,
        #[cfg(feature = "claude-code")]
        &foldback_claude_code::REGISTRATION,
        #[cfg(feature = "codex")]
        &foldback_codex::REGISTRATION,
        #[cfg(feature = "openhands")]
        &foldback_openhands::REGISTRATION,
        #[cfg(feature = "window")]
        &foldback_window::REGISTRATION,
        #[cfg(feature = "tiered")]
        &foldback_tiered::REGISTRATION,
    ]
}

/// Everything that is linked into this binary: the crates named here and those of third parties.
pub fn registry() -> Result<Registry, RegistryError> {
    let linked = core::inventory::iter::<Registration>().collect::<Vec<_>>();
    Registry::of(registrations().into_iter().chain(linked))
}

/// Compiles a preset by its name or one of its aliases. Reads no environment and no files.
pub fn preset(registry: &Registry, name: &str) -> Result<Strategy, ConfigErrors> {
    config::compile_preset(registry, name, Options::default()).map(|compiled| compiled.strategy)
}

/// Reads what a strategy file extends, for [`Options::read_file`]: files that it names are looked up beside it.
pub fn read_beside(file: &Path) -> impl Fn(&str) -> Result<String, String> + use<> {
    let folder = file.parent().map(Path::to_owned).unwrap_or_default();
    move |other| std::fs::read_to_string(folder.join(other)).map_err(|error| error.to_string())
}
