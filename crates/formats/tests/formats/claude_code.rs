//! Claude Code sessions: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, fixture, hide, rewritten, session, usage, warnings, write,
};
use foldback_core::log::{EntryKind, Finish, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::Shown;
use foldback_core::{Message, Part};
use foldback_formats::session::Recorded;
use foldback_formats::{Session, View};
use foldback_testkit::{needs_sessions, sessions};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

const ID: &str = "claude-code";

fn all(text: &str) -> Vec<Session> {
    foldback_formats::read(text.as_bytes(), Some(ID)).unwrap()
}

fn main_of(name: &str) -> Session {
    all(&fixture(ID, name)).remove(0)
}

/// Role, text and marks of each message: `u` begins a turn, `+` came mid-turn, `~` is synthetic, `E`
/// was written by a compaction.
fn outline(session: &Session) -> Vec<String> {
    session
        .messages
        .iter()
        .map(|message| {
            let synthetic = message
                .parts
                .iter()
                .any(|part| matches!(part.kind, PartKind::Text { synthetic: true, .. }));
            let marks = [
                ("u", message.begins_turn()),
                ("+", message.mid_turn),
                ("~", synthetic),
                ("E", message.is_entry()),
            ];
            let marks: String =
                marks.iter().filter(|(_, set)| *set).map(|(mark, _)| *mark).collect();
            let text: String = message.shown_text().chars().take(24).collect();
            format!("{}{marks} {}", message.role.as_str(), text.replace('\n', "|"))
        })
        .collect()
}

#[test]
fn answers_parts_and_places() {
    let session = main_of("plain.jsonl");
    let answer = &session.messages[1];
    assert_eq!(answer.parts.len(), 3, "one message of three lines");
    let sources: Vec<_> = answer.parts.iter().map(|part| part.source_record).collect();
    assert_eq!(sources, [None, Some(4), Some(5)]);
    let recorded = answer.answer.as_ref().unwrap();
    assert_eq!(recorded.finish, Some(Finish::ToolCalls));
    assert_eq!(recorded.usage.unwrap().output, 40);
    assert_eq!(recorded.ended.unwrap() - answer.at.unwrap(), 10_000);
    let result = session.messages[8].parts[0].as_result().unwrap();
    assert_eq!((result.tool.as_str(), result.media.len()), ("Bash", 1));

    let failed = main_of("parallel.jsonl").messages[3].clone();
    assert_eq!(failed.parts[0].as_result().unwrap().status, ResultStatus::Error);
}

#[test]
fn compactions_are_undone_and_listed() {
    let session = main_of("compaction.jsonl");
    let listed: Vec<_> = session
        .boundaries
        .iter()
        .map(|b| (b.kind.as_str(), b.before, b.tokens_before, b.tokens_after, b.original_kept))
        .collect();
    assert_eq!(
        listed,
        [("clear", 5, Some(1200), Some(900), true), ("summary", 7, Some(1300), Some(400), true),]
    );
    assert_eq!(session.messages[7].origin, Origin::Entry(EntryKind::Summary));
    assert_eq!(session.cleared.len(), 1);
    assert_eq!(session.cleared[0].at.item, 2);

    let headless = main_of("tail-only.jsonl");
    assert!(!headless.boundaries[0].original_kept);
}

#[test]
fn subagents_are_sessions_of_their_own() {
    let sessions = all(&fixture(ID, "branches.jsonl"));
    let ids: Vec<_> = sessions.iter().map(|session| session.id.as_str()).collect();
    assert_eq!(ids, ["5e55-0005", "5e55-0005/agent7"]);
    assert_eq!(
        outline(&sessions[1]),
        [
            "useru look around",
            "assistant {\"pattern\":\"*\"}",
            "tool README",
            "assistant Only a README.",
        ]
    );
}

/// Lines that differ between two texts of the same number of lines.
fn changed(before: &str, after: &str) -> Vec<usize> {
    assert_eq!(before.lines().count(), after.lines().count());
    let pairs = before.lines().zip(after.lines());
    pairs
        .enumerate()
        .filter(|(_, (before, after))| before != after)
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn a_cleared_result_changes_one_value() {
    let text = fixture(ID, "plain.jsonl");
    let session = session(&text, ID);
    for (item, line) in [(2, 6), (8, 12)] {
        let edits = clear(&session, 7, |message| message.id == session.messages[item].id);
        let written = write(&View::recorded(&session, &edits), ID).text;
        assert_eq!(changed(&text, &written), [line]);
        let mut before: Value = serde_json::from_str(text.lines().nth(line).unwrap()).unwrap();
        let after: Value = serde_json::from_str(written.lines().nth(line).unwrap()).unwrap();
        *before.pointer_mut("/message/content/0/content").unwrap() =
            Value::from("[Old tool result content cleared]");
        assert_eq!(before, after);
    }
}

#[test]
fn hidden_messages_go_and_new_ones_stand_where_they_are_shown() {
    let text = fixture(ID, "parallel.jsonl");
    let session = session(&text, ID);
    let mut summary = Message::user("summary-1", "What went before.");
    summary.origin = Origin::Entry(EntryKind::Summary);
    let summary = Arc::new(summary);
    let note = Arc::new(Message::user("note-1", "A note."));
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, _| index < 4);
    view.sent.insert(0, Shown::plain(&summary));
    view.sent.push(Shown::plain(&note));
    let outcome = write(&view, ID);
    assert!(outcome.losses[0].starts_with("5 line(s)"), "{:?}", outcome.losses);

    let again = all(&outcome.text).remove(0);
    assert_eq!(
        outline(&again),
        [
            "useru~ What went before.",
            "user+ Also look at c.txt",
            "user+~ note one|note two",
            "assistant {\"file_path\":\"c.txt\"}",
            "user+~ [Request interrupted by ",
            "useru Stop. Say what you have.",
            "useru Again, please",
            "assistant a.txt holds alpha.",
            "useru~ A note.",
        ]
    );
    // Every line hangs on one that is there, so that Claude Code finds the whole chain.
    let lines: Vec<Value> =
        outcome.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut seen = BTreeSet::new();
    for line in &lines {
        if let Some(parent) = line["parentUuid"].as_str() {
            assert!(seen.contains(parent), "{line}");
        }
        seen.extend(line["uuid"].as_str().map(str::to_owned));
    }
    assert_eq!(write(&view, ID).text, outcome.text, "the same again");
}

#[test]
fn a_recorded_boundary_goes_with_its_summary() {
    let session = main_of("compaction.jsonl");
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |_, message| message.is_entry());
    let again = all(&write(&view, ID).text).remove(0);
    assert!(again.boundaries.iter().all(|boundary| boundary.kind == "clear"));
    let shown: Vec<_> = session.log().map(|message| message.shown_text()).collect();
    let found: Vec<_> = again.messages.iter().map(|message| message.shown_text()).collect();
    assert_eq!(found, shown);
}

