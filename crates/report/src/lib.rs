//! Output for people and programs: terminal tables, JSON, rows, renderings of a view.
//!
//! Everything here takes results and returns text; nothing is computed and nothing is printed.

pub mod audit;
mod columns;
pub mod explain;
mod facts;
pub mod first;
pub mod html;
pub mod inspect;
pub mod json;
pub mod paper;
pub mod plan;
pub mod probe;
pub mod recommend;
pub mod rows;
pub mod schema;
pub mod settings;
pub mod table;
pub mod terminal;
pub mod trial;
pub mod tune;
mod verdict;

#[cfg(test)]
mod tests;

pub use foldback_core::{plain, render};
pub use foldback_replay::number;
pub use terminal::Width;
