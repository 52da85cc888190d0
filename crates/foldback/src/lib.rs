#![doc = include_str!("../README.md")]
//!
//! # Stages and presets
//!
//! The names of the stages and the presets are found in the registry of the linked crates.
//! This crate names every strategy crate (feature `strategies`), so that `use foldback as _;` is enough.

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
pub use foldback_providers::{errors as provider_errors, wire};
pub use foldback_stages as stages;

/// What an agent's loop uses, to be imported whole: `use foldback::prelude::*;`.
pub mod prelude {
    pub use crate::live::{AgentLoop, Next, Stopped};
    pub use crate::{AgentBuilder, AgentError, agent};
    pub use crate::{Conversation, Limits, Message, Moment, Outcome, Part, Role, Signals};
}

#[cfg(feature = "llm")]
pub use foldback_llm as llm;
use std::path::Path;

/// Names the crate of each strategy once: its module here, and what it registers.
macro_rules! strategies {
    ($($package:ident as $name:ident,)*) => {
        $(
            #[cfg(feature = "strategies")]
            pub use $package as $name;
        )*

        const STRATEGIES: &[&Registration] = &[
            $(
                #[cfg(feature = "strategies")]
                &$package::REGISTRATION,
            )*
        ];
    };
}

strategies! {
    foldback_claude_code as claude_code,
    foldback_codex as codex,
    foldback_gemini as gemini,
    foldback_indexed as indexed,
    foldback_langchain as langchain,
    foldback_mxf as mxf,
    foldback_opencode as opencode,
    foldback_openhands as openhands,
    foldback_pi as pi,
    foldback_pruning as pruning,
    foldback_tiered as tiered,
    foldback_tunacode as tunacode,
    foldback_cline as cline,
    foldback_dsh as dsh,
    foldback_window as window,
}

/// What the crates that this one names register, without the link-time registry: for static
/// libraries, whose constructors do not run.
pub fn registrations() -> Vec<&'static Registration> {
    let mut all = vec![
        &foldback_stages::REGISTRATION,
        #[cfg(feature = "llm")]
        &foldback_llm::REGISTRATION,
    ];
    all.extend(STRATEGIES);
    all
}

/// Everything that is linked into this binary: the crates named here and those of third parties.
pub fn registry() -> Result<Registry, RegistryError> {
    let linked = core::inventory::iter::<Registration>().collect::<Vec<_>>();
    Registry::from_registrations(registrations().into_iter().chain(linked))
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
