//! What is read: sources of sessions, what their recorders did and counted, and what each call of a session needs, by two
//! independent judges.

pub mod calibrate;
pub mod copies;
pub mod corpus;
pub mod history;
pub mod identifiers;
pub mod images;
pub mod index;
pub mod recorder;
pub mod repositories;
pub(crate) mod scale;
pub(crate) mod split;
pub(crate) mod verbatim;
