//! Parts of a corpus that are scored apart and put together.

use crate::common::{foldback, root, run, write};
use serde_json::{Value, json};
use std::collections::BTreeMap;
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

fn score(files: &[String], part: &Path) -> String {
    let part = part.to_str().unwrap().to_owned();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    foldback(&[&["score", "-o", &part, "--no-store"], &DESIGN[..], &files].concat()).done();
    part
}

/// What a comparison prints and writes: the screen, the rows and the JSON, without the command line that they quote.
fn compared(from: &[&str], folder: &Path) -> (String, String, Value) {
    let (rows, json) = (folder.join("rows.csv"), folder.join("all.json"));
    let out = ["--rows", rows.to_str().unwrap(), "--json", json.to_str().unwrap(), "--no-store"];
    let screen = foldback(&[&["compare"], from, &DESIGN, &out].concat()).done().stdout;
    let text = |path| std::fs::read_to_string(path).unwrap();
    let mut all: Value = serde_json::from_str(&text(json)).unwrap();
    all["provenance"]["command"].take();
    // The command line is the last column.
    let rows = text(rows).replace('"', "");
    let cells = rows.lines().map(|row| row.split(",foldback compare").next().unwrap_or_default());
    (screen, cells.collect::<Vec<_>>().join("\n"), all)
}

#[test]
fn parts_give_what_all_files_give_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let sessions = folder.path().join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    let files = corpus(&sessions);
    let whole = compared(&[sessions.to_str().unwrap()], folder.path());
    assert!(whole.0.starts_with("5 sessions of 4 tasks, "), "{}", whole.0);
    // Two files are skipped, and one of them would not be in its own part.
    assert_eq!(whole.2["corpus"]["skipped"].as_array().unwrap().len(), 2);
    // The second and third: tables alone, and a table beside lines.
    let endings: &[&[&str]] = match cfg!(feature = "parquet") {
        true => &[&["jsonl"], &["parquet"], &["jsonl", "parquet"]],
        false => &[&["jsonl"]],
    };
    for (count, endings) in
        [1, 2, 7].iter().flat_map(|count| endings.iter().map(move |it| (*count, it)))
    {
        let name = |at: usize| format!("{count}-{at}.{}", endings[at % endings.len()]);
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
        let reduced = compared(&[&["--scores"], &parts[..]].concat(), folder.path());
        std::fs::rename(&away, &sessions).unwrap();
        assert_eq!(reduced.0, whole.0, "{count} parts, {endings:?}");
        assert!(reduced.1 == whole.1 && reduced.2 == whole.2, "{count} parts, {endings:?}");
    }
}

#[test]
fn a_part_that_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let files = [root().join("examples/sessions/price-lists-codex.jsonl").display().to_string()];
    let part = score(&files, &folder.path().join("part.jsonl"));
    let good = std::fs::read_to_string(&part).unwrap();
    let lines: Vec<&str> = good.lines().collect();
    let without_last = lines[..lines.len() - 1].join("\n") + "\n";
    let design = DESIGN.join(" ");
    let rows = [
        ("cut", without_last, design.as_str(), "ends too early"),
        (
            "lines lost",
            good.replacen(&format!("{}\n", lines[3]), "", 1),
            &design,
            "not those that were written",
        ),
        (
            "changed",
            good.replacen("\"window\"", "\"Window\"", 1),
            &design,
            "not scored under `window`",
        ),
        ("a session", std::fs::read_to_string(&files[0]).unwrap(), &design, "not a line of scores"),
        ("empty", String::new(), &design, "ends too early"),
        (
            "another version",
            good.replacen(env!("CARGO_PKG_VERSION"), "9.9.9", 1),
            &design,
            "score it again",
        ),
        ("another window", good.clone(), "--preset window --window 50k", "another window"),
        (
            "another preset",
            good.clone(),
            "--preset tiered --window 60k",
            "not scored under `tiered`",
        ),
        ("fewer presets", good.clone(), "--preset window --window 60k", ""),
        ("two in one file", good.clone() + &good, &design, ""),
    ];
    for (what, text, options, says) in rows {
        let options: Vec<&str> = options.split(' ').collect();
        let args = [&["compare", "--no-store", "--scores", "-"], &options[..]].concat();
        let ran = run(&args, &text, &[]);
        match says {
            "" => assert_eq!(ran.code, 0, "{what}: {}", ran.stderr),
            says => {
                assert!(ran.code == 2 && ran.stderr.contains(says), "{what}: {}", ran.stderr);
                assert!(ran.stderr.starts_with("error: -:"), "{what}: {}", ran.stderr);
            }
        }
    }
    let both = foldback(&["compare", "tests/four-sessions", "--scores", &part]);
    assert!(both.code == 2 && both.stderr.contains("cannot be used with"), "{}", both.stderr);
}

