//! JSON text as bytes: where values lie in it, and how to change a few of them without touching the
//! rest.
//!
//! Parsing a recorded line and writing it again changes almost every real one: escapes, number
//! spelling, spaces. A writer therefore copies what it did not touch and patches what it did.
//! `scan` finds byte ranges, `edit` changes values at JSON pointers (RFC 6901), `document` puts
//! a document together again from its records, and `peek` looks at an opening for detection.

mod document;
mod edit;
mod peek;
mod scan;

pub(crate) use document::{Item, rebuild};
pub(crate) use edit::{Change, json_string, patch};
pub(crate) use peek::peek;
pub(crate) use scan::{RawError, elements, lines, locate, numbered_lines, parse};
