//! foldback's own strategy. When the window fills, or when a pause has let the prompt cache expire, the oldest messages
//! go as a whole, and one note keeps the lines of them that later calls are likely to need.
//!
//! What is likely goes by three facts: how many lines of results have had a word, how long ago the last one came, and how many
//! other words came with it.
//!
//! | stage | what it does |
//! |---|---|
//! | `indexed.note` | leaves out the oldest messages; one note keeps lines of them ([`note`]) |
//!
//! The policy is the common stage `window-fraction`. What a note is made of, module by module:
//!
//! ```text
//! text        lines and telling words of a text
//! message     what a message says, read once
//! known       what a history says so far, read as it grows
//! shown       what the view still says
//! candidates  what a fold may keep
//! lines       the best of it, written down
//! note        what goes: the stage `indexed.note`
//! ```

mod candidates;
mod known;
pub mod lines;
pub mod message;
pub mod note;
mod shown;
pub mod text;
pub mod worth;

use foldback_core::registry::{Registration, StageDescriptor};

/// The stages and presets of this crate.
pub const REGISTRATION: Registration = Registration {
    package: env!("CARGO_PKG_NAME"),
    version: env!("CARGO_PKG_VERSION"),
    stages: &[StageDescriptor::filter::<note::NoteConfig>(
        "indexed.note",
        "Leaves out the oldest messages; a note keeps the lines that are likely to be needed again",
    )],
    presets: foldback_core::presets!["indexed", "indexed-large"],
};

foldback_core::inventory::submit! { REGISTRATION }
