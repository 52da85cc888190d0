//! The rows of the conformance suite for tunacode 0.1.40, by id. They run at stage level, beneath the
//! guards.

use crate::support::{
    cleared, conversation, preset, prune, reclaimed, registry, tool_return, user_file,
};
use foldback_core::Limits;
use foldback_core::conversation::Signals;
use foldback_core::log::{Message, Part, PartKind, ResultStatus, Role, ToolResult};
use foldback_core::moment::Moment;
use foldback_core::stage::{Estimator, Pruning};
use foldback_core::strategy::Strategy;
use foldback_core::view::PartPos;
use foldback_test_support::table;
use foldback_testkit::talk;
use foldback_tunacode::{DEFAULT_PLACEHOLDER, PlaceholderConfig, count_user_turns, return_of};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Rows that have no counterpart here, each with the reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("TU-17", "a Python setter that raises: object mutability of another language"),
    ("TU-18", "the identity of a Python list: object identity of another language"),
    ("TL-4..17", "limits of tunacode's own tools; no compaction reads them"),
    (
        "TL-23",
        "the settings cache of a running program: configuration is compiled once and never read again",
    ),
];

fn result(status: ResultStatus, text: &str, structured: Option<Value>) -> Part {
    Part::new(PartKind::Result(ToolResult {
        call_id: "c".to_owned(),
        tool: "t".to_owned(),
        status,
        text: text.to_owned(),
        structured,
        media: Vec::new(),
    }))
}

fn sized(tokens: usize) -> Part {
    result(ResultStatus::Completed, &"x".repeat(tokens * 4), None)
}

fn returned(id: &str, text: &str) -> Message {
    Message::tool(id, format!("call-{id}"), "t", text)
}

fn user(id: &str) -> Message {
    Message::user(id, "go on")
}

/// tunacode with other amounts.
fn protecting(protect: u64, minimum: u64) -> Strategy {
    user_file(&format!(
        "name = \"t\"\nextends = \"tunacode\"\n[[pruner]]\nuse = \"tunacode.placeholder\"\nprotect_tokens = {protect}\nminimum_tokens = {minimum}\n",
    ))
}

/// What a harness wrote in the user's name.
fn by_harness(id: &str) -> Message {
    user(id).with_parts(vec![Part::synthetic("try again")])
}

fn two_users_and(rest: impl IntoIterator<Item = Message>) -> Vec<Message> {
    [user("u1"), user("u2")].into_iter().chain(rest).collect()
}

#[test]
fn which_parts_are_tool_returns() {
    let unknown = PartKind::Unknown { name: "thing".to_owned(), raw: Value::Null };
    // id, part, is it a tool return?
    let rows = [
        ("TU-1", result(ResultStatus::Completed, "content", None), true),
        ("TU-2", Part::call("c", "t", "{}"), false),
        ("TU-3", Part::new(unknown), false),
        ("TU-4", result(ResultStatus::Pending, "", None), false),
        (
            "TU-29, reasoning stays",
            Part::new(PartKind::Reasoning { text: "hm".to_owned(), opaque: None }),
            false,
        ),
        ("ours: an error is returned", result(ResultStatus::Error, "no such file", None), true),
        ("ours: a retry prompt is not", result(ResultStatus::Retry, "fix it", None), false),
        ("ours: nor is a running tool", result(ResultStatus::Running, "so far", None), false),
    ];
    for (id, part, expected) in rows {
        assert_eq!(return_of(&part).is_some(), expected, "{id}");
    }
}

