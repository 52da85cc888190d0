//! The extractive summarizer on small sessions, and what holds for all of them.

use foldback_core::log::{
    EntryKind, Message, Origin, Part, PartKind, ResultStatus, Role, ToolResult,
};
use foldback_core::services::Services;
use foldback_core::stage::{Estimator, Summarizer, SummaryError, SummaryRequest};
use foldback_stages::estimator::{Rounding, Unit, chars, o200k};
use foldback_stages::extractive::Extractive;
use foldback_test_support::table;
use proptest::prelude::*;
use std::sync::Arc;

fn request(style: &str, budget: u64, messages: Vec<Message>) -> SummaryRequest {
    SummaryRequest {
        name: "test".to_owned(),
        style: style.to_owned(),
        messages: messages.into_iter().map(Arc::new).collect(),
        previous: None,
        instructions: Vec::new(),
        budget,
        estimator: Arc::new(o200k()),
        ready: None,
    }
}

fn summarise(request: &SummaryRequest) -> String {
    let summary = Extractive::default().summary(request).expect("a summary");
    assert_eq!(summary.tokens, request.estimator.text(&summary.text));
    assert!(summary.tokens <= request.budget, "{} tokens", summary.tokens);
    summary.text
}

fn assistant(text: &str) -> Message {
    Message::assistant("a", vec![Part::text(text)])
}

fn call(id: &str, tool: &str, arguments: &str) -> Message {
    Message::assistant("a", vec![Part::call(id, tool, arguments)])
}

fn result(id: &str, tool: &str, status: ResultStatus, text: &str) -> Message {
    let result = ToolResult {
        call_id: id.to_owned(),
        tool: tool.to_owned(),
        status,
        text: text.to_owned(),
        ..ToolResult::default()
    };
    Message::new("t", Role::Tool, vec![Part::new(PartKind::Result(result))])
}

fn done(id: &str, tool: &str, text: &str) -> Message {
    result(id, tool, ResultStatus::Completed, text)
}

/// A small session of a coding agent; `extractive.toml` says how it is written.
fn session() -> Vec<Message> {
    let rows: Vec<Vec<String>> = table::rows(include_str!("extractive.toml"), "session");
    let message = |row: &Vec<String>| match row.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["user", text] => Message::user("u", text),
        ["assistant", text] => assistant(text),
        ["call", id, tool, arguments] => call(id, tool, arguments),
        ["done", id, tool, text] => done(id, tool, text),
        ["error", id, tool, text] => result(id, tool, ResultStatus::Error, text),
        _ => panic!("no message: {row:?}"),
    };
    rows.iter().map(message).collect()
}

#[test]
fn a_session_in_the_general_form() {
    insta::assert_snapshot!(summarise(&request("opencode.checkpoint", 2_000, session())));
}

#[test]
fn the_anchored_form_has_the_sections_of_its_system() {
    insta::assert_snapshot!(summarise(&request("opencode.anchored", 2_000, session())));
}

#[test]
fn the_oldest_tier_says_what_it_was_about_and_what_was_concluded() {
    insta::assert_snapshot!(summarise(&request("tiered.3", 2_000, session())));
}

#[test]
fn a_small_budget_keeps_the_request_and_the_state() {
    insta::assert_snapshot!(summarise(&request("window.compact", 64, session())));
}

