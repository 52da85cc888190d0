//! Which requests are sent when one is too large.

use super::support::{Bench, Step, fails, large, request, says, small, window};
use foldback_core::log::Message;
use foldback_core::provider::ErrorKind;
use foldback_core::stage::Summarizer;
use foldback_llm::LlmConfig;
use foldback_test_support::table;
use serde::Deserialize;

/// A row of `ladder.toml`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    config: serde_json::Map<String, serde_json::Value>,
    messages: Option<[usize; 3]>,
    script: Vec<String>,
    text: Option<String>,
    by: String,
    steps: Vec<String>,
}

impl Case {
    fn config(&self) -> LlmConfig {
        let mut config = serde_json::json!({ "max_output_tokens": 400, "tool_output_max": 100 });
        config.as_object_mut().unwrap().extend(self.config.clone());
        serde_json::from_value(config).expect(&self.name)
    }

    fn script(&self) -> impl Iterator<Item = Step> {
        self.script.iter().map(|step| match step.strip_prefix("says ") {
            Some(text) => says(text),
            None if step == "overflow" => fails(ErrorKind::ContextOverflow),
            None => fails(ErrorKind::TooLarge),
        })
    }
}

#[tokio::test]
async fn rungs_as_a_table() {
    let cases: Vec<Case> = table::rows(include_str!("ladder.toml"), "rungs");
    for case in cases {
        let bench = Bench::new(case.config(), case.script());
        let messages = case.messages.map(|[turns, output, text]| large(turns, output, text));
        let asked = request("window.compact", messages.unwrap_or_else(small));
        let summary = bench.ask(&asked).await.expect(&case.name);
        assert_eq!(bench.steps(), case.steps, "{}", case.name);
        assert!(summary.by.starts_with(&case.by), "{}: {}", case.name, summary.by);
        match case.text {
            Some(text) => assert_eq!(summary.text, text, "{}", case.name),
            None => assert!(summary.text.contains("## "), "{}: {}", case.name, summary.text),
        }
        assert!(summary.tokens <= asked.budget, "{}", case.name);
        assert_eq!(summary.tokens, asked.estimator.text(&summary.text));
        assert!(bench.sent() <= bench.summarizer.config().max_requests() as usize);
        for sent in 0..bench.sent() {
            let bytes = bench.request(sent).bytes();
            let config = bench.summarizer.config();
            assert!(bytes <= config.max_request_bytes, "{}: {bytes}", case.name);
            assert!(bytes as u64 <= 3 * config.room(), "{}: {bytes}", case.name);
        }
    }
}

#[tokio::test]
async fn every_chunk_is_shown_once_and_the_summary_goes_along() {
    let script = ["first part", "second part", "third part"].map(says);
    let bench = Bench::new(window(3_500), script);
    let messages = large(6, 10, 2_000);
    let mut asked = request("opencode.checkpoint", messages);
    asked.previous = Some("what came before".to_owned());
    asked.instructions = vec!["name every file".to_owned()];
    bench.ask(&asked).await.unwrap();
    let turns: Vec<String> =
        (0..bench.sent()).map(|index| bench.request(index).turns[0].text.clone()).collect();
    assert_eq!(turns.len(), 3);
    for turn in 0..6 {
        let begin = format!("turn {turn}: ");
        let shown = turns.iter().filter(|text| text.contains(&begin)).count();
        assert_eq!(shown, 1, "{begin}");
    }
    let earlier = ["what came before", "first part", "second part"];
    for (index, earlier) in earlier.iter().enumerate() {
        let text = &turns[index];
        assert_eq!(text.matches("<previous-summary>").count(), 1, "{text}");
        assert!(text.contains(earlier), "{text}");
        assert!(text.contains(&format!("part {} of 3", index + 1)), "{text}");
        assert!(text.contains("name every file"), "{text}");
    }
    assert!(!turns[1].contains("what came before"));
}

#[tokio::test]
async fn a_text_larger_than_a_chunk_is_shown_in_pieces() {
    let bench = Bench::new(window(3_500), (0..8).map(|_| says("so far")));
    let text: String = (0..1_500).map(|n| format!("word{n} ")).collect();
    let asked = request("tiered.1", vec![Message::user("u", &*text)]);
    bench.ask(&asked).await.unwrap();
    assert!(bench.sent() > 2);
    let shown: String = (0..bench.sent())
        .map(|index| {
            let turn = bench.request(index).turns[0].text.clone();
            let (_, rest) = turn.split_once("-----BEGIN RECORD ").unwrap();
            let (_, rest) = rest.split_once('\n').unwrap();
            let (record, _) = rest.split_once("\n-----END RECORD").unwrap();
            record.replace("[user, continued]: ", "")
        })
        .collect();
    let words = |text: &str| text.replace([' ', '\n'], "");
    assert_eq!(words(&shown), words(&format!("[user]: {text}")));
}

#[tokio::test]
async fn usage_is_the_sum_of_all_answers() {
    let bench = Bench::new(window(3_500), ["a", "", "b", "c"].map(says));
    let asked = request("window.compact", large(6, 10, 2_000));
    let usage = bench.ask(&asked).await.unwrap().usage.unwrap();
    assert_eq!((bench.sent(), usage.uncached, usage.output), (4, 400, 40));
}

#[tokio::test]
async fn a_dry_run_asks_for_every_chunk_and_copies() {
    let dry = || fails(ErrorKind::DryRun);
    for (messages, requests) in [(small(), 1), (large(6, 10, 2_000), 3)] {
        let bench = Bench::new(window(3_500), (0..9).map(|_| dry()));
        let asked = request("window.compact", messages);
        let summary = bench.ask(&asked).await.unwrap();
        assert_eq!(summary.by, "dry-run");
        assert!(summary.text.contains("## "), "{}", summary.text);
        assert_eq!(bench.sent(), requests);
        // What no model wrote is not remembered.
        bench.ask(&asked).await.unwrap();
        assert_eq!(bench.sent(), 2 * requests);
    }
}

#[tokio::test]
async fn nothing_to_summarise_is_no_reason_to_ask() {
    let bench = Bench::new(window(900), []);
    let asked = request("window.compact", Vec::new());
    // Too small for the instructions, and nothing to copy.
    assert!(bench.ask(&asked).await.is_err());
    assert_eq!(bench.sent(), 0);
    assert!(bench.summarizer.id().starts_with("llm(claude-haiku-4-5"));
}
