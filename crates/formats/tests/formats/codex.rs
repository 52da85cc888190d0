//! Codex rollouts: what is read from them, and what is written back.
use crate::common::{check, clear, detected, fixture, hide, rewritten, session, usage, write};
use foldback_core::log::{EntryKind, Finish, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::Shown;
use foldback_core::{Message, SegmentKind};
use foldback_formats::{Session, View};
use foldback_testkit::{needs_sessions, sessions};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

const ID: &str = "codex";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

/// Role, marks and parts of each message: `u` begins a turn, `+` came mid-turn, `E` was written by a
/// compaction.
fn outline(session: &Session) -> Vec<String> {
    session
        .messages
        .iter()
        .map(|message| {
            let marks =
                [("u", message.begins_turn()), ("+", message.mid_turn), ("E", message.is_entry())];
            let marks: String =
                marks.iter().filter(|(_, set)| *set).map(|(mark, _)| *mark).collect();
            let parts: Vec<String> = message
                .parts
                .iter()
                .map(|part| {
                    let text: String = part.shown().chars().take(12).collect();
                    format!("{}:{}", part.kind_name(), text.replace('\n', "|"))
                })
                .collect();
            format!("{}{marks} {}", message.role.as_str(), parts.join(" "))
        })
        .collect()
}

#[test]
fn frame_limits_models_and_endings() {
    let plain = read("plain.jsonl");
    let frame: Vec<_> =
        plain.frame.segments.iter().map(|s| (s.kind.clone(), s.text.as_str())).collect();
    assert_eq!(
        frame,
        [
            (SegmentKind::System, "You are Codex."),
            (SegmentKind::System, "<permissions instructions>\nall"),
        ]
    );
    assert_eq!(plain.limits.context, 258_400);
    let models: Vec<_> = plain
        .messages
        .iter()
        .filter_map(|message| message.answer.as_ref()?.model.as_deref())
        .collect();
    assert_eq!(models, ["gpt-5.5", "gpt-5.5", "gpt-5.5", "gpt-5.4"]);
    assert_eq!(plain.model.as_deref(), Some("gpt-5.5"));

    let parallel = read("parallel.jsonl");
    let aborted = parallel.messages[8].answer.as_ref().unwrap();
    assert_eq!(aborted.finish, Some(Finish::Error));
    assert_eq!(aborted.error.as_deref(), Some("turn_aborted"));
    assert_eq!(parallel.messages[4].parts[0].as_result().unwrap().media.len(), 1);

    let damaged = read("damaged.jsonl");
    let failed = damaged.messages[4].parts[0].as_result().unwrap();
    assert_eq!(failed.status, ResultStatus::Error);
    assert_eq!(failed.tool, "shell");
}

#[test]
fn compactions_are_listed_and_their_histories_not_read_twice() {
    let session = read("compaction.jsonl");
    let listed: Vec<_> = session
        .boundaries
        .iter()
        .map(|b| (b.trigger.as_str(), b.before, b.tokens_before, b.tokens_after, b.original_kept))
        .collect();
    assert_eq!(
        listed,
        [("auto", 4, Some(5050), Some(900), true), ("manual", 6, Some(960), Some(400), true),]
    );
}

#[test]
fn a_replacement_history_stands_for_what_the_file_lacks() {
    let text = fixture(ID, "compaction.jsonl");
    let tail: Vec<&str> =
        text.lines().skip_while(|line| !line.contains("\"type\":\"compacted\"")).collect();
    let session = session(&tail.join("\n"), ID);
    assert_eq!(outline(&session)[0], "useru text:Build the in");
    assert!(!session.boundaries[0].original_kept);
    assert_eq!(
        session.messages[0].parts[0].pointer.as_deref(),
        Some("/payload/replacement_history/0/content/0/text")
    );
}

#[test]
fn a_readable_summary_is_an_entry() {
    let text = fixture(ID, "compaction.jsonl").replacen(
        "{\"message\":\"\"",
        "{\"message\":\"We built the index.\"",
        1,
    );
    let session = session(&text, ID);
    let summary = &session.messages[4];
    assert_eq!(summary.origin, Origin::Entry(EntryKind::Summary));
    assert_eq!(summary.shown_text(), "We built the index.");
    assert_eq!(rewritten(&session, ID).text, text);
}

#[test]
fn a_cleared_result_changes_one_value() {
    let text = fixture(ID, "plain.jsonl");
    let session = session(&text, ID);
    let edits = clear(&session, 7, |message| message.id == session.messages[3].id);
    let written = write(&View::recorded(&session, &edits), ID).text;
    let pairs = text.lines().zip(written.lines());
    let changed: Vec<_> = pairs.filter(|(before, after)| before != after).collect();
    let [(before, after)] = changed.as_slice() else {
        panic!("{changed:?}");
    };
    let mut expected: Value = serde_json::from_str(before).unwrap();
    expected["payload"]["output"] = Value::from("[Old tool result content cleared]");
    assert_eq!(serde_json::from_str::<Value>(after).unwrap(), expected);
    assert_eq!(text.lines().count(), written.lines().count());
}

#[test]
fn hidden_messages_go_and_new_ones_stand_where_they_are_shown() {
    let session = read("compaction.jsonl");
    let summary = Arc::new(Message {
        origin: Origin::Entry(EntryKind::Summary),
        ..Message::user("summary-1", "What went before.")
    });
    let mut view = View::recorded(&session, &[]);
    hide(&mut view, |index, message| index < 4 || message.is_entry());
    view.sent.insert(0, Shown::plain(&summary));
    let outcome = write(&view, ID);
    assert_eq!(outcome.losses.len(), 2, "{:?}", outcome.losses);
    assert!(outcome.losses[1].starts_with("2 compaction(s)"));
    let again = crate::common::session(&outcome.text, ID);
    assert_eq!(
        outline(&again),
        [
            "useru text:What went be",
            "assistant text:Built.",
            "useru text:Commit it",
            "assistant text:Committed.",
        ]
    );
    assert!(again.boundaries.is_empty());
    assert_eq!(write(&view, ID).text, outcome.text, "the same again");
}

#[test]
fn sessions_of_other_formats_become_plain_files() {
    let claude = session(&fixture("claude-code", "plain.jsonl"), "claude-code");
    let written = write(&View::recorded(&claude, &[]), ID);
    assert_eq!(detected(&written.text), Some(ID));
    let again = session(&written.text, ID);
    check(&again);
    assert_eq!(again.id, claude.id);
    let said = |session: &Session| -> Vec<(Role, String)> {
        session.messages.iter().map(|message| (message.role, message.shown_text())).collect()
    };
    assert_eq!(said(&again), said(&claude));
    let sum = |session: &Session| {
        let [uncached, read, written, output, reasoning] = usage(session);
        (uncached + read + written, output + reasoning)
    };
    assert_eq!(sum(&again), sum(&claude));
}

struct Real {
    file: &'static str,
    /// Response items, and `*_call` items among them, as people count them.
    items: usize,
    call_items: usize,
    /// Messages, answers, tool calls, turns.
    canonical: [usize; 4],
    why: &'static str,
}

const REAL: &[Real] = &[
    Real {
        file: "agentv-gpt55-2compact-311tools.jsonl",
        items: 959,
        call_items: 311,
        canonical: [514, 183, 311, 10],
        why: "one message per answer; the leading developer message is in the frame",
    },
    Real {
        file: "agentv-gpt55-nocompact-226k.jsonl",
        items: 632,
        call_items: 221,
        canonical: [340, 112, 221, 5],
        why: "one message per answer; the leading developer message is in the frame",
    },
    Real {
        file: "agentv-small.jsonl",
        items: 254,
        call_items: 86,
        canonical: [129, 40, 83, 4],
        why: "the provider ran 3 web searches itself: they have no result and are unknown parts",
    },
    Real {
        file: "agentv-spark-2compact-121k-window.jsonl",
        items: 581,
        call_items: 177,
        canonical: [368, 180, 177, 9],
        why: "one message per answer; the leading developer message is in the frame",
    },
    Real {
        file: "sessionbridge-gpt54-nocompact-189k.jsonl",
        items: 366,
        call_items: 114,
        canonical: [214, 86, 114, 12],
        why: "one message per answer; the leading developer message is in the frame",
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
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!(
            (counted.messages, counted.tool_calls),
            (case.items, case.call_items),
            "{}",
            case.file
        );
        let found =
            [session.messages.len(), session.calls(), session.tool_calls(), session.turns()];
        assert_eq!(found, case.canonical, "{}: {}", case.file, case.why);
        let hosted = session
            .messages
            .iter()
            .flat_map(|message| &message.parts)
            .filter(|part| matches!(part.kind, PartKind::Unknown { .. }))
            .count();
        assert_eq!(session.tool_calls() + hosted, case.call_items, "{}", case.file);
        assert!(session.warnings.is_empty(), "{:?}", session.warnings);

        let mut read: BTreeSet<u32> = BTreeSet::new();
        for message in &session.messages {
            read.extend(message.record);
            read.extend(message.parts.iter().filter_map(|part| part.source_record));
        }
        let unread = (0u32..)
            .zip(text.lines())
            .filter(|(record, line)| !read.contains(record) && line.contains("\"response_item\""))
            .count();
        assert_eq!(unread, 1, "only what is in the frame, {}", case.file);
        assert!(rewritten(&session, ID).text == text, "{}", case.file);
    }
}

/// The sum over the answers is the recorder's own total.
#[needs_sessions]
#[test]
fn recorded_usage_adds_up() {
    for case in REAL {
        let text = real(case.file);
        let total = text
            .lines()
            .rev()
            .filter(|line| line.contains("\"token_count\""))
            .find_map(|line| {
                let line: Value = serde_json::from_str(line).unwrap();
                let total = line.pointer("/payload/info/total_token_usage")?;
                let count = |field: &str| total[field].as_u64();
                Some([
                    count("input_tokens")?,
                    count("cached_input_tokens")?,
                    count("output_tokens")?,
                    count("reasoning_output_tokens")?,
                ])
            })
            .unwrap();
        let [uncached, read, written, output, reasoning] = usage(&session(&text, ID));
        let sum = [uncached + read + written, read, output + reasoning, reasoning];
        assert_eq!(sum, total, "{}", case.file);
    }
}
