use super::*;
use crate::acted::{self, options, strategy};
use crate::judge::request::{Probe, Request};
use crate::read::index::Index;
use crate::read::index::text::text_of;
use crate::stats::Share;
use crate::{Replay, replay_with};
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_formats::Session;
use foldback_test_support::act::Act;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use Act::Summarise;

/// A task, then a call per text that reads it (`a0`, `r0`, `a1`, `r1`, …), each with its arguments,
/// then a last call. Positions: the task 0, `a0` 1, `r0` 2, `a1` 3, …
fn session(reads: &[(&str, &str)], last: &str) -> Session {
    let mut messages = vec![Message::user("u", "Fix it please")];
    for (call, (arguments, text)) in reads.iter().enumerate() {
        let arguments = format!("{{\"q\":\"{arguments}\"}}");
        let part = Part::call(format!("c{call}"), "read", arguments);
        messages.push(Message::assistant(format!("a{call}"), vec![part]));
        let id = format!("r{call}");
        messages.push(Message::tool(id, format!("c{call}"), "read", *text));
    }
    let part = Part::call("last", "read", format!("{{\"q\":\"{last}\"}}"));
    messages.push(Message::assistant("end", vec![part]));
    acted::session(messages)
}

fn run(session: &Session, acts: &[(usize, Act<'_>)]) -> Vec<Share> {
    let index = Arc::new(Index::new(session));
    let mut probe = SummaryProbe::new(Arc::clone(&index));
    acted::observe(session, &index, acts, &mut probe);
    probe.finish()
}

const READS: [(&str, &str); 3] =
    [("", "fn first_name and other_name"), ("", "fn second_name"), ("", "nothing")];

#[test]
fn what_summaries_are_worth() {
    let table = [
        ("copies all", "first_name other_name second_name", (3, 3)),
        ("says nothing", "did things", (0, 0)),
        ("makes one up", "first_name third_name", (1, 2)),
        ("counts in a heading", "# Before (123 messages)\n- other_name", (1, 1)),
        ("cut", "- first_name and oth_na …", (1, 1)),
        ("names the tool", "- `read_file` of first_name", (1, 2)),
    ];
    for (name, text, (kept, needed)) in table {
        let supported = run(&session(&READS, ""), &[(2, Summarise(5, text))]);
        assert_eq!(supported, [Share { kept, needed }], "{name}");
    }
}

/// What an earlier summary made up is in the source of the next.
#[test]
fn what_was_made_up_is_made_up_once() {
    let acts = [(1, Summarise(3, "third_name")), (2, Summarise(5, "third_name"))];
    let supported = run(&session(&READS, ""), &acts);
    assert_eq!(supported.iter().map(|share| share.kept).collect::<Vec<_>>(), [0, 1]);
}

/// Compares the bookkeeping with the view itself, request by request.
struct Check {
    index: Arc<Index>,
    name: String,
}

impl Probe for Check {
    fn call(&mut self, request: &Request<'_>) {
        let Request { call, conversation, tracker, .. } = *request;
        if !call.is_multiple_of(13) {
            return;
        }
        let mut there = BTreeSet::new();
        for shown in conversation.sent().iter() {
            for (index, part) in shown.message.parts.iter().enumerate() {
                let ids = match shown.edit(index) {
                    Some(edit) => self.index.find(&edit.text),
                    None if shown.message.is_entry() => self.index.find(&part.shown()),
                    None => self.index.find(&text_of(part, &mut |_| {})),
                };
                there.extend(ids.iter().copied());
            }
        }
        let known: BTreeSet<u32> =
            (0..self.index.entries.len() as u32).filter(|id| tracker.has(*id)).collect();
        assert_eq!(known, there, "{} call {call}", self.name);
    }
}

fn replayed(
    session: &Session,
    index: &Arc<Index>,
    preset: &str,
    limits: Limits,
) -> (Vec<Share>, Replay) {
    let strategy = Arc::new(strategy(preset));
    let options = options(limits, Arc::clone(strategy.estimator()));
    let mut measures = SummaryProbe::new(Arc::clone(index));
    let name = format!("{} under {preset}", session.id);
    let mut check = Check { index: Arc::clone(index), name };
    let mut probes: [&mut dyn Probe; 2] = [&mut measures, &mut check];
    let replay = replay_with(session, index, &strategy, &options, &mut probes);
    (measures.finish(), replay)
}

#[test]
fn shipped_sessions() {
    let folder =
        std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/four-sessions"));
    measures_agree(folder.unwrap().flatten().map(|entry| entry.path()).collect());
}

#[foldback_needs::sessions]
#[test]
fn real_sessions() {
    measures_agree(["claude-code", "codex"].map(foldback_test_support::sessions_of).concat());
}

/// The measures agree with what the replay counted, on all sessions of these files but the largest.
fn measures_agree(mut paths: Vec<PathBuf>) {
    paths.retain(|path| std::fs::metadata(path).is_ok_and(|file| file.len() < 1_000_000));
    let mut summaries = 0;
    for path in &paths {
        let Ok(sessions) = foldback_formats::read(&std::fs::read(path).unwrap(), None) else {
            continue;
        };
        for session in &sessions {
            let index = Arc::new(Index::new(session));
            for (preset, window) in [
                ("none", 10_000_000),
                ("opencode", 48_000),
                ("tunacode-local", 32_000),
                ("window", 48_000),
                // Its policy counts in a unit of its own.
                ("openhands-80", 48_000),
            ] {
                let (supported, replay) =
                    replayed(session, &index, preset, Limits::new(window, 4_000));
                let name = format!("{} under {preset}", path.display());
                let firing = replay.rows.iter().filter(|row| !row.fired.is_empty());
                let calls: Vec<usize> = firing.map(|row| row.call).collect();
                let known = replay.firings.iter().map(|firing| firing.call);
                let known: Vec<usize> = known.filter(|call| *call < replay.rows.len()).collect();
                assert_eq!(known, calls, "{name}");
                let frame = replay.conversation.meter(replay.meter).frame_tokens();
                for firing in replay.firings.iter().filter(|firing| firing.call < replay.rows.len())
                {
                    let sent = replay.rows[firing.call].input_tokens;
                    assert_eq!(frame + firing.after, sent, "{name}");
                }
                for share in &supported {
                    assert_eq!(share.kept, share.needed, "{name}");
                }
                summaries += supported.len();
                assert!(preset != "none" || replay.firings.is_empty(), "{name}");
            }
        }
    }
    println!("{summaries} summaries");
    assert!(summaries > 0);
}
