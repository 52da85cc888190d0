//! Reads parts back into a corpus and a store.

use super::{Head, Line, SCHEMA, hex};
use crate::read::corpus::{ContentHash, Corpus, Source};
use crate::read::split::Split;
use crate::rows::store::{Key, Store};
use crate::run::setup::{Preset, Setup};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;

/// Takes the lines of parts, one part after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    wanted: Head,
    store: &'a Store,
    /// In the order in which a folder is walked.
    sources: BTreeMap<PathBuf, Source>,
    /// Of the lines of the part that has begun and has not ended.
    open: Option<blake3::Hasher>,
}

impl<'a> Reader<'a> {
    /// For a comparison under these settings. Results go into the store.
    pub fn new(presets: &[Preset], setup: &Setup, split: Option<Split>, store: &'a Store) -> Self {
        let wanted = Head::of(presets, setup, split);
        Self { wanted, store, sources: BTreeMap::new(), open: None }
    }

    /// The files that were scored.
    pub fn corpus(self) -> Corpus {
        Corpus { sources: self.sources.into_values().collect() }
    }

    /// Takes the parts in a file, one after the other. `part` is the name of the file.
    ///
    /// # Errors
    ///
    /// What is wrong, and the way out: the part is damaged or cut, was made by another version, lacks a preset, or was
    /// scored with other settings; one path holds different bytes in two parts.
    pub fn part(&mut self, part: &str, mut lines: impl BufRead) -> Result<(), String> {
        let (mut text, mut number) = (Vec::new(), 0);
        loop {
            text.clear();
            number += 1;
            let wrong = |why: String| format!("{part}:{number}: {why}");
            let read = lines.read_until(b'\n', &mut text);
            if read.map_err(|error| wrong(error.to_string()))? == 0 {
                return match number == 1 || self.open.is_some() {
                    true => Err(wrong(CUT.to_owned())),
                    false => Ok(()),
                };
            }
            let line = serde_json::from_slice(&text).map_err(|error| {
                wrong(format!(
                    "{}: {error}",
                    if number == 1 { FOREIGN } else { "not a line of scores" }
                ))
            })?;
            self.line(line, &text).map_err(wrong)?;
        }
    }

    /// Takes the next line of a part, with its text.
    fn line(&mut self, line: Line, text: &[u8]) -> Result<(), String> {
        match (line, &mut self.open) {
            (Line::Head(head), None) => {
                self.wanted.fits(&head)?;
                let mut hash = blake3::Hasher::new();
                hash.update(text);
                self.open = Some(hash);
                Ok(())
            }
            (Line::End { hash }, Some(made)) => {
                if hex(made.finalize()) != hash {
                    let why =
                        "the lines before it are not those that were written; copy the part again";
                    return Err(why.to_owned());
                }
                self.open = None;
                Ok(())
            }
            (Line::Head(_) | Line::End { .. }, _) | (_, None) => {
                Err("a part begins with a `head` and ends with an `end`".to_owned())
            }
            (line, Some(hash)) => {
                hash.update(text);
                self.take(line)
            }
        }
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        let source = match line {
            Line::Head(_) | Line::End { .. } => return Ok(()),
            Line::Entry(entry) => {
                let kept = self.store.put_bytes(hash(&entry.key)?, &entry.data);
                return kept.map_err(|error| error.to_string());
            }
            Line::Source { path, content, failed } => {
                Source::Scored { path: path.into(), hash: hash(&content)?, failed }
            }
            Line::Unreadable { path, reason } => Source::Unreadable { path: path.into(), reason },
        };
        let path = PathBuf::from(source.name());
        let content = |source: &Source| source.hash().ok();
        if let Some(other) = self.sources.get(&path)
            && content(other) != content(&source)
        {
            return Err(format!(
                "{} held other bytes when another part was scored",
                path.display()
            ));
        }
        self.sources.insert(path, source);
        Ok(())
    }
}

const FOREIGN: &str =
    "no part that `foldback score` wrote; session files are compared without --scores";

const CUT: &str = "ends too early; copy the part again";

impl Head {
    /// Whether the results of a part are those that the comparison needs.
    fn fits(&self, head: &Self) -> Result<(), String> {
        let Self { schema, version, setup, presets } = self;
        if head.schema != *schema {
            return Err(format!("has the schema {}; this is {SCHEMA}", head.schema));
        }
        if head.version != *version {
            return Err(format!(
                "was scored by foldback {}, and this is {version}; score it again",
                head.version
            ));
        }
        if head.setup != *setup {
            return Err(
                "was scored with another window, output limit, model, table or estimator, or another split; give the same options here and there"
                    .to_owned(),
            );
        }
        for preset in presets {
            let named = || head.presets.iter().find(|scored| scored.name == preset.name);
            if !head.presets.contains(preset) {
                return Err(match named() {
                    Some(_) => {
                        format!("was scored with another configuration of `{}`", preset.name)
                    }
                    None => format!(
                        "was not scored under `{}`; score it with the same --preset",
                        preset.name
                    ),
                });
            }
        }
        Ok(())
    }
}

fn hash(text: &str) -> Result<ContentHash, String> {
    Key::from_hex(text).map_err(|error| format!("{text}: {error}"))
}
