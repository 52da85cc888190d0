//! Stand-in for object storage in a build without it.

use crate::error::Error;
use foldback_replay::Source;

fn none(url: &str) -> Error {
    Error::left_out(&format!("{url}: object storage"), "object-store")
}

pub(crate) fn sources(url: &str) -> Result<Vec<Source>, Error> {
    Err(none(url))
}

pub(crate) fn bytes(url: &str) -> Result<Vec<u8>, Error> {
    Err(none(url))
}

/// A source for any URL, so that the error comes when it is read.
pub(crate) fn is_folder(_: &str) -> bool {
    false
}
