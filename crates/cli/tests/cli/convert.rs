//! `foldback convert`: what is written, what is said, and what is refused.

use crate::common::{foldback, run, write};

/// One session in pydantic-ai's format.
const SESSION: &str = r#"[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"read it","timestamp":"2026-01-01T00:00:00Z"}]},
{"kind":"response","parts":[{"part_kind":"tool-call","tool_name":"read","args":{"path":"a"},"tool_call_id":"c1"}],"timestamp":"2026-01-01T00:00:01Z"},
{"kind":"request","parts":[{"part_kind":"tool-return","tool_name":"read","content":"A","tool_call_id":"c1","timestamp":"2026-01-01T00:00:02Z"}]}]"#;

#[test]
fn losses_go_to_standard_error_and_the_session_to_standard_output() {
    let ran = run(&["convert", "-", "-", "--to", "openai-chat"], SESSION, &[]).done();
    assert!(ran.stdout.starts_with("{\"messages\":["), "{}", ran.stdout);
    for line in [
        "3 timestamps: openai-chat has no place for them\n",
        "1 session id: openai-chat has no place for it\n",
        "pydantic-ai → openai-chat: 3 messages, 1 tool calls\n",
    ] {
        assert!(ran.stderr.contains(line), "{line} in {}", ran.stderr);
    }
    // There and back.
    let back = run(&["convert", "-", "-", "--to", "pydantic-ai"], &ran.stdout, &[]).done();
    assert!(back.stdout.contains(r#""tool_call_id":"c1""#), "{}", back.stdout);

    let exact = run(&["convert", "-", "-", "--to", "atif"], SESSION, &[]);
    assert_eq!(exact.stderr, "pydantic-ai → atif: 3 messages, 1 tool calls, nothing lost\n");
}

#[test]
fn several_sessions_go_where_they_fit_or_one_is_picked() {
    let file = "crates/formats/fixtures/openai-chat/many.jsonl";
    let all = foldback(&["convert", file, "-", "--to", "foldback"]);
    assert_eq!(all.stdout.matches("{\"foldback\":1").count(), 3, "{}", all.stderr);
    let refused = foldback(&["convert", file, "-", "--to", "atif"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("3 sessions; pick one with --session"), "{}", refused.stderr);
    let id = refused.stderr.rsplit(", ").next().unwrap().trim();
    let one = foldback(&["convert", file, "-", "--to", "atif", "--session", id]).done();
    assert!(one.stdout.contains(id));
}

#[test]
fn what_cannot_be_written_is_refused_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    let out = out.to_str().unwrap();
    let cases: [(&str, &str, &str); 4] = [
        (SESSION, "tau2", "the format tau2 can only be read; these can be written: foldback, "),
        (SESSION, "xml", "no format `xml` can be written; known are foldback, "),
        ("{}", "atif", "none of the known formats"),
        ("", "atif", "the file is empty"),
    ];
    for (input, to, expected) in cases {
        let ran = run(&["convert", "-", out, "--to", to], input, &[]);
        assert_eq!(ran.code, 2, "{to}");
        assert!(ran.stderr.contains(expected), "{to}: {}", ran.stderr);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "{to}");
    }
}

#[test]
fn control_characters_reach_standard_output() {
    let folder = tempfile::tempdir().unwrap();
    let text = "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},\
                {\"role\":\"assistant\",\"content\":\"a\u{7f}b\"}]}\n";
    let file = write(folder.path(), "chat.json", text);
    let ran = foldback(&["compact", &file, "--preset", "none"]);
    assert_eq!(ran.done().stdout, text);
}
