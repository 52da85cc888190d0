//! Bad input: the message that a user needs, and exit code 2 (or a counted warning where the rest is
//! usable).

use crate::common::{foldback, run};
use std::path::Path;

/// A small session in pydantic-ai's format: two user turns and a tool result of 9,000 characters.
fn session() -> String {
    format!(
        r#"[{{"kind":"request","parts":[{{"part_kind":"user-prompt","content":"read it"}}]}},
{{"kind":"response","parts":[{{"part_kind":"tool-call","tool_name":"read","args":{{"path":"a.txt"}},"tool_call_id":"c1"}}]}},
{{"kind":"request","parts":[{{"part_kind":"tool-return","tool_name":"read","content":"{}","tool_call_id":"c1"}}]}},
{{"kind":"response","parts":[{{"part_kind":"text","content":"done"}}]}},
{{"kind":"request","parts":[{{"part_kind":"user-prompt","content":"again"}}]}},
{{"kind":"response","parts":[{{"part_kind":"text","content":"done again"}}]}}]"#,
        "x".repeat(9_000)
    )
}

fn write(folder: &Path, name: &str, content: &[u8]) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn each_kind_of_bad_input_is_told_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", session().as_bytes());
    let empty = write(folder.path(), "empty.jsonl", b" \n");
    let binary = write(folder.path(), "binary.json", &[0xff, 0xfe, 0x00, 0x01]);
    let other = write(folder.path(), "other.json", br#"{"a": 1}"#);
    let cut = write(folder.path(), "cut.json", &session().as_bytes()[..200]);
    let misspelt = write(
        folder.path(),
        "misspelt.toml",
        b"extends = \"tunacode-local\"\n[[pruner]]\nuse = \"tunacode.placeholder\"\nprotect_tokns = 5\n",
    );
    let tiny = write(
        folder.path(),
        "tiny.toml",
        b"extends = \"opencode\"\n[window]\ncontext = 8_000\noutput = 8_000\n",
    );
    let models = write(
        folder.path(),
        "models.toml",
        b"as_of = \"2026-01-01\"\n[[model]]\nid = \"m\"\ncontxt = 3\n",
    );
    let cases: &[(&str, &[&str], &[&str])] = &[
        (
            "a missing file",
            &["compare", "no/such/file.json"],
            &["no/such/file.json", "no such file or folder"],
        ),
        ("nothing to compare", &["compare"], &["name session files or folders, or use --discover"]),
        ("an empty file", &["compare", &empty], &["empty.jsonl", "the file is empty"]),
        (
            "a binary file",
            &["inspect", &binary],
            &["binary.json", "not a text file: byte 0 is not UTF-8"],
        ),
        (
            "no session at all",
            &["inspect", &other],
            &["other.json", "none of the known formats", "claude-code"],
        ),
        (
            "a document cut off",
            &["inspect", &cut, "--from", "pydantic-ai"],
            &["cut.json", "line 3", "ends in the middle"],
        ),
        (
            "an unknown format",
            &["inspect", &good, "--from", "pydantic"],
            &["no format `pydantic`", "pydantic-ai"],
        ),
        (
            "an unknown preset",
            &["compact", &good, "--preset", "tunacod"],
            &["did you mean `tunacode`?"],
        ),
        (
            "an unknown preset in compare",
            &["compare", &good, "--preset", "openkode"],
            &["did you mean `opencode`?"],
        ),
        (
            "a misspelt field",
            &["check", &misspelt],
            &["misspelt.toml:4:1", "`pruner[0].protect_tokns`", "did you mean `protect_tokens`?"],
        ),
        ("a window that holds nothing", &["check", &tiny], &["tiny.toml", "window"]),
        (
            "the same from the command line",
            &["compare", &good, "--preset", "opencode", "--window", "100"],
            &["--window 100"],
        ),
        (
            "a window too small to compact in",
            &["compact", &good, "--preset", "window", "--window", "16000"],
            &["preset window can't work with --window 16000", "max_output"],
        ),
        (
            "a window too small to explain",
            &["explain", &good, "--preset", "window", "--window", "16000"],
            &["preset window can't work with --window 16000"],
        ),
        (
            "an unknown stage",
            &["stages", "tunacode.placeholdr"],
            &["no stage is called `tunacode.placeholdr`"],
        ),
        (
            "an unknown estimator",
            &["compare", &good, "--measure", "o2000k"],
            &["no estimator is called `o2000k`"],
        ),
        (
            "a model that nobody knows",
            &["compare", &good, "--model", "zzz"],
            &["no model `zzz`", "--window"],
        ),
        (
            "a wrong model table",
            &["compare", &good, "--models", &models],
            &["models.toml", "line 4", "contxt"],
        ),
        (
            "a folder where a file belongs",
            &["inspect", folder.path().to_str().unwrap()],
            &["is a folder"],
        ),
    ];
    for (what, args, expected) in cases {
        let ran = foldback(args);
        assert_eq!(ran.code, 2, "{what}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.is_empty(), "{what} printed a result:\n{}", ran.stdout);
        for text in *expected {
            assert!(ran.stderr.contains(text), "{what}:\n{}\nlacks {text:?}", ran.stderr);
        }
        assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
    }
}

#[test]
fn what_can_be_used_is_used_and_the_rest_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", session().as_bytes());
    write(folder.path(), "b-the-same.json", session().as_bytes());
    write(folder.path(), "c-empty.json", b"");
    write(folder.path(), "d-binary.jsonl", &[0xff, 0x00]);
    write(folder.path(), "notes.md", b"not looked at");
    let ran = foldback(&["compare", folder.path().to_str().unwrap(), "--preset", "tunacode-local"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for text in [
        "4 files looked at: 1 sessions of 1 tasks or repositories imported",
        "3 files skipped",
        "b-the-same.json: the same bytes as",
        "c-empty.json: the file is empty",
        "d-binary.jsonl: not a text file",
    ] {
        assert!(ran.stdout.contains(text), "{}\nlacks {text:?}", ran.stdout);
    }
}

#[test]
fn a_cut_last_line_is_a_warning_and_strict_makes_it_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n\
                 {\"type\":\"assistant\",\"uuid\":\"2\",\"parentUuid\":\"1\",\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\
                 {\"type\":\"user\",\"uuid\":\"3\",\"parentUu";
    let path = write(folder.path(), "cut.jsonl", lines.as_bytes());
    let ran = foldback(&["inspect", &path]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("truncated-line"), "{}", ran.stdout);
    assert!(ran.stdout.contains("line 3"), "{}", ran.stdout);
    let ran = foldback(&["compare", &path, "--strict"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("without --strict"), "{}", ran.stderr);
}

#[test]
fn nothing_is_written_half() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", session().as_bytes());
    let out = folder.path().join("out.json");
    let ran = foldback(&[
        "compact",
        &good,
        "--preset",
        "tunacode",
        "--to",
        "no-such",
        "-o",
        out.to_str().unwrap(),
    ]);
    assert_eq!(ran.code, 2);
    assert!(!out.exists());
    let ran =
        foldback(&["compact", &good, "--preset", "tunacode", "-o", "no/such/folder/out.json"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no/such/folder"), "{}", ran.stderr);
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let ran = run(&["compact", "-", "--preset", "tunacode-local", "-o", "-"], &session(), &[]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert_eq!(
        ran.stdout.matches("[Old tool result content cleared]").count(),
        1,
        "{}",
        ran.stdout
    );
    assert!(ran.stderr.contains("reclaimed_tokens=2242"), "{}", ran.stderr);
}

#[test]
fn flags_of_the_originals_are_honoured_and_printed() {
    let ran = run(&["presets", "opencode"], "", &[("OPENCODE_DISABLE_AUTOCOMPACT", "1")]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("OPENCODE_DISABLE_AUTOCOMPACT=1 sets"), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("# environment variable OPENCODE_DISABLE_AUTOCOMPACT"),
        "{}",
        ran.stdout
    );
}