#[test]
fn which_messages_are_user_turns() {
    let of_record = |id: &str, record| user(id).with_record(record);
    // id, messages, user turns
    let rows: Vec<(&str, Vec<Message>, u64)> = vec![
        ("TU-5", vec![user("u")], 1),
        ("TU-6", vec![returned("t", "out")], 0),
        ("TU-7", vec![], 0),
        ("TU-8", vec![user("a"), user("b")], 2),
        ("TU-9", vec![user("a"), Message::assistant("b", vec![]), user("c")], 2),
        ("TU-10", vec![returned("t", "out")], 0),
        (
            "ours: prompts of one stored message count once",
            vec![of_record("a", 3), of_record("b", 3), of_record("c", 4)],
            2,
        ),
        (
            "ours: a return between them does not part them",
            vec![of_record("a", 3), returned("t", "out").with_record(3), of_record("b", 3)],
            1,
        ),
        ("ours: a prompt while the loop runs is one", vec![user("a").within_turn()], 1),
        ("ours: what the harness writes then is none", vec![by_harness("a").within_turn()], 0),
        ("ours: what it writes between turns is one", vec![by_harness("a")], 1),
        ("ours: system prompts are none", vec![Message::new("s", Role::System, vec![])], 0),
    ];
    for (id, messages, turns) in rows {
        assert_eq!(count_user_turns(&messages, u64::MAX), turns, "{id}");
    }
    assert_eq!(count_user_turns(&vec![user("u"); 9], 2), 2, "no more than asked for");
}

/// Texts in place of three returns, the oldest first, and which are cleared; a newer one is protected.
#[test]
fn what_another_cleared_is_cleared_again() {
    let (own, other) = (Some(DEFAULT_PLACEHOLDER), Some("[gone]"));
    let rows = [
        ([None, None, None], vec![2, 3, 4]),
        ([own, None, None], vec![3, 4]),
        ([own, other, None], vec![3, 4]),
        ([other, own, None], vec![2, 4]),
        ([own, own, other], vec![4]),
        ([own, None, other], vec![3, 4]),
    ];
    for (texts, expected) in rows {
        let returns = ["a", "b", "c", "d"].map(|id| returned(id, &"x".repeat(400)));
        let mut conversation = conversation(protecting(100, 0), two_users_and(returns));
        for (item, text) in (2..).zip(texts) {
            if let Some(text) = text {
                conversation.mark_cleared(PartPos { item, part: 0 }, text.into(), 0);
            }
        }
        assert_eq!(cleared(&prune(&conversation)), expected, "{texts:?}");
    }
}

/// A return of the placeholder's size is not the placeholder.
#[test]
fn what_is_as_long_as_the_placeholder_is_cleared() {
    for (text, expected) in
        [(DEFAULT_PLACEHOLDER.to_owned(), vec![]), ("x".repeat(DEFAULT_PLACEHOLDER.len()), vec![2])]
    {
        let returns = [returned("a", &text), returned("b", &"x".repeat(400))];
        let conversation = conversation(protecting(100, 0), two_users_and(returns));
        assert_eq!(cleared(&prune(&conversation)), expected, "{text}");
    }
}

fn estimator() -> Arc<dyn Estimator> {
    Arc::clone(preset("tunacode").estimator())
}

#[test]
fn estimates() {
    let estimator = estimator();
    let rows: Vec<(String, String, u64)> =
        table::rows(include_str!("../rows/rows.toml"), "estimates");
    for (id, text, tokens) in rows {
        assert_eq!(estimator.text(&text), tokens, "{id}: {text:?}");
    }
}

#[test]
fn tk_3_the_model_does_not_matter() {
    let strategy = Arc::new(preset("tunacode"));
    let counts: BTreeSet<u64> = ["anthropic:claude-sonnet-4", "openai:gpt-4o", "unknown"]
        .map(|model| {
            let mut conversation = talk::conversation(Arc::clone(&strategy), Limits::default())
                .with_model(Some(model.to_owned()));
            conversation.append(user("u"));
            conversation.tokens()
        })
        .into();
    assert_eq!(counts.len(), 1, "TK-3");
}

