//! `inspect`: logs of Inspect AI evaluations: a JSON document, an `.eval` archive with a file for each sample, or a
//! single sample.
//!
//! Every sample is a session; a record is one of its messages. What the provider said about a call is in
//! the events of the sample. `docs/inspect.md` has the mapping.

mod archive;
mod events;
mod read;

use crate::format::Binary;
use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "inspect",
    "Inspect AI: evaluation logs, JSON or `.eval`, one session for every sample",
    SIGNS,
    read::read,
);

/// The archive.
pub(crate) const ARCHIVE: Binary =
    Binary { ids: &["inspect"], magic: b"PK\x03\x04", read: archive::read };

const SIGNS: &[Sign] = &[
    Sign::new(95, &[Has("/eval/task"), Any(&[Has("/eval/model"), Has("/plan")])]),
    Sign::new(90, &[Has("/epoch"), Has("/target"), Has("/messages")]),
];
