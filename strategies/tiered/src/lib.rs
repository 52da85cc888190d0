//! The tiered residual scheme of MXF, as its document describes it.
//!
//! The document is the specification: none of what it describes was ever written. It contradicts
//! itself in fifteen places; the preset `tiered` follows one reading of each, the preset
//! `tiered-doc-exact` follows the letter. The crate's README lists both.
//!
//! | stage | what it does |
//! |---|---|
//! | `tiered.residual` | keeps important messages and summarizes the others in tiers ([`residual`]) |
//!
//! | module | question |
//! |---|---|
//! | [`score`], [`mentions`] | how important is a message? |
//! | [`selection`] | which messages bypass compression? |
//! | [`tiers`] | which are shown raw, which are summarized how hard? |
//! | [`budget`] | how many tokens does each part of the prompt get? |
//! | [`truncate`] | what if no summary can be had? |
//! | [`cache`] | was this summarized before? |
//! | `reference` | what did a summary replace? |
//! | [`segments`], [`assembly`] | what stands around the conversation? |

pub mod assembly;
pub mod budget;
pub mod cache;
pub mod config;
mod cut;
mod fold;
pub mod mentions;
mod pattern;
pub mod reference;
mod render;
pub mod residual;
mod scheme;
pub mod score;
pub mod segments;
pub mod selection;
pub mod tiers;
pub mod truncate;

pub use config::TieredConfig;
pub use scheme::TieredResidual;

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::filter::<TieredConfig>(
        residual::NAME,
        "Keeps important messages; summarizes older ones in tiers, older tiers more strongly",
    )],
    presets: foldback_core::presets!["tiered", "tiered-doc-exact"],
};

foldback_core::inventory::submit! { REGISTRATION }
