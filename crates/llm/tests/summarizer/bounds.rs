//! However a model behaves, a summary ends, within the number of requests that is stated.

use super::support::{Bench, Step, ends, fails, large, paused, request, says};
use foldback_core::log::Finish;
use foldback_core::provider::ErrorKind;
use foldback_llm::LlmConfig;
use proptest::prelude::*;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => Just(says("a summary")),
        1 => Just(says("")),
        1 => Just(says(&"long ".repeat(500))),
        1 => Just(ends("", Finish::ToolCalls)),
        1 => Just(ends("half", Finish::Length)),
        1 => Just(ends("half", Finish::Error)),
        3 => Just(fails(ErrorKind::ContextOverflow)),
        1 => Just(fails(ErrorKind::TooLarge)),
        2 => Just(fails(ErrorKind::Overloaded)),
        1 => Just(Step::Hangs),
        1 => Just(fails(ErrorKind::DryRun)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_summary_takes_more_requests_than_stated(
        script in prop::collection::vec(step(), 0..40),
        context_tokens in 500u64..20_000,
        (attempts, max_chunks) in (1u32..5, 0u32..8),
        (turns, output, text) in (0usize..8, 0usize..6_000, 0usize..6_000),
        style in prop::sample::select(vec!["window.compact", "opencode.anchored", "tiered.2"]),
    ) {
        let config = LlmConfig {
            context_tokens,
            max_output_tokens: 400,
            tool_output_max: 100,
            attempts,
            max_chunks,
            ..LlmConfig::default()
        };
        let most = config.max_requests() as usize;
        prop_assert_eq!(most as u32, max_chunks + 3 + attempts - 1);
        // A model that never stops failing must not be asked forever either.
        let endless = script.into_iter().cycle().take(200);
        let bench = Bench::new(config, endless.collect::<Vec<_>>());
        let asked = request(style, large(turns, output, text));
        let found = paused(bench.ask(&asked));
        prop_assert!(bench.sent() <= most, "{} of {most}: {:?}", bench.sent(), bench.steps());
        if let Ok(summary) = found {
            prop_assert!(!summary.text.trim().is_empty());
            prop_assert!(summary.tokens <= asked.budget);
        }
    }
}

/// The bound is not only safe but tight: this one takes every request that it may.
#[test]
fn the_stated_number_can_be_reached() {
    let config = LlmConfig {
        max_output_tokens: 400,
        tool_output_max: 100,
        attempts: 3,
        max_chunks: 4,
        ..LlmConfig::default()
    };
    let most = config.max_requests() as usize;
    let mut script = vec![
        fails(ErrorKind::Overloaded),
        fails(ErrorKind::Overloaded),
        fails(ErrorKind::ContextOverflow),
        fails(ErrorKind::ContextOverflow),
    ];
    script.extend([says("one"), says(""), says("two"), says("three"), says("four")]);
    let bench = Bench::new(config, script);
    let asked = request("window.compact", large(10, 20_000, 1_600));
    let summary = paused(bench.ask(&asked));
    assert_eq!(bench.sent(), most, "{:?} {summary:?}", bench.steps());
}
