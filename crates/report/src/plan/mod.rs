//! Plans for people and for programs.

mod json;

pub use foldback_core::render::{plans, reports};
pub use json::{Plans, VERSION, Views};
