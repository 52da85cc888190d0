//! What was never answered is known in the end.

mod support;

use foldback_core::provider::{Completion, ErrorKind, Model, ProviderError};
use foldback_llm::Watch;
use std::sync::Arc;
use support::{Scripted, answer, plain};

fn broken(kind: ErrorKind) -> Result<Completion, ProviderError> {
    Err(ProviderError::new(kind, "why"))
}

#[tokio::test]
async fn what_counts_as_unanswered() {
    use ErrorKind::{
        Auth, Budget, ContextOverflow, DryRun, NotRecorded, Overloaded, RateLimited, Transport,
    };
    let ok = || Ok(answer("x"));
    let table = [
        ("answered", vec![ok()], None),
        (
            "at last",
            vec![broken(RateLimited), broken(Transport), ok()],
            None,
        ),
        (
            "never",
            vec![broken(RateLimited), broken(Overloaded)],
            Some(Overloaded),
        ),
        ("no key", vec![broken(Auth)], Some(Auth)),
        ("not recorded", vec![broken(NotRecorded)], Some(NotRecorded)),
        ("too dear", vec![broken(Budget)], Some(Budget)),
        ("too large", vec![broken(ContextOverflow)], None),
        ("dry run", vec![broken(DryRun)], None),
    ];
    for (name, answers, expected) in table {
        let times = answers.len();
        let watch = Watch::new(Arc::new(Scripted::new(answers)));
        for _ in 0..times {
            let _ = watch.complete(&plain("text")).await;
        }
        let left = watch.unanswered();
        assert_eq!(
            left.map(|(error, count)| (error.kind, count)),
            expected.map(|kind| (kind, 1)),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_dropped_request_is_unanswered() {
    let watch = Watch::new(Arc::new(Scripted::new([Ok(answer("x"))])));
    let request = plain("text");
    tokio::select! {
        biased;
        _ = watch.complete(&request) => panic!("answered"),
        () = std::future::ready(()) => {}
    }
    let (error, count) = watch.unanswered().unwrap();
    assert_eq!((error.kind, count), (ErrorKind::Timeout, 1));
}

/// A provider that is out is not asked for every session again.
#[tokio::test]
async fn patience_ends() {
    let model = Arc::new(Scripted::new((0..12).map(|_| broken(ErrorKind::Transport))));
    let watch = Watch::new(Arc::clone(&model) as _);
    for number in 0..20 {
        let error = watch
            .complete(&plain(&number.to_string()))
            .await
            .unwrap_err();
        assert_eq!(error.kind.is_transient(), number < 12, "{number}: {error}");
    }
    assert_eq!(model.times_asked(), 12);
    let (error, count) = watch.unanswered().unwrap();
    assert_eq!((error.kind, count), (ErrorKind::Transport, 20));
}
