//! Which sessions of a folder are looked at, and what becomes of kept results.

use crate::common::{foldback, run, write};
use serde_json::Value;

/// What `inspect` lists.
fn listed(args: &[&str]) -> Vec<String> {
    let ran = foldback(&[&["inspect", "--json", "-"], args].concat()).done();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = found["sessions"].as_array().unwrap().iter();
    let name =
        |session: &Value| session["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    sessions.map(name).collect()
}

#[test]
fn sessions_are_left_out_by_path_project_and_day() {
    let folder = "tests/four-sessions";
    let all = listed(&[folder]);
    assert_eq!(all.len(), 4);
    let without = listed(&[folder, "--exclude", "codex", "--exclude", "*journal*.json"]);
    assert_eq!(without, ["refunds-pydantic-ai.json", "reservations-claude-code.jsonl"]);
    // The folder that the agent worked in is recorded; the names of the files have nothing of it.
    let worked_in = listed(&[folder, "--project", "Suppliers"]);
    assert_eq!(worked_in, ["price-lists-codex.jsonl"]);
    assert_eq!(listed(&[folder, "--project", "refunds"]), ["refunds-pydantic-ai.json"]);
    assert_eq!(listed(&[folder, "--since", "2000-01-01"]).len(), 4);
    for nothing in [["--since", "2999-01-01"], ["--project", "no such"], ["--exclude", "s"]] {
        let ran = foldback(&[&["compare", folder], &nothing[..]].concat());
        assert_eq!(ran.code, 2, "{}", ran.stdout);
        assert!(ran.stderr.contains("none of 4 files is left"), "{}", ran.stderr);
    }
    let ran = foldback(&["compare", folder, "--since", "yesterday"]);
    assert!(ran.code == 2 && ran.stderr.contains("takes a day, such as"), "{}", ran.stderr);
}

/// Of a file with several sessions those that are meant are taken, under the names that they always have.
#[test]
fn a_file_is_taken_in_part() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["journal-opencode.json", "price-lists-codex.jsonl", "refunds-pydantic-ai.json"];
    let lines = files.map(|file| {
        let path = format!("examples/sessions/{file}");
        foldback(&["convert", &path, "-", "--to", "foldback", "-q"]).done().stdout
    });
    write(folder.path(), "several.jsonl", lines.concat());
    let folder = folder.path().to_str().unwrap();
    let all = listed(&[folder]);
    assert_eq!(all.len(), 3);
    assert_eq!(listed(&[folder, "--project", "suppliers"]), [all[1].as_str()]);
    assert_eq!(listed(&[folder, "--project", "several"]), all);
    let compare = ["compare", folder, "--project", "suppliers", "--preset", "window"];
    let screen = foldback(&compare).done().stdout;
    assert!(
        screen
            .starts_with("1 session in 1 repository, 81 model calls; 1 way to compact (preset)\n"),
        "{screen}"
    );
}

#[test]
fn kept_results_have_a_size_and_can_be_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let store = store.to_str().unwrap();
    let cache = |task: &str| foldback(&["cache", task, "--store", store]).done().stdout;
    assert_eq!(cache("size"), format!("{store}: 0 bytes in 0 files\n"));
    assert_eq!(cache("clean"), format!("{store}: nothing to delete\n"));
    let session = "examples/sessions/price-lists-codex.jsonl";
    let compare = ["compare", session, "--preset", "window", "--store", store];
    let first = foldback(&compare).done().stdout;
    // What is not ours stays.
    let other = write(std::path::Path::new(store), "notes.txt", "mine");
    assert!(!cache("size").contains(": 0 bytes") && cache("size").ends_with(" in 1 file\n"));
    let said = cache("clean");
    assert!(said.ends_with(" deleted\n"), "{said}");
    assert_eq!(cache("size"), format!("{store}: 0 bytes in 0 files\n"));
    assert_eq!(std::fs::read_to_string(other).unwrap(), "mine");
    assert!(foldback(&compare).done().stdout == first);
}

/// Sessions of every agent whose files are read are found where it keeps them; what lies beside them is not.
#[test]
fn sessions_are_discovered_where_agents_keep_them() {
    let home = tempfile::tempdir().unwrap();
    let fixtures = [
        ("claude-code/plain.jsonl", ".claude/projects/-home-me-app/a.jsonl"),
        ("codex/plain.jsonl", ".codex/sessions/2026/11/26/rollout-a.jsonl"),
        ("pi/plain.jsonl", ".pi/agent/sessions/--home-me-app--/a.jsonl"),
        ("dsh/session.jsonl", ".dsh/sessions/--home-me-app--/a/session.jsonl"),
        ("kimi-code/wire.jsonl", ".kimi-code/sessions/wd/session_a/agents/main/wire.jsonl"),
        ("gemini-cli/plain.json", ".gemini/tmp/app/chats/session-a.json"),
        ("gemini-cli/lines.jsonl", ".gemini/tmp/app/chats/session-b.jsonl"),
        ("copilot-cli/events.jsonl", ".copilot/session-state/a/events.jsonl"),
        (
            "roo-code/native.json",
            ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks/1/api_conversation_history.json",
        ),
        ("roo-code/xml.json", ".cline/data/tasks/2/api_conversation_history.json"),
    ];
    let mut formats = Vec::new();
    for (fixture, place) in fixtures {
        let from = crate::common::root().join("crates/formats/fixtures").join(fixture);
        let to = home.path().join(place);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&from, &to).unwrap();
        std::fs::write(to.with_file_name("settings.json"), "{\"a\": 1}").unwrap();
        formats.push(fixture.split('/').next().unwrap());
    }
    let path = home.path().to_str().unwrap();
    let unset = [
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "DSH_HOME",
        "KIMI_CODE_HOME",
        "XDG_DATA_HOME",
        "XDG_CONFIG_HOME",
        "PI_CODING_AGENT_DIR",
        "GEMINI_CLI_HOME",
        "COPILOT_HOME",
        "OPENCLAW_STATE_DIR",
        "GOOSE_PATH_ROOT",
        "CRUSH_GLOBAL_DATA",
        "HERMES_HOME",
        "USERPROFILE",
        "APPDATA",
    ];
    let env: Vec<(&str, &str)> =
        [("HOME", path)].into_iter().chain(unset.map(|name| (name, ""))).collect();
    let ran = run(&["sessions", "--json", "-"], "", &env).done();
    let found: Value = serde_json::from_str(&ran.stdout).unwrap();
    let sessions = found["sessions"].as_array().unwrap().iter();
    let mut read: Vec<&str> = sessions.map(|session| session["format"].as_str().unwrap()).collect();
    for formats in [&mut read, &mut formats] {
        formats.sort_unstable();
        formats.dedup();
    }
    assert_eq!(read, formats, "{}", ran.stdout);
    assert_eq!(found["files"], fixtures.len(), "{}", ran.stdout);
    assert_eq!(found["skipped"].as_array().map_or(0, Vec::len), 0, "{}", ran.stdout);
    let listed = run(&["sessions", "--agent", "dsh", "--agent", "pi"], "", &env).done().stdout;
    for (text, expected) in [("dsh ", 1), ("pi ", 1), ("codex", 0), ("2026-07-25", 1)] {
        assert_eq!(listed.matches(text).count(), expected, "{text}: {listed}");
    }
}
