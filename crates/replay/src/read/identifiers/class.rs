//! What an identifier is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of thing an identifier refers to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// A file or a folder.
    Path,
    /// A URL.
    Url,
    /// A name in code.
    Symbol,
    /// An error code or the name of an exception.
    Error,
    /// A hash or an id.
    Hash,
    /// A number.
    Number,
    /// A string in quotes.
    Quoted,
    /// A command-line flag.
    Flag,
}

/// One identifier of a text, normalized.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Identifier<'a> {
    /// What it refers to.
    pub class: Class,
    /// The identifier: a slice of the text that it was found in.
    pub text: &'a str,
}
