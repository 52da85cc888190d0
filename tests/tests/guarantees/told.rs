//! What is told of a fold is what happened: spans, events, counters, and how a fold shows what it did.

use super::faults::{Fault, Faulty, Plan};
use super::world::{agent, reads, view, with_model};
use async_trait::async_trait;
use foldback_core::conversation::{Conversation, Signals};
use foldback_core::event::Event;
use foldback_core::log::Message;
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::services::{BeforeCompaction, Hook, Services, Verdict};
use foldback_core::{Frame, Limits};
use foldback_live::{AgentLoop, Metrics};
use foldback_test_support::trace::{Fields, Trace};
use foldback_testkit::stand_in::Events;
use std::sync::{Arc, Mutex};

fn limits() -> Limits {
    Limits::new(6_000, 600)
}

/// A turn of calls and results.
fn fill(conversation: &mut Conversation, rounds: usize) {
    conversation.append(Message::user("u", "Mend the parser."));
    for n in 0..rounds {
        conversation.append(reads(&format!("a{n}"), &format!("c{n}"), &format!("f{n}")));
        let text = format!("line {n} ").repeat(200);
        conversation.append(Message::tool(format!("t{n}"), format!("c{n}"), "read", text));
    }
}

#[tokio::test(start_paused = true)]
async fn spans_say_whether_the_conversation_was_compacted() {
    let (trace, _listening) = Trace::listen();
    for (fault, moment, outcome, compacted) in [
        (Fault::None, Moment::Manual, Some("changed"), "true"),
        (Fault::Refused, Moment::Manual, Some("failed"), "false"),
        (Fault::None, Moment::CallStart, Some("unchanged"), "false"),
        (Fault::None, Moment::TurnEnd, None, "false"),
    ] {
        let mut strategy = (*with_model("window", "")).clone();
        strategy.on_failure = foldback_core::strategy::OnFailure::Keep;
        let model = Arc::new(Faulty::new(Plan::Always(fault)));
        let mut agent = agent(&Arc::new(strategy), Some(&model), limits());
        fill(agent.conversation_mut(), 8);
        let seen = trace.spans("foldback.compaction").len();
        let before = agent.conversation().meter(MeterId::OWN).view_tokens();
        agent.conversation_mut().at(moment, Signals::default()).await;
        let after = agent.conversation().meter(MeterId::OWN).view_tokens();
        let spans = trace.spans("foldback.compaction");
        let [(name, Fields(fields))] = &spans[seen..] else {
            panic!("{} spans", spans.len());
        };
        let field = |name: &str| fields.get(name).map(String::as_str);
        let what = format!("{fault:?} at {moment}: {fields:?}");
        assert_eq!(*name, "foldback.compaction");
        assert_eq!(field("gen_ai.conversation.compacted"), Some(compacted), "{what}");
        assert_eq!(field("moment"), Some(moment.as_str()), "{what}");
        assert_eq!(field("strategy"), Some("mine"), "{what}");
        assert_eq!(field("outcome"), outcome, "{what}");
        let tokens = outcome.map(|_| (before.to_string(), after.to_string()));
        let told = field("tokens_before").zip(field("tokens_after"));
        assert_eq!(told, tokens.as_ref().map(|(a, b)| (a.as_str(), b.as_str())), "{what}");
    }
}

/// Counts how often it is asked and told.
#[derive(Debug, Default)]
struct Counts(Mutex<(usize, usize)>);

#[async_trait]
impl Hook for Counts {
    async fn before(&self, _: &BeforeCompaction) -> Result<Verdict, String> {
        self.0.lock().unwrap().0 += 1;
        Ok(Verdict::Proceed)
    }

    async fn after(&self, _: &Event) {
        self.0.lock().unwrap().1 += 1;
    }
}

#[tokio::test(start_paused = true)]
async fn a_preview_leaves_no_trace() {
    let mut ends = Vec::new();
    for previews in [0, 2] {
        let (hook, events) = (Arc::new(Counts::default()), Arc::new(Events::default()));
        let services = Services::fixed()
            .with_model(Arc::new(Faulty::new(Plan::Always(Fault::None))))
            .with_hook(Arc::clone(&hook) as _)
            .with_observer(Arc::clone(&events) as _);
        let strategy = with_model("window", "");
        let mut conversation = Conversation::new(strategy, limits(), Frame::default(), services);
        fill(&mut conversation, 8);
        for _ in 0..previews {
            let plans = conversation.preview(Moment::Manual, Signals::default()).await;
            assert_eq!(plans.len(), 1);
        }
        assert!(events.all().is_empty());
        assert_eq!(*hook.0.lock().unwrap(), (previews, 0), "asked, and not told");
        conversation.at(Moment::Manual, Signals::default()).await;
        ends.push((view(&conversation), format!("{:?}", conversation.view().layout())));
    }
    assert_eq!(ends[0], ends[1]);
}

