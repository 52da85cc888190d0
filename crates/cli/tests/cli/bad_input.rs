//! Bad input: the message that a user needs, and exit code 2 (or a counted warning where the rest is
//! usable).

use crate::common::{Recording, foldback, line, refused, run, write};

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

/// An SQLite database without tables: its header and one page.
fn database() -> Vec<u8> {
    let mut page = b"SQLite format 3\0\x02\0\x01\x01\0\x40\x20\x20".to_vec();
    page.resize(512, 0);
    // Changes, pages, the form of the schema, UTF-8, the change that the number of pages is of, a leaf and its end.
    for (at, byte) in [(27, 1), (31, 1), (47, 4), (59, 1), (95, 1), (100, 13), (105, 2)] {
        page[at] = byte;
    }
    page
}

#[test]
fn each_kind_of_bad_input_is_told_and_ends_with_2() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", session());
    let empty = write(folder.path(), "empty.jsonl", b" \n");
    let binary = write(folder.path(), "binary.json", [0xff, 0x00, 0x01]);
    let database = write(folder.path(), "database.json", database());
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
    let experiments = [("seed", "seed = \"one\"")];
    let experiments = experiments.map(|(name, line)| {
        let text = format!("strategies = [\"none\"]\n{line}\n");
        (name, write(folder.path(), &format!("{name}.toml"), text))
    });
    let flat = write(folder.path(), "flat.toml", "extends = \"none\"\nwindow = 8_000\n");
    let unknown = write(
        folder.path(),
        "unknown.toml",
        "strategies = [\"openkode\", \"tunacod\"]\nseed = 1\n",
    );
    let three = "strategies = [\"none\", \"openkode\"]\nwindow = \"wide\"\nseed = \"one\"\nwindw = 5\nprices = \"free\"\n\
                 estimator = \"o2000k\"\n";
    let names = [
        ("three", write(folder.path(), "three.toml", three)),
        ("flat", flat),
        ("unknown", unknown),
        ("good", good),
        ("empty", empty),
        ("binary", binary),
        ("database", database),
        ("other", other),
        ("cut", cut),
        ("misspelt", misspelt),
        ("tiny", tiny),
        ("models", models),
        ("folder", folder.path().to_str().unwrap().to_owned()),
    ];
    refused("bad_input", &[&names[..], &experiments].concat());
}

/// A control that no file says is shown with what it is good for, and may be named where presets are compared.
#[test]
fn controls_without_a_file_are_known() {
    let list = line("presets").done().stdout;
    for (name, what) in [
        ("clairvoyant", "sees the future"),
        ("clairvoyant-lines", "sees the future"),
        ("as-recorded", "really sent"),
    ] {
        let shown = foldback(&["presets", name]).done().stdout;
        for text in [name, what, "a control that `compare`", "can't be run"] {
            assert!(shown.contains(text), "{shown}\nlacks {text:?}");
        }
        assert!(list.contains(&format!("\n{name}\n")), "{list}");
    }
    let named =
        "compare tests/four-sessions --store=none --json - --preset tunacode,clairvoyant,none";
    let plain = "compare tests/four-sessions --store=none --json - --preset tunacode";
    // Apart from the command line that each of them quotes.
    let result =
        |args: &str| line(args).done().stdout.split_once("\"corpus\"").unwrap().1.to_owned();
    assert!(result(named) == result(plain), "{named} differs from {plain}");
}

#[test]
fn an_experiment_is_told_from_a_strategy() {
    let ran = line("check examples/known-groups.toml").done();
    assert_eq!(ran.stdout.lines().count(), 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("valid experiment with"), "{}", ran.stdout);
}

#[test]
fn an_empty_home_names_the_folders_that_were_looked_in() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().to_str().unwrap();
    let empty =
        ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "USERPROFILE"].map(|name| (name, ""));
    std::fs::create_dir_all(home.path().join(".codex/sessions")).unwrap();
    let env = [&[("HOME", path)][..], &empty].concat();
    let ran = run(&["compare", "--discover", "--store=none"], "", &env);
    assert_eq!((ran.code, &*ran.stdout), (2, ""), "{}", ran.stderr);
    for text in
        ["Codex: ", ".codex/sessions holds none", "of Claude Code, pi, ", "name session files"]
    {
        assert!(ran.stderr.contains(text), "{}\nlacks {text:?}", ran.stderr);
    }
    for agent in ["Kilo Code", "Crush"] {
        assert_eq!(ran.stderr.matches(agent).count(), 1, "{agent}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("or use --discover"), "{}", ran.stderr);
}

/// An empty variable is none, and not the folder that the command runs in.
#[test]
fn an_empty_home_is_not_the_current_folder() {
    let folder = tempfile::tempdir().unwrap();
    for place in [".claude/projects", ".codex/sessions", "projects", "sessions"] {
        std::fs::create_dir_all(folder.path().join(place)).unwrap();
        write(&folder.path().join(place), "here.json", session());
    }
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(["compare", "--discover", "--preset", "none", "--store=none"]);
    for name in ["HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME"] {
        command.env(name, "");
    }
    let ran = command.current_dir(folder.path()).output().unwrap();
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("no session found") && !said.contains("here.json"), "{said}");
}

