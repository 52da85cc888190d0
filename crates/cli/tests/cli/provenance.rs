//! What every output says of where it comes from, and what it keeps to itself when it is to be shown around.

use crate::common::{Recording, foldback, line, root};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;

/// Runs a comparison in which presets fire, with all outputs in a folder; `more` are further options.
fn compare(folder: &Path, sessions: &str, more: &str) -> [String; 4] {
    let names = ["all.json", "rows.csv", "page.html"].map(|name| folder.join(name));
    let ran = line(&format!(
        "compare {sessions} --preset=none,opencode,window --window=40000 --max-output=4000 --store {} \
         --json {} --rows {} --html {} {more}",
        folder.join("store").display(),
        names[0].display(),
        names[1].display(),
        names[2].display(),
    ))
    .done();
    let [json, rows, html] = names.map(|name| std::fs::read_to_string(name).unwrap());
    [json, rows, html, ran.stdout]
}

#[test]
fn outputs_say_what_they_were_made_of() {
    let folder = tempfile::tempdir().unwrap();
    let [json, rows, html, _] = compare(folder.path(), "tests/four-sessions", "--jobs 1");
    let document: Value = serde_json::from_str(&json).unwrap();
    let made = &document["provenance"];
    let command = "foldback compare tests/four-sessions --preset none --preset opencode --preset window --window \
                   40000 --max-output 4000";
    assert_eq!(made["command"], command);
    assert_eq!(made["version"], env!("CARGO_PKG_VERSION"));
    for name in ["configuration", "inputs"] {
        let hash = made[name].as_str().unwrap();
        assert_eq!(hash.len(), 16, "{name}");
        assert!(html.contains(hash), "the page lacks {name}");
    }
    // In rows it would stand in each.
    let hash = made["command_hash"].as_str().unwrap();
    assert!(html.contains(command) && rows.contains(hash) && !rows.contains(command));
    assert!(rows.contains(made["configuration"].as_str().unwrap()));
    let sessions = document["corpus"]["sessions"].as_array().unwrap();
    assert!(sessions.iter().all(|session| rows.contains(session["content"].as_str().unwrap())));
    // The same again elsewhere, by more threads, and a part of the same.
    let other = tempfile::tempdir().unwrap();
    let [again, ..] = compare(other.path(), "tests/four-sessions", "");
    assert_eq!(again, json);
    let [part, ..] = compare(other.path(), "tests/four-sessions/price-lists-codex.jsonl", "");
    let part: Value = serde_json::from_str(&part).unwrap();
    assert_eq!(part["provenance"]["configuration"], made["configuration"]);
    assert_ne!(part["provenance"]["inputs"], made["inputs"]);
}

/// A command line as long as its 356 paths once stood in every row.
#[test]
fn rows_do_not_grow_with_the_number_of_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = |number: usize| {
        let name = format!("{number:03}");
        let mut recording = Recording::new(&name, 100, 10);
        recording.user("Read it");
        recording.call("Read", &json!({ "path": number }), "text");
        recording.write(folder.path(), &format!("{name}-{}.jsonl", "long".repeat(20)))
    };
    let paths: Vec<String> = (0..356).map(path).collect();
    let size = |count: usize| {
        let out = folder.path().join("rows.csv");
        let mut args = vec!["compare", "--preset", "none", "--window", "40000", "--store=none"];
        args.extend(["--rows", out.to_str().unwrap()]);
        args.extend(paths.iter().take(count).map(String::as_str));
        foldback(&args).done();
        let rows = std::fs::read_to_string(out).unwrap();
        rows.len() / rows.lines().count()
    };
    let [one, all] = [1, 356].map(size);
    assert!(all <= one + 10, "a row has {one} bytes, and with 356 paths {all}");
}

#[test]
fn the_citation_names_this_version() {
    let citation = std::fs::read_to_string(root().join("CITATION.cff")).unwrap();
    assert!(citation.contains(&format!("\nversion: {}\n", env!("CARGO_PKG_VERSION"))));
}

/// Words of a session that only its owner should see: anything longer than common words.
fn words(text: &str) -> BTreeSet<&str> {
    let parts = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '-');
    parts.filter(|word| word.len() >= 12 && word.contains(['_', '-'])).collect()
}

#[test]
fn what_is_redacted_stands_in_no_output() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("secret-client");
    std::fs::create_dir(&sessions).unwrap();
    let example = root().join("tests/four-sessions/price-lists-codex.jsonl");
    let text = std::fs::read_to_string(example).unwrap();
    std::fs::write(sessions.join("merger-plans.jsonl"), &text).unwrap();
    std::fs::write(sessions.join("copy-of-plans.jsonl"), &text).unwrap();
    std::fs::write(sessions.join("broken-plans.jsonl"), "private-words {").unwrap();
    let sessions = sessions.to_str().unwrap();

    let plain = compare(folder.path(), sessions, "");
    let secret = words(&text);
    let found = |outputs: &[String]| -> BTreeSet<&str> {
        let own = outputs.iter().flat_map(|output| words(output)).collect::<BTreeSet<&str>>();
        secret.iter().copied().filter(|word| own.contains(word)).collect()
    };
    assert!(plain.iter().take(3).all(|output| output.contains("-plans")));
    assert!(found(&plain).len() > 20, "the page shows what stands in the session");

    let redacted = compare(folder.path(), sessions, "--redact --reader all");
    let page = std::fs::read_to_string(folder.path().join("page-sessions/1.html")).unwrap();
    for output in redacted.iter().chain([&page]) {
        for name in ["plans", "secret-client", "private-words"] {
            assert!(!output.contains(name), "{name} stands in\n{output}");
        }
    }
    // A column's name, and a model that the table lists.
    let harmless = ["deepseek-chat", "input_tokens", "output_tokens"];
    assert_eq!(found(&redacted), BTreeSet::from(harmless));
    let all: BTreeSet<&str> = found(&[page]);
    assert!(all.is_subset(&BTreeSet::from(harmless)), "{all:?}");
    // The figures are the same, and so is the pseudonym in all outputs.
    let [json, rows, html, _] = &redacted;
    let document: Value = serde_json::from_str(json).unwrap();
    let before: Value = serde_json::from_str(&plain[0]).unwrap();
    assert_eq!(document["presets"][1]["metrics"], before["presets"][1]["metrics"]);
    let name = document["corpus"]["sessions"][0]["path"].as_str().unwrap();
    assert!(name.starts_with("session-") && rows.contains(name) && html.contains(name));
    let again = compare(folder.path(), sessions, "--redact --reader all");
    assert_eq!(again, redacted);
}