#[test]
fn tu_13_structured_content_is_measured_on_its_python_repr() {
    // {'key': 'it\'s "so"'} has 21 characters, its JSON {"key":"it's \"so\""} has 20
    let value = json!({"key": "it's \"so\""});
    let file = protecting(0, 0);
    let part = result(ResultStatus::Completed, &value.to_string(), Some(value.clone()));
    let wide = json!(vec![&value; 10]);
    // [v, v, …]: 10 × 21 + 9 × 2 + 2 = 230 characters, 57 tokens, 49 net of the placeholder
    let wide = result(ResultStatus::Completed, &wide.to_string(), Some(wide.clone()));
    for (id, part, expected) in [("TU-13", part, 0), ("TU-13 wide", wide, 49)] {
        let message = Message::new("t", Role::Tool, vec![part]);
        let proposal = prune(&conversation(file.clone(), two_users_and([message])));
        assert_eq!(cleared(&proposal), [2], "{id}");
        assert_eq!(reclaimed(&proposal), expected, "{id}");
    }
}

#[test]
fn clearing_one_part() {
    let file = protecting(0, 0);
    // id, content, is it cleared?, reclaimed
    let rows = [
        ("TU-14", "x".repeat(10_000), true, 2_492),
        ("TU-15", "x".repeat(4_000), true, 992),
        ("TU-16", DEFAULT_PLACEHOLDER.to_owned(), false, 0),
        ("ours: shorter than the placeholder", "xxxx".to_owned(), true, 0),
        ("ours: nothing is not above zero", String::new(), false, 0),
    ];
    for (id, content, goes, expected) in rows {
        let history = conversation(file.clone(), two_users_and([returned("t", &content)]));
        let proposal = prune(&history);
        assert_eq!(!cleared(&proposal).is_empty(), goes, "{id}");
        assert_eq!(reclaimed(&proposal), expected, "{id}");
        if let Pruning::Edits { edits, .. } = proposal {
            assert_eq!(&*edits[0].text, DEFAULT_PLACEHOLDER, "{id}");
        }
    }
}

#[test]
fn whole_histories() {
    // id, history, positions that are cleared, reclaimed
    let rows: Vec<(&str, Vec<Message>, Vec<usize>, u64)> = vec![
        ("TU-19", vec![returned("t", "content")], vec![], 0),
        ("TU-19 with a size that would go", vec![user("u"), tool_return("t", 70_000)], vec![], 0),
        ("TU-20", two_users_and([returned("t", "small output")]), vec![], 0),
        ("TU-21", two_users_and([tool_return("t", 70_000)]), vec![2], 69_992),
        (
            "TU-22",
            two_users_and([tool_return("old", 10_000), tool_return("recent", 35_000)]),
            vec![],
            0,
        ),
        (
            "TU-23",
            vec![
                user("dict user"),
                user("prompt"),
                Message::new("dict without role", Role::System, vec![]),
                returned("t", "out"),
            ],
            vec![],
            0,
        ),
    ];
    let rows = rows.into_iter().chain([(
        "ours: parts of one message are walked newest to oldest",
        two_users_and([Message::new("t", Role::Tool, vec![sized(10_000), sized(45_000)])]),
        vec![2, 2],
        54_984,
    )]);
    for (id, messages, positions, expected) in rows {
        let proposal = prune(&conversation(preset("tunacode"), messages));
        assert_eq!(cleared(&proposal), positions, "{id}");
        assert_eq!(reclaimed(&proposal), expected, "{id}");
    }
}

#[test]
fn boundaries() {
    let rows: Vec<(String, String, Vec<u64>, Vec<usize>)> =
        table::rows(include_str!("../rows/rows.toml"), "boundaries");
    for (id, name, sizes, expected) in rows {
        let oldest_first = sizes
            .iter()
            .enumerate()
            .rev()
            .map(|(index, tokens)| tool_return(&index.to_string(), *tokens));
        let history = conversation(preset(&name), two_users_and(oldest_first));
        let last = history.history().len() - 1;
        let mut indices: Vec<usize> =
            cleared(&prune(&history)).into_iter().map(|position| last - position).collect();
        indices.sort_unstable();
        assert_eq!(indices, expected, "{id} {name}, newest to oldest {sizes:?}");
    }
}

