//! Reads parts back into a corpus and a store.

use super::{Head, Line, SCHEMA, hex};
use crate::corpus::{ContentHash, Corpus, Source};
use crate::setup::{Preset, Setup};
use crate::split::Split;
use crate::store::{Key, Store};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::PathBuf;
use thiserror::Error;

/// A part that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{part}:{line}: {why}")]
pub struct ScoresError {
    /// Name of the part.
    pub part: String,
    /// Number of the line, from 1.
    pub line: usize,
    /// What is wrong, and the way out.
    pub why: String,
}

/// A corpus of the files that were scored. Their results go into the store.
///
/// # Errors
///
/// A part is damaged or cut, was made by another version, lacks a preset, or was scored with other settings; one path
/// holds different bytes in two parts.
pub fn read<'p, R: BufRead>(
    parts: impl IntoIterator<Item = (&'p str, R)>,
    presets: &[Preset],
    setup: &Setup,
    split: Option<Split>,
    store: &Store,
) -> Result<Corpus, ScoresError> {
    let wanted = Head::of(presets, setup, split);
    let mut reader = Reader { wanted: &wanted, store, sources: BTreeMap::new() };
    for (part, lines) in parts {
        reader.part(part, lines)?;
    }
    Ok(Corpus { sources: reader.sources.into_values().collect() })
}

struct Reader<'a> {
    wanted: &'a Head,
    store: &'a Store,
    /// In the order in which a folder is walked.
    sources: BTreeMap<PathBuf, Source>,
}

impl Reader<'_> {
    fn part(&mut self, part: &str, mut lines: impl BufRead) -> Result<(), ScoresError> {
        let wrong = |line: usize, why: String| ScoresError { part: part.to_owned(), line, why };
        let (mut text, mut number) = (Vec::new(), 0);
        let mut open: Option<blake3::Hasher> = None;
        loop {
            text.clear();
            number += 1;
            let wrong = |why: String| wrong(number, why);
            let read = lines.read_until(b'\n', &mut text);
            if read.map_err(|error| wrong(error.to_string()))? == 0 {
                return match (open, number) {
                    (None, 2..) => Ok(()),
                    _ => Err(wrong("ends too early; copy the part again".to_owned())),
                };
            }
            let line = serde_json::from_slice(&text)
                .map_err(|error| wrong(format!("not a line of scores: {error}")))?;
            match (line, &mut open) {
                (Line::Head(head), None) => {
                    self.head(&head).map_err(wrong)?;
                    let mut hash = blake3::Hasher::new();
                    hash.update(&text);
                    open = Some(hash);
                }
                (Line::End { hash }, Some(made)) => {
                    if hex(made.finalize()) != hash {
                        let why = "the lines before it are not those that were written; copy the part again";
                        return Err(wrong(why.to_owned()));
                    }
                    open = None;
                }
                (Line::Head(_) | Line::End { .. }, _) | (_, None) => {
                    return Err(wrong(
                        "a part begins with a `head` and ends with an `end`".to_owned(),
                    ));
                }
                (line, Some(hash)) => {
                    hash.update(&text);
                    self.line(line).map_err(wrong)?;
                }
            }
        }
    }

    /// Whether the results are those that the comparison needs.
    fn head(&self, head: &Head) -> Result<(), String> {
        let Head { schema, version, setup, presets } = self.wanted;
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

    fn line(&mut self, line: Line) -> Result<(), String> {
        let source = match line {
            Line::Head(_) | Line::End { .. } => return Ok(()),
            Line::Entry { key, data, .. } => {
                let data =
                    BASE64_STANDARD.decode(data).map_err(|error| format!("data: {error}"))?;
                let kept = self.store.put_bytes(hash(&key)?, &data);
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

fn hash(text: &str) -> Result<ContentHash, String> {
    Key::from_hex(text).map_err(|error| format!("{text}: {error}"))
}
