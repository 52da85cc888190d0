//! Stages that no strategy owns: [estimators](estimator), generic [policies](policy), the
//! [extractive summarizer](extractive), and the preset `none`, which never compacts.

pub mod estimator;
pub mod extractive;
pub mod policy;

use estimator::{BpeConfig, CalibratedConfig, CharsConfig, Cl100k};
use extractive::ExtractiveConfig;
use foldback_core::registry::{PresetDescriptor, Registration, StageDescriptor};
use policy::WindowFractionConfig;

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<CharsConfig>("chars", "Characters divided by a number"),
        StageDescriptor::estimator::<BpeConfig>("o200k", "OpenAI's o200k_base vocabulary"),
        StageDescriptor::estimator::<Cl100k>("cl100k", "OpenAI's cl100k_base vocabulary"),
        StageDescriptor::estimator::<CalibratedConfig>(
            "calibrated",
            "Another estimator times a factor fitted on recorded usage",
        ),
        StageDescriptor::overflow::<WindowFractionConfig>(
            "window-fraction",
            "Folds when the request takes more than a share of the usable window",
        ),
        StageDescriptor::summarizer::<ExtractiveConfig>(
            "extractive",
            "Copies what was asked, decided, touched, failed and left open; no model",
        ),
    ],
    presets: &[PresetDescriptor {
        name: "none",
        toml: include_str!("../../../configs/none.toml"),
    }],
};

foldback_core::inventory::submit! { REGISTRATION }
