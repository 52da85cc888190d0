//! Recorded answers, budgets and dry runs around a model that is scripted.

use crate::support::{Scripted, answer, plain};
use foldback_core::log::Usage;
use foldback_core::provider::{Completion, CompletionRequest, ErrorKind, Model, ProviderError};
use foldback_llm::{Budget, Cassette, DryRun, Price, Prices};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn refused(kind: ErrorKind) -> Result<Completion, ProviderError> {
    Err(ProviderError {
        status: Some(400),
        code: Some("a_code".to_owned()),
        ..ProviderError::new(kind, "as the provider said")
    })
}

fn files(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

#[tokio::test]
async fn what_was_recorded_is_replayed_without_a_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Scripted::new([Ok(answer("One\ntwo\n"))]));
    let recording = Cassette::record(folder.path(), Arc::clone(&model) as _);
    let request = plain("first\nsecond");
    let first = recording.complete(&request).await.unwrap();
    // The second time it is on the cassette.
    assert_eq!(recording.complete(&request).await.unwrap(), first);
    assert_eq!((recording.recorded(), recording.replayed()), (1, 1));
    assert_eq!(model.times_asked(), 1);

    let replaying = Cassette::replay(folder.path());
    assert_eq!(replaying.complete(&request).await.unwrap(), first);
    assert_eq!(first, answer("One\ntwo\n"));
}

#[tokio::test]
async fn the_file_is_for_people_too() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Scripted::new([Ok(answer("One\ntwo"))]));
    let cassette = Cassette::record(folder.path(), model);
    let request = plain("first\nsecond");
    cassette.complete(&request).await.unwrap();
    let file = cassette.file(&request);
    insta::assert_snapshot!(std::fs::read_to_string(&file).unwrap());
    // The name is a promise: recordings of people would be lost with another one.
    insta::assert_snapshot!(file.file_name().unwrap().to_string_lossy());
}

/// What an answer depends on, and what it does not.
#[test]
fn names() {
    let cassette = Cassette::replay("x");
    let base = plain("text");
    let name = |change: fn(&mut CompletionRequest)| {
        let mut request = base.clone();
        change(&mut request);
        cassette.file(&request)
    };
    type Change = (&'static str, bool, fn(&mut CompletionRequest));
    let table: [Change; 12] = [
        ("nothing", true, |_| {}),
        ("base URL", true, |r| r.endpoint.base_url = Some("http://h/".to_owned())),
        ("key", true, |r| r.endpoint.key_variable = Some("K".to_owned())),
        ("timeout", true, |r| r.timeout = Duration::from_secs(1)),
        ("system", false, |r| r.system.push('!')),
        ("turn", false, |r| r.turns[0].text.push('!')),
        ("turns", false, |r| r.turns.push(r.turns[0].clone())),
        ("provider", false, |r| r.endpoint.provider.push('!')),
        ("model", false, |r| r.endpoint.model.push('!')),
        ("temperature", false, |r| r.temperature = Some(0.0)),
        ("limit", false, |r| r.max_output += 1),
        ("replicate", false, |r| r.replicate += 1),
    ];
    for (what, same, change) in table {
        assert_eq!(name(change) == name(|_| {}), same, "{what}");
    }
}

#[tokio::test]
async fn errors_of_the_request_are_recorded_and_those_of_the_moment_are_not() {
    let table = [
        (ErrorKind::ContextOverflow, true),
        (ErrorKind::TooLarge, true),
        (ErrorKind::ContentRefused, true),
        (ErrorKind::OutputLimit, true),
        (ErrorKind::RateLimited, false),
        (ErrorKind::Overloaded, false),
        (ErrorKind::Timeout, false),
        (ErrorKind::Transport, false),
        (ErrorKind::Decode, false),
        (ErrorKind::Auth, false),
        (ErrorKind::Quota, false),
        (ErrorKind::InvalidRequest, false),
        (ErrorKind::Budget, false),
        (ErrorKind::DryRun, false),
        (ErrorKind::Unknown, false),
    ];
    for (kind, recorded) in table {
        let folder = tempfile::tempdir().unwrap();
        let model = Arc::new(Scripted::new([refused(kind)]));
        let cassette = Cassette::record(folder.path(), model);
        let request = plain("text");
        let given = cassette.complete(&request).await;
        assert_eq!(given, refused(kind), "{kind}");
        assert_eq!(files(folder.path()), usize::from(recorded), "{kind}");
        if recorded {
            let again = Cassette::replay(folder.path()).complete(&request).await;
            assert_eq!(again, given, "{kind}");
        }
    }
}

#[tokio::test]
async fn a_missing_answer_names_its_file_and_the_way_out() {
    let cassette = Cassette::replay("no/such/folder");
    let request = plain("text");
    let error = cassette.complete(&request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotRecorded);
    let file = cassette.file(&request).display().to_string();
    for part in [&*file, "a-model (openai)", "`--record`"] {
        assert!(error.message.contains(part), "no {part}: {error}");
    }
}

#[tokio::test]
async fn a_damaged_file_says_where() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Scripted::new([Ok(answer("One"))]));
    let recording = Cassette::record(folder.path(), model);
    let request = plain("text");
    recording.complete(&request).await.unwrap();
    let file = recording.file(&request);
    let good = std::fs::read_to_string(&file).unwrap();
    let table = [
        ("cut", good[..good.len() / 2].to_owned(), "EOF"),
        ("another type", good.replace("\"stop\"", "7"), "at outcome.answer.finish"),
        ("another field", good.replace("\"finish\"", "\"finnish\""), "at outcome.answer.finnish"),
        ("two", format!("{good}{good}"), "trailing characters"),
    ];
    for (name, text, part) in table {
        std::fs::write(&file, text).unwrap();
        // Recording does not write over it either: somebody may want to mend it.
        for error in [
            Cassette::replay(folder.path()).complete(&request).await.unwrap_err(),
            recording.complete(&request).await.unwrap_err(),
        ] {
            assert_eq!(error.kind, ErrorKind::NotRecorded, "{name}: {error}");
            for part in [part, &*file.display().to_string(), "delete it"] {
                assert!(error.message.contains(part), "{name}, no {part}: {error}");
            }
        }
    }
    std::fs::write(&file, good.replace("\"text\"\n", "\"changed\"\n")).unwrap();
    let error = recording.complete(&request).await.unwrap_err();
    assert!(error.message.contains("was changed"), "{error}");
}

