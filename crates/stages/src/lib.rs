//! Stages that no strategy owns: [estimators](estimator), generic [policies](policy),
//! [pruners](pruner) and [filters](filter), the [extractive summarizer](extractive) and what stands for a [sealed] summary.
//! And the presets that are there to compare with: `none`, which never compacts, `random`, `keep-last-1` and
//! `drop-oldest`, which any strategy worth its name should beat.

pub mod estimator;
pub mod extractive;
pub mod filter;
pub mod policy;
pub mod pruner;
pub mod python;
pub mod rate;
pub mod sealed;
pub mod split;
mod usable;

use estimator::{BpeConfig, CalibratedConfig, CharsConfig, Cl100k};
use extractive::ExtractiveConfig;
use filter::{DropOldestConfig, DropPairsConfig};
use foldback_core::registry::{Registration, StageDescriptor};
use policy::{AnswerUsageConfig, BreakEvenConfig, WindowFractionConfig};
use pruner::{ClearToolUsesConfig, EvictConfig, KeepLastConfig};
use sealed::{Sealed, SealedConfig};

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
        StageDescriptor::overflow::<BreakEvenConfig>(
            "break-even",
            "Folds once carrying on has cost what a fold costs, at the prices of the model",
        ),
        StageDescriptor::overflow::<AnswerUsageConfig>(
            "answer-usage",
            "Folds when the usage of the last answer, or an estimate of the next request, reaches a limit",
        ),
        StageDescriptor::pruner::<EvictConfig>(
            "evict",
            "Above a trigger, clears tool results in a chosen order down to a target",
        ),
        StageDescriptor::pruner::<KeepLastConfig>(
            "keep-last",
            "Clears all tool results except the newest ones, one by one or in batches",
        ),
        StageDescriptor::pruner::<ClearToolUsesConfig>(
            "clear-tool-uses",
            "Above a trigger, clears all tool results except the newest few",
        ),
        StageDescriptor::filter::<DropOldestConfig>(
            "drop-oldest",
            "Drops the oldest messages without a replacement",
        ),
        StageDescriptor::filter::<DropPairsConfig>(
            "drop-pairs",
            "Drops old calls with their results; what was said stays word for word",
        ),
        StageDescriptor::summarizer::<ExtractiveConfig>(
            "extractive",
            "Extracts what was requested, decided, touched, failed and left open; no model",
        ),
        StageDescriptor::summarizer::<SealedConfig>(
            Sealed::NAME,
            "Stands for a summary that only its provider can read: a size, and no content",
        ),
    ],
    presets: foldback_core::presets!["none", "random", "keep-last-1", "drop-oldest"],
};

foldback_core::inventory::submit! { REGISTRATION }
