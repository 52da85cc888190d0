//! Errors of the provider: sent again, given up, canceled. Time is paused: waits take none.

use super::support::{Bench, Step, ends, fails, request, says, small};
use foldback_core::log::Finish;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::SummaryError;
use foldback_llm::LlmConfig;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::Instant;

fn after(kind: ErrorKind, seconds: u64) -> Step {
    Step::Fails(ProviderError {
        retry_after: Some(Duration::from_secs(seconds)),
        ..ProviderError::new(kind, "wait")
    })
}

#[tokio::test(start_paused = true)]
async fn retries_as_a_table() {
    use ErrorKind::{Decode, Overloaded, RateLimited, Timeout, Transport};
    let retry = |n: usize, wait| format!("retry {n} in {wait}");
    // (script, progress besides the first request, seconds, succeeds)
    let cases: [(Vec<Step>, Vec<String>, u64, bool); 8] = [
        (vec![says("ok")], vec![], 0, true),
        (
            vec![fails(Overloaded), fails(Transport), fails(Decode), says("ok")],
            vec![retry(2, 1_000), retry(3, 2_000), retry(4, 4_000)],
            7,
            true,
        ),
        (vec![after(RateLimited, 30), says("ok")], vec![retry(2, 30_000)], 30, true),
        (vec![after(RateLimited, 3_600)], vec![], 0, false),
        (vec![fails(Timeout), fails(Timeout), says("late")], vec![retry(2, 1_000)], 1, false),
        (vec![Step::Hangs, says("ok")], vec![retry(2, 1_000)], 121, true),
        (vec![Step::Hangs, Step::Hangs, says("late")], vec![retry(2, 1_000)], 241, false),
        (vec![ends("half", Finish::Error), says("ok")], vec![retry(2, 1_000)], 1, true),
    ];
    for (script, expected, seconds, succeeds) in cases {
        let name = format!("{script:?}");
        let bench = Bench::new(LlmConfig::default(), script);
        let began = Instant::now();
        let found = bench.ask(&request("window.compact", small())).await;
        assert_eq!(began.elapsed().as_secs(), seconds, "{name}");
        match found {
            Ok(summary) => assert!(succeeds && summary.text == "ok", "{name}"),
            Err(SummaryError::Provider(error)) => {
                assert!(!succeeds && error.kind.is_transient(), "{name}");
            }
            Err(other) => panic!("{name}: {other}"),
        }
        let steps: Vec<String> =
            bench.steps().into_iter().filter(|step| step != "ask whole").collect();
        assert_eq!(steps, expected, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn all_requests_of_a_summary_share_the_retries() {
    let script = [
        fails(ErrorKind::Overloaded),
        says(""),
        fails(ErrorKind::Overloaded),
        fails(ErrorKind::Overloaded),
        fails(ErrorKind::Overloaded),
        says("too late"),
    ];
    let bench = Bench::new(LlmConfig::default(), script);
    let error = bench.ask(&request("window.compact", small())).await;
    assert!(matches!(error, Err(SummaryError::Provider(_))), "{error:?}");
    assert_eq!(bench.sent(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_hangs_is_given_up() {
    let config = LlmConfig { timeout_seconds: 10, attempts: 2, ..LlmConfig::default() };
    let bench = Bench::new(config, [Step::Hangs, Step::Hangs, says("late")]);
    let began = Instant::now();
    let error = bench.ask(&request("window.compact", small())).await.unwrap_err();
    let SummaryError::Provider(error) = error else {
        panic!("{error}");
    };
    assert_eq!(error.kind, ErrorKind::Timeout);
    assert!(error.message.contains("10 s"), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(10 + 1 + 10));
    assert_eq!(bench.model.open.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn what_can_not_be_helped_is_an_error_at_once() {
    use ErrorKind::{
        Auth, Budget, ContentRefused, InvalidRequest, NotRecorded, OutputLimit, Quota, Unknown,
    };
    for kind in
        [Auth, Budget, ContentRefused, InvalidRequest, NotRecorded, OutputLimit, Quota, Unknown]
    {
        let bench = Bench::new(LlmConfig::default(), [fails(kind), says("never asked for")]);
        let error = bench.ask(&request("window.compact", small())).await.unwrap_err();
        let expected = SummaryError::Provider(ProviderError::new(kind, "as scripted"));
        assert_eq!(error, expected);
        assert_eq!(bench.steps(), ["ask whole"], "{kind}");
    }
    let bench = Bench::new(LlmConfig::default(), [ends("half", Finish::ContentFilter)]);
    let error = bench.ask(&request("window.compact", small())).await.unwrap_err();
    assert!(
        matches!(&error, SummaryError::Provider(error) if error.kind == ContentRefused),
        "{error}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_summary_leaves_nothing_behind() {
    // While a request is under way, while a retry is waited for, and after a first bad answer.
    let scripts =
        [vec![Step::Hangs], vec![after(ErrorKind::RateLimited, 60)], vec![says(""), Step::Hangs]];
    for script in scripts {
        let name = format!("{script:?}");
        let bench = Bench::new(LlmConfig::default(), script);
        let asked = request("window.compact", small());
        let cancelled = tokio::time::timeout(Duration::from_millis(100), bench.ask(&asked)).await;
        assert!(cancelled.is_err(), "{name}");
        assert_eq!(bench.model.open.load(Ordering::Relaxed), 0, "{name}");
        let before = bench.sent();

        bench.then(says("fresh"));
        let summary = bench.ask(&asked).await.expect(&name);
        assert_eq!(summary.text, "fresh", "{name}");
        assert_eq!(bench.sent(), before + 1, "{name}");
        assert_eq!(bench.request(before), bench.request(0), "{name}");
    }
}
