//! What the bindings to other languages share: presets, and the engine behind their `compact` and `Conversation`.
//!
//! It decides nothing and converts nothing: messages cross as the JSON text that a provider would be sent, and come back
//! as numbers of messages that stay and as JSON text of those that do not. Each binding handles its language's objects.

mod engine;
mod error;
mod preset;
mod source;

pub use engine::{Engine, Message};
pub use error::Unusable;
pub use preset::{Preset, from_file, from_toml, preset, presets};
