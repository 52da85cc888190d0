//! The rows MX-1 to MX-13, and the arithmetic that they are about.
//!
//! Each row holds what is given and what is expected; the functions are those that the filter uses.

use foldback_core::fraction::Fraction;
use foldback_core::log::ResultStatus;
use foldback_core::{Frame, Message, Part, PartKind, Role, SegmentKind};
use foldback_stages::estimator::{Rounding, Unit, chars};
use foldback_test_support::table;
use foldback_tiered::assembly::{ACTIONS, CURRENT, IDENTITY, INSIGHT, TASK};
use foldback_tiered::budget::{Fixed, Shares, allocate, allocate_exact, residual_ceiling};
use foldback_tiered::reference::id_of;
use foldback_tiered::score::{Evidence, Factor, Score, Weights};
use foldback_tiered::{selection, tiers};
use std::collections::BTreeSet;

const MINUTE: i64 = 60_000;
const THRESHOLD: u32 = 60;

fn said(text: &str) -> Message {
    Message::user("m", text)
}

fn answered(status: ResultStatus, text: &str) -> Message {
    let mut message = Message::tool("m", "call", "read", text);
    if let PartKind::Result(result) = &mut message.parts[0].kind {
        result.status = status;
    }
    message
}

fn marked(importance: &str, message: Message) -> Message {
    message.annotated("importance", importance)
}

fn score(message: &Message, references: u32, age: i64) -> Score {
    let evidence = Evidence { references, age: Some(age), ..Evidence::from_message(message) };
    evidence.score(&Weights::default())
}

#[test]
fn mx_1_to_5_scores() {
    #[derive(serde::Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Row {
        id: String,
        text: String,
        status: Option<ResultStatus>,
        importance: Option<String>,
        /// What the message is marked as, besides.
        kind: Option<String>,
        references: u32,
        minutes: i64,
        points: u32,
        factors: Vec<String>,
        residual: bool,
    }
    let rows: Vec<Row> = table::rows(include_str!("../rows/rows.toml"), "scores");
    for Row {
        id,
        text,
        status,
        importance,
        kind,
        references,
        minutes,
        points,
        factors,
        residual,
    } in rows
    {
        let message = status.map_or_else(|| said(&text), |status| answered(status, &text));
        let message = importance.iter().fold(message, |message, of| marked(of, message));
        let message = kind.iter().fold(message, |message, of| message.annotated("type", of));
        let score = score(&message, references, minutes * MINUTE);
        assert_eq!(score.points, points, "{id}: {:?}", score.factors());
        assert_eq!(names(&score.factors()), factors, "{id}");
        assert_eq!(score.is_residual(THRESHOLD), residual, "{id}");
        assert_eq!(score.display(), points.min(100), "{id}");
    }
}

/// Factors by the names that a file has for them.
fn names(factors: &[Factor]) -> Vec<String> {
    serde_json::from_value(serde_json::to_value(factors).unwrap()).unwrap()
}

#[test]
fn factors_one_by_one() {
    use Factor::*;
    let rows: Vec<(String, String, String, String, Vec<String>)> =
        table::rows(include_str!("../rows/rows.toml"), "factors");
    for (name, status, importance, text, factors) in rows {
        let status = Some(status).filter(|status| !status.is_empty());
        let status = status.map(|status| serde_json::from_value(status.into()).unwrap());
        let message = status.map_or_else(|| said(&text), |status| answered(status, &text));
        let message = if importance.is_empty() { message } else { marked(&importance, message) };
        assert_eq!(names(&score(&message, 0, i64::MAX).factors()), factors, "{name}");
    }
    // what is told apart, message, references, age in milliseconds, factors
    let rows: [(&str, Message, u32, i64, &[Factor]); 7] = [
        ("one reference", said("x"), 1, i64::MAX, &[]),
        ("two references", said("x"), 2, i64::MAX, &[Referenced]),
        ("just below five minutes", said("x"), 0, 5 * MINUTE - 1, &[VeryRecent]),
        ("five minutes", said("x"), 0, 5 * MINUTE, &[Recent]),
        ("just below an hour", said("x"), 0, 60 * MINUTE - 1, &[Recent]),
        ("an hour", said("x"), 0, 60 * MINUTE, &[]),
        (
            "calls and reasoning are not looked at",
            Message::assistant(
                "m",
                vec![
                    Part::call("c", "plan", "{\"task\":\"decided\"}"),
                    Part::new(PartKind::Reasoning { text: "decided".to_owned(), opaque: None }),
                ],
            ),
            0,
            i64::MAX,
            &[],
        ),
    ];
    for (name, message, references, age, factors) in rows {
        assert_eq!(score(&message, references, age).factors(), factors, "{name}");
    }
    let ageless = Evidence::from_message(&said("x")).score(&Weights::default());
    assert_eq!(ageless, Score::default(), "a message without a time");
}

