//! The folder in which results are kept, as commands use it.

use crate::common::{Ran, foldback, root, run};
use std::fs;
use std::path::Path;
use std::process::Command;

const ARGS: [&str; 6] =
    ["compare", "tests/four-sessions", "--preset", "none", "--preset", "window"];

/// In one thread, since of two that find out the same at once, each writes it and only one entry counts.
fn compare(store: &Path) -> Ran {
    let args = [&ARGS[..], &["--store", store.to_str().unwrap()]].concat();
    run(&args, "", &[("RAYON_NUM_THREADS", "1")]).done()
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).unwrap().count()
}

#[test]
fn damage_is_counted_and_changes_no_result() {
    let folder = tempfile::tempdir().unwrap();
    let first = compare(folder.path());
    assert_eq!((files(folder.path()), first.stderr.as_str()), (1, ""));
    let pack = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
    let whole = fs::read(&pack).unwrap();
    for share in 1..8 {
        let mut bytes = whole.clone();
        bytes[whole.len() * share / 8] ^= 4;
        fs::write(&pack, &bytes).unwrap();
        let again = compare(folder.path());
        assert_eq!(again.stdout, first.stdout, "{share}/8");
        assert!(again.stderr.contains("1 stored result was damaged"), "{}", again.stderr);
        let mended = compare(folder.path());
        assert_eq!((mended.stdout, mended.stderr.as_str()), (first.stdout.clone(), ""));
    }
}

/// What was compared before is taken from the store whole; its packs do not grow.
#[test]
fn a_run_that_finds_everything_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = compare(folder.path());
    let bytes = || -> Vec<u64> {
        let packs = fs::read_dir(folder.path()).unwrap();
        packs.map(|pack| pack.unwrap().metadata().unwrap().len()).collect()
    };
    let before = bytes();
    assert_eq!(compare(folder.path()).stdout, first.stdout);
    assert_eq!(bytes(), before);
}

/// Folders that only look like ours, and two commands on one store at once.
#[test]
fn a_store_is_shared_and_deletes_nothing_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let theirs = folder.path().join("build-output/result.txt");
    fs::create_dir_all(theirs.parent().unwrap()).unwrap();
    fs::write(&theirs, "kept").unwrap();
    let commands: Vec<_> = (0..2)
        .map(|_| {
            let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
            command.args(ARGS).arg("--store").arg(folder.path()).current_dir(root());
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let outputs: Vec<_> =
        commands.into_iter().map(|command| command.wait_with_output().unwrap()).collect();
    let third = compare(folder.path());
    for output in outputs {
        assert!(output.status.success());
        assert_eq!(String::from_utf8(output.stdout).unwrap(), third.stdout);
    }
    assert_eq!(fs::read_to_string(theirs).unwrap(), "kept");
    assert!(files(folder.path()) <= 3);
}

#[test]
fn a_cache_that_cant_be_made_is_told_and_a_store_that_cant_be_made_is_an_error() {
    let cache = [("XDG_CACHE_HOME", "/dev/null")];
    let ran = run(&ARGS, "", &cache).done();
    assert!(ran.stderr.contains("note: results are not stored"), "{}", ran.stderr);
    assert!(ran.stderr.contains("/dev/null/foldback: "), "{}", ran.stderr);
    assert!(ran.stdout.contains("window"), "{}", ran.stdout);
    let ran = foldback(&[&ARGS[..], &["--store", "/dev/null/store"]].concat());
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("/dev/null/store: "), "{}", ran.stderr);
}

/// However a run ends, nothing of it is left: at no time has what it keeps for itself a name.
#[test]
#[cfg(target_os = "linux")]
fn temporary_results_have_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(ARGS).args(["--store=none"]).env("TMPDIR", folder.path()).current_dir(root());
    let mut run = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let ended = loop {
        assert_eq!(files(folder.path()), 0);
        if let Some(ended) = run.try_wait().unwrap() {
            break ended;
        }
    };
    assert!(ended.success());
    let mut run = command.spawn().unwrap();
    run.kill().unwrap();
    run.wait().unwrap();
    assert_eq!(files(folder.path()), 0);
}
