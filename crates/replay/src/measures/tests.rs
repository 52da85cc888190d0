use super::survival::Ended;
use super::*;
use crate::acted;
use crate::index::text::text_of;
use crate::{Replay, ReplayOptions, replay_with};
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::view::EditKind;
use foldback_formats::Session;
use foldback_test_support::act::Act;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

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

fn run(session: &Session, acts: &[(usize, Act<'_>)]) -> SessionMeasures {
    let index = Arc::new(Index::of(session));
    let mut probe = Measures::new(Arc::clone(&index));
    acted::observe(session, &index, acts, &mut probe);
    probe.finish()
}

const READS: [(&str, &str); 3] =
    [("", "fn first_name and other_name"), ("", "fn second_name"), ("", "nothing")];

#[test]
fn how_long_identifiers_live() {
    // first_name and other_name come before call 1, second_name before call 2; there are four calls.
    type Case<'a> = (&'a str, &'a str, &'a [(u64, u64, u64)]);
    let table: [Case<'_>; 6] = [
        ("nothing is folded", "", &[(2, 0, 1), (3, 0, 2)]),
        ("cleared before any request", "1 clear r0", &[(0, 2, 0), (2, 0, 1)]),
        ("cleared later", "3 clear r0", &[(2, 2, 1)]),
        (
            "the placeholder keeps one",
            "2 clear r0 [first_name]",
            &[(1, 1, 0), (2, 0, 1), (3, 0, 1)],
        ),
        (
            "a summary keeps one, the next does not",
            "2 summary 5 read second_name; 3 summary 7 read",
            &[(1, 3, 0)],
        ),
        ("what comes back is not revived", "2 clear r0; 3 undo", &[(1, 2, 0), (2, 0, 1)]),
    ];
    for (name, acts, expected) in table {
        let measures = run(&session(&READS, ""), &Act::read(acts));
        let expected = expected.iter().map(|(duration, events, censored)| {
            let (events, censored) = (*events, *censored);
            (*duration, Ended { events, censored })
        });
        assert_eq!(measures.survival.all().0, expected.collect(), "{name}");
    }
}

#[test]
fn what_summaries_are_worth() {
    // The last call needs all three names; the first two texts are folded away.
    let needs = "first_name other_name second_name";
    type Case<'a> = (&'a str, &'a str, (u64, u64), (u64, u64), &'a [&'a str]);
    let table: [Case<'_>; 6] = [
        ("copies all", "first_name other_name second_name", (3, 3), (3, 3), &[]),
        ("says nothing", "did things", (0, 0), (0, 3), &[]),
        ("makes one up", "first_name third_name", (1, 2), (1, 3), &["third_name"]),
        ("counts in a heading", "# Before (123 messages)\n- other_name", (1, 1), (1, 3), &[]),
        ("cut", "- first_name and oth_na …", (1, 1), (1, 3), &[]),
        ("names the tool", "- `read_file` of first_name", (1, 2), (1, 3), &["read_file"]),
    ];
    for (name, text, (supported, identifiers), (kept, needed), unsupported) in table {
        let measures = run(&session(&READS, needs), &[(2, Summarise(5, text))]);
        let [row] = &measures.summaries.rows[..] else {
            panic!("{name}: {:?}", measures.summaries.rows);
        };
        assert_eq!((row.supported, row.identifiers), (supported, identifiers), "{name}");
        assert_eq!((row.kept, row.needed), (kept, needed), "{name}");
        let made_up: Vec<&str> = row.unsupported.iter().map(|id| &id.text[..]).collect();
        assert_eq!(made_up, unsupported, "{name}");
    }
}

#[test]
fn drift_and_recall_over_cycles() {
    let acts = "1 summary 3 first_name other_name; 2 summary 5 first_name; \
                3 summary 7 first_name other_name";
    let measures = run(&session(&READS, ""), &Act::read(acts));
    let drift = &measures.summaries.drift;
    let cycles: Vec<_> = drift.cycles.iter().map(|cycle| (cycle.present, cycle.survived)).collect();
    assert_eq!((drift.first_span, &cycles[..]), (2, &[(2, 2), (1, 1), (2, 1)][..]));
    // The second takes out the first summary and second_name.
    let recall: Vec<_> =
        measures.firings.iter().map(|firing| (firing.still_there, firing.dropped)).collect();
    assert_eq!(recall, [(2, 2), (1, 3), (1, 1)]);
    // What an earlier summary made up is in the source of the next.
    let acts = [(1, Summarise(3, "third_name")), (2, Summarise(5, "third_name"))];
    let rows = run(&session(&READS, ""), &acts).summaries.rows;
    let supported: Vec<u64> = rows.iter().map(|row| row.supported).collect();
    assert_eq!(supported, [0, 1]);
}

#[test]
fn positions_of_what_is_needed() {
    let filler = "word ".repeat(1_000);
    let reads = [
        ("", "fn first_name"),
        ("", &filler[..]),
        ("", &filler[..]),
        ("", &filler[..]),
        ("", "fn last_name"),
    ];
    let session = session(&reads, "first_name last_name");
    let whole = run(&session, &[]).positions;
    assert_eq!(whole.all.0, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(whole.far.0, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    // Without two of three fillers nothing else moves; with all three gone it is near the middle.
    let acts = ["r1", "r2", "r3"].map(|id| (5, Act::Edit(id, EditKind::Clear, "")));
    let cleared = run(&session, &acts).positions;
    assert_eq!((cleared.far.count(), cleared.far.middle()), (1, Some(1.0)));
    let lost = run(&session, &[(5, Act::Edit("r0", EditKind::Clear, ""))]).positions;
    assert_eq!(lost.far.count(), 0);
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
        let mut at: BTreeMap<u32, usize> = BTreeMap::new();
        for (place, shown) in conversation.sent().iter().enumerate() {
            for (index, part) in shown.message.parts.iter().enumerate() {
                let ids = match shown.edit(index) {
                    Some(edit) => self.index.find(&edit.text),
                    None if shown.message.is_entry() => self.index.find(&part.shown()),
                    None => self.index.find(&text_of(part, &mut |_| {})),
                };
                there.extend(ids.iter().copied());
                at.extend(ids.iter().map(|id| (*id, place)));
            }
        }
        let known: BTreeSet<u32> =
            (0..self.index.len() as u32).filter(|id| tracker.has(*id)).collect();
        assert_eq!(known, there, "{} call {call}", self.name);
        let places = conversation.view().places();
        for need in &self.index.calls[call].references {
            let known = tracker.places(need.reference);
            let order = known.filter_map(|known| places.iter().position(|place| *place == known));
            assert_eq!(order.max(), at.get(&need.id).copied(), "{} call {call}", self.name);
        }
    }
}

fn replayed(
    session: &Session,
    index: &Arc<Index>,
    preset: &str,
    limits: Limits,
) -> (SessionMeasures, Replay) {
    let registry = foldback::registry().unwrap();
    let strategy = Arc::new(foldback::preset(&registry, preset).unwrap());
    let options = ReplayOptions {
        limits,
        model: None,
        measure: Arc::clone(strategy.estimator()),
        validate: false,
        completions: None,
        ceiling: None,
    };
    let mut measures = Measures::new(Arc::clone(index));
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
            let index = Arc::new(Index::of(session));
            for (preset, window) in [
                ("none", 10_000_000),
                ("opencode", 48_000),
                ("tunacode-local", 32_000),
                ("window", 48_000),
                // Its policy counts in a unit of its own.
                ("openhands-80", 48_000),
            ] {
                let (measures, replay) =
                    replayed(session, &index, preset, Limits::new(window, 4_000));
                let name = format!("{} under {preset}", path.display());
                let firing = replay.rows.iter().filter(|row| !row.fired.is_empty());
                let calls: Vec<usize> = firing.map(|row| row.call).collect();
                let known = measures.firings.iter().map(|firing| firing.call);
                let known: Vec<usize> = known.filter(|call| *call < replay.rows.len()).collect();
                assert_eq!(known, calls, "{name}");
                assert_eq!(measures.size.cumulative, replay.metrics.input_tokens, "{name}");
                for firing in
                    measures.firings.iter().filter(|firing| firing.call < replay.rows.len())
                {
                    let sent = replay.rows[firing.call].input_tokens;
                    assert_eq!(firing.frame + firing.after, sent, "{name}");
                }
                for row in &measures.summaries.rows {
                    assert_eq!(row.supported, row.identifiers, "{name}: {row:?}");
                }
                summaries += measures.summaries.rows.len();
                if preset == "none" {
                    assert_eq!(measures.survival.all().events(), 0, "{name}");
                    assert!(measures.firings.is_empty(), "{name}");
                }
            }
        }
    }
    println!("{summaries} summaries");
    assert!(summaries > 0);
}