#[test]
fn weights_as_documented() {
    use Factor::*;
    let alone = |evidence: Evidence| evidence.score(&Weights::default());
    let rows = [
        (DecisionLanguage, 50, Evidence { decision: true, ..Evidence::default() }),
        (ToolError, 40, Evidence { tool_error: true, ..Evidence::default() }),
        (ToolSuccess, 30, Evidence { tool_success: true, ..Evidence::default() }),
        (Referenced, 20, Evidence { references: 2, ..Evidence::default() }),
        (VeryRecent, 15, Evidence { age: Some(0), ..Evidence::default() }),
        (Recent, 5, Evidence { age: Some(10 * MINUTE), ..Evidence::default() }),
        (TaskRelated, 20, Evidence { task: true, ..Evidence::default() }),
    ];
    for (factor, points, evidence) in rows {
        let score = alone(evidence);
        assert_eq!((score.points, score.factors()), (points, vec![factor]));
    }
}

#[test]
fn mx_7_caps() {
    for (n, cap) in [(0, 0), (1, 1), (5, 1), (6, 2), (10, 2), (11, 3)] {
        assert_eq!(selection::cap(n, 0.20), cap, "MX-7: {n} messages");
        let all = vec![THRESHOLD; n];
        let exact = selection::extract_exact(&all, THRESHOLD, 0.20);
        assert_eq!(exact.len(), cap, "MX-7 to the letter: {n} messages");
    }
}

#[test]
fn mx_8_tiers() {
    let rows = [
        (5, [5, 0, 0, 0]),
        (10, [10, 0, 0, 0]),
        (11, [10, 1, 0, 0]),
        (25, [10, 15, 0, 0]),
        (26, [10, 15, 1, 0]),
        (50, [10, 15, 25, 0]),
        (51, [10, 15, 25, 1]),
        (60, [10, 15, 25, 10]),
        (1_000, [10, 15, 25, 950]),
    ];
    let edges = [10, 25, 50];
    for (n, expect) in rows {
        let singles: Vec<usize> = (0..n).collect();
        let assigned = tiers::assign(&singles, edges);
        let counts = [0, 1, 2, 3].map(|tier| assigned.iter().filter(|t| **t == tier).count());
        assert_eq!(counts, expect, "MX-8: {n}");
        assert!(assigned.is_sorted_by(|a, b| a >= b), "MX-8: {n}: the oldest in the highest tier");
        let exact = tiers::slices_exact(n, edges).map(|range| range.len());
        assert_eq!(exact, expect, "MX-8 to the letter: {n}");
    }
}

/// 500 + 200 + 150 + 100 + 50 + 50 = 1,050.
fn documented() -> Fixed {
    Fixed {
        system_prompt: 500,
        agent_identity: 200,
        task_prompt: 150,
        actions: 100,
        system_llm: 50,
        unlisted: 0,
        current_message: 50,
    }
}

fn only(current_message: u64) -> Fixed {
    Fixed { current_message, ..Fixed::default() }
}

#[test]
fn the_fixed_part_of_a_frame() {
    let mut frame = Frame::default();
    for (kind, tokens) in [
        (SegmentKind::System, 500),
        (IDENTITY, 200),
        (TASK, 150),
        (ACTIONS, 100),
        (INSIGHT, 50),
        (SegmentKind::Tools, 7),
        (SegmentKind::Unrecorded, 3),
    ] {
        frame.push_tokens(kind, tokens);
    }
    let reserve = Shares::default().current_message;
    let estimator = chars(Unit::Utf16, Rounding::Ceil);
    let fixed = |frame: &Frame| Fixed::new(frame, reserve, &estimator);
    let expect = Fixed { unlisted: 10, ..documented() };
    assert_eq!(fixed(&frame), expect);
    assert_eq!(expect.total(), 1_060);
    assert_eq!(expect.as_documented(reserve), documented());
    frame.push_text(CURRENT, "x".repeat(320));
    let longer = fixed(&frame);
    assert_eq!(longer.current_message, 80, "more than is kept free for it");
    assert_eq!(longer.as_documented(reserve), documented());
}

