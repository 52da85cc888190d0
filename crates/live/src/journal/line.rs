//! The lines of a journal: a head, and then what happened, line by line, each with its number and a check that covers
//! the line before it, too. A line that is missing, doubled, moved or from another journal is therefore detected.

use super::happened::Happened;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// Version of the format; in the first line.
pub const VERSION: u32 = 1;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    foldback_journal: u32,
}

/// A line after the first.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    line: usize,
    check: String,
    happened: Box<RawValue>,
}

/// Where in a journal one is: what the next line is checked by.
#[derive(Clone, Debug)]
pub(super) struct Lines {
    /// Of the line before.
    number: usize,
    check: String,
}

impl Lines {
    /// A new journal, and its first line.
    pub(super) fn begin() -> serde_json::Result<(Self, Vec<u8>)> {
        let head = head()?;
        Ok((Self { number: 1, check: String::new() }, head))
    }

    /// Reads a first line. The error says what the line is instead.
    pub(super) fn read_head(text: &[u8]) -> Result<Self, Foreign> {
        let head: Head =
            serde_json::from_slice(text).map_err(|error| Foreign::Other(error.to_string()))?;
        match head.foldback_journal {
            VERSION => Ok(Self { number: 1, check: String::new() }),
            other => Err(Foreign::Version(other)),
        }
    }

    /// The next line.
    pub(super) fn line(&mut self, happened: &[Happened]) -> serde_json::Result<Vec<u8>> {
        let happened = serde_json::value::to_raw_value(happened)?;
        self.number += 1;
        self.check = self.check_of(&happened);
        serde_json::to_vec(&Line { line: self.number, check: self.check.clone(), happened })
    }

    /// Reads the next line. The error says what is wrong with it.
    pub(super) fn read(&mut self, text: &[u8]) -> Result<Vec<Happened>, String> {
        let cant = |error: serde_json::Error| format!("can't be read ({error})");
        self.number += 1;
        let Line { line, check, happened } = serde_json::from_slice(text).map_err(cant)?;
        if line != self.number {
            return Err(format!("says it is line {line}: lines are missing, doubled or swapped"));
        }
        self.check = self.check_of(&happened);
        if check != self.check {
            return Err("does not follow the line before it".to_owned());
        }
        serde_json::from_str(happened.get()).map_err(cant)
    }

    fn check_of(&self, happened: &RawValue) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.check.as_bytes());
        hasher.update(&(self.number as u64).to_le_bytes());
        hasher.update(happened.get().as_bytes());
        hasher.finalize().to_hex()[..16].to_owned()
    }
}

/// Why a file is not a readable journal.
pub(super) enum Foreign {
    /// It is something else.
    Other(String),
    /// It is a journal of this version.
    Version(u32),
}

/// Whether a file without a whole line is a journal whose first line was not finished.
pub(super) fn is_begun(bytes: &[u8]) -> bool {
    head().is_ok_and(|head| head.starts_with(bytes))
}

fn head() -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(&Head { foldback_journal: VERSION })
}
