//! What the Model Exchange Framework (MXF) runs: old tool results become a line each, and a request that the provider refused is
//! sent again with every result stripped, then with a structured summary in place of all but the newest messages.
//!
//! | stage | what it does |
//! |---|---|
//! | `mxf.tokens` | MXF's estimate of a history ([`Tokens`]) |
//! | `mxf.microcompact` | strips tool results: old ones above a threshold, all where the provider refused ([`Microcompact`]) |
//! | `mxf.recover` | keeps the newest messages below a summary ([`Recover`]) |
//! | `mxf.structured` | extracts that summary, without a model ([`Structured`]) |
//!
//! The scheme that MXF documents and never implemented is the preset `tiered`, in a crate of its own. The README of this crate is the
//! page of the preset.

mod microcompact;
mod recover;
mod structured;
mod tokens;

pub use microcompact::{Microcompact, MicrocompactConfig, placeholder};
pub use recover::{Recover, RecoverConfig};
pub use structured::{Structured, StructuredConfig};
pub use tokens::{Tokens, TokensConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<TokensConfig>(
            "mxf.tokens",
            "MXF's estimate: the text of a message, and the list of its calls as JSON",
        ),
        StageDescriptor::pruner::<MicrocompactConfig>(
            "mxf.microcompact",
            "Strips old tool results above a threshold, and all of them where a request was refused",
        ),
        StageDescriptor::filter::<RecoverConfig>(
            "mxf.recover",
            "A summary of the whole history stands before its newest messages",
        ),
        StageDescriptor::summarizer::<StructuredConfig>(
            "mxf.structured",
            "Extracts requests, decisions, tool runs, errors and pending work by patterns; no model",
        ),
    ],
    presets: foldback_core::presets!["mxf"],
};

foldback_core::inventory::submit! { REGISTRATION }