/// Two conversations may ask for the same summary at the same time.
#[tokio::test]
async fn of_two_equal_requests_one_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Scripted::new([Ok(answer("One"))]));
    let cassette = Cassette::record(folder.path(), Arc::clone(&model) as _);
    let request = plain("text");
    let (one, two) = tokio::join!(cassette.complete(&request), cassette.complete(&request));
    assert_eq!(one, two);
    assert_eq!(model.times_asked(), 1);
    assert_eq!(files(folder.path()), 1);
}

/// Where no answers are kept, equal requests of a run get one answer all the same.
#[tokio::test]
async fn without_a_folder_answers_are_kept_for_the_run() {
    let model = Arc::new(Scripted::new([Ok(answer("One"))]));
    let cassette = Cassette::in_memory(Some(Arc::clone(&model) as _));
    let request = plain("text");
    let one = cassette.complete(&request).await;
    assert_eq!(one, cassette.complete(&request).await);
    assert_eq!((model.times_asked(), cassette.recorded(), cassette.replayed()), (1, 1, 1));
    assert!(!cassette.file(&request).exists());
    let error = Cassette::in_memory(None).complete(&request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotRecorded);
}

/// $10 for a million tokens in, $100 for a million out: a request of at most $0.0256 and some input.
fn dear() -> Prices {
    Prices::new(|endpoint| {
        (endpoint.model == "a-model").then_some(Price {
            input: 10.0,
            output: 100.0,
            ..Price::default()
        })
    })
}

#[tokio::test]
async fn a_budget_stops_before_what_it_might_not_hold() {
    // Each answer costs 1,000 × $10 + 100 × $100 for a million: two cents.
    let model = Arc::new(Scripted::new([Ok(answer("1")), Ok(answer("2"))]));
    let budget = Budget::new(Arc::clone(&model) as _, Some(0.06), dear());
    let request = plain("text");
    budget.complete(&request).await.unwrap();
    budget.complete(&request).await.unwrap();
    assert!((budget.bill().usd - 0.04).abs() < 1e-9, "{}", budget.bill().usd);
    let error = budget.complete(&request).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Budget);
    for part in ["a-model", "up to $0.0256", "$0.0600", "$0.0400 are spent", "`--budget-usd`"] {
        assert!(error.message.contains(part), "no {part}: {error}");
    }
    assert_eq!(model.times_asked(), 2);
}

#[tokio::test]
async fn requests_at_the_same_time_share_a_budget() {
    let model = Arc::new(Scripted::new([Ok(answer("1"))]));
    let budget = Budget::new(Arc::clone(&model) as _, Some(0.04), dear());
    let request = plain("text");
    let (one, two) = tokio::join!(budget.complete(&request), budget.complete(&request));
    assert!(one.is_ok());
    assert_eq!(two.unwrap_err().kind, ErrorKind::Budget);
}