#[test]
fn figures_of_a_part_are_sums_of_rows() {
    let folder = tempfile::tempdir().unwrap();
    let files = ["price-lists-codex.jsonl", "journal-opencode.json"]
        .map(|name| root().join("tests/four-sessions").join(name).display().to_string());
    let part = std::fs::read_to_string(score(&files, &folder.path().join("part.jsonl"))).unwrap();
    let rows = folder.path().join("rows.jsonl");
    let paths: Vec<&str> = files.iter().map(String::as_str).collect();
    let out = ["--no-store", "--rows", rows.to_str().unwrap()];
    foldback(&[&["compare"], &DESIGN[..], &out, &paths].concat()).done();

    let mut sums: BTreeMap<(String, String), BTreeMap<String, u64>> = BTreeMap::new();
    for row in std::fs::read_to_string(rows).unwrap().lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let sum = sums.entry((text("session"), text("preset"))).or_default();
        *sum.entry("calls".to_owned()).or_default() += 1;
        sum.insert("context".to_owned(), row["context"].as_u64().unwrap());
        for (name, value) in row.as_object().unwrap() {
            let counts = row["exam"] == json!(true)
                || !name.ends_with("_needed") && !name.ends_with("_kept");
            let value = value.as_bool().map(u64::from).or_else(|| value.as_u64());
            if let (Some(value), true, false) = (value, counts, name == "context") {
                *sum.entry(name.clone()).or_default() += value;
            }
        }
    }
    let (mut seen, mut needed) = (0, 0);
    for line in part.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let Some(figures) = line["figures"].as_object() else { continue };
        // Rows name a preset with the summarizer that stood in.
        let preset = line["preset"].as_str().unwrap();
        let is_it = |name: &str| {
            name.strip_prefix(preset).is_some_and(|rest| rest.is_empty() || rest.starts_with('+'))
        };
        let path = line["path"].as_str().unwrap();
        let sum = sums.iter().find(|((session, name), _)| session == path && is_it(name));
        let (_, sum) = sum.unwrap_or_else(|| panic!("{path} under {preset} has no rows"));
        for (name, figure) in figures.iter().filter(|(name, _)| *name != "compactions") {
            let found = sum.get(name).copied().unwrap_or(0);
            assert_eq!(figure.as_u64(), Some(found), "{name} of {path} under {preset}");
        }
        seen += 1;
        needed += figures["frr_obs_far_needed"].as_u64().unwrap();
    }
    assert_eq!(seen, sums.len());
    assert!(needed > 0);
}

#[test]
fn a_part_does_not_depend_on_threads_or_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let files = corpus(folder.path());
    let store = folder.path().join("store").display().to_string();
    for ending in if cfg!(feature = "parquet") { &["jsonl", "parquet"][..] } else { &["jsonl"] } {
        let part = |name: &str, options: &[&str]| {
            let path = folder.path().join(format!("{name}.{ending}"));
            let paths: Vec<&str> = files.iter().map(String::as_str).collect();
            let out = ["score", "-o", path.to_str().unwrap()];
            foldback(&[&out, &DESIGN[..], options, &paths].concat()).done();
            std::fs::read(path).unwrap()
        };
        let one = part("one", &["--no-store", "--jobs", "1"]);
        assert!(one == part("two", &["--no-store", "--jobs", "2"]), "{ending}");
        assert!(one == part("stored", &["--store", &store]), "{ending}");
        assert!(one == part("again", &["--store", &store]), "{ending}");
    }
}

