//! pi sessions: what is read from them, and what is written back.
use crate::common::{
    check, clear, detected, fixture, hide, outline, recorded, rewritten, session, usage, warnings,
    write,
};
use foldback_core::Message;
use foldback_core::log::{EntryKind, Finish, Origin, PartKind, ResultStatus, Role};
use foldback_core::view::Shown;
use foldback_formats::{Session, View};
use foldback_testkit::needs_sessions;
use serde_json::Value;
use std::sync::Arc;

const ID: &str = "pi";

fn read(name: &str) -> Session {
    session(&fixture(ID, name), ID)
}

#[test]
fn answers_results_and_what_the_user_ran() {
    let plain = read("plain.jsonl");
    assert_eq!(plain.id, "0a1b-plain");
    assert_eq!(plain.model.as_deref(), Some("claude-haiku-4-5"));
    let answers: Vec<_> =
        plain.messages.iter().filter_map(|message| message.answer.as_ref()).collect();
    let finish: Vec<_> = answers.iter().map(|answer| answer.finish).collect();
    assert_eq!(finish, [Some(Finish::ToolCalls), Some(Finish::Stop), Some(Finish::Error)]);
    assert_eq!(answers[0].started, Some(1_765_238_401_500));
    assert_eq!(answers[0].ended, Some(1_765_238_405_000));
    assert_eq!(answers[2].usage, None, "zeros of an aborted call");
    assert_eq!(answers[2].error.as_deref(), Some("Request was aborted."));
    assert_eq!(
        plain.messages[5].shown_text(),
        "Ran `npm test`\n```\n2 failed\n\n```\n\nCommand exited with code 1"
    );
    let PartKind::Reasoning { opaque, .. } = &plain.messages[1].parts[0].kind else {
        panic!("no reasoning");
    };
    assert_eq!(opaque.as_deref(), Some("c2ln"));

    let tree = read("tree.jsonl");
    let results: Vec<_> = tree
        .messages
        .iter()
        .filter_map(|message| message.parts.first()?.as_result())
        .map(|r| (r.call_id.as_str(), r.tool.as_str(), r.status, r.media.len()))
        .collect();
    assert_eq!(
        results,
        [("c2", "read", ResultStatus::Error, 0), ("c1", "read", ResultStatus::Completed, 1)]
    );
    let counted = tree.recorded.unwrap();
    assert_eq!((counted.messages, counted.tool_calls), (10, 2));
}

/// Both ways in which versions name the first entry that was kept.
#[test]
fn compactions_are_undone_and_their_tails_known() {
    for (name, at, tokens, kept) in [("compaction.jsonl", 5, 3043, 2), ("tree.jsonl", 9, 993, 6)] {
        let session = read(name);
        let [boundary] = session.boundaries.as_slice() else {
            panic!("{name}");
        };
        assert_eq!(boundary.before, at, "{name}");
        assert_eq!(boundary.tokens_before, Some(tokens), "{name}");
        assert!(boundary.original_kept, "{name}");
        let PartKind::Marker(marker) = &session.messages[at].parts[1].kind else {
            panic!("{name}: no marker");
        };
        assert_eq!(
            marker.tail_start.as_deref(),
            Some(session.messages[kept].id.as_str()),
            "{name}"
        );
        assert!(session.log().all(|message| !message.is_entry()));
    }
}

/// What pi could not read, it did not count.
#[test]
fn glued_lines_have_no_number() {
    let text = fixture(ID, "compaction.jsonl");
    let glued = text.replacen("1765238401000}}\n", "1765238401000}}", 1).replacen(
        "\"firstKeptEntryIndex\":3",
        "\"firstKeptEntryIndex\":1",
        1,
    );
    let session = session(&glued, ID);
    assert_eq!(warnings(&session), ["glued-line"]);
    let PartKind::Marker(marker) = &session.messages[5].parts[1].kind else {
        panic!("no marker");
    };
    let kept = &session.messages[2];
    assert_eq!(kept.shown_text(), "Test it");
    assert_eq!(marker.tail_start.as_deref(), Some(kept.id.as_str()));
    assert_eq!(rewritten(&session, ID).text, glued);
}

#[test]
fn a_summary_that_begins_a_file_is_its_head() {
    let text = fixture(ID, "compaction.jsonl");
    let tail: Vec<&str> =
        text.lines().skip_while(|line| !line.contains("\"compaction\",\"timestamp\"")).collect();
    let session = session(&tail.join("\n"), ID);
    assert_eq!(
        outline(&session, 9),
        ["useru text:The index", "useru text:Go on", "assistant text:All green"]
    );
    assert!(!session.boundaries[0].original_kept);
}

#[test]
fn an_entry_without_its_parent_follows_its_neighbour() {
    let text =
        fixture(ID, "tree.jsonl").replacen("\"parentId\":\"aaaa0003\"", "\"parentId\":\"x\"", 1);
    let session = session(&text, ID);
    assert_eq!(outline(&session, 14), outline(&read("tree.jsonl"), 14));
    assert_eq!(warnings(&session), ["dangling-parent", "abandoned-branch"]);
}

#[test]
fn a_cleared_result_changes_one_value() {
    for (name, message) in [("plain.jsonl", 2), ("compaction.jsonl", 4), ("damaged.jsonl", 2)] {
        let text = fixture(ID, name);
        let session = session(&text, ID);
        let edits = clear(&session, 7, |m| m.id == session.messages[message].id);
        let written = write(&View::recorded(&session, &edits), ID).text;
        let changed =
            text.lines().zip(written.lines()).filter(|(before, after)| before != after).count();
        assert_eq!(changed, 1, "{name}");
        let again = crate::common::session(&written, ID);
        assert_eq!(
            again.messages[message].shown_text(),
            "[Old tool result content cleared]",
            "{name}"
        );
        assert_eq!(again.messages.len(), session.messages.len(), "{name}");
    }
}

