//! What is done with an answer: used, reminded of, refused, remembered.

use super::support::{Bench, Step, ends, fails, request, says, small};
use foldback_core::log::{Finish, Role};
use foldback_core::provider::ErrorKind;
use foldback_core::stage::{Summarizer, SummaryError, SummaryRequest};
use foldback_llm::{LlmConfig, LlmSummarizer};
use std::sync::Arc;

const FORM: &str = "## Goal\n- g\n## Constraints & Preferences\n- c\n## Progress\n### Done\n- d\n\
    ## Key Decisions\n- k\n## Next Steps\n- n\n## Critical Context\n- x\n## Relevant Files\n- a.c";

#[tokio::test]
async fn one_reminder_as_a_table() {
    let long = "long ".repeat(400);
    let half = FORM.split("## Next").next().unwrap();
    // (style, first answer, what the reminder names)
    let cases: [(&str, Step, &str); 7] = [
        ("window.compact", says(""), "no text"),
        ("window.compact", says(" \n\t"), "no text"),
        ("window.compact", ends("", Finish::ToolCalls), "called tools"),
        ("window.compact", ends("cut off he", Finish::Length), "cut off"),
        ("window.compact", says(&long), "500 tokens and 300 are allowed"),
        ("opencode.anchored", says("just prose"), "\"## Goal\""),
        ("opencode.anchored", says(half), "\"## Next Steps\", \"## Critical Context\""),
    ];
    for (style, first, named) in cases {
        let good = if style == "opencode.anchored" { FORM } else { "good" };
        let text = match &first {
            Step::Says(answer) => answer.text.clone(),
            _ => String::new(),
        };
        let bench = Bench::new(LlmConfig::default(), [first, says(good)]);
        let summary = bench.ask(&request(style, small())).await.expect(named);
        assert_eq!(summary.text, good, "{named}");
        assert_eq!(bench.steps(), ["ask whole", "to reminder", "ask whole, reminded"], "{named}");
        let (asked, again) = (bench.request(0), bench.request(1));
        let last = again.turns.last().unwrap();
        assert_eq!(last.role, Role::User);
        assert!(last.text.contains(named), "{named}: {}", last.text);
        if text.trim().is_empty() {
            assert_eq!(again.turns.len(), 1, "{named}");
            assert!(last.text.starts_with(&asked.turns[0].text), "{named}");
        } else {
            assert_eq!(again.turns.len(), 3, "{named}");
            assert_eq!(again.turns[0], asked.turns[0], "{named}");
            assert_eq!(again.turns[1].role, Role::Assistant, "{named}");
            assert_eq!(again.turns[1].text, text, "{named}");
        }
    }
}

#[tokio::test]
async fn a_second_bad_answer_is_a_typed_error() {
    let long = "long ".repeat(400);
    let too_long = SummaryError::TooLong { tokens: 500, budget: 300 };
    let cases: [(&str, [Step; 2], Result<SummaryError, &str>); 5] = [
        ("window.compact", [says(""), says("  ")], Ok(SummaryError::Empty)),
        ("window.compact", [says(&long), ends("", Finish::ToolCalls)], Ok(SummaryError::Empty)),
        ("window.compact", [says(""), says(&long)], Ok(too_long)),
        ("window.compact", [says(""), ends("x", Finish::Length)], Err("max_output_tokens")),
        // Without headings, too: empty, cut, too long and tool calls alone are no summaries.
        ("opencode.anchored", [says("prose"), ends("x", Finish::Length)], Err("max_output_tokens")),
    ];
    for (style, script, expected) in cases {
        let bench = Bench::new(LlmConfig::default(), script);
        // A third answer would be good; it is never asked for.
        bench.then(says(FORM));
        let error = bench.ask(&request(style, small())).await.unwrap_err();
        match expected {
            Ok(expected) => assert_eq!(error, expected),
            Err(words) => {
                assert!(matches!(&error, SummaryError::Failed(_)), "{error:?}");
                assert!(error.to_string().contains(words), "{error}");
            }
        }
        assert_eq!(bench.sent(), 2, "{error}");
    }
}

/// The systems that are reproduced take whatever text comes. A reminder is worth one request, no more.
#[tokio::test]
async fn text_without_headings_is_a_summary_after_its_reminder() {
    let half = FORM.split("## Next").next().unwrap().trim();
    // (style, the two answers, a heading that is told to be missing)
    let cases = [
        ("opencode.anchored", ["just prose", "## Aim\nother headings"], "\"## Goal\""),
        ("opencode.anchored", ["", half], "\"## Next Steps\""),
        ("default", ["## Files", "prose"], "\"## Current state\""),
    ];
    for (style, answers, missing) in cases {
        let bench = Bench::new(LlmConfig::default(), answers.map(says));
        let asked = request(style, small());
        let summary = bench.ask(&asked).await.expect(missing);
        assert_eq!((summary.text.as_str(), bench.sent()), (answers[1], 2));
        let lacks = summary.lacks.expect("it is told");
        assert!(lacks.contains("even after a reminder") && lacks.contains(missing), "{lacks}");
        // What is remembered is told no better than it was.
        let again = bench.ask(&asked).await.unwrap();
        assert_eq!((again.lacks, bench.sent()), (Some(lacks), 2));
    }
    let bench = Bench::new(LlmConfig::default(), [says(FORM)]);
    let summary = bench.ask(&request("opencode.anchored", small())).await.unwrap();
    assert_eq!(summary.lacks, None);
}