/// A file of several sessions, and one that is more than its text, is not replaced by one session.
#[test]
fn what_is_more_than_one_session_is_not_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [one, two, both] = ["one.jsonl", "two.jsonl", "both.jsonl"].map(at);
    let good = write(folder.path(), "good.json", session());
    line(&format!("convert {good} --to foldback {one}")).done();
    let lines = std::fs::read_to_string(&one).unwrap();
    let id = lines.split('"').nth(5).unwrap();
    std::fs::write(&both, format!("{lines}{}", lines.replacen(id, "other", 1))).unwrap();
    let utf_16 = session().encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let utf_16 = write(folder.path(), "utf-16.json", [&[0xff, 0xfe], &utf_16[..]].concat());
    for (args, file, says) in [
        (format!("{both} --session other"), &both, "both.jsonl holds 2 sessions, and only one"),
        (utf_16.clone(), &utf_16, "utf-16.json is not UTF-8 text"),
        ("-".to_owned(), &good, "- is no file here"),
    ] {
        let before = std::fs::read(file).unwrap();
        let args = format!("compact {args} --preset none --in-place");
        let args: Vec<&str> = args.split(' ').collect();
        let ran = run(&args, &session(), &[]);
        assert!(ran.code == 2 && ran.stderr.contains(says), "{args:?}: {}", ran.stderr);
        assert_eq!(std::fs::read(file).unwrap(), before);
    }
    line(&format!("compact {both} --session other --preset none -o {two}")).done();
    line(&format!("compact {one} --preset none --in-place")).done();
    assert_eq!(std::fs::read_to_string(&one).unwrap(), lines);
}

#[test]
fn what_can_be_used_is_used_and_the_rest_counted() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a.json", session());
    write(folder.path(), "b-the-same.json", session());
    write(folder.path(), "c-empty.json", "");
    write(folder.path(), "d-binary.jsonl", [0xff, 0x00]);
    write(folder.path(), "notes.md", b"not looked at");
    let ran = foldback(&[
        "compare",
        folder.path().to_str().unwrap(),
        "--preset",
        "tunacode-local",
        "--show",
        "full",
    ])
    .done();
    for text in [
        "4 files read: 1 sessions from 1 tasks or repositories imported",
        "3 files skipped",
        "b-the-same.json: the same bytes as",
        "c-empty.json: the file is empty",
        "d-binary.jsonl: not a text file",
    ] {
        assert!(ran.stdout.contains(text), "{}\nlacks {text:?}", ran.stdout);
    }
}

#[test]
fn what_is_too_large_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let small = write(folder.path(), "small.json", session());
    write(folder.path(), "large.json", session() + &" ".repeat(20_000));
    let limit = [("FOLDBACK_MAX_BYTES", "20000")];
    let path = folder.path().to_str().unwrap();
    let ran =
        run(&["compare", path, "--preset", "tunacode-local", "--show", "full"], "", &limit).done();
    let told = "large.json: holds more than 20000 bytes; FOLDBACK_MAX_BYTES raises the limit";
    assert!(ran.stdout.contains("1 files skipped"), "{}", ran.stdout);
    assert!(ran.stdout.contains(told), "{}", ran.stdout);
    let endless = " ".repeat(30_000);
    for (args, input, value, told) in [
        (["inspect", "-"], endless.as_str(), "20000", "holds more than 20000 bytes"),
        (["inspect", "/dev/zero"], "", "20000", "FOLDBACK_MAX_BYTES raises the limit"),
        (["inspect", &small], "", "2 GB", "it must be a number of bytes"),
    ] {
        let ran = run(&args, input, &[("FOLDBACK_MAX_BYTES", value)]);
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains(told), "{}", ran.stderr);
    }
}

#[test]
fn a_cut_last_line_is_a_warning_and_strict_makes_it_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let lines = "{\"type\":\"user\",\"uuid\":\"1\",\"parentUuid\":null,\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T00:00:00Z\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n\
                 {\"type\":\"assistant\",\"uuid\":\"2\",\"parentUuid\":\"1\",\"sessionId\":\"s\",\"timestamp\":\"2026-01-01T00:00:01Z\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"model\":\"claude-sonnet-4-5\",\"content\":[{\"type\":\"text\",\"text\":\"hi\"}],\"usage\":{\"input_tokens\":10,\"output_tokens\":1}}}\n\
                 {\"type\":\"user\",\"uuid\":\"3\",\"parentUu";
    let path = write(folder.path(), "cut.jsonl", lines.as_bytes());
    let ran = foldback(&["inspect", &path]).done();
    assert!(ran.stdout.contains("truncated-line"), "{}", ran.stdout);
    assert!(ran.stdout.contains("line 3"), "{}", ran.stdout);
    let ran = foldback(&["compare", &path, "--strict"]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("without --strict"), "{}", ran.stderr);
}