#[tokio::test(start_paused = true)]
async fn prunings_that_are_taken_back_are_not_counted() {
    for (fault, reclaimed) in [(Fault::None, true), (Fault::Refused, false)] {
        let strategy = with_model(
            "brutus",
            "[[pruner]]\nuse = \"opencode.prune\"\nwhen = \"before-summary\"\nprotect_tokens = 100\nminimum_tokens = 100\n",
        );
        let mut strategy = (*strategy).clone();
        strategy.on_failure = foldback_core::strategy::OnFailure::Keep;
        let metrics = Arc::new(Metrics::new());
        let services = Services::fixed()
            .with_model(Arc::new(Faulty::new(Plan::Always(fault))))
            .with_observer(Arc::clone(&metrics) as _);
        let mut conversation =
            Conversation::new(Arc::new(strategy), limits(), Frame::default(), services);
        fill(&mut conversation, 6);
        for n in 0..3 {
            conversation.append(Message::user(format!("v{n}"), "And then?"));
        }
        let reports = conversation.at(Moment::Manual, Signals::default()).await;
        let snapshot = metrics.snapshot();
        assert_eq!(snapshot.tokens_reclaimed.values().sum::<u64>() > 0, reclaimed, "{snapshot:?}");
        assert_eq!(conversation.counters().tokens_reclaimed > 0, reclaimed);
        let told: Vec<_> = snapshot.compactions.keys().map(|labels| labels.outcome).collect();
        let reported: Vec<_> = reports.iter().map(|report| report.outcome.name()).collect();
        assert_eq!(told.len(), reported.len());
        assert!(told.iter().all(|outcome| reported.contains(outcome)), "{told:?}, {reported:?}");
    }
}

/// A window in which call after call asks for the same few files.
async fn wander(adaptive: Option<bool>) -> (Vec<String>, String, Vec<(u64, u64)>) {
    let learns = adaptive.map_or(String::new(), |on| format!("adaptive = {on}\n"));
    let strategy =
        with_model("drop-oldest", &format!("[overflow]\nuse = \"window-fraction\"\n{learns}"));
    let mut agent: AgentLoop = agent(&strategy, None, limits());
    agent.user(Message::user("u", "Mend the parser.")).await;
    for n in 0..60 {
        agent.before_call().await;
        let path = format!("f{}", n % 12);
        agent.answered(reads(&format!("a{n}"), &format!("c{n}"), &path)).await;
        let text = "word ".repeat(300);
        let result = Message::tool(format!("t{n}"), format!("c{n}"), "read", text);
        agent.results(vec![result]).await;
    }
    let conversation = agent.conversation();
    let folds = conversation.folds().iter();
    let reasons = folds.map(|fold| fold.plan.reasons.join("; ")).collect();
    let missed =
        conversation.fold_stats().iter().map(|fold| (fold.missed, fold.tokens_after)).collect();
    (reasons, view(conversation), missed)
}

#[tokio::test(start_paused = true)]
async fn an_adaptive_target_learns_from_what_was_asked_for_again() {
    let (off, default) = (wander(Some(false)).await, wander(None).await);
    assert_eq!(off, default, "off by default");
    assert!(off.0.iter().all(|reason| !reason.contains("were missed")), "{:?}", off.0);
    assert!(off.2.iter().any(|(missed, _)| *missed > 0), "{:?}", off.2);
    let on = wander(Some(true)).await;
    assert_eq!(on, wander(Some(true)).await, "to the byte");
    let most = |folds: &[(u64, u64)]| folds.iter().map(|(_, kept)| *kept).max();
    assert!(most(&on.2) > most(&off.2), "keeps more: {:?}, {:?}", on.2, off.2);
    assert!(!on.0[0].contains("target"), "nothing to learn from: {}", on.0[0]);
    assert!(
        on.0[1].contains("target 0.40 for 0.35: of the last 1 folds 1 were missed"),
        "{}",
        on.0[1]
    );
}

#[tokio::test(start_paused = true)]
async fn what_is_missed_is_booked_on_the_fold_in_force() {
    let strategy = with_model("window", "");
    let model = Arc::new(Faulty::new(Plan::Always(Fault::None)));
    let mut agent = agent(&strategy, Some(&model), limits());
    let conversation = agent.conversation_mut();
    fill(conversation, 8);
    conversation.at(Moment::Manual, Signals::default()).await;
    for n in 20..26 {
        conversation.append(reads(&format!("a{n}"), &format!("c{n}"), &format!("g{n}")));
        let text = "other words ".repeat(200);
        conversation.append(Message::tool(format!("t{n}"), format!("c{n}"), "read", text));
    }
    conversation.at(Moment::Manual, Signals::default()).await;
    assert_eq!(conversation.fold_stats().len(), 2);
    conversation.undo();
    // Gone since the first fold, and there is no second any more.
    conversation.append(reads("b", "d", "f0"));
    let booked: Vec<_> =
        conversation.fold_stats().iter().map(|fold| (fold.missed, fold.answers)).collect();
    assert_eq!(booked, [(1, 7), (0, 0)]);
    conversation.undo();
    conversation.note_recall();
    assert_eq!(conversation.fold_stats()[0].missed, 1, "no fold is in force");
}

#[tokio::test(start_paused = true)]
async fn a_diff_reads_like_one() {
    let strategy = with_model("window", "");
    let model = Arc::new(Faulty::new(Plan::Always(Fault::None)));
    let mut agent = agent(&strategy, Some(&model), limits());
    let conversation = agent.conversation_mut();
    fill(conversation, 8);
    let reports = conversation.at(Moment::Manual, Signals::default()).await;
    assert!(
        matches!(reports.last().map(|last| &last.outcome), Some(Outcome::Changed)),
        "{reports:?}"
    );
    let fold = conversation.folds().last().unwrap().id;
    insta::assert_snapshot!("diff", conversation.diff(fold).unwrap());
}