#[test]
fn mx_9_to_12_budgets() {
    // id, total, fixed, residuals wanted, conversation, residuals, tiers, remaining
    let rows = [
        ("MX-9", 4_000, documented(), 400, 2_850, 400, [1_715, 490, 171, 73], 101),
        ("MX-10", 8_000, only(50), 0, 7_850, 0, [5_495, 1_570, 549, 235], 101),
        ("MX-11", 8_000, documented(), 2_000, 6_850, 1_600, [3_675, 1_050, 367, 157], 101),
        ("MX-12", 1_000, only(1_200), 400, 0, 0, [0, 0, 0, 0], 0),
    ];
    let shares = Shares::default();
    for (id, total, fixed, wanted, conversation, residuals, tiers, remaining) in rows {
        let budget = allocate(total, fixed, wanted, &shares);
        assert_eq!(budget.conversation, conversation, "{id}");
        assert_eq!(budget.allocated.residuals, residuals, "{id}");
        assert_eq!(budget.allocated.tiers, tiers, "{id}");
        assert_eq!(budget.remaining, remaining, "{id}");
    }
    let used = allocate(4_000, documented(), 400, &shares).utilization_percent;
    assert!((used - 97.475).abs() < 1e-9, "MX-9: {used} %");
}

#[test]
fn mx_9_to_12_budgets_to_the_letter() {
    // id, total, fixed, residuals wanted, residuals, tiers
    let rows = [
        ("MX-9", 4_000, documented(), 400, 400.0, [1_715.0, 490.0, 171.0, 73.0]),
        ("MX-10", 8_000, only(50), 0, 0.0, [5_495.0, 1_570.0, 549.0, 235.0]),
        // 5,250 * 0.7 is just below 3,675 as a double.
        ("MX-11", 8_000, documented(), 2_000, 1_600.0, [3_674.0, 1_050.0, 367.0, 157.0]),
        ("MX-12", 1_000, only(1_200), 400, 200.0, [-140.0, -40.0, -15.0, -6.0]),
    ];
    for (id, total, fixed, wanted, residuals, tiers) in rows {
        let budget = allocate_exact(total, fixed, wanted, &Shares::default());
        assert_eq!(budget.allocated.residuals, residuals, "{id}");
        assert_eq!(budget.allocated.tiers, tiers, "{id}");
    }
    let budget = allocate_exact(4_000, documented(), 400, &Shares::default());
    assert_eq!((budget.conversation, budget.remaining), (2_850.0, 101.0));
}

#[test]
fn seventy_values_below_3000_where_doubles_differ() {
    let by_double = |n: u64, percent: u32| (n as f64 * (f64::from(percent) / 100.0)).floor() as u64;
    let mut differ = BTreeSet::new();
    for n in 0..3_000 {
        for percent in Shares::default().tiers {
            let integer = Fraction::percent(percent).floor_of(n);
            assert_eq!(integer, n * u64::from(percent) / 100, "{percent} % of {n}");
            if integer != by_double(n, percent) {
                differ.insert(n);
            }
        }
    }
    assert_eq!(differ.len(), 70);
    assert_eq!(differ.first(), Some(&90));
    assert_eq!((Fraction::percent(70).floor_of(90), by_double(90, 70)), (63, 62));
}

#[test]
fn what_summaries_leave_over_goes_to_tier_0() {
    let budget = allocate(4_000, documented(), 400, &Shares::default());
    // what tiers 1 to 3 use, allocations afterwards
    let rows = [
        ([490, 171, 73], [1_715, 490, 171, 73]),
        ([0, 0, 0], [1_715 + 734, 0, 0, 0]),
        ([90, 171, 3], [1_715 + 470, 90, 171, 3]),
        ([900, 171, 73], [1_715, 490, 171, 73]),
    ];
    for (used, expect) in rows {
        let after = budget.redistributed(used);
        assert_eq!(after.allocated.tiers, expect, "{used:?}");
        assert_eq!(after.remaining, budget.remaining, "{used:?}");
    }
}

#[test]
fn residuals_get_at_most_a_share_of_the_total_and_what_the_conversation_has() {
    let shares = Shares::default();
    // total, fixed, most
    let rows = [(4_000, documented(), 800), (1_300, documented(), 150), (1_000, documented(), 0)];
    for (total, fixed, most) in rows {
        assert_eq!(residual_ceiling(total, &fixed, &shares), most, "{total}");
    }
}

#[test]
fn mx_13_reference_ids() {
    let rows = [("[]", "ctx_4f53cda1"), (r#"[{"id":"m1","content":"hello"}]"#, "ctx_738d3c62")];
    for (json, id) in rows {
        assert_eq!(id_of(json), id, "MX-13: {json}");
        assert_eq!(id_of(json), id_of(json), "MX-13: {json}");
    }
    let long = id_of(&"x".repeat(10_000));
    let digits = long.strip_prefix("ctx_").unwrap();
    assert!(digits.len() == 8 && digits.chars().all(|c| c.is_ascii_hexdigit()));
}

#[test]
fn a_message_that_is_no_tool_result_has_no_outcome() {
    let message = Message::new("m", Role::User, vec![Part::text("fine")]);
    assert_eq!(Evidence::from_message(&message), Evidence::default());
}
