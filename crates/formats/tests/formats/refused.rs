//! Files that hold no session that could be used, and how that is said.
use crate::common::{fixture, rows};
use foldback_formats::read;

#[test]
fn bad_input_is_named() {
    for (heading, text) in rows(include_str!("tables/refused.txt")) {
        let (format, expected) = heading.split_once(": ").unwrap();
        let from = Some(format).filter(|format| *format != "-");
        let error = read(text.as_bytes(), from).unwrap_err().to_string();
        assert!(error.starts_with(expected), "{heading}\n{error}");
    }
}

#[test]
fn a_damaged_archive_says_so() {
    let error = read(b"PK\x03\x04 nothing", None).unwrap_err().to_string();
    assert!(error.starts_with("the archive: cannot be unpacked: "), "{error}");
}

#[test]
fn a_truncated_document_names_the_place() {
    let error = read(&fixture("opencode", "plain.json").as_bytes()[..700], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 36, column 28: the JSON document ends in the middle; the file is truncated or still being written"
    );
}
