//! Sessions of other formats, written anew in each format that is written: what is lost and what is read
//! from the file, one snapshot a row.
use crate::common::{check, detected, fixture, rewritten, session};
use crate::expected::all_shown;

/// Format to write, format and fixture of the session.
const ROWS: &[(&str, &str, &str)] = &[
    ("anthropic", "openai-chat", "plain.json"),
    ("anthropic", "opencode", "plain.json"),
    ("anthropic", "pydantic-ai", "plain.json"),
    ("atif", "anthropic", "plain.json"),
    ("atif", "claude-code", "parallel.jsonl"),
    ("atif", "codex", "plain.jsonl"),
    ("atif", "openai-chat", "plain.json"),
    ("atif", "opencode", "compaction.json"),
    ("atif", "opencode", "plain.json"),
    ("claude-code", "codex", "parallel.jsonl"),
    ("codex", "claude-code", "plain.jsonl"),
    ("gemini", "codex", "plain.jsonl"),
    ("gemini", "gemini-cli", "plain.json"),
    ("mini-swe-agent", "claude-code", "plain.jsonl"),
    ("openai-chat", "anthropic", "plain.json"),
    ("openai-responses", "anthropic", "plain.json"),
    ("openai-responses", "codex", "parallel.jsonl"),
    ("openai-responses", "openai-chat", "plain.json"),
    ("opencode", "claude-code", "parallel.jsonl"),
    ("pi", "claude-code", "plain.jsonl"),
    ("pydantic-ai", "opencode", "compaction.json"),
    ("pydantic-ai", "opencode", "plain.json"),
    ("roo-code", "claude-code", "plain.jsonl"),
    ("swe-agent", "claude-code", "parallel.jsonl"),
];

#[test]
fn sessions_of_other_formats() {
    for (to, from, name) in ROWS {
        let original = session(&fixture(from, name), from);
        let outcome = rewritten(&original, to);
        let name = format!("{to} of {from} {name}");
        assert_eq!(detected(&outcome.text), Some(*to), "{name}");
        let again = session(&outcome.text, to);
        check(&again);
        assert_eq!(again.tool_calls(), original.tool_calls(), "{name}");
        assert_eq!(rewritten(&again, to).text, outcome.text, "{name}: the same again");
        let lost: String = outcome.losses.iter().map(|loss| format!("lost: {loss}\n")).collect();
        insta::assert_snapshot!(name, lost + &all_shown(&[again]));
    }
}
