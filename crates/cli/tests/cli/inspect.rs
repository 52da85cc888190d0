//! `foldback inspect`: one file in full, folders as a list, both as JSON.

use crate::common::{foldback, line, root, run};
use serde_json::{Value, json};

#[test]
fn a_folder_is_listed() {
    let listed = line("inspect tests/four-sessions").done().stdout;
    for text in
        ["journal-opencode.json ", "4 sessions with 301 calls", "all are in tests/four-sessions/"]
    {
        assert!(listed.contains(text), "{listed}\nlacks {text:?}");
    }
    assert!(!listed.contains("tests/four-sessions/journal"), "{listed}");
    let narrow = run(&["inspect", "tests/four-sessions"], "", &[("COLUMNS", "60")]).done().stdout;
    assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    assert!(narrow.contains("no room for: "), "{narrow}");
    // One file is told in full, and nothing of it is broken in a pipe.
    let one = line("inspect tests/four-sessions/price-lists-codex.jsonl").done().stdout;
    assert!(one.contains("recorded for 81 calls; 2,386,417 input tokens in all, 43,766 at most\n"));
}

#[test]
fn what_is_found_is_json_too() {
    let ran = line("inspect tests/four-sessions --json -").done();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = found["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &found["files"]), (4, &Value::from(4)));
    for session in sessions {
        let kinds = session["tokens_by_kind"].as_object().unwrap().values();
        let sum: u64 = kinds.map(|tokens| tokens.as_u64().unwrap()).sum();
        assert_eq!(session["tokens"].as_u64(), Some(sum), "{session}");
        let path = session["path"].as_str().unwrap();
        let one = foldback(&["inspect", path, "--json", "-"]).done();
        let one: Value = serde_json::from_str(&one.stdout).unwrap();
        assert_eq!(one["sessions"][0], *session);
    }
}

#[test]
fn what_holds_no_session_is_an_error() {
    for (args, says) in [
        ("inspect docs", "no session to look at"),
        ("inspect tests/four-sessions --from codex", "--from is the format of one file"),
        ("inspect docs --agent cat", "there is no format `cat`"),
    ] {
        let ran = line(args);
        assert_eq!(ran.code, 2, "{args}: {}", ran.stdout);
        assert!(ran.stderr.contains(says), "{args}: {}", ran.stderr);
    }
}

/// Calls that several files hold count in the one that they were made in.
#[test]
fn copied_history_counts_once() {
    let rows = [
        (
            "B15-copied-history/resume-copy",
            &[("aaaa-1", 7, 0, 13_628), ("bbbb-2", 1, 7, 3_644)][..],
        ),
        ("B15-copied-history/codex-fork", &[("parent", 4, 0, 10_000), ("child", 2, 4, 3_000)]),
        ("B25-opencode-fork", &[("fork", 2, 5, 25_011), ("parent", 5, 0, 27_510)]),
        (
            "B25-opencode-fork/db/opencode.db",
            &[("ses_parent", 5, 0, 27_510), ("ses_fork", 2, 5, 25_011)],
        ),
        ("B28-codex-spawned-child", &[("parent", 4, 0, 10_000), ("child", 2, 4, 11_000)]),
    ];
    for (folder, expected) in rows {
        let folder = format!("tests/cases/{folder}");
        let found: Value =
            serde_json::from_str(&line(&format!("inspect {folder} --json -")).done().stdout)
                .unwrap();
        for (session, (name, calls, copied, input)) in
            found["sessions"].as_array().unwrap().iter().zip(expected)
        {
            let named = |key: &str| session[key].as_str().unwrap().contains(name);
            assert!(named("path") || named("id"), "{session}");
            let counts = [&session["calls"], &session["copied_calls"], &session["usage"]["input"]];
            assert_eq!(counts, [*calls, *copied, *input], "{name}");
        }
        let listed = line(&format!("inspect {folder}")).done().stdout;
        let copied: u64 = expected.iter().map(|row| row.2).sum();
        let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(listed.contains(&format!("{copied} calls copied")), "{listed}");
        let compared =
            line(&format!("compare {folder} --store=none --preset none --show full")).done().stdout;
        let compared = compared.split_whitespace().collect::<Vec<_>>().join(" ");
        let caution = "1 of 2 sessions hold the history of others";
        assert!(compared.contains(caution), "{compared}");
        assert!(compared.contains(&format!("{copied} calls in them are copies")), "{compared}");
    }
    // Alone, a file has all that is in it.
    let alone = line(
        "inspect tests/cases/B15-copied-history/codex-fork/rollout-2026-07-28T10-30-00-019f-child.jsonl --json -",
    );
    let alone: Value = serde_json::from_str(&alone.done().stdout).unwrap();
    assert_eq!(alone["sessions"][0]["calls"], 6);
}

#[test]
fn dollars_that_are_not_known_are_not_summed() {
    let listed = line("inspect crates/formats/fixtures/crush").done().stdout;
    let listed = listed.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(listed.contains("at the models' list prices, none known;"), "{listed}");
}

/// What is not used for one reason is one line.
#[test]
fn other_files_are_one_line() {
    let lines = |args: &str| {
        let listed = line(args).done().stdout;
        listed.lines().filter(|line| line.contains("not used: ")).map(str::to_owned).collect()
    };
    let folder = "tests/cases/B21-not-used-noise";
    let found: Vec<String> = lines(&format!("inspect {folder}"));
    assert_eq!(found, ["not used: 12 files: none of the known formats (-v lists them)"]);
    let all: Vec<String> = lines(&format!("inspect -v {folder}"));
    assert_eq!(all.len(), 12);
    assert!(all[0].contains("report0.json: none of the known formats; if it is"), "{}", all[0]);
}

/// A kind of warning that is not shown whole says how much is left.
#[test]
fn what_is_left_of_the_warnings_is_said() {
    let owls: String = (0..7).map(|n| format!("{{\"type\":\"owl-{n}\"}}\n")).collect();
    let text = format!(
        "{{\"parentUuid\":null,\"sessionId\":\"s\",\"type\":\"user\",\"uuid\":\"u\",\"message\":{{\"role\":\"user\",\"content\":\"a\"}}}}\n{owls}"
    );
    let ran = run(&["inspect", "-"], &text, &[]).done().stdout;
    assert!(ran.contains("unknown-type, 7 times"), "{ran}");
    assert!(ran.contains("2 more; --json lists them"), "{ran}");
    assert_eq!(ran.matches("unknown type `owl-").count(), 5, "{ran}");
}

/// What a strategy keeps of results that were left out of a recording says nothing of the strategy.
#[test]
fn text_that_a_recording_lacks_is_told() {
    let told = line("inspect tests/cases/E-redacted-outputs/rollout.jsonl").done().stdout;
    for text in ["text-missing", "668 tokens of text stand for 152,000 recorded"] {
        assert!(told.contains(text), "lacks {text:?}: {told}");
    }
}

/// Inputs that once went wrong and are too large to be copied: what is said of them.
#[foldback_needs::cases]
#[test]
fn large_inputs_that_went_wrong_are_told_right() {
    let case = "../shared/cases/E-swe-agent-large/swe-agent-large-first-observation.traj";
    let told = line(&format!("inspect {case}")).done().stdout;
    for text in ["format        swe-agent\n", "calls         2\n"] {
        assert!(told.contains(text), "{case} lacks {text:?}: {told}");
    }
    let home = root().join("../shared/cases/G-cline-cli-home");
    let home = [("HOME", home.to_str().unwrap()), ("USERPROFILE", home.to_str().unwrap())];
    let told = run(&["inspect", "--json", "-"], "", &home).done().stdout;
    let found: Value = serde_json::from_str(&told).unwrap();
    let session = &found["sessions"][0];
    let (format, calls) = (&session["format"], &session["calls"]);
    assert_eq!((format.as_str(), calls.as_u64()), (Some("cline"), Some(3)), "{told}");
}

/// A conversation of OpenHands' SDK is a folder with a file for each event: one session, with what each answer used by the
/// state that lies beside them.
#[test]
fn a_conversation_in_many_files_is_one_session() {
    let case = "tests/cases/G-openhands-sdk-folder";
    let own = format!("{case}/conversations/x");
    let state = format!("{own}/base_state.json");
    for path in [case, &own, &state] {
        let found = only_session(path);
        assert_eq!(found["path"], *state, "{path}");
        assert_eq!(found["id"], "f0bb2aff-17d6-44ff-bb1b-69b9737104fc");
        assert_eq!((&found["format"], &found["model"]), (&json!("openhands"), &json!("openai/m")));
        assert_eq!(found["project"], "/home/dev/demo");
        assert_eq!([&found["in_log"], &found["calls"], &found["tool_calls"]], [8, 4, 3]);
        assert_eq!(found["usage"], json!({"calls": 4, "input": 35_682, "largest": 17_460}));
        assert_eq!(found["warnings"], json!([]));
    }
    // `prompt_tokens`, `cache_read_tokens` and `completion_tokens` of chat_1, chat_2, chat_3 and chat_60 in the state.
    let bytes = foldback_formats::read_file(&root().join(&state)).unwrap();
    let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
    let usages = session.log().filter_map(|message| message.answer.as_ref()?.usage);
    let usages: Vec<[u64; 3]> =
        usages.map(|usage| [usage.input_total(), usage.cache_read, usage.output]).collect();
    assert_eq!(
        usages,
        [[5_482, 0, 33], [6_074, 3_904, 33], [6_666, 4_480, 33], [17_460, 15_232, 12]]
    );
}

/// What is damaged of a conversation in many files is named, and the rest is used.
#[test]
fn a_damaged_file_of_a_conversation_costs_no_other() {
    let own = root().join("tests/cases/G-openhands-sdk-folder/conversations/x");
    let copy = tempfile::tempdir().unwrap();
    let events = copy.path().join("events");
    std::fs::create_dir(&events).unwrap();
    std::fs::copy(own.join("base_state.json"), copy.path().join("base_state.json")).unwrap();
    for entry in std::fs::read_dir(own.join("events")).unwrap() {
        let entry = entry.unwrap();
        let (name, mut bytes) = (entry.file_name(), std::fs::read(entry.path()).unwrap());
        if name.to_string_lossy().starts_with("event-00005-") {
            bytes.truncate(1_000);
        } else if name.to_string_lossy().starts_with("event-00006-") {
            bytes.clear();
        }
        std::fs::write(events.join(name), bytes).unwrap();
    }
    let check = |calls: u64, input: u64, damaged: &[&str]| {
        let found = only_session(copy.path().to_str().unwrap());
        assert_eq!(found["calls"], calls);
        assert_eq!(found["usage"]["input"].as_u64().unwrap_or(0), input);
        let warnings = found["warnings"].as_array().unwrap();
        let told: Vec<&str> = warnings
            .iter()
            .filter(|warning| warning["code"] == "damaged-line")
            .map(|warning| warning["detail"].as_str().unwrap())
            .collect();
        assert_eq!(told.len(), damaged.len(), "{told:?}");
        for (told, name) in told.iter().zip(damaged) {
            assert!(told.starts_with(name), "{told}");
        }
    };
    // chat_3 was in the empty file.
    check(3, 5_482 + 6_074 + 17_460, &["event-00005-f1445152", "event-00006-9268bcea"]);
    std::fs::write(copy.path().join("base_state.json"), "{").unwrap();
    check(3, 0, &["base_state.json: ", "event-00005-f1445152", "event-00006-9268bcea"]);
}

/// The only session that `inspect` finds at a path.
fn only_session(path: &str) -> Value {
    let ran = foldback(&["inspect", path, "--json", "-"]).done();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = found["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &found["files"]), (1, &Value::from(1)), "{path}: {found:#}");
    sessions[0].clone()
}

#[test]
fn a_folder_that_is_one_session_is_taken_as_its_file_is() {
    let own = "tests/cases/G-openhands-sdk-folder/conversations/x";
    for command in [
        "explain PATH --preset window",
        "compact PATH --preset window --show plan",
        "convert PATH - --to foldback",
    ] {
        let [folder, file] = [own.to_owned(), format!("{own}/base_state.json")].map(|path| {
            let ran = line(&command.replace("PATH", &path)).done();
            assert!(!ran.stdout.is_empty(), "{command}");
            ran.stdout.replace(&path, "PATH")
        });
        assert_eq!(folder, file, "{command}");
    }
    for command in
        ["compact PATH --preset window --in-place --when live", "explain PATH --preset window"]
    {
        let path = if command.contains("in-place") { own } else { "tests/cases" };
        assert_eq!(line(&command.replace("PATH", path)).code, 2, "{command}");
    }
}
