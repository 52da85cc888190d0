//! `opencode`: to be written.

use crate::ReadError;
use crate::table::Format;

pub(crate) const FORMAT: Format = Format {
    id: "opencode",
    title: "",
    detect: |_| 0,
    read: |_| Err(ReadError::NoMessages),
    write: None,
};
