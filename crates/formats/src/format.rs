//! What a format is: how it is recognized, read and written.

use crate::sign::Sign;
use crate::write::View;
use crate::{ReadError, Session, WriteError};
use foldback_core::validity::{Dialect, Violation, rule, validate};
use foldback_core::view::ShownMessage;

/// Id of a format: a row of [`FORMATS`](crate::FORMATS).
pub type FormatId = &'static str;

/// One format.
#[derive(Debug)]
pub struct Format {
    /// Its id on the command line.
    pub id: FormatId,
    /// What it is, in a line.
    pub title: &'static str,
    /// What its files are recognized by.
    pub(crate) signs: &'static [Sign],
    /// Reads a text into its sessions, at least one.
    pub read: fn(&str) -> Result<Vec<Session>, ReadError>,
    /// How a session is written; `None` where the format is only read.
    pub writer: Option<Writer>,
    /// Whether a session is written as a log, which holds a compaction and the messages that it replaced, rather than as one
    /// conversation.
    pub log: bool,
    /// Whether files of several sessions, one after the other, are one file.
    pub many: bool,
    /// Whose rules hold for what is sent from a file. Formats without an own provider, which keep what happened and
    /// leave the request to their reader, have none.
    pub provider: Option<Dialect>,
    /// Whether a file is a request to that provider, and no log from which somebody makes one.
    pub request: bool,
}

/// Makes the text of a file from a view; what the format cannot hold goes to the list, one line each.
pub(crate) type Make = fn(&View<'_>, &mut Vec<String>) -> Result<String, WriteError>;

/// The two ways in which a session is written.
#[derive(Clone, Copy, Debug)]
pub struct Writer {
    /// From the records of a file of the same format.
    pub(crate) patch: Make,
    /// Anew.
    pub(crate) generate: Make,
}

impl Format {
    /// A format that is only read.
    pub(crate) const fn new(
        id: FormatId,
        title: &'static str,
        signs: &'static [Sign],
        read: fn(&str) -> Result<Vec<Session>, ReadError>,
    ) -> Self {
        Self {
            id,
            title,
            signs,
            read,
            writer: None,
            log: false,
            many: false,
            provider: None,
            request: false,
        }
    }

    /// This format with a writer.
    pub(crate) const fn written(self, patch: Make, generate: Make) -> Self {
        Self { writer: Some(Writer { patch, generate }), ..self }
    }

    /// This format with the provider whose rules hold for what is sent from a file.
    pub(crate) const fn sent_to(self, provider: Dialect) -> Self {
        Self { provider: Some(provider), ..self }
    }

    /// This format as that of requests to a provider.
    pub(crate) const fn request_to(self, provider: Dialect) -> Self {
        Self { request: true, ..self.sent_to(provider) }
    }

    /// The rules that its provider has and a request of these messages breaks; without a provider of its own, those
    /// that hold for most others. Who makes requests from a log leaves blank texts out.
    pub fn breaks<'a>(&self, sent: impl IntoIterator<Item = ShownMessage<'a>>) -> Vec<Violation> {
        let mut breaks = validate(sent, self.provider.unwrap_or(Dialect::OpenAiChat));
        breaks.retain(|broken| self.request || broken.rule != rule::EMPTY_TEXT);
        breaks
    }
}

/// Files of a format that are no text. They are told by their first bytes.
#[derive(Debug)]
pub(crate) struct Binary {
    /// The ids under which they may be asked for.
    pub(crate) ids: &'static [FormatId],
    /// What they begin with.
    pub(crate) magic: &'static [u8],
    /// Reads a file.
    pub(crate) read: fn(&[u8]) -> Attempt,
}

/// What reading a binary file gave; `None` if the file only begins like the format.
pub(crate) type Attempt = Option<Result<Vec<Session>, ReadError>>;
