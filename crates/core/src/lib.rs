//! The nouns of foldback and the driver that joins them.
//!
//! The log is append-only and never altered; a strategy only ever *folds* it, a fold is data, and
//! every fold can be unfolded. From the outside in:
//!
//! - [`Conversation`](conversation::Conversation) is the one driver. An agent loop and the replay
//!   laboratory both append messages to it and call it at explicit [moments](moment::Moment).
//! - It holds a [`History`](history::History) (log and entries in stored order), a
//!   [`View`](view::View) over it (what the model would be sent now) and a compiled
//!   [`Strategy`](strategy::Strategy).
//! - A strategy is put together from five kinds of [stage] by a [TOML file](config). Stages
//!   propose; a [`Plan`](plan::Plan) is the proposal as data; [guards](guard) check it; committing it
//!   makes it a fold.
//! - Stages and presets are [registered at link time](registry) by the crates that own them. Nothing
//!   here names a strategy.
//!
//! This crate does no I/O and never reads the wall clock: time and ids come from
//! [`Services`](services::Services).

#[doc(hidden)]
pub mod carry;
mod changes;
pub mod config;
pub mod conversation;
#[doc(hidden)]
pub mod counters;
pub mod delta;
#[doc(hidden)]
pub mod diff;
pub mod event;
pub mod fold_stats;
#[doc(hidden)]
pub mod fraction;
pub mod frame;
pub mod guard;
pub mod history;
#[doc(hidden)]
pub mod idle;
#[doc(hidden)]
pub mod layout;
pub mod limits;
pub mod log;
pub mod meter;
pub mod moment;
pub mod outcome;
#[doc(hidden)]
pub mod plain;
pub mod plan;
#[doc(hidden)]
pub mod position;
pub mod provider;
pub mod registry;
#[doc(hidden)]
pub mod render;
pub mod services;
pub mod stage;
#[doc(hidden)]
pub mod step;
pub mod strategy;
#[doc(hidden)]
pub mod validity;
pub mod view;
#[doc(hidden)]
pub mod work;

#[doc(no_inline)]
pub use inventory;

pub use frame::{Frame, Segment, SegmentKind};
pub use limits::Limits;
pub use log::{Message, Origin, Part, PartKind, Role};
