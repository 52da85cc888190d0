//! No format takes the files of another: every fixture and every recorded session is found to be of the
//! format whose folder it lies in.
use crate::common::{detected, fixtures, recorded};
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
    for (id, name, text) in fixtures() {
        assert_eq!(detected(&text), Some(&*id), "{id} {name}");
    }
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
