//! Commands that are killed at any moment: what they write is whole or as it was before, and the next run is right.

use crate::common::{foldback, root};
use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How often each command is killed.
const KILLS: u32 = 6;

/// Starts a command and kills it after a share of the time that a whole run took. Whether it was still running then
/// is a matter of chance, and so is what it did: what is asked of a kill holds for any.
fn killed(args: &[String], after: Duration) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(args).current_dir(root()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().unwrap();
    std::thread::sleep(after);
    run.kill().unwrap();
    run.wait().unwrap();
}

/// Moments of a run, one in each part of it, at a place that does not follow the parts.
fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    (0..KILLS).map(move |kill| (whole * (16 * kill + 11 * kill % 16)) / (16 * KILLS))
}

/// Runs a command whole and then killed, over a file `{out}` that is there before, each time with a `{store}` of its
/// own. The command runs again on what the kill left.
fn check(command: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let args = |run: &str| {
        let (out, store) = (path(&format!("out-{run}")), path(&format!("store-{run}")));
        let named = |arg: &str| arg.replace("{out}", &out).replace("{store}", &store);
        (out.clone(), command.split(' ').map(named).collect::<Vec<_>>())
    };
    let run = |args: &[String]| foldback(&args.iter().map(String::as_str).collect::<Vec<_>>());
    let (out, whole) = args("whole");
    let begun = Instant::now();
    let first = run(&whole).done();
    let took = begun.elapsed();
    let whole = fs::read(out).unwrap();
    for (number, moment) in moments(took).enumerate() {
        let (out, args) = args(&number.to_string());
        // What foldback wrote is what it may replace.
        foldback(&["inspect", "examples/sessions", "--json", &out]).done();
        let before = fs::read(&out).unwrap();
        killed(&args, moment);
        let left = fs::read(&out).unwrap();
        assert!(left == whole || left == before, "{} bytes are left", left.len());
        let again = run(&args).done();
        assert_eq!((&again.stdout, &again.stderr), (&first.stdout, &first.stderr), "{number}");
        assert!(fs::read(&out).unwrap() == whole, "{number}: the next run wrote something else");
    }
}

#[test]
fn a_session_is_written_whole_or_not_at_all() {
    check(
        "compact examples/sessions/price-lists-codex.jsonl --preset window --when manual -o {out}",
    );
}

#[test]
fn a_comparison_and_its_store_are_right_after_a_kill() {
    check("compare tests/four-sessions --preset window --preset none --store {store} --json {out}");
}
