//! A process that writes a journal is killed at moments of its own: whatever it said to be recorded comes back.

use crate::journal::{empty, place, reopened, state};
use crate::support::{at, turns};
use foldback::{Conversation, Message, Moment};
use foldback_live::journal::Journal;
use foldback_test_support::deadline::deadline;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

/// Names the journal to the process that is to be killed.
const JOURNAL: &str = "FOLDBACK_TEST_JOURNAL";

/// What that process says when something is recorded.
const RECORDED: &str = "recorded";

/// How many records it may have made when it is killed.
const KILLS: [usize; 12] = [0, 1, 2, 3, 5, 7, 8, 13, 21, 22, 34, 40];

fn go_on(conversation: &mut Conversation, number: usize) {
    turns(conversation, number..number + 1, 40 + 97 * (number % 5));
    match number % 7 {
        3 => drop(at(conversation, Moment::Manual)),
        5 => drop(conversation.undo()),
        _ => {}
    }
}

#[test]
#[ignore = "the process that is killed; the test below starts it"]
fn writes_until_it_is_killed() {
    let Ok(path) = std::env::var(JOURNAL) else { return };
    let mut conversation = empty("window");
    let mut journal = Journal::open(path, &mut conversation).unwrap();
    for number in 0..1_000 {
        go_on(&mut conversation, number);
        journal.record(&conversation).unwrap();
        println!("{RECORDED}");
    }
}

/// An agent starts tools on other threads while it closes a journal and opens it again.
#[test]
fn a_process_that_is_being_started_does_not_hold_a_closed_journal() {
    let _deadline = deadline();
    let place = place();
    let program = std::env::current_exe().unwrap();
    std::thread::scope(|scope| {
        let started = scope.spawn(|| {
            for _ in 0..40 {
                let mut tool = Command::new(&program);
                tool.args(["--exact", "no_such_test"]).stdout(Stdio::null());
                assert!(tool.status().unwrap().success());
            }
        });
        while !started.is_finished() {
            Journal::open(&place.path, &mut empty("window")).unwrap();
        }
    });
}

#[test]
fn what_was_said_to_be_recorded_survives_a_kill() {
    let _deadline = deadline();
    for least in KILLS {
        let place = place();
        let mut writer = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture"])
            .arg("journal_killed::writes_until_it_is_killed")
            .env(JOURNAL, &place.path)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(writer.stdout.take().unwrap()).lines();
        // The first line shares one with the name of the test.
        let said = said.map_while(Result::ok).filter(|line| line.ends_with(RECORDED));
        assert_eq!(said.take(least).count(), least);
        writer.kill().unwrap();
        writer.wait().unwrap();

        let mut kept = empty("window");
        let mut journal = Journal::open(&place.path, &mut kept).unwrap();
        let mut expected = empty("window");
        let records = (0..1_000).find(|number| {
            if *number >= least && state(&expected) == state(&kept) {
                return true;
            }
            go_on(&mut expected, *number);
            false
        });
        assert!(records.is_some(), "of {least} records and more, some are lost");
        kept.append(Message::user("later", "later"));
        journal.record(&kept).unwrap();
        drop(journal);
        assert_eq!(state(&reopened("window", &place)), state(&kept), "after {least} records");
    }
}
