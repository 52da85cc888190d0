//! What was never answered is known in the end.

use crate::support::{Scripted, answer, plain};
use foldback_core::provider::{Completion, ErrorKind, Model, ProviderError};
use foldback_llm::Watch;
use std::sync::Arc;

fn broken(kind: ErrorKind) -> Result<Completion, ProviderError> {
    Err(ProviderError::new(kind, "why"))
}

#[tokio::test]
async fn what_counts_as_unanswered() {
    use ErrorKind::{
        Auth, Budget, ContextOverflow, DryRun, NotRecorded, Overloaded, RateLimited, Timeout,
        Transport,
    };
    let ok = || Ok(answer("x"));
    let table = [
        ("answered", vec![ok()], None),
        ("at last", vec![broken(RateLimited), broken(Transport), ok()], None),
        ("never", vec![broken(RateLimited), broken(Overloaded)], Some(Overloaded)),
        ("no key", vec![broken(Auth)], Some(Auth)),
        ("not recorded", vec![broken(NotRecorded)], Some(NotRecorded)),
        ("too dear", vec![broken(Budget)], Some(Budget)),
        ("too large", vec![broken(ContextOverflow)], None),
        ("dry run", vec![broken(DryRun)], None),
        ("too late", vec![broken(Timeout), broken(Timeout)], None),
        ("in time at last", vec![broken(Timeout), ok()], None),
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
        let late = watch.late().map(|(error, count)| (error.kind, count));
        assert_eq!(late, (name == "too late").then_some((Timeout, 1)), "{name}");
    }
}

#[tokio::test]
async fn a_dropped_request_is_late() {
    let watch = Watch::new(Arc::new(Scripted::new([Ok(answer("x"))])));
    let request = plain("text");
    tokio::select! {
        biased;
        _ = watch.complete(&request) => panic!("answered"),
        () = std::future::ready(()) => {}
    }
    assert_eq!(watch.unanswered(), None);
    let (error, count) = watch.late().unwrap();
    assert_eq!((error.kind, count), (ErrorKind::Timeout, 1));
}

/// A provider that is out, or refuses everything, is not asked for every session again; what costs
/// nothing is counted to the end.
#[tokio::test]
async fn patience_ends() {
    use ErrorKind::{
        Auth, Budget, InvalidRequest, NotRecorded, Quota, Timeout, Transport, Unknown,
    };
    let table = [
        (Transport, 12),
        (Timeout, 12),
        (InvalidRequest, 12),
        (Unknown, 12),
        (Auth, 1),
        (Quota, 1),
        (NotRecorded, 20),
        (Budget, 20),
    ];
    for (kind, asked) in table {
        let model = Arc::new(Scripted::new((0..asked).map(|_| broken(kind))));
        let watch = Watch::new(Arc::clone(&model) as _);
        for number in 0..20 {
            let error = watch.complete(&plain(&number.to_string())).await.unwrap_err();
            let expected = if number < asked { kind } else { InvalidRequest };
            assert_eq!(error.kind, expected, "{kind}, {number}: {error}");
        }
        assert_eq!(model.times_asked(), asked, "{kind}");
        let (error, count) = watch.unanswered().or_else(|| watch.late()).unwrap();
        assert_eq!((error.kind, count), (kind, 20), "{kind}");
    }
}

#[tokio::test]
async fn an_answer_gives_new_patience() {
    let answers = (0..30).map(|n| match n % 3 {
        0 => Ok(answer("x")),
        _ => broken(ErrorKind::InvalidRequest),
    });
    let model = Arc::new(Scripted::new(answers));
    let watch = Watch::new(Arc::clone(&model) as _);
    for number in 0..30 {
        let _ = watch.complete(&plain(&number.to_string())).await;
    }
    assert_eq!(model.times_asked(), 30);
    assert_eq!(watch.unanswered().unwrap().1, 20);
}
