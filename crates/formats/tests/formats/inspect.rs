//! Inspect AI logs: what is read from them, as JSON and as archives.
use crate::common::{check, detected, fixture, outline, recorded, usage, warnings};
use foldback_core::SegmentKind;
use foldback_core::log::{Finish, ResultStatus};
use foldback_formats::{ReadError, Session, read};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::io::{Cursor, Write};
use zip::CompressionMethod;
use zip::write::SimpleFileOptions;

const ID: &str = "inspect";

fn load(name: &str) -> Vec<Session> {
    read(fixture(ID, name).as_bytes(), None).unwrap()
}

#[test]
fn every_sample_is_a_session() {
    let text = fixture(ID, "log.json");
    assert_eq!(detected(&text), Some(ID));
    let sessions = load("log.json");
    let ids: Vec<_> = sessions.iter().map(|session| &*session.id).collect();
    assert_eq!(ids, ["sample-a", "1-epoch-2"]);
    let first: &[&str] = &[
        "useru text:Solve it.",
        "assistant reasoning:Hm. text:Looking. tool-call:{\"cmd\":\"ls\"} tool-call:{\"cmd\":\"cd\"}",
        "tool tool-result:timed out",
        "tool tool-result:a b",
        "userE text:Summary of before.",
        "user+ text:Please continue.",
        "assistant text:Done.",
    ];
    let second: &[&str] = &[
        "useru text:Solve it.",
        "assistant text:An example.",
        "assistant text:Done. unknown:{\"type\":\"hologram\"}",
    ];
    assert_eq!(outline(&sessions[0], 20), first);
    assert_eq!(outline(&sessions[1], 20), second);
    assert_eq!(warnings(&sessions[0]), ["damaged-line"]);
    assert_eq!(warnings(&sessions[1]), ["unknown-type"]);
    check(&sessions[1]);
}

#[test]
fn events_tell_of_usage_times_and_compactions() {
    let sessions = load("log.json");
    // The cache is not part of the first input, as its total says, and is part of the second.
    assert_eq!(usage(&sessions[0]), [5 + 70, 600 + 30, 400, 30 + 7, 10]);
    let answers: Vec<_> = sessions[0].log().filter_map(|m| m.answer.as_ref()).collect();
    assert_eq!(answers[0].started, Some(1_768_912_201_000));
    assert_eq!(answers[0].ended, Some(1_768_912_203_000));
    assert_eq!(answers[0].finish, Some(Finish::ToolCalls));
    assert_eq!(answers[1].finish, Some(Finish::Length));
    assert_eq!(sessions[0].model.as_deref(), Some("prov/model-a"));
    let tools = sessions[0].frame.text_of(SegmentKind::Tools).unwrap();
    assert!(tools.contains("Runs."));
    let failed = sessions[0].messages[2].parts[0].as_result().unwrap();
    assert_eq!(failed.status, ResultStatus::Error);
    let [boundary] = sessions[0].boundaries.as_slice() else {
        panic!("{:?}", sessions[0].boundaries);
    };
    assert_eq!((boundary.before, &*boundary.kind), (2, "summary"));
    assert_eq!((boundary.tokens_before, boundary.tokens_after), (Some(1045), Some(50)));

    assert_eq!(sessions[1].calls(), 1, "an example is no call");
    assert_eq!(usage(&sessions[1]), [9, 0, 0, 1, 0]);
    assert_eq!(sessions[1].model.as_deref(), Some("model-b"));
}

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
    let expected = load("log.json");
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

#[test]
fn bad_input_is_named() {
    let table = [
        (&b"PK\x03\x04 nothing"[..], "the archive: cannot be unpacked: "),
        (
            br#"{"eval":{"task":"t","model":"m"}}"#,
            "/samples: a log has its samples here; those of a failed or running evaluation may have none",
        ),
        (br#"{"eval":{"task":"t","model":"m"},"samples":[]}"#, "no messages in it"),
    ];
    for (bytes, expected) in table {
        let error = read(bytes, None).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID));
        let sessions = read(text.as_bytes(), None).unwrap();
        let tool_calls: usize = sessions.iter().map(Session::recorded_tool_calls).sum();
        let messages: usize = sessions.iter().map(Session::recorded_messages).sum();
        assert_eq!((sessions.len(), messages, tool_calls), (2, 28, 11));
        let input: Vec<_> = sessions.iter().map(|session| usage(session)[..3].to_vec()).collect();
        // The totals that Inspect itself wrote.
        assert_eq!(input, [[1028, 3739, 3990], [1043, 31070, 8635]]);
        for session in &sessions {
            check(session);
            assert!(warnings(session).iter().all(|code| *code == "call-without-result"));
        }
    }
}
