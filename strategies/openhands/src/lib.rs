#![doc = include_str!("../README.md")]

mod condense;
mod events;
mod pressure;
mod preview;

pub use condense::{Condense, CondenseConfig};
pub use pressure::{PressureConfig, PressureOf};

use foldback_core::registry::{PresetDescriptor, Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::overflow::<PressureConfig>(
            "openhands.pressure",
            "Folds above a number of events, above a number of tokens, and when the provider refuses",
        ),
        StageDescriptor::filter::<CondenseConfig>(
            "openhands.condense",
            "Keeps the first events and about half of the limit at the end; a summary stands for those between",
        ),
    ],
    presets: &[
        PresetDescriptor { name: "openhands", toml: include_str!("../presets/openhands.toml") },
        PresetDescriptor {
            name: "openhands-80",
            toml: include_str!("../presets/openhands-80.toml"),
        },
    ],
};

foldback_core::inventory::submit! { REGISTRATION }
