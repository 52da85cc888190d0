//! The `.eval` archive: a ZIP file with one JSON member for every sample (`samples/<id>_epoch_<n>.json`) and
//! the rest of the log next to them. Members are deflated, or compressed with Zstandard in newer versions.

use super::read::{Log, sample};
use crate::format::Attempt;
use crate::limit;
use crate::prelude::*;
use std::io::Cursor;
use zip::{CompressionMethod, ZipArchive};

/// Reads an archive; `None` if it is some other ZIP file.
pub(super) fn read(bytes: &[u8]) -> Attempt {
    match limit::largest() {
        Ok(largest) => read_within(bytes, largest),
        Err(error) => Some(Err(damaged("the archive", &error))),
    }
}

/// Reads an archive whose members have at most `left` bytes together.
fn read_within(bytes: &[u8], mut left: u64) -> Attempt {
    let most = left / limit::MEMBER;
    let mut archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return Some(Err(damaged("the archive", &error))),
    };
    let names: Vec<String> =
        archive.file_names().filter_map(|name| Some(name.ok()?.into_owned())).collect();
    let header = ["header.json", "_journal/start.json"]
        .into_iter()
        .find(|known| names.iter().any(|name| name == known))?;
    let log = member(&mut archive, header, most, &mut left)
        .ok()
        .and_then(|text| raw::parse(&text).ok())
        .map_or_else(Log::default, |header| Log::new(&header));
    let mut samples: Vec<&String> = names
        .iter()
        .filter(|name| name.starts_with("samples/") && name.ends_with(".json"))
        .collect();
    samples.sort();
    Some(sessions(&mut archive, &samples, &log, most, &mut left))
}

fn sessions(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    samples: &[&String],
    log: &Log,
    most: u64,
    left: &mut u64,
) -> Result<Vec<Session>, ReadError> {
    let mut sessions = Vec::with_capacity(samples.len());
    let mut failed = Vec::new();
    for name in samples {
        let found = member(archive, name, most, left).and_then(|text| {
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

/// Unpacks a member of at most `most` bytes, and not more than is `left` for the archive. What the archive says
/// of its size is not believed.
fn member(
    archive: &mut ZipArchive<Cursor<&[u8]>>,
    name: &str,
    most: u64,
    left: &mut u64,
) -> Result<String, ReadError> {
    let index =
        archive.index_for_name(name).ok_or_else(|| value::malformed(name, "no such member"))?;
    let raw = archive.by_index_raw(index).map_err(|error| damaged(name, &error))?;
    let most = most.min(*left);
    let unpacked = if raw.compression() == CompressionMethod::ZSTD {
        let unpacked = ruzstd::decoding::StreamingDecoder::new(raw);
        limit::within(unpacked.map_err(|error| damaged(name, &error))?, most)
    } else {
        drop(raw);
        limit::within(archive.by_index(index).map_err(|error| damaged(name, &error))?, most)
    };
    let Some(bytes) = unpacked.map_err(|error| damaged(name, &error))? else {
        let problem = format!(
            "unpacks to more than {most} bytes; a member may have a {}th of {}, which can be raised, and all \
             together that",
            limit::MEMBER,
            limit::VARIABLE,
        );
        return Err(value::malformed(name, problem));
    };
    *left -= bytes.len() as u64;
    String::from_utf8(bytes).map_err(|error| damaged(name, &error))
}

fn damaged(place: &str, error: &dyn std::error::Error) -> ReadError {
    value::malformed(place, format!("cannot be unpacked: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    fn sample(id: usize, text: &str) -> String {
        let messages = json!([
            { "role": "user", "content": text },
            { "role": "assistant", "content": "done" },
        ]);
        json!({ "id": id, "epoch": 1, "target": "", "messages": messages }).to_string()
    }

    fn archive(samples: &[String]) -> Vec<u8> {
        let mut out = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default();
        out.start_file("header.json", options).unwrap();
        out.write_all(b"{}").unwrap();
        for (number, sample) in samples.iter().enumerate() {
            out.start_file(format!("samples/{number}_epoch_1.json"), options).unwrap();
            out.write_all(sample.as_bytes()).unwrap();
        }
        out.finish().unwrap().into_inner()
    }

    /// Number of the sessions that were read, and what was said of the rest.
    fn read(samples: &[String], limit: u64) -> (usize, Vec<String>) {
        let sessions = read_within(&archive(samples), limit).unwrap().unwrap();
        let warnings = sessions.iter().flat_map(|session| &session.warnings);
        let damage = warnings.filter(|warning| warning.code == "damaged-line");
        (sessions.len(), damage.map(|warning| warning.detail.clone()).collect())
    }

    #[test]
    fn a_member_may_not_unpack_to_more_than_its_share() {
        let samples = [sample(1, "small"), sample(2, &"x".repeat(100_000))];
        assert!(archive(&samples).len() < 2_000, "a bomb is small");
        assert_eq!(read(&samples, 16 << 20), (2, Vec::new()));
        let (read, damage) = read(&samples, 1 << 20);
        assert_eq!((read, damage.len()), (1, 1), "{damage:?}");
        assert!(damage[0].contains("more than 65536 bytes"), "{damage:?}");
        assert!(damage[0].contains(limit::VARIABLE), "{damage:?}");
    }

    #[test]
    fn all_members_together_have_a_limit() {
        let samples: Vec<String> = (0..40).map(|id| sample(id, &"x".repeat(60_000))).collect();
        let (read, damage) = read(&samples, 1 << 20);
        assert_eq!((read, damage.len()), (17, 23), "{damage:?}");
    }
}
