//! JSON text as bytes: finds values in it, and changes some of them without touching the rest.
//!
//! Parsing a recorded line and writing it again changes almost every real one: escapes, number
//! spelling, spaces. A writer therefore copies what it did not touch and patches what it did.
//! `parse` reads JSON that a strict parser refuses, `scan` finds byte ranges, `edit` changes values at JSON
//! pointers (RFC 6901), and `document` puts a document together again from its records.

mod document;
mod edit;
mod parse;
mod scan;

pub use document::{Item, rebuild};
pub use edit::{Change, json_string, patch};
pub use parse::parse;
pub use scan::{RawError, elements, lines, locate, numbered_lines, values};
