//! What is read from the recorded sessions: the numbers that people count in them, and sums that their
//! recorders wrote themselves.
use crate::common::{check, recorded, rewritten, session, usage, write};
use foldback_core::log::{PartKind, Usage};
use foldback_core::{Message, Part};
use foldback_formats::{Session, View, format, read};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The files of a folder: name, text, sessions.
pub fn files(folder: &str) -> Vec<(String, String, Vec<Session>)> {
    let file = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let name = format!("{folder}/{}", path.file_name().unwrap().to_string_lossy());
        let sessions = read(text.as_bytes(), None).unwrap();
        (name, text, sessions)
    };
    recorded(folder).into_iter().map(file).collect()
}

/// A row of the table.
fn row(name: &str, sessions: &[Session]) -> String {
    let sum = |of: &dyn Fn(&Session) -> usize| sessions.iter().map(of).sum::<usize>().to_string();
    let counted = [sum(&Session::recorded_messages), sum(&Session::recorded_tool_calls)];
    let parts = |session: &Session| -> Vec<Part> {
        session.messages.iter().flat_map(|message| message.parts.clone()).collect()
    };
    let found = [
        sum(&|session| session.messages.len()),
        sum(&Session::calls),
        sum(&Session::tool_calls),
        sum(&Session::turns),
        sum(&|session| parts(session).iter().filter(|part| part.as_result().is_some()).count()),
        sum(&|session| session.boundaries.len()),
        sum(&|session| session.cleared.len()),
    ];
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for warning in sessions.iter().flat_map(|session| &session.warnings) {
        *codes.entry(&warning.code).or_default() += 1;
    }
    let codes: String = codes.iter().map(|(code, count)| format!(" {count} {code}")).collect();
    format!("{name} | {} | {} |{codes}", counted.join(" "), found.join(" "))
}

#[foldback_needs::sessions]
#[test]
fn recorded_sessions_import_whole() {
    let table = include_str!("tables/recorded.txt").lines().filter(|row| !row.starts_with('#'));
    let mut expected: BTreeSet<&str> = table.collect();
    for folder in recorded("").iter().filter(|path| path.is_dir()) {
        for (name, _, sessions) in files(&folder.file_name().unwrap().to_string_lossy()) {
            let several = (2..10).contains(&sessions.len());
            for (number, part) in sessions.chunks(if several { 1 } else { 99 }).enumerate() {
                let name = if several { format!("{name}#{number}") } else { name.clone() };
                let found = row(&name, part);
                expected.take(&*found).unwrap_or_else(|| panic!("no row is\n{found}"));
            }
        }
    }
    assert_eq!(expected, BTreeSet::new());
}

#[foldback_needs::sessions]
#[test]
fn recorded_sessions_are_written_back_byte_for_byte() {
    for folder in recorded("").iter().filter(|path| path.is_dir()) {
        for (name, text, sessions) in files(&folder.file_name().unwrap().to_string_lossy()) {
            for session in &sessions {
                // Words and calls share a string there.
                if session.format != "roo-code" {
                    check(session);
                }
                if format(session.format).unwrap().writer.is_some() {
                    assert!(text.contains(&*session.source.text), "{name}");
                    let written = rewritten(session, session.format).text;
                    assert!(written == *session.source.text, "{name}");
                }
            }
        }
    }
}

/// Counts of a recorder's own under these names.
fn counts<const N: usize>(raw: &Value, names: [&str; N]) -> [u64; N] {
    names.map(|name| raw[name].as_u64().unwrap())
}

/// The sums over the answers are the recorders' own totals.
#[foldback_needs::sessions]
#[test]
fn recorded_usage_adds_up() {
    for (name, text, sessions) in files("codex") {
        let mut lines = text.lines().rev().filter(|line| line.contains("\"token_count\""));
        let total = lines.find_map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            line.pointer("/payload/info/total_token_usage")
                .filter(|total| total.is_object())
                .cloned()
        });
        let names =
            ["input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens"];
        let [uncached, read, written, output, reasoning] = usage(&sessions[0]);
        let sum = [uncached + read + written, read, output + reasoning, reasoning];
        assert_eq!(sum, counts(&total.unwrap(), names), "{name}");
    }
    for session in files("openhands").iter().flat_map(|(_, _, sessions)| sessions) {
        let record: Value = serde_json::from_str(&session.source.text).unwrap();
        let total = &record["metrics"]["accumulated_token_usage"];
        let [uncached, read, written, output, reasoning] = usage(session);
        let sum = [uncached + read + written, output + reasoning];
        assert_eq!(sum, counts(total, ["prompt_tokens", "completion_tokens"]), "{}", session.id);
    }
    // What the recorder noted for a call is what it notes as the total.
    for session in files("pi").iter().chain(&files("gemini-cli")).flat_map(|(_, _, all)| all) {
        for usage in session.messages.iter().filter_map(|m| m.answer.as_ref()?.usage) {
            let Usage { output, reasoning, .. } = usage;
            assert_eq!(
                usage.total,
                Some(usage.input_total() + output + reasoning),
                "{}",
                session.id
            );
        }
    }
    let all = |folder: &str| -> Vec<[u64; 5]> {
        files(folder).iter().flat_map(|(_, _, sessions)| sessions.iter().map(usage)).collect()
    };
    assert_eq!(all("openhands-llm"), [[75_494, 0, 0, 478, 0]]);
    let input = |usage: &[u64; 5]| [usage[0], usage[1], usage[2]];
    let inspect: Vec<_> = all("inspect").iter().map(input).collect();
    assert_eq!(inspect, [[1028, 3739, 3990], [1043, 31070, 8635]]);
    assert_eq!(all("langchain")[0][2], 6717 + 13426 + 13535);
}

