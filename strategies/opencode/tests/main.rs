//! The conformance rows of OpenCode and BRUTUS, as tables: id, where it comes from, what is given, what
//! is expected. `coverage` holds the list of all rows and the exceptions, each with its reason.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod boundary;
mod coverage;
mod flow;
mod overflow;
mod presets;
mod properties;
mod prune;
mod recorded;
mod rendering;
mod request;
mod support;
mod tail;
mod usage;
mod v1_18;
mod v2;
