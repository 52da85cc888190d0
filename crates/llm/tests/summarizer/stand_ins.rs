//! What stands in for a summary is never kept as one.

use super::support::{Bench, estimator, says};
use foldback_core::conversation::{Conversation, Signals};
use foldback_core::log::Message;
use foldback_core::moment::Moment;
use foldback_core::services::Services;
use foldback_core::stage::DRY_RUN;
use foldback_core::strategy::Strategy;
use foldback_core::{Frame, Limits};
use foldback_llm::{DryRun, LlmConfig};
use foldback_testkit::talk;
use std::sync::Arc;

fn tiered() -> Arc<Strategy> {
    let toml = "name = \"mine\"\nextends = \"tiered\"\n[summarizer]\nuse = \"llm\"\n";
    Arc::new(talk::compiled(&super::configs::registry(), toml))
}

/// Who wrote the summaries of the fold of a long conversation.
async fn written(strategy: &Arc<Strategy>, services: Services) -> Vec<String> {
    let limits = Limits { context: 5_000, input: 0, output: 0 };
    let mut conversation =
        Conversation::new(Arc::clone(strategy), limits, Frame::default(), services);
    for n in 0..60 {
        let text = format!("message {n}: {}", "lorem ipsum ".repeat(40));
        assert!(estimator().text(&text) > 100);
        conversation.append(Message::user(format!("m{n}"), text));
    }
    let reports = conversation.at(Moment::CallStart, Signals::default()).await;
    let folds = conversation.folds();
    assert_eq!(folds.len(), 1, "{reports:?}");
    folds[0].plan.summaries.clone()
}

/// The tiered filter keeps summaries for every conversation that shares it: one that was copied
/// together in a dry run must not come back under the model's name.
#[tokio::test]
async fn a_filter_that_keeps_summaries_keeps_no_stand_in() {
    let strategy = tiered();
    let dry = Services::fixed().with_model(Arc::new(DryRun::new()));
    assert_eq!(written(&strategy, dry).await, [DRY_RUN; 3]);
    let bench = Bench::new(LlmConfig::default(), [says("a"), says("b"), says("c")]);
    let by = strategy.summarizer.as_ref().unwrap().id().to_owned();
    for (round, sent) in [("first", 3), ("again", 3)] {
        let mut model_only = bench.services.clone();
        model_only.observers = Vec::new();
        assert_eq!(written(&strategy, model_only).await, [&*by; 3], "{round}");
        assert_eq!(bench.sent(), sent, "{round}");
    }
}