/// Names of models and tools, results, paths and strategy files can't drive the terminal that they are shown on.
#[test]
fn nothing_that_is_quoted_drives_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let mut recording = crate::common::Recording::new("s\u{1b}[1m\nerror: forged", 90_000, 500);
    recording.user("Please \u{1b}]52;c;ZXZpbA==\u{7} read\u{202e} it");
    for call in 0..6 {
        let input = serde_json::json!({ "file_path": format!("a{call}\u{1b}[8m.txt") });
        recording.call("Re\u{1b}[31mad\nwarning: forged", &input, &"line \u{9b}2J\r\n".repeat(900));
    }
    let path = recording.write(folder.path(), "evil\u{1b}[7m.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let model = "claude\\u001b]0;owned\\u0007\\nforged";
    std::fs::write(&path, text.replace("claude-sonnet-4-5", model)).unwrap();
    let strategy = write(
        folder.path(),
        "strategy.toml",
        "extends = \"tunacode-local\"\nname = \"evil\\u001B[5m\"\n[[pruner]]\nuse = \"tunacode.placeholder\"\n\
         placeholder = \"gone\\u001B[9m\"\n",
    );
    let broken =
        write(folder.path(), "broken.toml", "extends = \"opencode\"\n\"\\u001B[5m\" = 1\n");
    let out = folder.path().join("out.jsonl");
    let out = out.to_str().unwrap();
    let with = ["--preset", &strategy];
    let runs: [(&[&str], &[&str], i32); 8] = [
        (&["inspect", &path], &[], 0),
        (&["compact", &path, "--show", "view"], &with, 0),
        (&["compact", &path, "--show", "plan"], &with, 0),
        (&["compact", &path, "-o", out], &with, 0),
        (&["explain", &path], &with, 0),
        (&["convert", &path, "--to", "openai-chat", out], &[], 0),
        (&["compare", &path], &with, 0),
        (&["check", &broken], &[], 2),
    ];
    for (args, more, code) in runs {
        let args: Vec<&str> = args.iter().chain(more).copied().collect();
        let ran = foldback(&args);
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
        let said = ran.stdout + &ran.stderr;
        let drives = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!said.contains(drives), "{args:?}: {said:?}");
        let forged =
            said.lines().any(|line| line.starts_with("error: f") || line.starts_with("warning: f"));
        assert!(!forged, "{args:?}: {said}");
        assert!(!said.is_empty(), "{args:?}");
    }
}

#[test]
fn nothing_is_written_half() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", session());
    let out = folder.path().join("out.json");
    let ran = line(&format!("compact {good} --preset tunacode --to no-such -o {}", out.display()));
    assert_eq!(ran.code, 2);
    assert!(!out.exists());
    let ran =
        foldback(&["compact", &good, "--preset", "tunacode", "-o", "no/such/folder/out.json"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("no/such/folder"), "{}", ran.stderr);
}

#[test]
fn what_is_written_goes_where_any_name_of_the_flag_says() {
    let folder = tempfile::tempdir().unwrap();
    let good = write(folder.path(), "good.json", session());
    let written = ["-o", "--out"].map(|flag| {
        let out = folder.path().join(flag);
        let path = out.to_str().unwrap();
        let ran = foldback(&["compact", &good, "--preset", "tunacode-local", flag, path]);
        assert_eq!((ran.code, ran.stdout.as_str()), (0, ""), "{flag}: {}", ran.stderr);
        std::fs::read_to_string(out).unwrap()
    });
    assert!(written[0].contains("cleared") && written.iter().all(|text| *text == written[0]));
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let ran =
        run(&["compact", "-", "--preset", "tunacode-local", "-o", "-"], &session(), &[]).done();
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
    let ran = run(&["presets", "opencode"], "", &[("OPENCODE_DISABLE_AUTOCOMPACT", "1")]).done();
    assert!(ran.stderr.contains("OPENCODE_DISABLE_AUTOCOMPACT=1 sets"), "{}", ran.stderr);
    assert!(
        ran.stdout.contains("# environment variable OPENCODE_DISABLE_AUTOCOMPACT"),
        "{}",
        ran.stdout
    );
}

/// Counts that no call has are left out, and said so; they are neither summed nor shown.
#[test]
fn counts_that_can_not_be_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = Recording::of_reads(100).write(folder.path(), "usage.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let most = r#""input_tokens":18446744073709551615,"cache_creation_input_tokens":901"#;
    let text = text.replacen(r#""input_tokens":100"#, most, 1);
    assert!(text.contains(most));
    std::fs::write(&path, text).unwrap();
    let ran = line(&format!("inspect {path}")).done();
    assert!(ran.stdout.contains("130 at most"), "{}", ran.stdout);
    assert!(ran.stdout.contains("implausible-number"), "{}", ran.stdout);
    for command in ["compare --store=none", "explain --preset window", "compact --preset none"] {
        line(&format!("{command} {path}")).done();
    }
}
