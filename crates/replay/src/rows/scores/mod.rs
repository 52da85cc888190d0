//! Results of a part of a corpus in a file: a comparison is scored in parts, on one machine or many, and put together on
//! one.
//!
//! A part is JSON lines. Nothing in them depends on the machine.
//!
//! | `line` | what it holds |
//! |---|---|
//! | `head` | schema, version of foldback, and what the results depend on: a hash of limits, tables, prices, estimator and split, and one of each preset |
//! | `source` | path and hash of a file that was read, and why it was not used, if it was not |
//! | `unreadable` | path of a file that was not read, and why |
//! | `entry` | results under the hash of all that they depend on: of a file, of a session, or of a session under a preset |
//! | `end` | a hash of the lines before it, so that a part that was cut or changed on its way is found |
//!
//! Reading parts gives a corpus of sources whose results are all in a [`Store`](crate::Store), and a comparison of that
//! corpus is the comparison of all files: sources are in the order of their paths, whatever the order of the parts.

mod read;
mod write;

pub use read::Reader;
pub use write::{Scored, score};

use crate::read::split::Split;
use crate::rows::store::{Key, key};
use crate::run::setup::{Preset, Setup};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Version of the lines.
pub(crate) const SCHEMA: &str = "foldback/scores/4";

/// A line of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    /// Comes first.
    Head(Head),
    /// A file that was read.
    Source {
        /// Its path.
        path: String,
        /// Hash of its bytes.
        content: String,
        /// Why it was not used, if it was not.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    /// A file that could not be read.
    Unreadable {
        /// Its path.
        path: String,
        /// Why.
        reason: String,
    },
    /// Results.
    Entry(Entry),
    /// Comes last.
    End {
        /// Of all lines before it.
        hash: String,
    },
}

/// Results of a file, of a session, or of a session under a preset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// What they are about.
    pub of: Of,
    /// Path of the file.
    pub path: String,
    /// Hash of the file.
    pub content: String,
    /// Id of the session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Name of the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Name in the store, in hexadecimal digits.
    pub key: String,
    /// As the store has it, in base64.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub data: Vec<u8>,
}

fn to_base64<S: Serializer>(data: &[u8], out: S) -> Result<S::Ok, S::Error> {
    out.serialize_str(&BASE64_STANDARD.encode(data))
}

fn from_base64<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(from)?;
    BASE64_STANDARD.decode(text).map_err(|error| de::Error::custom(format!("data: {error}")))
}

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    /// The sessions of a file.
    File,
    /// What no preset changes of a session.
    Session,
    /// A session under a preset.
    Preset,
}

/// What the results of a part depend on besides the sessions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    schema: String,
    version: String,
    /// Hash of limits, tables, prices, estimator and split.
    setup: String,
    presets: Vec<ScoredPreset>,
}

/// A preset of a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScoredPreset {
    name: String,
    /// Hash of its merged configuration.
    configuration: String,
}

impl Line {
    /// As JSON, with the end of a line.
    fn json(&self) -> serde_json::Result<Vec<u8>> {
        let mut text = serde_json::to_vec(self)?;
        text.push(b'\n');
        Ok(text)
    }
}

impl Head {
    fn of(presets: &[Preset], setup: &Setup, split: Option<Split>) -> Self {
        let hash = |text: &str| hex(key(&[text.as_bytes()]));
        let scored = |preset: &Preset| ScoredPreset {
            name: preset.strategy.name.clone(),
            configuration: hash(&preset.fingerprint),
        };
        Self {
            schema: SCHEMA.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            setup: hash(&format!("{} {split:?}", setup.fingerprint())),
            presets: presets.iter().map(scored).collect(),
        }
    }
}

fn hex(key: Key) -> String {
    key.to_hex().to_string()
}
