//! The condenser of the OpenHands SDK, which counts events, and the compressor of Hermes Agent.
//!
//! | stage | what it does |
//! |---|---|
//! | `openhands.pressure` | folds above a number of events or of tokens |
//! | `openhands.condense` | keeps the first events and about half of the limit at the end; a summary stands for those between |
//! | `hermes.rough`, `hermes.pressure`, `hermes.lines`, `hermes.middle` | estimator, policy, pruner and filter of Hermes Agent ([`hermes`]) |
//!
//! | preset | reproduces |
//! |---|---|
//! | `openhands`, `openhands-80` | `LLMSummarizingCondenser` of openhands-sdk 1.58.0, at its defaults and as the default agent has it |
//! | `hermes` | the context compressor of Hermes Agent 0.19.0 |
//!
//! The README of this crate is the page of the presets.

mod condense;
mod events;
pub mod hermes;
mod pressure;
mod preview;

pub use condense::{Condense, CondenseConfig};
pub use pressure::{PressureConfig, PressureOf};

use hermes::{HermesPressureConfig, LinesConfig, MiddleConfig, RoughConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<RoughConfig>(
            "hermes.rough",
            "Hermes Agent's rough count: characters of messages as Python prints them, divided by four",
        ),
        StageDescriptor::overflow::<HermesPressureConfig>(
            "hermes.pressure",
            "Folds when the provider's count of a request, or an estimate, reaches a share of the window",
        ),
        StageDescriptor::pruner::<LinesConfig>(
            "hermes.lines",
            "Puts a line in place of old results and of repeated ones, and cuts long arguments",
        ),
        StageDescriptor::filter::<MiddleConfig>(
            "hermes.middle",
            "Keeps the first messages once and the newest by a budget; a summary stands for those between",
        ),
        StageDescriptor::overflow::<PressureConfig>(
            "openhands.pressure",
            "Folds above a number of events, above a number of tokens, and when the provider refuses",
        ),
        StageDescriptor::filter::<CondenseConfig>(
            "openhands.condense",
            "Keeps the first events and about half of the limit at the end; a summary stands for those between",
        ),
    ],
    presets: foldback_core::presets!["hermes", "openhands", "openhands-80"],
};

foldback_core::inventory::submit! { REGISTRATION }
