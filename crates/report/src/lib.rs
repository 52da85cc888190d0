//! What people and programs read: terminal tables, JSON, rows, renderings of a view.
//!
//! Everything here takes results and gives text; nothing is computed anew and nothing is printed.

pub mod explain;
mod facts;
pub mod html;
pub mod inspect;
pub mod json;
pub mod number;
pub mod plan;
pub mod recommend;
pub mod render;
pub mod rereads;
pub mod rows;
pub mod schema;
pub mod table;
pub mod tune;