/// Where a window is too small, strategies ask for summaries of a few tokens, again and again.
#[tokio::test]
async fn no_request_is_sent_for_a_summary_without_room() {
    // (style, the smallest budget that it is asked with): 16, and its headings at four bytes a token
    for (style, least) in [("window.compact", 16), ("opencode.anchored", 45)] {
        for (budget, sent) in [(1, 0), (least - 1, 0), (least, 1)] {
            let bench = Bench::new(LlmConfig::default(), [fails(ErrorKind::Auth)]);
            let asked = SummaryRequest { budget, ..request(style, small()) };
            let error = bench.ask(&asked).await.unwrap_err();
            assert_eq!(bench.sent(), sent, "{style} {budget}: {error}");
            let told = format!("needs at least {least}");
            assert_eq!(error.to_string().contains(&told), sent == 0, "{error}");
        }
    }
}

#[tokio::test]
async fn a_reminder_that_would_not_fit_leaves_the_answer_out_or_is_not_sent() {
    let answer = "x".repeat(3_000);
    // (room in tokens beyond the request, turns of the second request)
    for (spare, turns) in [(2_000, Some(3)), (500, Some(1)), (0, None)] {
        let probe = Bench::new(LlmConfig::default(), [says("ok")]);
        let asked = request("window.compact", small());
        probe.ask(&asked).await.unwrap();
        let tokens: usize = [&probe.request(0).system, &probe.request(0).turns[0].text]
            .map(|text| text.len().div_ceil(3))
            .iter()
            .sum();
        let config =
            LlmConfig { context_tokens: 4_096 + tokens as u64 + spare, ..LlmConfig::default() };
        let bench = Bench::new(config, [says(&answer), says("short")]);
        let found = bench.ask(&asked).await;
        match turns {
            Some(turns) => {
                assert_eq!(found.unwrap().text, "short");
                assert_eq!(bench.request(1).turns.len(), turns, "{spare}");
            }
            None => {
                assert!(matches!(found, Err(SummaryError::TooLong { .. })), "{found:?}");
                assert_eq!(bench.sent(), 1);
            }
        }
    }
}

#[tokio::test]
async fn a_reminder_may_step_down_but_is_not_repeated() {
    let script = [says(""), fails(ErrorKind::ContextOverflow), says(""), says("never asked for")];
    let bench = Bench::new(LlmConfig::default(), script);
    let asked = request("window.compact", super::support::large(3, 9_000, 20));
    assert_eq!(bench.ask(&asked).await, Err(SummaryError::Empty));
    assert_eq!(
        bench.steps(),
        ["ask whole", "to reminder", "ask whole, reminded", "to cleared", "ask cleared"]
    );
}

#[tokio::test]
async fn a_stray_fence_is_taken_off() {
    let bench = Bench::new(LlmConfig::default(), [says("```markdown\nall of it\n```\n")]);
    let summary = bench.ask(&request("window.compact", small())).await.unwrap();
    assert_eq!(summary.text, "all of it");
}

#[tokio::test]
async fn the_same_request_is_not_paid_for_twice() {
    let bench = Bench::new(LlmConfig::default(), ["first", "second", "third"].map(says));
    let asked = request("window.compact", small());
    let first = bench.ask(&asked).await.unwrap();
    let again = bench.ask(&asked).await.unwrap();
    assert_eq!((&first.text, &first.by), (&again.text, &again.by));
    assert!(first.usage.is_some() && again.usage.is_none());
    assert_eq!(bench.sent(), 1);

    let mut other = asked.clone();
    other.budget -= 1;
    assert_eq!(bench.ask(&other).await.unwrap().text, "second");
    let mut other = asked.clone();
    other.instructions.push("be brief".to_owned());
    assert_eq!(bench.ask(&other).await.unwrap().text, "third");
    assert_eq!(bench.sent(), 3);
}

#[tokio::test]
async fn the_memo_forgets_the_least_recently_used_and_can_be_off() {
    let words = |n: usize| {
        let mut asked = request("window.compact", small());
        asked.instructions.push(format!("{n}"));
        asked
    };
    for (memo, order, requests) in [(1, [0, 1, 0], 3), (2, [0, 1, 0], 2), (0, [0, 0, 0], 3)] {
        let config = LlmConfig { memo, ..LlmConfig::default() };
        let bench = Bench::new(config, (0..3).map(|_| says("text")));
        for n in order {
            bench.ask(&words(n)).await.unwrap();
        }
        assert_eq!(bench.sent(), requests, "memo of {memo}");
    }
}

#[tokio::test]
async fn a_failure_is_not_remembered() {
    let script = [says(""), says(""), says("at last")];
    let bench = Bench::new(LlmConfig::default(), script);
    let asked = request("window.compact", small());
    assert_eq!(bench.ask(&asked).await, Err(SummaryError::Empty));
    assert_eq!(bench.ask(&asked).await.unwrap().text, "at last");
}

#[tokio::test]
async fn without_a_model_the_error_says_what_to_do() {
    let summarizer: Arc<dyn Summarizer> =
        Arc::new(LlmSummarizer::new(LlmConfig::default()).unwrap());
    let services = foldback_core::services::Services::fixed();
    let asked = request("window.compact", small());
    let error = summarizer.summarize(&asked, &services).await.unwrap_err();
    assert!(matches!(&error, SummaryError::Unavailable(_)), "{error:?}");
    for word in ["claude-haiku-4-5", "client", "extractive"] {
        assert!(error.to_string().contains(word), "{error}");
    }
}