#[test]
fn cleared_parts_still_count_in_both_sums() {
    // Three returns of 8 tokens each that were cleared before, and one old return of 4. Only with the
    // cleared ones does the walk get beyond 10 and come to 12.
    let history = || {
        two_users_and([
            tool_return("old", 4),
            returned("a", DEFAULT_PLACEHOLDER),
            returned("b", DEFAULT_PLACEHOLDER),
        ])
    };
    // minimum, cleared: beyond the boundary lie one placeholder of 8 and the return of 4
    for (minimum, positions) in [(12, vec![2]), (13, vec![])] {
        let proposal = prune(&conversation(protecting(12, minimum), history()));
        assert_eq!(cleared(&proposal), positions, "minimum {minimum}");
    }
}

#[tokio::test]
async fn a_second_run_changes_nothing() {
    let mut history = conversation(
        preset("tunacode"),
        two_users_and([tool_return("a", 30_000), tool_return("b", 30_000)]),
    );
    let first = history.at(Moment::TurnStart, Signals::default()).await;
    assert!(first[0].outcome.changed(), "{}", first[0].outcome);
    let plan = &history.folds()[0].plan;
    assert_eq!((plan.prunable, plan.reclaimed), (30_000, 29_992));
    let second = history.at(Moment::TurnStart, Signals::default()).await;
    assert!(!second[0].outcome.changed(), "{}", second[0].outcome);
}

#[test]
fn constants() {
    let default: PlaceholderConfig = talk::config(&registry(), "tunacode", "pruner[0]");
    // id, value, expected
    let rows = [
        ("TU-24", json!(default.protect_tokens), json!(40_000)),
        ("TU-25", json!(default.minimum_tokens), json!(20_000)),
        ("TU-26", json!(default.min_user_turns), json!(2)),
        ("TU-27", json!(default.placeholder), json!("[Old tool result content cleared]")),
    ];
    for (id, value, expected) in rows {
        assert_eq!(value, expected, "{id}");
    }
}

#[test]
fn local_mode_is_a_preset() {
    // id, preset, does it clear 2,001 tokens?
    let rows =
        [("TL-1, TL-3: standard", "tunacode", false), ("TL-2: local", "tunacode-local", true)];
    for (id, name, local) in rows {
        let history = conversation(preset(name), two_users_and([tool_return("t", 2_001)]));
        assert_eq!(!cleared(&prune(&history)).is_empty(), local, "{id}");
    }
}

#[test]
fn the_answer_limit_is_a_window_setting() {
    // id, file, output limit (0: none)
    let rows = [
        ("TL-18", "extends = \"tunacode\"", 0),
        ("TL-19", "extends = \"tunacode-local\"", 1_000),
        ("TL-20", "extends = \"tunacode-local\"\n[window]\noutput = 2_000", 2_000),
        ("TL-21", "extends = \"tunacode-local\"\n[window]\noutput = 500", 500),
        ("TL-22", "extends = \"tunacode\"\n[window]\noutput = 4_000", 4_000),
    ];
    for (id, toml, output) in rows {
        let strategy = user_file(&format!("name = \"t\"\n{toml}\n"));
        let none = Default::default;
        assert_eq!(strategy.limits(none(), none(), none()).output, output, "{id}");
    }
}

#[test]
fn presets_say_what_they_are() {
    // name, when the stage runs, context
    for (name, context) in [("tunacode", 200_000), ("tunacode-local", 10_000)] {
        let strategy = preset(name);
        assert_eq!(strategy.pruners.len(), 1, "{name}");
        assert_eq!(strategy.pruners[0].when, [Moment::TurnStart], "TU-28: {name}");
        assert_eq!(strategy.preset_limits.context, context, "{name}");
        assert_eq!(&**strategy.estimator().id(), "chars(code-points)/4 floor", "{name}");
        assert!(strategy.reproduces.contains("0.1.40"), "{name}");
        assert_eq!(strategy.deviations.len(), 9, "{name}");
        assert!(strategy.guards.off().is_empty(), "{name}");
    }
}

#[test]
fn every_exception_has_a_reason() {
    for (id, reason) in EXCEPTIONS {
        assert!(reason.len() > 20, "{id}: {reason}");
    }
}