#[test]
fn sessions_of_other_formats_become_plain_files() {
    let codex = session(&fixture("codex", "parallel.jsonl"), "codex");
    let written = write(&View::recorded(&codex, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    check(&again);
    let texts = |session: &Session| -> Vec<(Role, String)> {
        session
            .messages
            .iter()
            .filter(|message| message.role != Role::System)
            .map(|message| (message.role, message.said()))
            .collect()
    };
    let expected: Vec<_> = texts(&codex);
    let found: Vec<_> = texts(&again);
    assert_eq!(
        found.iter().filter(|(role, _)| *role == Role::Tool).count(),
        expected.iter().filter(|(role, _)| *role == Role::Tool).count()
    );
    assert_eq!(again.tool_calls(), codex.tool_calls());
    assert_eq!(usage(&again)[..3], usage(&codex)[..3]);
    let unknown = |loss: &String| loss.contains("web_search_call");
    assert!(written.losses.iter().any(unknown), "{:?}", written.losses);
}

struct Real {
    file: &'static str,
    /// User and assistant lines, and `tool_use` blocks, as people count them.
    lines: usize,
    blocks: usize,
    /// Per session: answers, tool calls, turns, attachments taken as messages.
    sessions: &'static [[usize; 4]],
    warnings: &'static [&'static str],
}

/// The number of messages is smaller than that of lines because the lines of one answer are one
/// message, and larger by the attachments that the model was sent. No line is left out.
const REAL: &[Real] = &[
    Real {
        file: "agentv-small.jsonl",
        lines: 42,
        blocks: 17,
        sessions: &[[15, 17, 1, 0]],
        warnings: &[],
    },
    Real {
        file: "ccviewer-mock-fe5e1c67.jsonl",
        lines: 437,
        blocks: 167,
        sessions: &[
            [9, 11, 2, 0],
            [9, 8, 1, 0],
            [34, 33, 1, 0],
            [40, 39, 1, 0],
            [25, 24, 1, 0],
            [53, 52, 1, 0],
        ],
        warnings: &[],
    },
    Real {
        file: "cipherbox-1compact-233tools.jsonl",
        lines: 675,
        blocks: 233,
        sessions: &[[228, 233, 27, 0]],
        warnings: &["call-without-result"],
    },
    Real {
        file: "entire-cli-2compact-1M.jsonl",
        lines: 719,
        blocks: 195,
        sessions: &[[198, 195, 26, 0]],
        warnings: &[],
    },
    Real {
        file: "entire-cli-microcompact-only.jsonl",
        lines: 361,
        blocks: 96,
        sessions: &[[98, 96, 19, 0]],
        warnings: &[],
    },
    Real {
        file: "omp-opus5-1compact-401k.jsonl",
        lines: 1021,
        blocks: 311,
        sessions: &[[307, 311, 28, 55]],
        warnings: &[],
    },
    Real {
        file: "omp-sonnet5-nocompact-453k.jsonl",
        lines: 911,
        blocks: 317,
        sessions: &[[326, 317, 9, 23]],
        warnings: &[],
    },
    Real {
        file: "packmind-1compact.jsonl",
        lines: 297,
        blocks: 107,
        sessions: &[[101, 107, 5, 0]],
        warnings: &[],
    },
];

fn real(file: &str) -> String {
    std::fs::read_to_string(sessions().join(ID).join(file)).unwrap()
}

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for case in REAL {
        let text = real(case.file);
        let sessions = all(&text);
        let mut sum = Recorded { messages: 0, tool_calls: 0 };
        let mut read: BTreeSet<u32> = BTreeSet::new();
        let mut found = Vec::new();
        for session in &sessions {
            check(session);
            let recorded = session.recorded.unwrap();
            sum.messages += recorded.messages;
            sum.tool_calls += recorded.tool_calls;
            for message in &session.messages {
                read.extend(message.record);
                read.extend(message.parts.iter().filter_map(|part| part.source_record));
            }
            let attached = |message: &&Arc<Message>| {
                message.parts[0]
                    .pointer
                    .as_deref()
                    .is_some_and(|pointer| pointer.starts_with("/attachment"))
            };
            let attachments = session.messages.iter().filter(attached).count();
            found.push([session.calls(), session.tool_calls(), session.turns(), attachments]);
        }
        assert_eq!((sum.messages, sum.tool_calls), (case.lines, case.blocks), "{}", case.file);
        assert_eq!(found, case.sessions, "{}", case.file);
        let codes: Vec<_> = sessions.iter().flat_map(warnings).collect();
        assert_eq!(codes, case.warnings, "{}", case.file);
        for (record, line) in (0u32..).zip(text.lines()) {
            let talk =
                line.contains("\"type\":\"user\"") || line.contains("\"type\":\"assistant\"");
            if talk && !read.contains(&record) {
                let line: Value = serde_json::from_str(line).unwrap();
                let kind = line["type"].as_str().unwrap();
                assert!(!["user", "assistant"].contains(&kind), "line {}", record + 1);
            }
        }
    }
}

