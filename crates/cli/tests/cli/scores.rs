//! Parts of a corpus that are scored apart and put together.

use crate::common::{foldback, root, write};
use serde_json::Value;
use std::path::Path;

const DESIGN: [&str; 4] = ["--preset", "opencode-1.17,window", "--window", "60k"];

/// Seven files: sessions, one of them twice, one that was cut, and one that is none.
fn corpus(folder: &Path) -> Vec<String> {
    let read = |name: &str| std::fs::read(root().join("tests/four-sessions").join(name)).unwrap();
    let codex = read("price-lists-codex.jsonl");
    let half = codex.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(60).unwrap().0;
    [
        ("a-again.json", read("refunds-pydantic-ai.json")),
        ("b.jsonl", codex.clone()),
        ("c.json", read("journal-opencode.json")),
        ("d-half.jsonl", of_its_own(&codex[..=half])),
        ("e.json", b"{\"no\": \"session\"}".to_vec()),
        ("f.jsonl", read("reservations-claude-code.jsonl")),
        ("g.json", read("refunds-pydantic-ai.json")),
    ]
    .map(|(name, bytes)| write(folder, name, bytes))
    .to_vec()
}

/// The same under an id of its own: with the same one it would be a copy, which only a part that has both can tell.
fn of_its_own(codex: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(codex.to_vec()).unwrap();
    text.replace("019d4e6c-deb8-755b-97f6-7ac9ae61f0e8", "another").into_bytes()
}

/// Scores files into the folder of a part.
fn score(files: &[String], part: &Path) -> String {
    let part = part.to_str().unwrap().to_owned();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    foldback(&[&["score", "--store", &part], &DESIGN[..], &files].concat()).done();
    part
}

/// What a comparison prints and writes: the screen, the rows and the JSON, without the command line that they quote.
fn compared(from: &[&str], folder: &Path) -> (String, String, Value) {
    let (rows, json) = (folder.join("rows.csv"), folder.join("all.json"));
    let out = ["--rows", rows.to_str().unwrap(), "--json", json.to_str().unwrap(), "--store=none"];
    let screen = foldback(&[&["compare"], from, &DESIGN, &out].concat()).done().stdout;
    let text = |path| std::fs::read_to_string(path).unwrap();
    let mut all: Value = serde_json::from_str(&text(json)).unwrap();
    for name in ["command", "command_hash"] {
        all["provenance"][name].take();
    }
    // The hash of the command line is the last column.
    let rows = text(rows);
    let cells = rows.lines().map(|row| row.rsplit_once(',').map_or(row, |(cells, _)| cells));
    (screen, cells.collect::<Vec<_>>().join("\n"), all)
}

#[test]
fn parts_give_what_all_files_give_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let files = corpus(&sessions);
    let whole = compared(&[sessions.to_str().unwrap()], folder.path());
    assert!(whole.0.starts_with("5 sessions in 4 repositories, "), "{}", whole.0);
    // Two files are skipped, and one of them would not be in its own part.
    assert_eq!(whole.2["corpus"]["skipped"].as_array().unwrap().len(), 2);
    for count in [1, 2, 7] {
        let name = |at: usize| format!("{count}-{at}");
        let mut parts: Vec<String> = files
            .chunks(files.len().div_ceil(count))
            .enumerate()
            .map(|(at, files)| score(files, &folder.path().join(name(at))))
            .collect();
        let rotated = parts.len() / 2;
        parts.rotate_left(rotated);
        parts.reverse();
        // The sessions are not needed any more.
        let away = folder.path().join("away");
        std::fs::rename(&sessions, &away).unwrap();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let reduced = compared(&parts, folder.path());
        std::fs::rename(&away, &sessions).unwrap();
        assert_eq!(reduced.0, whole.0, "{count} parts");
        assert!(reduced.1 == whole.1 && reduced.2 == whole.2, "{count} parts");
    }
}

#[test]
fn a_part_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = root().join("examples/sessions/price-lists-codex.jsonl").display().to_string();
    let part = score(std::slice::from_ref(&file), &folder.path().join("part"));
    let part_of = |name: &str| Path::new(&part).join(name);
    let good = std::fs::read_to_string(part_of("part.json")).unwrap();
    let compare = |options: &str| {
        let args: Vec<&str> = options.split(' ').collect();
        foldback(&[&["compare", "--store=none", &part], &args[..]].concat())
    };
    let design = DESIGN.join(" ");
    let version = env!("CARGO_PKG_VERSION");
    let rows = [
        ("no list", "{}", "{}", design.as_str(), "no part that `foldback score` wrote"),
        ("changed", "\"window\"", "\"Window\"", &design, "not scored under `window`"),
        ("another version", version, "9.9.9", &design, "score it again"),
        ("another window", "", "", "--preset window --window 50k", "another window"),
        ("another preset", "", "", "--preset tiered --window 60k", "not scored under `tiered`"),
        ("fewer presets", "", "", "--preset window --window 60k", ""),
        (
            "with a selection",
            "",
            "",
            "--preset window --window 60k --exclude a",
            "leave out --discover",
        ),
        ("with sessions", "", "", &format!("{design} {file}"), "name nothing else"),
    ];
    for (what, from, to, options, says) in rows {
        let text = if from == "{}" { to.to_owned() } else { good.replacen(from, to, 1) };
        std::fs::write(part_of("part.json"), text).unwrap();
        let ran = compare(options);
        match says {
            "" => assert_eq!(ran.code, 0, "{what}: {}", ran.stderr),
            says => assert!(ran.code == 2 && ran.stderr.contains(says), "{what}: {}", ran.stderr),
        }
    }
    std::fs::write(part_of("part.json"), good).unwrap();
    // Results that were lost or damaged on the way are not left out in silence.
    let pack = part_of("results-000001.pack");
    let whole = std::fs::read(&pack).unwrap();
    for bytes in [whole[..whole.len() / 2].to_vec(), Vec::new()] {
        std::fs::write(&pack, bytes).unwrap();
        let ran = compare(&design);
        assert!(ran.code == 2 && ran.stderr.contains("lacks results of "), "{}", ran.stderr);
    }
}

#[test]
fn a_part_does_not_depend_on_threads_or_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let files = corpus(folder.path());
    let part = |name: &str, options: &[&str]| {
        let path = folder.path().join(name);
        let paths: Vec<&str> = files.iter().map(String::as_str).collect();
        let store = ["score", "--store", path.to_str().unwrap()];
        foldback(&[&store, &DESIGN[..], options, &paths].concat()).done();
        std::fs::read(path.join("part.json")).unwrap()
    };
    let one = part("one", &["--jobs", "1"]);
    assert!(one == part("two", &["--jobs", "2"]));
    assert!(one == part("one", &[]));
}

#[test]
fn object_storage_is_named_where_it_is_not_built_in() {
    if cfg!(feature = "object-store") {
        return;
    }
    for command in [&["compare"][..], &["inspect"], &["explain", "--preset", "window"]] {
        let ran = foldback(&[command, &["s3://bucket/one.json"]].concat());
        assert!(ran.code == 2 && ran.stderr.contains("s3://bucket/one.json: "), "{}", ran.stderr);
        assert!(ran.stderr.contains("--features object-store"), "{}", ran.stderr);
    }
}
