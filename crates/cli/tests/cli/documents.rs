//! What the documents print is what their commands give. `UPDATE_DOCS=1` writes it into them.

use super::common::{line, root};
use foldback_formats::FORMATS;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The sums of rows that the page on rows shows, by preset in the order of the rows.
fn sums(rows: &[Value], columns: &[&str], counts: fn(&Value) -> bool) -> Vec<(String, Vec<u64>)> {
    let mut order: Vec<&str> = Vec::new();
    let mut sums: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows.iter().filter(|row| counts(row)) {
        let preset = row["preset"].as_str().unwrap();
        let own = sums.entry(preset).or_insert_with(|| {
            order.push(preset);
            vec![0; columns.len()]
        });
        for (sum, column) in own.iter_mut().zip(columns) {
            *sum += row[column].as_u64().unwrap();
        }
    }
    order.into_iter().map(|preset| (preset.to_owned(), sums[preset].clone())).collect()
}

const COLUMNS: [&str; 3] = ["input_tokens", "cache_read", "rereads"];

/// As pandas prints it, four blanks in.
fn pandas(sums: &[(String, Vec<u64>)]) -> String {
    let first = sums.iter().map(|(preset, _)| preset.len()).max().unwrap();
    let [a, b, c] = COLUMNS;
    let mut out = format!("    {:first$}  {a}  {b}  {c}\n    preset\n", "");
    for (preset, sum) in sums {
        let (wide, cached, again) = (a.len(), b.len(), c.len());
        let [input, read, rereads] = sum[..] else { unreachable!("three columns") };
        writeln!(out, "    {preset:first$}  {input:>wide$}  {read:>cached$}  {rereads:>again$}")
            .unwrap();
    }
    out
}

/// The shares that pandas prints for the exam.
fn shares(rows: &[Value]) -> String {
    let columns = ["frr_obs_far_kept", "frr_obs_far_needed"];
    let sums = sums(rows, &columns, |row| row["exam"] == true);
    let first = sums.iter().map(|(preset, _)| preset.len()).max().unwrap();
    let mut out = "    preset\n".to_owned();
    for (preset, sum) in &sums {
        writeln!(out, "    {preset:first$}    {:.6}", sum[0] as f64 / sum[1] as f64).unwrap();
    }
    out + "    dtype: float64\n"
}

/// A document with what stands from the line `from` up to the line `to` replaced; neither goes.
fn with(page: &str, from: &str, to: &str, text: &str) -> String {
    let (before, rest) = page.split_once(from).unwrap_or_else(|| panic!("no {from:?}"));
    let (_, after) = rest.split_once(to).unwrap_or_else(|| panic!("no {to:?}"));
    [before, from, text, to, after].concat()
}

fn shows(document: &str, made: impl Fn(&str) -> String) {
    let path = root().join(document);
    let page = std::fs::read_to_string(&path).unwrap();
    let made = made(&page);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let differs = page.lines().zip(made.lines()).find(|(there, made)| there != made);
    assert!(page == made, "{document} is out of date, see {differs:?}; UPDATE_DOCS=1 rewrites it");
}

#[test]
fn the_page_on_rows_shows_what_rows_give() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rows.jsonl");
    line(&format!(
        "compare examples/sessions --preset none,opencode,window --window 40000 --max-output 4000 \
         --store=none --rows {}",
        file.display()
    ))
    .done();
    let text = std::fs::read_to_string(file).unwrap();
    let rows: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let sums = sums(&rows, &COLUMNS, |_| true);
    shows("docs/rows.md", |page| {
        let same = "\n`pd.read_csv(";
        let sum = "\"rereads\"]].sum())\n```\n\n";
        let page = with(page, sum, same, &pandas(&sums));
        let ratio = "exam.frr_obs_far_needed)\n```\n\n";
        with(&page, ratio, "\nCalls of one session depend", &shares(&rows))
    });
}

#[test]
fn the_readme_shows_what_its_first_command_prints_and_a_loop_that_runs() {
    let screen = line("compare examples/sessions --store=none").done().stdout;
    let test = root().join("examples/agent-loop/tests/ten_lines.rs");
    let test = std::fs::read_to_string(test).unwrap();
    let code = test.split("    // README\n").nth(1).unwrap();
    let code: String =
        code.lines().map(|line| format!("{}\n", line.get(4..).unwrap_or(""))).collect();
    shows("README.md", |page| {
        let page = with(
            page,
            "The first one prints:\n\n```text\n",
            "```\n\n`--show full` prints",
            &screen,
        );
        with(&page, "## In an agent\n\n```rust\n", "```\n", &code)
    });
}

#[test]
fn the_page_on_trials_shows_what_the_example_says() {
    let args = "trial examples/trial/trial.jsonl --outcomes examples/trial/outcomes.csv";
    let said = line(args).done().stdout;
    shows("docs/trial.md", |page| {
        with(page, "outcomes.csv\n```\n\n```text\n", "```\n\nA figure", &said)
    });
}

#[test]
fn the_formats_are_counted() {
    let read = FORMATS.len().to_string();
    let written = FORMATS.iter().filter(|format| format.writer.is_some()).count().to_string();
    shows("README.md", |page| {
        let page = with(page, "how to fix a comparison beforehand. ", " [session formats]", &read);
        with(&page, "(crates/formats/README.md) are read and ", "\nwritten.", &written)
    });
    shows("CHANGELOG.md", |page| {
        let page = with(page, "written in Python.\n- ", " session formats", &read);
        with(&page, " session formats are read and ", " written.", &written)
    });
}

/// Its pixels depend on the fonts of a machine: what it was made of is a hash in the file (`tests/page/picture.py`).
#[test]
fn the_picture_is_of_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("report.html");
    line(&format!("compare examples/sessions --store=none --html {}", file.display())).done();
    let page = std::fs::read_to_string(file).unwrap();
    let (shown, _) = page.split_once("<section id=\"presets\">").unwrap();
    let digest: String = Sha256::digest(shown).iter().map(|byte| format!("{byte:02x}")).collect();
    let picture = std::fs::read(root().join("docs/report.png")).unwrap();
    let named = picture.windows(digest.len()).any(|bytes| bytes == digest.as_bytes());
    assert!(
        named,
        "make it anew: python3 tests/page/picture.py target/debug/foldback docs/report.png"
    );
}