#[needs_sessions]
#[test]
fn recorded_sessions_are_written_back_byte_for_byte() {
    for case in REAL {
        let text = real(case.file);
        for session in all(&text) {
            assert!(rewritten(&session, ID).text == text, "{}", case.file);
        }
    }
}

/// Each call reads from the cache what the call before it had sent, so answers are in order and none
/// is missing. Away from compactions only an expired cache breaks the rule.
#[needs_sessions]
#[test]
fn each_answer_continues_the_one_before() {
    for case in REAL {
        let text = real(case.file);
        for session in all(&text) {
            let answers: Vec<(usize, u64, u64)> = session
                .messages
                .iter()
                .enumerate()
                .filter_map(|(index, message)| {
                    let usage = message.answer.as_ref()?.usage?;
                    Some((index, usage.cache_read, usage.input_total()))
                })
                .collect();
            let across = |from: usize, to: usize| {
                let mut boundaries = session.boundaries.iter();
                boundaries.any(|boundary| from < boundary.before && boundary.before <= to)
            };
            let pairs: Vec<_> =
                answers.windows(2).filter(|pair| !across(pair[0].0, pair[1].0)).collect();
            let kept = pairs
                .iter()
                .filter(|pair| pair[1].1.abs_diff(pair[0].2) * 100 <= 3 * pair[0].2)
                .count();
            assert!(
                kept * 100 >= 95 * pairs.len(),
                "{} {}: {kept} of {}",
                case.file,
                session.id,
                pairs.len()
            );
        }
    }
}

#[test]
fn unknown_parts_stay_what_they_were() {
    let line = fixture(ID, "plain.jsonl").replace("\"type\":\"thinking\"", "\"type\":\"dream\"");
    let session = session(&line, ID);
    let part: &Part = &session.messages[1].parts[0];
    assert!(matches!(&part.kind, PartKind::Unknown { name, .. } if name == "dream"));
    assert_eq!(rewritten(&session, ID).text, line);
}
