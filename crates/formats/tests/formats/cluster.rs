//! What each format records of where, or on what, a session worked.
use crate::common::recorded;
use foldback_formats::read;
use foldback_testkit::needs_sessions;

/// Format, file, cluster.
const ROWS: &[(&str, &str, Option<&str>)] = &[
    (
        "claude-code",
        r#"{"type":"user","uuid":"1","sessionId":"s","cwd":"/home/a/r/","message":{"role":"user","content":"hi"}}
{"type":"user","uuid":"2","parentUuid":"1","sessionId":"s","cwd":"/home/a/r/sub","message":{"role":"user","content":"hi"}}"#,
        Some("/home/a/r"),
    ),
    (
        "codex",
        r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/home/a/r","git":{"repository_url":"git@github.com:o/r.git"}}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#,
        Some("github.com/o/r"),
    ),
    (
        "codex",
        r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/home/a/r"}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#,
        Some("/home/a/r"),
    ),
    (
        "pi",
        r#"{"type":"session","id":"s","cwd":"/home/a/r"}
{"type":"message","id":"1","message":{"role":"user","content":"hi"}}"#,
        Some("/home/a/r"),
    ),
    (
        "gemini-cli",
        r#"{"sessionId":"s","projectHash":"40fc","messages":[{"id":"1","type":"user","content":"hi"}]}"#,
        Some("40fc"),
    ),
    (
        "gemini-cli",
        r#"{"sessionId":"s","projectHash":"40fc"}
{"id":"1","type":"user","content":"hi"}"#,
        Some("40fc"),
    ),
    (
        "copilot-cli",
        r#"{"type":"session.start","id":"0","data":{"sessionId":"s","context":{"cwd":"/home/a/r/x","gitRoot":"/home/a/r","repository":"o/r","repositoryHost":"github.com"}}}
{"type":"user.message","id":"1","data":{"content":"hi"}}"#,
        Some("github.com/o/r"),
    ),
    (
        "copilot-cli",
        r#"{"type":"session.start","id":"0","data":{"sessionId":"s","context":{"cwd":"/home/a/r"}}}
{"type":"user.message","id":"1","data":{"content":"hi"}}"#,
        Some("/home/a/r"),
    ),
    (
        "opencode",
        r#"{"info":{"id":"s","projectID":"bf59","directory":"/home/a/r"},"messages":[{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"hi"}]}]}"#,
        Some("bf59"),
    ),
    (
        "opencode",
        r#"{"info":{"id":"s","projectID":"global","directory":"/home/a/r"},"messages":[{"info":{"id":"1","role":"user"},"parts":[{"type":"text","text":"hi"}]}]}"#,
        Some("/home/a/r"),
    ),
    (
        "roo-code",
        r##"[{"role":"user","ts":1,"content":[{"type":"text","text":"<task>\nhi\n</task>"},{"type":"text","text":"<environment_details>\n# Current Workspace Directory (c:/dev/r) Files\na.rs\n</environment_details>"}]}]"##,
        Some("c:/dev/r"),
    ),
    (
        "swe-agent",
        r#"{"environment":"swe_main","replay_config":"{\"agent\":{\"name\":\"o__r-1\"}}","history":[{"role":"user","content":"hi"}],"trajectory":[]}"#,
        Some("o__r-1"),
    ),
    (
        "swe-agent",
        r#"{"environment":"o__r-1","history":[{"role":"user","content":"hi"}],"trajectory":[]}"#,
        Some("o__r-1"),
    ),
    (
        "swe-agent",
        r#"{"environment":"main","history":[{"role":"user","content":"hi"}],"trajectory":[]}"#,
        None,
    ),
    (
        "mini-swe-agent",
        r#"{"instance_id":"o__r-1","trajectory_format":"mini-swe-agent-1.1","messages":[{"role":"user","content":"hi"}]}"#,
        Some("o__r-1"),
    ),
    (
        "openhands",
        r#"{"instance_id":"o__r-1","history":[{"id":0,"source":"user","action":"message","args":{"content":"hi"}}]}"#,
        Some("o__r-1"),
    ),
    (
        "tau2",
        r#"{"info":{"environment_info":{"domain_name":"airline"}},"tasks":[],"simulations":[{"id":"x","task_id":"13","messages":[{"role":"user","content":"hi"}]}]}"#,
        Some("airline/13"),
    ),
    ("tau2", r#"[{"task_id":13,"trial":0,"traj":[{"role":"user","content":"hi"}]}]"#, Some("13")),
    (
        "inspect",
        r#"{"eval":{"task":"ctf","model":"m"},"samples":[{"id":59,"epoch":1,"messages":[{"role":"user","content":"hi"}]}]}"#,
        Some("ctf/59"),
    ),
    (
        "openai-chat",
        r#"{"instance_id":"o__r-1","messages":[{"role":"user","content":"hi"}]}"#,
        Some("o__r-1"),
    ),
    (
        "pydantic-ai",
        r#"{"session_id":"s","project_id":"p","messages":[{"kind":"request","parts":[{"part_kind":"user-prompt","content":"hi"}]}]}"#,
        Some("p"),
    ),
    ("openai-chat", r#"[{"role":"user","content":"hi"}]"#, None),
];

#[test]
fn the_cluster_is_read_where_it_is_recorded() {
    for (format, text, expected) in ROWS {
        let sessions = read(text.as_bytes(), Some(format))
            .unwrap_or_else(|error| panic!("{format}: {error}\n{text}"));
        assert_eq!(sessions[0].cluster.as_deref(), *expected, "{format}\n{text}");
    }
}

/// Folder of recorded sessions, sessions (subagents are sessions too), those with a cluster, clusters.
const RECORDED: &[(&str, usize, usize, usize)] = &[
    ("claude-code", 13, 13, 6),
    ("codex", 5, 5, 2),
    ("copilot-cli", 1, 1, 1),
    ("inspect", 2, 2, 1),
    ("mini-swe-agent", 1, 1, 1),
    ("opencode", 5, 5, 3),
    ("openhands", 3, 3, 3),
    ("pi", 2, 2, 1),
    ("roo-code", 1, 1, 1),
    ("swe-agent", 3, 2, 2),
    ("tau2-bench", 50, 50, 50),
];

#[needs_sessions]
#[test]
fn clusters_of_recorded_sessions() {
    for (folder, sessions, with, clusters) in RECORDED {
        let found: Vec<Option<String>> = recorded(folder)
            .iter()
            .flat_map(|path| read(&std::fs::read(path).unwrap(), None).unwrap())
            .map(|session| session.cluster)
            .collect();
        if found.is_empty() {
            continue;
        }
        let mut named: Vec<&String> = found.iter().flatten().collect();
        named.sort();
        let count = named.len();
        named.dedup();
        assert_eq!(
            (found.len(), count, named.len()),
            (*sessions, *with, *clusters),
            "{folder}: {named:?}"
        );
    }
}
