//! Results of a part of a corpus in a file: a comparison is scored in parts, on one machine or many, and put together on
//! one.
//!
//! A part is JSON lines. Parts may be written one after the other into one file. Nothing in them depends on the machine.
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

pub use read::{ScoresError, read};
pub use write::{Scored, score};

use crate::setup::{Preset, Setup};
use crate::split::Split;
use crate::store::{Key, key};
use serde::{Deserialize, Serialize};

/// Version of the lines.
const SCHEMA: &str = "foldback/scores/1";

/// A line of a part.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case", deny_unknown_fields)]
enum Line {
    Head(Head),
    Source {
        path: String,
        content: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        failed: Option<String>,
    },
    Unreadable {
        path: String,
        reason: String,
    },
    Entry {
        of: Of,
        /// Hash of the file.
        content: String,
        /// Id of the session.
        #[serde(skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        preset: Option<String>,
        /// Name in the store, in hexadecimal digits.
        key: String,
        /// As the store has it, in base64.
        data: String,
    },
    End {
        hash: String,
    },
}

/// What an entry is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Of {
    File,
    Session,
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