#[test]
fn a_table_that_does_not_fit_is_refused_or_the_error_says_how_to_get_them() {
    let folder = tempfile::tempdir().unwrap();
    let files = [root().join("examples/sessions/price-lists-codex.jsonl").display().to_string()];
    let path = folder.path().join("part.parquet");
    let compared = |path: &Path, design: &[&str]| {
        foldback(&[&["compare", "--no-store", "--scores", path.to_str().unwrap()], design].concat())
    };
    if !cfg!(feature = "parquet") {
        let out = path.to_str().unwrap();
        let wrote =
            foldback(&[&["score", &files[0], "-o", out, "--no-store"], &DESIGN[..]].concat());
        assert!(wrote.code == 2 && wrote.stderr.contains("--features parquet"), "{}", wrote.stderr);
        assert!(!path.exists());
        std::fs::write(&path, b"PAR1 and so on PAR1").unwrap();
        let read = compared(&path, &DESIGN);
        assert!(read.code == 2 && read.stderr.contains("part.parquet:1: "), "{}", read.stderr);
        assert!(read.stderr.contains("--features parquet"), "{}", read.stderr);
        return;
    }
    let good = std::fs::read(score(&files, &path)).unwrap();
    let rows = folder.path().join("rows.parquet");
    let out = ["compare", &files[0], "--no-store", "--rows", rows.to_str().unwrap()];
    foldback(&[&out, &DESIGN[..]].concat()).done();
    let flipped = |at: usize| {
        let mut bytes = good.clone();
        bytes[at] ^= 1;
        bytes
    };
    let replaced = |from: &str, to: &str| {
        let at = good.windows(from.len()).position(|it| it == from.as_bytes()).unwrap();
        [&good[..at], to.as_bytes(), &good[at + from.len()..]].concat()
    };
    let other: &[&str] = &["--preset", "window", "--window", "50k"];
    let table: [(&str, Vec<u8>, &[&str], &str); 9] = [
        ("cut", good[..good.len() / 2].to_vec(), &DESIGN, "copy the part again"),
        ("cut by a byte", good[..good.len() - 1].to_vec(), &DESIGN, "copy the part again"),
        ("too short", b"PAR1".to_vec(), &DESIGN, "copy the part again"),
        ("changed data", flipped(good.len() / 2), &DESIGN, "are not those that were written"),
        ("rows", std::fs::read(&rows).unwrap(), &DESIGN, "has the schema foldback/row/1"),
        (
            "another schema",
            replaced("foldback/scores/2", "foldback/scores/3"),
            &DESIGN,
            "foldback/scores/3",
        ),
        (
            "another version",
            replaced(
                &format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION")),
                "\"version\":\"9.9.9\"",
            ),
            &DESIGN,
            "score it again",
        ),
        ("another window", good.clone(), other, "another window"),
        ("good", good.clone(), &DESIGN, ""),
    ];
    for (what, bytes, design, says) in table {
        std::fs::write(&path, bytes).unwrap();
        let ran = compared(&path, design);
        match says {
            "" => assert_eq!(ran.code, 0, "{what}: {}", ran.stderr),
            says => {
                assert!(ran.code == 2 && ran.stderr.contains(says), "{what}: {}", ran.stderr);
                assert!(ran.stderr.contains("part.parquet:"), "{what}: {}", ran.stderr);
            }
        }
    }
}

#[test]
fn learn_is_named_where_it_is_not_built_in() {
    if cfg!(feature = "learn") {
        return;
    }
    let ran = foldback(&["learn", "examples/sessions"]);
    assert!(ran.code == 2 && ran.stderr.contains("--features learn"), "{}", ran.stderr);
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
