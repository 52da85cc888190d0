//! How the presets count.

use crate::support::{FAITHFUL, PRESETS, Talk, bytes, check, row, rows, strategy};
use foldback_core::log::{Media, Message, Part, PartKind, Role, ToolResult};
use foldback_core::meter::MeterId;
use foldback_core::stage::Estimator;
use serde_json::json;
use std::sync::Arc;

fn estimators(preset: &str) -> Vec<Arc<dyn Estimator>> {
    strategy(preset, "").estimators
}

#[test]
fn texts() {
    let rows = rows::<String, u64>("texts");
    for preset in PRESETS {
        for estimator in estimators(preset) {
            check(&rows, |text| estimator.text(text));
        }
    }
}

#[test]
fn messages() {
    let up = "upstream";
    let user = |n| Message::user("a", bytes(n));
    let nil = || Message::assistant("a", Vec::new());
    let rows = [
        row("S9-6", up, "none", vec![], 0),
        row("S9-6", up, "100 chars", vec![user(100)], 29),
        row("S9-6", up, "100 and 200", vec![user(100), user(200)], 83),
        row("S9-6", up, "nil content", vec![nil()], 4),
    ];
    for preset in PRESETS {
        check(&rows, |messages| {
            let mut talk = Talk::plain(strategy(preset, ""), 200_000, None);
            talk.append(messages.iter().cloned());
            talk.conversation.meter(MeterId::OWN).view_tokens()
        });
    }
}

/// What counts as content, told by what it costs: four tokens for the message, one for four bytes.
#[test]
fn content() {
    let user = |parts: Vec<Part>| Message::new("m", Role::User, parts);
    let image = || Part::new(PartKind::File(Media::default()));
    let up = "upstream";
    let rows = [
        row("S9-7", up, "string", user(vec![Part::text("abcdefgh")]), 4 + 2),
        row("S9-7", up, "nil", user(vec![]), 4),
        row("S9-7", up, "empty", user(vec![Part::text("")]), 4),
        row("S9-7", up, "two texts", user(vec![Part::text("abcd"), Part::text("efgh")]), 4 + 2),
        row("S9-7", up, "image", user(vec![image()]), 4),
        row("S9-7", "ours", "text and image", user(vec![Part::text("abcd"), image()]), 4 + 1),
    ];
    for preset in PRESETS {
        let compactor = &estimators(preset)[0];
        check(&rows, |message| compactor.count(message).total());
    }
}

#[test]
fn two_estimators_where_the_original_has_two() {
    let strategy = strategy(FAITHFUL, "");
    let loops = strategy.counts_for(strategy.overflow.as_ref().unwrap());
    let compactors = strategy.counts_for(strategy.filter.as_ref().unwrap());
    let structured = Message::new(
        "m",
        Role::Tool,
        vec![Part::new(PartKind::Result(ToolResult {
            call_id: "c".into(),
            text: bytes(400),
            structured: Some(json!({})),
            ..ToolResult::default()
        }))],
    );
    let call = Message::assistant("m", vec![Part::call("c", "bash", bytes(400))]);
    let rows = [
        row("S9-6", "reference", "loop, string", (loops, Message::user("m", bytes(400))), 104),
        row("S9-6", "reference", "loop, structured", (loops, structured.clone()), 4),
        row("S9-6", "reference", "loop, call", (loops, call.clone()), 4),
        row("S9-6", "reference", "compactor, structured", (compactors, structured), 104),
        row("S9-6", "reference", "compactor, call", (compactors, call), 4),
    ];
    check(&rows, |(estimator, message)| estimator.count(message).total());
}
