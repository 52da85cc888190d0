//! Every format recognises its own files and leaves those of the others alone.
#![allow(missing_docs, clippy::unwrap_used)]

mod common;

use common::{detected, recorded};
use foldback_formats::FORMATS;
use std::path::Path;

/// Recorded files that are kept in the folder of another format.
const ELSEWHERE: &[(&str, &str)] = &[("gemini-cli-contents-trajectory.json", "gemini")];

#[test]
fn fixtures_are_detected_as_their_own_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    for format in FORMATS {
        let Ok(files) = std::fs::read_dir(root.join(format.id)) else {
            continue;
        };
        for file in files {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(detected(&text), Some(format.id), "{}", path.display());
        }
    }
}

#[test]
fn recorded_sessions_are_detected_as_their_own_format() {
    for format in FORMATS {
        for path in recorded(format.id) {
            let name = path.file_name().and_then(|name| name.to_str()).unwrap();
            let elsewhere = ELSEWHERE.iter().find(|(file, _)| *file == name);
            let expected = elsewhere.map_or(format.id, |(_, id)| id);
            let text = std::fs::read_to_string(&path).unwrap();
            assert_eq!(detected(&text), Some(expected), "{}", path.display());
        }
    }
}
