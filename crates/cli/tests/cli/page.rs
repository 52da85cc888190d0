//! The page of `compare --html`: what the reader shows is what the rows say, and which sessions can be read.

use crate::common::{foldback, line, refused};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Compares the sessions that ship so that presets act, writing the page and the rows into a folder.
fn compared(folder: &Path, more: &str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let (store, page, rows) = (at("store"), at("report.html"), at("rows.jsonl"));
    line(&format!(
        "compare tests/four-sessions --preset=none,opencode,window --max-output=4000 \
         --store {store} --html {page} --rows {rows} {more}"
    ))
    .done();
    std::fs::read_to_string(page).unwrap()
}

/// The data that stands in a page under ids that begin so.
fn data(page: &str, id: &str) -> Vec<Value> {
    let open = format!("<script type=\"application/json\" id=\"{id}");
    let blocks = page.split(&open).skip(1).map(|rest| {
        let (_, json) = rest.split_once('>').unwrap();
        serde_json::from_str(json.split("</script>").next().unwrap()).unwrap()
    });
    blocks.collect()
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|number| number.as_u64().unwrap()).collect()
}

/// Names of the pages beside the report.
fn pages(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder.join("report-sessions")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn the_reader_counts_as_the_rows_and_the_table_do() {
    let folder = tempfile::tempdir().unwrap();
    let page = compared(folder.path(), "--window=40000 --reader 4");
    let rows = std::fs::read_to_string(folder.path().join("rows.jsonl")).unwrap();
    // The input, the stages that fired and what was missed, call by call.
    type Calls = Vec<(u64, usize, u64)>;
    let mut written: BTreeMap<(String, String), Calls> = BTreeMap::new();
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let count = |name: &str| row[name].as_u64().unwrap();
        let lost = |of: &str| count(&format!("{of}_needed")) - count(&format!("{of}_kept"));
        let missed = if row["exam"] == true { lost("epr") + lost("verbatim") } else { 0 };
        let call = (count("input_tokens"), row["fired"].as_array().unwrap().len(), missed);
        written.entry((text("session"), text("preset"))).or_default().push(call);
    }
    let table = data(&page, "sessions-data").remove(0);
    let walks = data(&page, "walk-");
    assert_eq!(walks.len(), 4);
    let mut tracks = 0;
    for walk in &walks {
        let path = walk["path"].as_str().unwrap();
        let of = |preset: &str| &written[&(path.to_owned(), preset.to_owned())];
        let inputs = |preset: &str| of(preset).iter().map(|call| call.0).collect::<Vec<_>>();
        assert_eq!(numbers(&walk["plain"]), inputs("none"), "{path}");
        for track in walk["tracks"].as_array().unwrap() {
            let preset = track["preset"].as_str().unwrap();
            let tokens = numbers(&track["tokens"]);
            assert_eq!(tokens, inputs(preset), "{path} under {preset}");
            let fired: usize = of(preset).iter().map(|call| call.1).sum();
            // What fires when the session is over stands before no call.
            let calls = tokens.len() as u64;
            let firings = track["firings"].as_array().unwrap().iter();
            let before = firings.filter(|firing| firing[0].as_u64().unwrap() < calls).count();
            assert_eq!(before, fired, "{path} under {preset}");

            let missed: u64 = of(preset).iter().map(|call| call.2).sum();
            let listed = table.as_array().unwrap().iter().find(|listed| listed["name"] == preset);
            let rows = listed.unwrap()["rows"].as_object().unwrap();
            let told: Vec<&str> = rows.values().map(|cells| cells[3].as_str().unwrap()).collect();
            assert!(told.contains(&&*missed.to_string()), "{missed} is not in {told:?}");
            tracks += 1;
        }
    }
    assert!(tracks > 4, "{tracks}");
}

#[test]
fn every_session_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    // With this window nothing acts in some of the sessions.
    let page = compared(folder.path(), "--reader 1,all --window=60000");
    assert_eq!(data(&page, "walk-").len(), 1);
    assert_eq!(page.matches("<a data-reader=\"#session=0\"").count(), 1);
    let beside = pages(folder.path());
    assert_eq!(beside, ["1.html", "2.html", "3.html", "4.html"]);
    for name in beside {
        let linked = format!("<a data-reader=\"report-sessions/{name}#session=0\"");
        let one = std::fs::read_to_string(folder.path().join("report-sessions").join(&name));
        let one = one.unwrap();
        let [walk] = &data(&one, "walk-")[..] else { panic!("{name} has one session") };
        assert!(!walk["tracks"].as_array().unwrap().is_empty(), "{name}");
        assert!(one.contains("<a href=\"../report.html#sessions\">"), "{name}");
        let session = format!("<title>foldback: {}</title>", walk["path"].as_str().unwrap());
        assert!(one.contains(&session), "{name}");
        let here = data(&page, "walk-")[0]["path"] == walk["path"];
        assert_eq!(page.contains(&linked), !here, "{name}");
    }
}

#[test]
fn other_files_stay_beside_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    let beside = folder.path().join("report-sessions");
    std::fs::create_dir(&beside).unwrap();
    for name in ["7.html", "notes.html", "7.txt"] {
        std::fs::write(beside.join(name), "old").unwrap();
    }
    compared(folder.path(), "--window=40000 --reader all");
    let names = ["1.html", "2.html", "3.html", "4.html", "7.html", "7.txt", "notes.html"];
    assert_eq!(pages(folder.path()), names);
}

#[test]
fn what_can_not_be_written_is_refused_before_anything_is() {
    refused("page", &[]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("report-sessions"), "a file").unwrap();
    let page = folder.path().join("report.html");
    let page = page.to_str().unwrap();
    let ran = foldback(&[
        "compare",
        "tests/four-sessions",
        "--html",
        page,
        "--reader=all",
        "--preset",
        "none",
    ]);
    assert_eq!(ran.code, 2, "{}", ran.stdout);
    assert!(ran.stderr.contains("report-sessions"), "{}", ran.stderr);
    assert!(!Path::new(page).exists(), "a page without its pages");
}
