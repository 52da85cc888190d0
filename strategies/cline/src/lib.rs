//! Cline's compaction without a model: what a person said stays, with a note of the files and commands behind it, and of the newest
//! steps as many as fit.
//!
//! | stage | what it does |
//! |---|---|
//! | `cline.json` | counts a message as the JSON that Cline keeps |
//! | `cline.request` | folds when the next request reaches a share of what the model takes |
//! | `cline.notices` | keeps messages of the person, the newest steps and older answers; notes stand for the rest |
//!
//! The README of this crate is the page of the preset.

mod activity;
mod json;
mod kept;
mod notices;
mod project;
mod request;
mod turn;

pub use activity::NOTICE;
pub use json::{Json, JsonConfig};
pub use notices::{Notices, NoticesConfig};
pub use request::{Request, RequestConfig};

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[
        StageDescriptor::estimator::<JsonConfig>(
            "cline.json",
            "Cline's estimate: a message as JSON, three UTF-16 units a token",
        ),
        StageDescriptor::overflow::<RequestConfig>(
            "cline.request",
            "Folds when the next request reaches a share of what the model takes",
        ),
        StageDescriptor::filter::<NoticesConfig>(
            "cline.notices",
            "Keeps what the person said, the newest steps and older answers; notes name the files and commands of the rest",
        ),
    ],
    presets: foldback_core::presets!["cline"],
};

foldback_core::inventory::submit! { REGISTRATION }