/// Every record that a message was read from.
fn read_records(sessions: &[Session]) -> BTreeSet<u32> {
    let of = |message: &Message| -> Vec<u32> {
        let parts = message.parts.iter().filter_map(|part| part.source_record);
        message.record.into_iter().chain(parts).collect()
    };
    sessions.iter().flat_map(|session| &session.messages).flat_map(|message| of(message)).collect()
}

#[foldback_needs::sessions]
#[test]
fn no_line_of_a_conversation_is_left_out() {
    for (name, text, sessions) in files("codex") {
        let read = read_records(&sessions);
        let lines = (0u32..).zip(text.lines()).filter(|(record, _)| !read.contains(record));
        let unread = lines.filter(|(_, line)| line.contains("\"response_item\"")).count();
        assert_eq!(unread, 1, "only what is in the frame, {name}");
        let parts = sessions[0].messages.iter().flat_map(|message| &message.parts);
        let hosted = parts.filter(|part| matches!(part.kind, PartKind::Unknown { .. })).count();
        let counted = sessions[0].recorded_tool_calls();
        assert_eq!(sessions[0].tool_calls() + hosted, counted, "{name}");
    }
    for (name, text, sessions) in files("claude-code") {
        let read = read_records(&sessions);
        for (record, line) in (0u32..).zip(text.lines()).filter(|(at, _)| !read.contains(at)) {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            assert!(line["type"] != "user" && line["type"] != "assistant", "{name} {record}");
        }
    }
}

/// Each call reads from the cache what the call before it had sent, so answers are in order and none
/// is missing. Away from compactions only an expired cache breaks the rule.
#[foldback_needs::sessions]
#[test]
fn each_answer_of_claude_code_continues_the_one_before() {
    for session in files("claude-code").iter().flat_map(|(_, _, sessions)| sessions) {
        let messages = session.messages.iter().enumerate();
        let answers: Vec<(usize, Usage)> = messages
            .filter_map(|(index, message)| Some((index, message.answer.as_ref()?.usage?)))
            .collect();
        let across = |from: usize, to: usize| {
            session.boundaries.iter().any(|boundary| (from + 1..=to).contains(&boundary.before))
        };
        let pairs = answers.windows(2).filter(|pair| !across(pair[0].0, pair[1].0));
        let pairs: Vec<(u64, u64)> =
            pairs.map(|pair| (pair[0].1.input_total(), pair[1].1.cache_read)).collect();
        let kept =
            pairs.iter().filter(|(sent, read)| read.abs_diff(*sent) * 100 <= 3 * sent).count();
        assert!(kept * 100 >= 95 * pairs.len(), "{}: {kept} of {}", session.id, pairs.len());
    }
}

#[foldback_needs::sessions]
#[test]
fn every_summary_of_pi_names_its_tail() {
    let named =
        |part: &Part| matches!(&part.kind, PartKind::Marker(marker) if marker.tail_start.is_some());
    for session in files("pi").iter().flat_map(|(_, _, sessions)| sessions) {
        let mut entries = session.messages.iter().filter(|message| message.is_entry());
        assert!(entries.all(|entry| entry.parts.iter().any(named)), "{}", session.id);
    }
}

#[foldback_needs::sessions]
#[test]
fn recorded_marks_of_opencode_are_taken_out_and_set_again() {
    for (name, original, sessions) in files("opencode") {
        let bare = write(&View::recorded(&sessions[0], &[]), "opencode").text;
        assert!(!bare.contains("\"compacted\""), "{name}");
        // Setting them again gives the file that OpenCode wrote.
        let edits = sessions[0].recorded_edits();
        let text = write(&View::recorded(&session(&bare, "opencode"), &edits), "opencode").text;
        assert!(text == original, "{name}");
    }
}

/// Roo Code stores what it sends, with tools as text: whoever asks for it gets the plain messages.
#[foldback_needs::sessions]
#[test]
fn a_recorded_task_of_roo_code_is_a_list_of_messages() {
    for (name, text, _) in files("roo-code") {
        let session = session(&text, "anthropic");
        check(&session);
        assert!(rewritten(&session, "anthropic").text == text, "{name}");
    }
}

#[foldback_needs::sessions]
#[test]
fn recorded_sessions_become_histories_of_pydantic_ai() {
    for (name, _, sessions) in files("opencode") {
        let outcome = write(&View::recorded(&sessions[0], &[]), "pydantic-ai");
        let converted = session(&outcome.text, "pydantic-ai");
        check(&converted);
        let essence = |session: &Session| -> Vec<_> {
            let status = |message: &Message| Some(message.parts.first()?.as_result()?.status);
            session.messages.iter().map(|m| (m.role, m.shown_text(), status(m))).collect()
        };
        assert!(essence(&converted) == essence(&sessions[0]), "{name}");
        let input = |session: &Session| -> u64 {
            let usages = session.messages.iter().filter_map(|m| m.answer.as_ref()?.usage);
            usages.map(|usage| usage.input_total()).sum()
        };
        assert_eq!(input(&converted), input(&sessions[0]), "{name}");
    }
}
