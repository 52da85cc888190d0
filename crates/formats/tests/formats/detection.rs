//! No format takes the files of another: every fixture and every recorded session is found to be of the
//! format whose folder it lies in.
use crate::common::{detected, recorded};
use foldback_testkit::needs_sessions;
use std::path::Path;

/// Recorded sessions whose folder is not called after the format, or that lie with others.
const RECORDED: &[(&str, &str)] =
    &[("tau2-bench", "tau2"), ("gemini-cli-contents-trajectory", "gemini")];

fn id_of(path: &Path, folder: &str) -> String {
    let path = path.to_string_lossy();
    let other = RECORDED.iter().find(|(part, _)| path.contains(part));
    other.map_or(folder, |(_, id)| id).to_owned()
}

#[test]
fn fixtures_are_of_their_format() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut looked_at = 0;
    for folder in std::fs::read_dir(root).unwrap() {
        let folder = folder.unwrap().path();
        let id = folder.file_name().unwrap().to_string_lossy().into_owned();
        for file in std::fs::read_dir(&folder).unwrap() {
            let file = file.unwrap().path();
            if !file.is_file() {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap();
            assert_eq!(detected(&text), Some(&*id), "{}", file.display());
            looked_at += 1;
        }
    }
    assert!(looked_at > 40, "{looked_at} fixtures");
}

#[needs_sessions]
#[test]
fn recorded_sessions_are_of_their_format() {
    for folder in recorded("") {
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap().to_string_lossy().into_owned();
        for file in recorded(&name) {
            let text = std::fs::read_to_string(&file).unwrap();
            let id = id_of(&file, &name);
            assert_eq!(detected(&text), Some(&*id), "{}", file.display());
        }
    }
}
