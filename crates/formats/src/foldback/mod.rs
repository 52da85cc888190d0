//! `foldback`: the project's own lines, which lose nothing.
//!
//! A header, then one JSON object a line: the records of the file that the session was read from, its
//! messages, what was cleared, compactions, warnings. A session that goes out and comes back is the
//! same session, down to the bytes of the file that it was first read from, so it can still be written
//! in its recorder's own format. `docs/foldback.md` lists the lines.

mod read;
mod write;

use crate::prelude::*;
use crate::session::SentRequest;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

pub(crate) use read::read;

/// Its id.
const ID: FormatId = "foldback";

/// The format, with its reader: that has to know the ids of the others.
pub(crate) const fn format(read: fn(&str) -> Result<Vec<Session>, ReadError>) -> Format {
    Format {
        log: true,
        many: true,
        ..Format::new(ID, "foldback: lossless lines, one record or message each", SIGNS, read)
            .written(write::write, write::write)
    }
}

const SIGNS: &[Sign] = &[Sign::new(100, &[Has("/foldback"), Has("/format")])];

/// Version of the lines written here; larger ones are refused.
const VERSION: u64 = 1;

/// The first line of a session.
#[derive(Debug, Serialize, Deserialize)]
struct Header<'a> {
    /// The version of the lines.
    foldback: u64,
    id: Cow<'a, str>,
    /// The format that the session was first read from.
    format: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    model: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cluster: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<Cow<'a, str>>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    frame: Cow<'a, Frame>,
    /// Messages and calls as the first format counts them, if its counts differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recorded: Option<Recorded>,
    /// Absent for a session that was not read from a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source: Option<SourceLine<'a>>,
}

/// How the source file was divided. Its text is the `lead` and `raw` of all records in order, then the
/// `tail`.
#[derive(Debug, Serialize, Deserialize)]
struct SourceLine<'a> {
    shape: Shape,
    records: usize,
    tail: Cow<'a, str>,
}

/// Every other line: an object with one member, which says what it is.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "made and used up one at a time")]
enum Line<'a> {
    /// A record of the source file, with the text between it and the record before.
    Record { index: u32, lead: Cow<'a, str>, raw: Cow<'a, str> },
    /// A message of the history, in stored order.
    Message(Cow<'a, Message>),
    /// An answer that was paid for and is in no message.
    Unlogged { index: u32, answer: Cow<'a, Answer> },
    /// A request as it was sent.
    Request(Cow<'a, SentRequest>),
    /// A part whose content is cleared; the message still holds it.
    Cleared { message: Cow<'a, str>, part: usize, time: i64 },
    /// A part that is shown cut; the message holds all of it. Reading gives it back uncut.
    Truncated { message: Cow<'a, str>, part: usize, time: i64, text: Cow<'a, str> },
    /// A compaction that the recorder made.
    Boundary(Cow<'a, Boundary>),
    /// What an importer could not use.
    Warning(Cow<'a, Warning>),
    /// What was sent, if that is not the whole history in order. Reading ignores it.
    View(Vec<ViewMessage<'a>>),
}

/// One message of a view: of the history, by id, or inserted.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "made and used up one at a time")]
enum ViewMessage<'a> {
    Message(Cow<'a, str>),
    Insert(Cow<'a, Message>),
}