#[test]
fn what_the_user_ran_becomes_a_message_once_it_is_edited() {
    let session = read("plain.jsonl");
    let edits = clear(&session, 7, |m| m.id == session.messages[5].id);
    let again = crate::common::session(&write(&View::recorded(&session, &edits), ID).text, ID);
    assert_eq!(again.messages[5].shown_text(), "[Old tool result content cleared]");
}

fn summary() -> Arc<Message> {
    Arc::new(Message {
        origin: Origin::Entry(EntryKind::Summary),
        ..Message::user("summary-1", "What went before.")
    })
}

#[test]
fn a_new_summary_heads_what_is_kept() {
    let table: &[(&str, usize, &[&str], &str)] = &[
        (
            "compaction.jsonl",
            6,
            &["useru text:What went", "useru text:Go on", "assistant text:All green"],
            "\"firstKeptEntryIndex\":2",
        ),
        (
            "tree.jsonl",
            6,
            &[
                "useru text:What went",
                "useru text:Copy a in",
                "user+ text:Keep it s",
                "assistant text:Copied.",
                "useru text:Thanks",
            ],
            "\"firstKeptEntryId\":\"cccc0003\"",
        ),
    ];
    for (name, from, expected, first_kept) in table {
        let session = read(name);
        let summary = summary();
        let mut view = View::recorded(&session, &[]);
        hide(&mut view, |index, message| index < *from || message.is_entry());
        view.sent.insert(0, Shown::plain(&summary));
        let outcome = write(&view, ID);
        assert!(outcome.text.contains(first_kept), "{name}: {}", outcome.text);
        let again = crate::common::session(&outcome.text, ID);
        assert_eq!(outline(&again, 9), *expected, "{name}");
        assert_eq!(write(&view, ID).text, outcome.text, "{name}: the same again");
    }
}

/// Entries that hung on one that is gone hang on the one before it; a kept compaction still names
/// the first entry that it kept.
#[test]
fn references_follow_what_was_taken_out() {
    let plain = read("compaction.jsonl");
    let mut view = View::recorded(&plain, &[]);
    hide(&mut view, |index, _| index < 2);
    let text = write(&view, ID).text;
    assert!(text.contains("\"firstKeptEntryIndex\":1,"), "{text}");

    let tree = read("tree.jsonl");
    let mut view = View::recorded(&tree, &[]);
    hide(&mut view, |index, _| index == 6 || index == 7);
    let text = write(&view, ID).text;
    let again = session(&text, ID);
    assert_eq!(again.messages.len(), tree.messages.len() - 2);
    let parents: Vec<_> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .filter(|line| line["id"] == "cccc0005" || line["id"] == "cccc0006")
        .map(|line| (line["parentId"].clone(), line["firstKeptEntryId"].clone()))
        .collect();
    assert_eq!(parents[0].0, "cccc0002");
    assert_eq!(parents[1].1, "cccc0005");
    assert_eq!(warnings(&again), ["abandoned-branch"]);
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
    assert_eq!(usage(&again), usage(&claude));
}

struct Real {
    file: &'static str,
    /// Message entries and tool calls as the format counts them.
    counted: (usize, usize),
    /// Messages, answers, turns, compactions.
    canonical: [usize; 4],
    warnings: &'static [&'static str],
    why: &'static str,
}

const REAL: &[Real] = &[
    Real {
        file: "before-compaction.jsonl",
        counted: (990, 454),
        canonical: [992, 484, 51, 2],
        warnings: &["call-without-result"; 6],
        why: "two summaries besides the message entries; six calls of aborted answers never ran",
    },
    Real {
        file: "session-1compaction-badline.jsonl",
        counted: (454, 189),
        canonical: [455, 220, 42, 1],
        warnings: &["glued-line"],
        why: "the line that pi cannot read holds two messages more than a line-wise count finds",
    },
];

#[needs_sessions]
#[test]
fn recorded_sessions_import_whole() {
    for path in recorded(ID) {
        let case = REAL.iter().find(|case| path.ends_with(case.file)).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(detected(&text), Some(ID), "{}", case.file);
        let session = session(&text, ID);
        check(&session);
        let counted = session.recorded.unwrap();
        assert_eq!(
            (counted.messages, counted.tool_calls),
            case.counted,
            "{}: {}",
            case.file,
            case.why
        );
        let found =
            [session.messages.len(), session.calls(), session.turns(), session.boundaries.len()];
        assert_eq!(found, case.canonical, "{}: {}", case.file, case.why);
        assert_eq!(warnings(&session), case.warnings, "{}", case.file);
        for message in session.messages.iter().filter(|m| m.is_entry()) {
            assert!(
                message.parts.iter().any(|part| matches!(
                    &part.kind,
                    PartKind::Marker(marker) if marker.tail_start.is_some()
                )),
                "{}: a tail is known",
                case.file
            );
        }
        // What the recorder noted for a call is what it notes as the total.
        for answer in session.messages.iter().filter_map(|m| m.answer.as_ref()) {
            if let Some(usage) = answer.usage {
                let sum = usage.input_total() + usage.output;
                assert_eq!(usage.total, Some(sum), "{}", case.file);
            }
        }
        assert!(rewritten(&session, ID).text == text, "{}", case.file);
    }
}
