//! `foldback hook`: what Claude Code is told around its own compaction.

use crate::common::run;
use foldback_test_support::sessions;
use serde_json::{Value, json};
use std::path::Path;

fn hook(event: &str, transcript: &Path) -> String {
    let input = json!({
        "session_id": "x", "transcript_path": transcript, "cwd": "/", "hook_event_name": event,
        "source": "compact", "trigger": "auto", "custom_instructions": "",
    });
    run(&["hook"], &input.to_string(), &[]).done().stdout
}

/// The names of a line of a list.
fn names<'a>(text: &'a str, kind: &str) -> Vec<&'a str> {
    let line = text.lines().find_map(|line| line.strip_prefix(kind)?.strip_prefix(": "));
    line.unwrap_or_else(|| panic!("no {kind}: {text}"))
        .split(", ")
        .filter(|name| !name.starts_with("and "))
        .collect()
}

#[foldback_needs::sessions]
#[test]
fn a_recorded_compaction_is_told_what_it_lost() {
    for (file, compactions) in [
        ("cipherbox-1compact-233tools.jsonl", 1),
        ("packmind-1compact.jsonl", 1),
        ("entire-cli-2compact-1M.jsonl", 2),
    ] {
        let text = std::fs::read_to_string(sessions().join("claude-code").join(file)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let ends: Vec<usize> = (0..lines.len())
            .filter(|at| lines[*at].contains("\"isCompactSummary\":true"))
            .collect();
        assert_eq!(ends.len(), compactions, "{file}");
        for end in ends {
            let folder = tempfile::tempdir().unwrap();
            let transcript = folder.path().join("t.jsonl");
            let summary: Value = serde_json::from_str(lines[end]).unwrap();
            let summary = summary["message"].to_string();

            let boundary = (0..end).rfind(|at| lines[*at].contains("compact_boundary")).unwrap();
            std::fs::write(&transcript, lines[..boundary].join("\n")).unwrap();
            let kept = hook("PreCompact", &transcript);
            assert!(kept.len() <= 4_000 && names(&kept, "files").len() > 5, "{file}: {kept}");

            std::fs::write(&transcript, lines[..=end].join("\n")).unwrap();
            let said: Value = serde_json::from_str(&hook("SessionStart", &transcript)).unwrap();
            let output = &said["hookSpecificOutput"];
            assert_eq!(output["hookEventName"], "SessionStart");
            let context = output["additionalContext"].as_str().unwrap();
            assert!(context.len() <= 4_000, "{file}: {}", context.len());
            let lost = names(context, "files");
            assert!(lost.len() > 5, "{file}: {context}");
            let before = lines[..boundary].join("\n");
            for name in lost.iter().chain(&names(context, "names")) {
                assert!(before.contains(name) && !summary.contains(name), "{file}: {name}");
            }
        }
    }
}

#[test]
fn what_is_wrong_never_blocks_a_compaction() {
    let missing =
        json!({"hook_event_name": "PreCompact", "transcript_path": "/no/such/file.jsonl"});
    for input in ["", "{", "[]", "\u{0}", &missing.to_string()] {
        let ran = run(&["hook"], input, &[]);
        assert_eq!((ran.code, &*ran.stdout), (1, ""), "{input}: {}", ran.stderr);
        assert_eq!(ran.stderr.lines().count(), 1, "{input}: {}", ran.stderr);
    }
    let other =
        json!({"hook_event_name": "SessionStart", "source": "startup", "transcript_path": "/no"});
    assert_eq!(run(&["hook"], &other.to_string(), &[]).done().stdout, "");
}
