//! The `.eval` archive: a ZIP file with one JSON member for every sample (`samples/<id>_epoch_<n>.json`) and
//! the rest of the log beside them. Members are deflated, or compressed with Zstandard in newer versions.

use super::read::{Log, sample};
use crate::format::Attempt;
use crate::ids::name_apart;
use crate::prelude::*;
use std::io::{Cursor, Read};
use zip::{CompressionMethod, ZipArchive};

/// More than any sample that was seen by two orders of magnitude; a member that claims to be larger is
/// left out before memory runs out.
const LARGEST: u64 = 1 << 31;

/// Reads an archive; `None` where it is some other ZIP file.
pub(super) fn read(bytes: &[u8]) -> Attempt {
    let mut archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return Some(Err(damaged("the archive", &error))),
    };
    let names: Vec<String> =
        archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect();
    let header = ["header.json", "_journal/start.json"]
        .into_iter()
        .find(|known| names.iter().any(|name| name == known))?;
    let log = member(&mut archive, header)
        .ok()
        .and_then(|text| raw::parse(&text).ok())
        .map_or_else(Log::default, |header| Log::new(&header));
    let mut samples: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("samples/") && name.ends_with(".json"))
        .collect();
    samples.sort();
    Some(sessions(&mut archive, &samples, &log))
}

fn sessions(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    samples: &[&String],
    log: &Log,
) -> Result<Vec<Session>, ReadError> {
    let mut sessions = Vec::with_capacity(samples.len());
    let mut failed = Vec::new();
    for name in samples {
        let found = member(archive, name).and_then(|text| {
            let root: Value = value::document(&text)?;
            sample(&text, &root, log)
        });
        match found {
            Ok(session) => sessions.push(session),
            Err(error) => failed.push((name, error)),
        }
    }
    if sessions.is_empty() {
        return Err(failed.pop().map_or(ReadError::NoMessages, |(_, error)| error));
    }
    let failed = failed.into_iter().map(|(name, error)| (name.to_string(), error.to_string()));
    let mut sessions = with_damage(sessions, failed.collect())?;
    name_apart(&mut sessions);
    Ok(sessions)
}

fn member(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<String, ReadError> {
    let index =
        archive.index_for_name(name).ok_or_else(|| value::malformed(name, "no such member"))?;
    let raw = archive.by_index_raw(index).map_err(|error| damaged(name, &error))?;
    let (method, size) = (raw.compression(), raw.size());
    if size > LARGEST {
        return Err(value::malformed(name, format!("a member of {size} bytes")));
    }
    let mut text = String::new();
    let read = if method == CompressionMethod::ZSTD {
        ruzstd::decoding::StreamingDecoder::new(raw)
            .map_err(|error| damaged(name, &error))?
            .take(LARGEST)
            .read_to_string(&mut text)
    } else {
        drop(raw);
        archive
            .by_index(index)
            .map_err(|error| damaged(name, &error))?
            .take(LARGEST)
            .read_to_string(&mut text)
    };
    read.map_err(|error| damaged(name, &error))?;
    Ok(text)
}

fn damaged(place: &str, error: &dyn std::error::Error) -> ReadError {
    value::malformed(place, format!("cannot be unpacked: {error}"))
}
