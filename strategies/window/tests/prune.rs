//! Long results that have grown old.

use crate::support::{PRESETS, Talk, WINDOW, bytes, check, row, step, strategy};
use foldback_core::log::Message;
use foldback_core::moment::Moment;
use foldback_core::view::PartPos;
use foldback_window::truncate::truncate;
use std::sync::Arc;

const MARKER: &str = "... [output truncated]";

fn cut() -> String {
    format!("{}\n{MARKER}", bytes(200))
}

#[test]
fn truncation() {
    let up = "upstream";
    let rows = [
        row("S9-14", up, "100", bytes(100), None),
        row("S9-14", up, "200", bytes(200), None),
        row("S9-14", "ours", "201", bytes(201), Some(cut())),
        row("S9-14", up, "500", bytes(500), Some(cut())),
        row(
            "S9-14",
            "ours",
            "a character over the edge is left out",
            format!("{}字{}", bytes(199), bytes(900)),
            Some(format!("{}\n{MARKER}", bytes(199))),
        ),
    ];
    check(&rows, |text| truncate(text, 200, MARKER));
}

/// Results after every tool has run, with `recent` messages left alone.
fn results(recent: &str, messages: &[Message]) -> Vec<String> {
    let pruner = format!("[[pruner]]\nuse = \"window.truncate\"\npreserve_recent = {recent}");
    let mut talk = Talk::plain(strategy(WINDOW, &pruner), 200_000, None);
    talk.append(messages.iter().cloned());
    talk.at(Moment::ToolResult);
    talk.sent()
        .into_iter()
        .filter_map(|line| line.strip_prefix("tool: ").map(str::to_owned))
        .collect()
}

/// A result of `size` bytes, and `behind` messages behind it.
fn result_of(size: usize, behind: usize) -> Vec<Message> {
    let mut messages = step(0, &bytes(size)).to_vec();
    messages.extend((0..behind).map(|n| Message::user(format!("u{n}"), "on")));
    messages
}

#[test]
fn old_results() {
    let up = "upstream";
    let users = vec![Message::user("u", bytes(2_000)), Message::user("v", "on")];
    let rows = [
        row("S9-13", up, "old", ("2", result_of(2_000, 2)), vec![cut()]),
        row("S9-13", up, "recent", ("2", result_of(2_000, 1)), vec![bytes(2_000)]),
        row("S9-13", up, "short", ("2", result_of(500, 2)), vec![bytes(500)]),
        row("S9-13", "ours", "exactly 1,000", ("2", result_of(1_000, 2)), vec![bytes(1_000)]),
        row("S9-13", "ours", "1,001", ("2", result_of(1_001, 2)), vec![cut()]),
        row("S9-13", up, "no tools", ("0", users), vec![]),
        row("S9-13", up, "preserve -1", ("-1", result_of(2_000, 0)), vec![cut()]),
    ];
    check(&rows, |(recent, messages)| results(recent, messages));
}

#[test]
fn eight_rounds() {
    for preset in PRESETS {
        let mut talk = Talk::plain(strategy(preset, ""), 200_000, None);
        talk.append([Message::user("u", "please")]);
        for n in 0..8 {
            talk.append(step(n, &bytes(2_000)));
            talk.at(Moment::ToolResult);
        }
        let results: Vec<bool> = talk
            .sent()
            .iter()
            .filter(|line| line.starts_with("tool: "))
            .map(|line| line.ends_with(MARKER))
            .collect();
        // 17 messages, the last 10 left alone: results stand at 2, 4, 6 and behind.
        let rows = [row("S9-25", "upstream", "truncated", results, {
            [[true; 3].as_slice(), &[false; 5]].concat()
        })];
        check(&rows, Clone::clone);
        let counters = talk.conversation.counters();
        // 1,800 bytes each.
        assert_eq!((counters.prune_operations, counters.tokens_pruned), (3, 3 * 450));
    }
}

/// The walk stops where an earlier run was. What it finds is what a walk over everything would find,
/// whatever happened in between.
#[test]
fn the_short_walk_finds_what_the_whole_walk_finds() {
    let old_and_long = |talk: &Talk| -> Vec<usize> {
        let sent = talk.sent();
        let old = sent.len().saturating_sub(10);
        sent[..old]
            .iter()
            .enumerate()
            .filter(|(_, line)| line.starts_with("tool: ") && line.len() > 1_006)
            .map(|(index, _)| index)
            .collect()
    };
    let mut talk = Talk::plain(strategy(WINDOW, ""), 200_000, None);
    // A history that was loaded whole, one of its results already cleared by the recorder.
    for n in 0..8 {
        talk.append(step(n, &bytes(2_000)));
    }
    let mark = PartPos { item: 9, part: 0 };
    talk.conversation.mark_cleared(mark, Arc::from("[Old tool result content cleared]"), 0);
    assert_eq!(old_and_long(&talk), [1, 3, 5]);
    for n in 8..20 {
        let size = if n % 3 == 0 { 40 } else { 3_000 };
        talk.append(step(n, &bytes(size)));
        if n % 2 == 0 {
            talk.append([Message::user(format!("u{n}"), "on")]);
        }
        talk.at(Moment::ToolResult);
        assert_eq!(old_and_long(&talk), Vec::<usize>::new(), "after step {n}");
    }
    // Taken back one by one, then cut again.
    while talk.conversation.undo().is_some() {
        let mut again =
            Talk { conversation: talk.conversation.clone(), witness: Arc::clone(&talk.witness) };
        again.at(Moment::ToolResult);
        assert_eq!(old_and_long(&again), Vec::<usize>::new());
    }
}
