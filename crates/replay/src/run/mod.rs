//! The replay of a session: what it is run with, the driver, and a row for each call.

pub(crate) mod again;
pub(crate) mod asked;
pub mod controls;
pub(crate) mod drive;
pub(crate) mod forced;
pub(crate) mod idle;
pub mod setup;
pub mod state;
pub mod totals;
pub mod walk;
