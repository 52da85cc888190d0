//! Folders that hold more than sessions: links in circles, pipes, devices, folders that can't be read.

use crate::common::{Recording, foldback};
use std::path::Path;
use std::process::Command;

fn session(id: &str) -> Recording {
    let mut session = Recording::new(id, 1_000, 500);
    session.user("Please read the file");
    session.call("Read", &serde_json::json!({"file_path": "a.txt"}), "one line");
    session
}

/// What `compare` says of a folder.
fn compared(folder: &Path) -> String {
    foldback(&["compare", folder.to_str().unwrap(), "--preset", "tunacode-local", "--show", "full"])
        .done()
        .stdout
}

#[cfg(unix)]
fn shell(folder: &Path, script: &str) {
    let status = Command::new("sh").args(["-euc", script]).current_dir(folder).status().unwrap();
    assert!(status.success(), "{script}");
}

#[cfg(unix)]
#[test]
fn links_in_circles_are_walked_once() {
    let folder = tempfile::tempdir().unwrap();
    session("one").write(folder.path(), "one.jsonl");
    std::fs::create_dir(folder.path().join("below")).unwrap();
    session("two").write(&folder.path().join("below"), "two.jsonl");
    // Two links to where one is make a path for every word of two letters; steps of two links each to the
    // next one as many, without any circle.
    shell(folder.path(), "ln -s . a; ln -s . b; ln -s ../below below/up; ln -s missing gone");
    shell(
        folder.path(),
        "for i in $(seq 1 30); do mkdir s$i; ln -s ../s$((i + 1)) s$i/x; ln -s ../s$((i + 1)) s$i/y; done; \
         mkdir s31",
    );
    let said = compared(folder.path());
    assert!(said.contains("2 files read: 2 sessions"), "{said}");
    assert!(said.contains("0 files skipped"), "{said}");
}

#[cfg(unix)]
#[test]
fn pipes_and_devices_are_listed_and_not_read() {
    let folder = tempfile::tempdir().unwrap();
    session("one").write(folder.path(), "one.jsonl");
    shell(
        folder.path(),
        "mkfifo pipe.jsonl pipe; ln -s /dev/zero zeros.json; ln -s missing gone.json",
    );
    let said = compared(folder.path());
    for text in [
        "4 files read: 1 sessions",
        "3 files skipped",
        "pipe.jsonl, ",
        "zeros.json: neither a file nor a folder",
        "gone.json: No such file or directory",
    ] {
        assert!(said.contains(text), "{said}\nlacks {text:?}");
    }
}

/// A path that is too long for the system stands for any folder that can't be read: permissions don't
/// keep everybody out.
#[cfg(unix)]
#[test]
fn a_folder_that_cant_be_read_costs_no_other() {
    let folder = tempfile::tempdir().unwrap();
    session("one").write(folder.path(), "one.jsonl");
    let name = "n".repeat(200);
    let down = format!("for i in $(seq 1 19); do mkdir {name}; cd {name}; done");
    shell(folder.path(), &format!("{down}; mkdir -p {name}/{name}"));
    let said = compared(folder.path());
    for text in ["2 files read: 1 sessions", "1 files skipped", "File name too long"] {
        assert!(said.contains(text), "{said}\nlacks {text:?}");
    }
}
