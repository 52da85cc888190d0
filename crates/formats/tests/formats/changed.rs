//! What is read from fixtures in which something was changed, whole: one snapshot a row.
use crate::common::{fixture, rewritten, sessions};
use crate::expected::all_shown;
use foldback_formats::format;

/// What is changed in a fixture.
enum Change {
    /// The first of each text is another one.
    Other(&'static [(&'static str, &'static str)]),
    /// What stands before the first line with this text is missing.
    From(&'static str),
}
use Change::{From, Other};

/// Format, fixture, what it tells, change.
const ROWS: &[(&str, &str, &str, Change)] = &[
    (
        "claude-code",
        "plain.jsonl",
        "unknown parts stay what they were",
        Other(&[("\"type\":\"thinking\"", "\"type\":\"dream\"")]),
    ),
    (
        "codex",
        "compaction.jsonl",
        "a replacement history stands for what the file lacks",
        From("\"type\":\"compacted\""),
    ),
    (
        "codex",
        "compaction.jsonl",
        "a readable summary is an entry",
        Other(&[("{\"message\":\"\"", "{\"message\":\"We built the index.\"")]),
    ),
    (
        "copilot-cli",
        "events.jsonl",
        "output alone does not count the request",
        Other(&[(
            "\"session.compaction_complete\", \"data\": {\"success\": false}",
            "\"assistant.usage\", \"data\": {\"outputTokens\": 5}",
        )]),
    ),
    (
        "gemini",
        "bare.json",
        "a summary of what is gone belongs to the log",
        Other(&[("Compare a and b", "<state_snapshot>x")]),
    ),
    (
        "opencode",
        "plain.json",
        "repeated ids are made unique",
        Other(&[
            ("\"id\": \"msg_001\"", "\"id\": \"REDACTED\""),
            ("\"id\": \"msg_002\"", "\"id\": \"REDACTED\""),
            ("\"id\": \"msg_003\"", "\"id\": \"REDACTED\""),
            ("\"id\": \"msg_004\"", "\"id\": \"REDACTED\""),
        ]),
    ),
    (
        "openhands",
        "v0.json",
        "a condensation without a summary drops",
        Other(&[("\"a.c was read.\"", "null")]),
    ),
    // What pi could not read, it did not count.
    (
        "pi",
        "compaction.jsonl",
        "glued lines have no number",
        Other(&[
            ("1765238401000}}\n", "1765238401000}}"),
            ("\"firstKeptEntryIndex\":3", "\"firstKeptEntryIndex\":1"),
        ]),
    ),
    (
        "pi",
        "compaction.jsonl",
        "a summary that begins a file is its head",
        From("\"compaction\",\"timestamp\""),
    ),
    (
        "pi",
        "tree.jsonl",
        "an entry without its parent follows its neighbour",
        Other(&[("\"parentId\":\"aaaa0003\"", "\"parentId\":\"x\"")]),
    ),
];

#[test]
fn what_is_read_from_changed_fixtures() {
    for (id, name, what, change) in ROWS {
        let mut text = fixture(id, name);
        match change {
            Other(texts) => {
                for (old, new) in *texts {
                    assert!(text.contains(old), "{what}: {old}");
                    text = text.replacen(old, new, 1);
                }
            }
            From(first) => {
                let tail = text.lines().skip_while(|line| !line.contains(first));
                text = tail.collect::<Vec<_>>().join("\n");
            }
        }
        let sessions = sessions(&text, id);
        insta::assert_snapshot!(format!("{id} {name}, {what}"), all_shown(&sessions));
        if format(id).unwrap().writer.is_some() {
            assert_eq!(rewritten(&sessions[0], id).text, text, "{what}");
        }
    }
}
