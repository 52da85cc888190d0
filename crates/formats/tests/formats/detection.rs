//! No format takes the files of another: every fixture and every recorded session is found to be of the
//! format whose folder it lies in.
use crate::common::{detected, fixtures, recorded};
use serde_json::Value;
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

/// A file that lost its beginning is found by whichever entry comes first, as it is what a compaction may leave.
#[test]
fn any_entry_of_pi_is_one_of_pi() {
    let kinds =
        ["message", "compaction", "branch_summary", "model_change", "thinking_level_change"];
    let mut found = 0;
    for (_, name, text) in fixtures().into_iter().filter(|(id, ..)| id == "pi") {
        for line in text.lines() {
            let entry: Option<Value> = serde_json::from_str(line).ok();
            let kind = entry.as_ref().and_then(|entry| entry["type"].as_str());
            if kind.is_some_and(|kind| kinds.contains(&kind)) {
                assert_eq!(detected(line), Some("pi"), "{name}: {line}");
                found += 1;
            }
        }
    }
    assert!(found > 20, "{found} entries");
}

#[foldback_needs::sessions]
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
