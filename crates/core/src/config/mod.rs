//! Strategy files: what a user writes, and how it becomes a strategy.
//!
//! Three forms, each with one job. The [`Document`] is what the user wrote, with positions. The plan
//! of the pipeline is presets merged and stages bound, with all errors collected at once. The
//! [`Strategy`](crate::strategy::Strategy) is ready to run.
//!
//! ```toml
//! name = "mine"
//! extends = "tunacode-local"      # and only what changes
//!
//! [[pruner]]
//! use = "tunacode.placeholder"
//! protect_tokens = 4_000
//! ```

mod bind;
mod compile;
mod document;
mod error;
mod extend;
mod header;
mod merge;
mod node;
mod read;
mod values;

pub use compile::{Compiled, compile, compile_preset};
pub use document::Document;
pub use error::{ConfigError, ConfigErrors, in_words, nearest};
pub use extend::{Options, ReadEnv, ReadFile};
pub use header::{EnvFlag, Header};
pub use node::{Location, Node, NodeKind};
pub use values::{NonBlank, Share};
