//! Logs of Inspect AI as archives: they hold what the JSON document does.
use crate::common::{fixture, outline, sessions, usage};
use foldback_formats::{ReadError, read};
use serde_json::Value;
use std::io::{Cursor, Write};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

const ID: &str = "inspect";

/// An archive as Inspect writes it, of the samples of a log.
fn archive(log: &str, compress: impl Fn(&[u8]) -> (CompressionMethod, Vec<u8>)) -> Vec<u8> {
    let log: Value = serde_json::from_str(log).unwrap();
    let mut members = vec![("header.json".to_owned(), serde_json::json!({"eval": log["eval"]}))];
    for sample in log["samples"].as_array().unwrap() {
        let name = format!("samples/{}_epoch_{}.json", sample["id"], sample["epoch"]);
        members.push((name, sample.clone()));
    }
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, member) in members {
        let (method, bytes) = compress(member.to_string().as_bytes());
        let options = SimpleFileOptions::default().compression_method(method);
        writer.start_file(name, options).unwrap();
        writer.write_all(&bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// Changes the compression method of every member, in both headers: the writer cannot make Zstandard.
fn as_zstd(mut archive: Vec<u8>) -> Vec<u8> {
    for (signature, at) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
        let starts: Vec<usize> = (0..archive.len() - 4)
            .filter(|start| archive[*start..].starts_with(signature))
            .collect();
        for start in starts {
            archive[start + at..start + at + 2].copy_from_slice(&93u16.to_le_bytes());
        }
    }
    archive
}

#[test]
fn archives_hold_the_same() {
    let log = fixture(ID, "log.json");
    let stored = |bytes: &[u8]| (CompressionMethod::Stored, bytes.to_vec());
    let deflated = |bytes: &[u8]| (CompressionMethod::Deflated, bytes.to_vec());
    let zstd = |bytes: &[u8]| {
        let level = ruzstd::encoding::CompressionLevel::Fastest;
        let compressed = ruzstd::encoding::compress_to_vec(bytes, level);
        (CompressionMethod::Stored, compressed)
    };
    let expected = sessions(&log, ID);
    let table = [
        ("stored", archive(&log, stored)),
        ("deflated", archive(&log, deflated)),
        ("zstd", as_zstd(archive(&log, zstd))),
    ];
    for (name, bytes) in table {
        let sessions = read(&bytes, None).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(sessions.len(), expected.len(), "{name}");
        for (found, expected) in sessions.iter().zip(&expected) {
            assert_eq!(found.id, expected.id, "{name}");
            assert_eq!(outline(found, 40), outline(expected, 40), "{name}");
            assert_eq!(usage(found), usage(expected), "{name}");
        }
        assert_eq!(sessions[0].warnings[0].place, "samples/2_epoch_1.json", "{name}");
        assert_eq!(read(&bytes, Some(ID)).unwrap().len(), 2, "{name}");
        let error = read(&bytes, Some("opencode")).unwrap_err();
        assert!(matches!(error, ReadError::Binary { .. }), "{name}: {error}");
        // Cut anywhere it is refused or read in part.
        for end in (0..bytes.len()).step_by(97) {
            let _ = read(&bytes[..end], None);
        }
    }
}