/// What is booked: what was counted, all of it if unknown, nothing if the provider refused.
#[tokio::test]
async fn what_is_booked() {
    let unreported = Completion { usage: None, ..answer("1") };
    let half = |uncached, output| {
        let usage = Some(Usage { uncached, output, ..Usage::default() });
        Ok(Completion { usage, ..answer("1") })
    };
    let broken = |kind| Err(ProviderError::new(kind, ""));
    let table = [
        // (requests, those not told, input, output), USD
        ("answered", Ok(answer("1")), (1, 0, 1_000, 100), 0.02),
        ("answered without usage", Ok(unreported), (1, 1, 0, 0), 0.02565),
        ("answered, the output alone counted", half(0, 99), (1, 1, 0, 0), 0.02565),
        ("answered, the input alone counted", half(1_000, 0), (1, 1, 0, 0), 0.02565),
        ("refused", refused(ErrorKind::ContextOverflow), (0, 0, 0, 0), 0.0),
        ("no key", broken(ErrorKind::Auth), (0, 0, 0, 0), 0.0),
        ("late", broken(ErrorKind::Timeout), (1, 1, 0, 0), 0.02565),
        ("cut", broken(ErrorKind::Transport), (1, 1, 0, 0), 0.02565),
    ];
    for (name, given, counts, usd) in table {
        let budget = Budget::new(Arc::new(Scripted::new([given])), Some(1.0), dear());
        let _ = budget.complete(&plain("text")).await;
        let bill = budget.bill();
        let counted = (bill.requests, bill.unreported, bill.input, bill.output);
        assert_eq!(counted, counts, "{name}");
        assert!((bill.usd - usd).abs() < 1e-9, "{name}: {bill:?}");
    }
}

/// Without a limit there is a bill all the same, as far as prices are known.
#[tokio::test]
async fn a_bill_without_a_limit() {
    for (prices, unpriced, usd) in [(dear(), 0, 0.04), (Prices::new(|_| None), 2, 0.0)] {
        let model = Scripted::new([Ok(answer("1")), Ok(answer("2"))]);
        let budget = Budget::new(Arc::new(model), None, prices);
        budget.complete(&plain("text")).await.unwrap();
        budget.complete(&plain("text")).await.unwrap();
        let bill = budget.bill();
        let counted = (bill.requests, bill.unpriced, bill.input, bill.output);
        assert_eq!(counted, (2, unpriced, 2_000, 200));
        assert!((bill.usd - usd).abs() < 1e-9, "{bill:?}");
    }
}

#[tokio::test]
async fn a_request_that_was_dropped_is_booked() {
    let budget = Budget::new(Arc::new(Scripted::new([Ok(answer("1"))])), Some(1.0), dear());
    let request = plain("text");
    // Asked once, the script yields; then it is dropped.
    tokio::select! {
        biased;
        _ = budget.complete(&request) => panic!("answered"),
        () = std::future::ready(()) => {}
    }
    assert!((budget.bill().usd - 0.02565).abs() < 1e-9, "{}", budget.bill().usd);
}

#[tokio::test]
async fn a_budget_needs_a_price() {
    let budget = Budget::new(Arc::new(Scripted::new([])), Some(1.0), Prices::new(|_| None));
    let error = budget.complete(&plain("text")).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Budget);
    assert!(error.message.contains("the price of a-model is not known"), "{error}");
}

/// What is on the cassette costs nothing, and a dry run counts the rest only.
#[tokio::test]
async fn a_dry_run_counts_what_is_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let model = Arc::new(Scripted::new([Ok(answer("1"))]));
    let recording = Cassette::record(folder.path(), model);
    recording.complete(&plain("known")).await.unwrap();

    let dry = DryRun::new();
    let cassette = Cassette::record(folder.path(), Arc::new(dry.clone()));
    assert!(cassette.complete(&plain("known")).await.is_ok());
    for text in ["1234", "12345"] {
        let error = cassette.complete(&plain(text)).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::DryRun, "{error}");
    }
    let report = dry.report();
    assert_eq!(report.len(), 1);
    let (endpoint, tally) = &report[0];
    assert_eq!((&*endpoint.provider, &*endpoint.model), ("openai", "a-model"));
    // 13 bytes of instructions and 4 or 5 of text, four bytes to a token and rounded up.
    assert_eq!((tally.requests, tally.input, tally.output_at_most), (2, 10, 512));
    let price = Price { input: 10.0, output: 100.0, ..Price::default() };
    assert!((tally.at_most(&price) - 0.0513).abs() < 1e-9);
    assert_eq!(files(folder.path()), 1);
}

/// Equal requests are recorded, and so paid for, once: within a run and among several.
#[tokio::test]
async fn a_dry_run_counts_equal_requests_once() {
    let runs = [DryRun::new(), DryRun::new()];
    for (run, texts) in runs.iter().zip([["a", "b", "a"], ["b", "c", "c"]]) {
        for text in texts {
            run.complete(&plain(text)).await.unwrap_err();
        }
        assert_eq!(run.report()[0].1.requests, 2);
    }
    assert_eq!(DryRun::together(&runs)[0].1.requests, 3);
}