#[test]
fn an_earlier_summary_is_merged() {
    let first = summarise(&request("", 2_000, session()));
    let later = vec![
        call("9", "edit", r#"{"filePath":"src/lines.rs"}"#),
        done("9", "edit", "ok"),
        call("10", "bash", r#"{"command":"cargo clippy"}"#),
        done("10", "bash", "no warnings"),
        assistant("Both are done."),
    ];
    let asked =
        SummaryRequest { previous: Some(first.clone()), ..request("", 2_000, later.clone()) };
    let second = summarise(&asked);
    insta::assert_snapshot!(second);
    // The same, where the summary is a message of the view.
    let mut entry = Message::user("s", format!("[Previous conversation summary]\n{first}"));
    entry.origin = Origin::Entry(EntryKind::Summary);
    let messages = [entry].into_iter().chain(later).collect();
    assert_eq!(summarise(&request("", 2_000, messages)), second);
    // Nothing new: nothing changes.
    let again = SummaryRequest { previous: Some(second.clone()), ..request("", 2_000, Vec::new()) };
    assert_eq!(summarise(&again), second);
}

#[test]
fn the_newest_instruction_is_kept_whole_and_older_ones_by_telling_sentences() {
    let filler = "This sentence only fills the page with words. ".repeat(60);
    let messages = vec![
        Message::user(
            "u1",
            format!(
                "Port the tool to Rust. {filler}You must not change the output format. {filler}"
            ),
        ),
        Message::user("u2", "Now write the docs.\n    indented = true\nKeep them short."),
    ];
    let text = summarise(&request("", 200, messages));
    assert!(
        text.contains("- Now write the docs.\n      indented = true\n  Keep them short."),
        "{text}"
    );
    assert!(text.contains("Port the tool to Rust."), "{text}");
    assert!(text.contains("You must not change the output format."), "{text}");
}

#[test]
fn an_error_that_was_followed_by_a_success_is_gone() {
    let text = summarise(&request("", 2_000, session()));
    assert!(!text.contains("keeps_last_line"), "{text}");
    assert!(text.contains("unused variable"), "{text}");
    assert!(!text.contains("src/nope.rs (modified)"), "a failed edit touches nothing: {text}");
}

#[test]
fn instructions_for_the_summary_pick_sentences() {
    let messages = vec![
        assistant("The weather module talks to Oslo over gRPC. Then it rests a bit."),
        assistant("Done."),
    ];
    let mut asked = request("", 500, messages);
    assert!(!summarise(&asked).contains("Oslo"));
    asked.instructions = vec!["Keep everything about the weather".to_owned()];
    let text = summarise(&asked);
    assert!(text.contains("- The weather module talks to Oslo over gRPC."), "{text}");
    assert!(!text.contains("rests"), "{text}");
}

#[test]
fn messages_in_which_nobody_speaks_still_have_a_summary() {
    let messages = vec![
        done("1", "grep", "first match. Second sentence.\nanother line"),
        done("2", "grep", "middle"),
        done("3", "grep", "one more. The last match"),
    ];
    let text = summarise(&request("", 500, messages));
    assert_eq!(text, "## Current state\n- first match.\n  The last match");
}

#[test]
fn a_style_without_the_only_topic_there_is_still_says_it() {
    let messages = vec![result("1", "fetch", ResultStatus::Error, "timed out")];
    let text = summarise(&request("tiered.3", 500, messages));
    assert_eq!(text, "## What was concluded\n- fetch\n  timed out");
}

#[test]
fn without_any_text_there_is_no_summary() {
    for messages in [vec![], vec![assistant("  \n ")]] {
        let refused = Extractive::default().summary(&request("", 500, messages));
        assert_eq!(refused, Err(SummaryError::Empty));
    }
    let refused = Extractive::default().summary(&request("", 0, session()));
    assert!(matches!(refused, Err(SummaryError::Failed(_))), "{refused:?}");
}

#[test]
fn the_configured_maximum_holds_where_the_budget_is_larger() {
    let filler = "Another sentence that has to be kept as it is. ".repeat(2_000);
    let text = summarise(&request("", 1_000_000, vec![Message::user("u", filler)]));
    assert!(o200k().text(&text) <= 4_000);
}

#[test]
fn a_huge_input_is_summarised() {
    // 12 MB; anything that is not linear does not come back from this.
    let line = "some output of a tool that goes on and on, error: or not\n";
    let output = line.repeat(10_000);
    let mut messages = session();
    for n in 0..20 {
        let id = format!("x{n}");
        messages.push(call(&id, "bash", r#"{"command":"make all"}"#));
        messages.push(done(&id, "bash", &output));
    }
    messages.push(Message::user("u", "word ".repeat(200_000)));
    let mut asked = request("", 1_000, messages);
    asked.estimator = Arc::new(chars(Unit::Bytes, Rounding::Floor));
    assert!(!summarise(&asked).is_empty());
}

#[tokio::test]
async fn it_answers_at_once_and_names_itself() {
    let summarizer = Extractive::default();
    let summary = summarizer
        .summarize(&request("", 500, session()), &Services::fixed())
        .await
        .expect("a summary");
    assert_eq!((summarizer.id(), summary.by.as_str()), ("extractive", "extractive"));
}

/// Everything that the messages hold, as the summarizer may read it.
fn source(request: &SummaryRequest) -> String {
    let mut out = request.previous.clone().unwrap_or_default();
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        out.push('\n');
        out.push_str(&part.shown());
        match &part.kind {
            PartKind::Call(call) => {
                out.push_str(&format!("\n{}\n", call.tool));
                strings(&call.arguments_value(), &mut out);
            }
            PartKind::Result(result) => out.push_str(&format!("\n{}\n", result.tool)),
            _ => {}
        }
    }
    out
}

fn strings(value: &serde_json::Value, out: &mut String) {
    match value {
        serde_json::Value::String(text) => {
            out.push('\n');
            out.push_str(text);
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| strings(item, out)),
        serde_json::Value::Object(fields) => fields.values().for_each(|item| strings(item, out)),
        _ => {}
    }
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}",
        1 => "[A-Z][a-zA-Z_]{2,12}",
        1 => "src/[a-z]{1,6}\\.rs",
        1 => Just("decided".to_owned()),
        1 => Just("TODO".to_owned()),
        1 => Just("must".to_owned()),
        1 => "[^\\s\\p{C}]{1,4}",
        1 => Just("error:".to_owned()),
        1 => Just("##".to_owned()),
        1 => Just("-".to_owned()),
    ]
}

fn text() -> impl Strategy<Value = String> {
    let separator =
        prop_oneof![6 => Just(" "), 1 => Just(". "), 1 => Just("\n"), 1 => Just("\n\n")];
    prop::collection::vec((word(), separator), 0..40).prop_map(|words| {
        words.into_iter().flat_map(|(word, separator)| [word, separator.to_owned()]).collect()
    })
}

fn message() -> impl Strategy<Value = Message> {
    prop_oneof![
        text().prop_map(|text| Message::user("u", text)),
        text().prop_map(|text| assistant(&text)),
        (word(), text()).prop_map(|(tool, text)| done("1", &tool, &text)),
        text().prop_map(|text| result("1", "bash", ResultStatus::Error, &text)),
        word().prop_map(|path| call("1", "edit", &serde_json::json!({"path": path}).to_string())),
        text().prop_map(|text| call(
            "1",
            "bash",
            &serde_json::json!({"command": text}).to_string()
        )),
        text().prop_map(|text| {
            let item = serde_json::json!({"content": text, "status": "pending"});
            call("1", "todowrite", &serde_json::json!({"todos": [item]}).to_string())
        }),
    ]
}

fn any_request() -> impl Strategy<Value = SummaryRequest> {
    let style = prop_oneof![
        Just("opencode.checkpoint"),
        Just("opencode.anchored"),
        Just("window.compact"),
        Just("tiered.1"),
        Just("tiered.2"),
        Just("tiered.3"),
    ];
    let estimator = prop_oneof![
        Just(Arc::new(o200k()) as Arc<dyn Estimator>),
        Just(Arc::new(chars(Unit::Bytes, Rounding::Floor)) as Arc<dyn Estimator>),
        Just(Arc::new(chars(Unit::CodePoints, Rounding::Ceil)) as Arc<dyn Estimator>),
    ];
    let budget = prop_oneof![1..40_u64, 40..400_u64, 400..4_000_u64];
    let messages = prop::collection::vec(message(), 0..16);
    let previous = prop::option::of(text());
    (style, estimator, budget, messages, previous).prop_map(
        |(style, estimator, budget, messages, previous)| SummaryRequest {
            estimator,
            previous,
            ..request(style, budget, messages)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn never_over_budget_and_never_made_up(request in any_request()) {
        let source = source(&request);
        match Extractive::default().summary(&request) {
            Ok(summary) => {
                prop_assert!(summary.tokens <= request.budget, "{} tokens", summary.tokens);
                prop_assert_eq!(summary.tokens, request.estimator.text(&summary.text));
                prop_assert!(!summary.text.trim().is_empty());
                for line in summary.text.lines().filter(|line| !is_heading(line)) {
                    let line = line.strip_prefix("- ").unwrap_or(line);
                    let line = [" (read)", " (modified)", " (created)"]
                        .iter()
                        .find_map(|mark| line.strip_suffix(mark))
                        .unwrap_or(line);
                    for word in line.split_whitespace().filter(|word| *word != "…") {
                        prop_assert!(source.contains(word), "{word:?} of {line:?} was never said");
                    }
                }
            }
            Err(SummaryError::Empty) => {
                let silent = |message: &Arc<Message>| message.shown_text().trim().is_empty();
                prop_assert!(request.messages.iter().all(silent), "{source:?}");
            }
            Err(error) => prop_assert!(request.budget < 8, "{error}"),
        }
    }

    #[test]
    fn the_same_request_gives_the_same_text(request in any_request()) {
        let text = |request| Extractive::default().summary(request).map(|summary| summary.text);
        prop_assert_eq!(text(&request), text(&request));
    }
}

fn is_heading(line: &str) -> bool {
    [
        "## User instructions",
        "## Earlier",
        "## Decisions",
        "## Files",
        "## Last errors",
        "## Open items",
        "## Current state",
        "## Goal",
        "## Progress",
        "## Key Decisions",
        "## Next Steps",
        "## Critical Context",
        "## Relevant Files",
        "## Outcome",
        "## What it was about",
        "## What was concluded",
    ]
    .contains(&line)
}
