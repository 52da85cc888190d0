//! `inspect`: logs of Inspect AI evaluations, as one JSON document, as the `.eval` archive that holds the
//! same in parts, or one sample of it.
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
    detect,
    read::read,
);

/// The archive.
pub(crate) const ARCHIVE: Binary =
    Binary { ids: &["inspect"], magic: b"PK\x03\x04", read: archive::read };

fn detect(_: &str, opening: &Peek) -> u8 {
    let log = opening.has("/eval/task") && (opening.has("/eval/model") || opening.has("/plan"));
    let sample = opening.has("/epoch") && opening.has("/target") && opening.has("/messages");
    match (log, sample) {
        (true, _) => 95,
        (false, true) => 90,
        _ => 0,
    }
}
