//! The loop, from beginning to end: what comes next after everything that can happen, what is told out
//! of turn, and futures that are dropped.

use foldback::Message;
use foldback_core::event::Event;
use foldback_core::log::{Answer, Finish, Part};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::outcome::Why;
use foldback_core::provider::ProviderError;
use foldback_core::services::{BeforeCompaction, Hook, Services, Verdict};
use foldback_core::stage::{
    Filter, Proposal, Pruner, Pruning, StageContext, Summarizer, Summary, SummaryError,
    SummaryRequest,
};
use foldback_core::strategy::{Bound, Strategy};
use foldback_live::{AgentLoop, NO_RESULT, Next, Stopped};
use foldback_test_support::table;
use foldback_testkit::talk;
use std::sync::Arc;

/// Tells an agent things, and notes what it says.
struct Play {
    agent: AgentLoop,
    number: usize,
    calls: Vec<String>,
}

impl Play {
    fn new(preset: &str) -> Self {
        let conversation = crate::support::conversation(preset, &Arc::default());
        Self { agent: AgentLoop::new(conversation), number: 0, calls: Vec::new() }
    }

    fn answer(&mut self, calls: usize, finish: Option<Finish>) -> Message {
        self.calls = (0..calls).map(|n| format!("c{}-{n}", self.number)).collect();
        let parts = self.calls.iter().map(|id| Part::call(id.clone(), "read", "{}"));
        let parts = std::iter::once(Part::text("So.")).chain(parts).collect();
        Message::assistant(format!("a{}", self.number), parts)
            .with_answer(Answer { finish, ..Answer::default() })
    }

    fn results(&self, which: &[usize]) -> Vec<Message> {
        let ids = which.iter().map(|n| self.calls.get(*n).cloned().unwrap_or("unknown".to_owned()));
        ids.map(|id| Message::tool(format!("r-{id}"), id, "read", "text ".repeat(60))).collect()
    }

    /// What the agent says when it is told this; `agent.toml` has the words.
    async fn tell(&mut self, told: &str) -> String {
        self.number += 1;
        let words: Vec<&str> = told.split(' ').collect();
        let next = match words.as_slice() {
            ["user"] => {
                self.agent.user(crate::support::asks(self.number)).await;
                return "-".to_owned();
            }
            ["request"] => {
                self.agent.before_call().await;
                return "-".to_owned();
            }
            ["interrupted"] => {
                self.agent.interrupted().await;
                return "-".to_owned();
            }
            ["compact"] => {
                let reports = self.agent.compact(None).await;
                return reports.last().map_or("nothing", |last| last.outcome.name()).to_owned();
            }
            ["answer", finish, calls] => {
                let finish = Some(*finish).filter(|finish| *finish != "-");
                let finish = finish.map(|finish| serde_json::from_value(finish.into()).unwrap());
                let answer = self.answer(calls.parse().unwrap(), finish);
                self.agent.answered(answer).await
            }
            ["results", which @ ..] => {
                let which: Vec<usize> = which.iter().map(|n| n.parse().unwrap()).collect();
                let results = self.results(&which);
                self.agent.results(results).await
            }
            ["refused", kind] => {
                let kind = serde_json::from_value((*kind).into()).unwrap();
                self.agent.refused(&ProviderError::new(kind, "no")).await
            }
            _ => panic!("nothing that an agent is told: {told}"),
        };
        match next {
            Next::Call => "call".to_owned(),
            Next::Tools => "tools".to_owned(),
            Next::Finished => "finished".to_owned(),
            Next::Stopped(Stopped::Overflow { why, .. }) => format!("overflow: {}", why.code),
            Next::Stopped(Stopped::Length { why }) => format!("length: {}", why.code),
            Next::Stopped(Stopped::Provider(error)) => format!("provider: {}", error.kind),
        }
    }

    /// Goes on with the same conversation under a policy that always folds at these moments, and with
    /// these hooks.
    fn always_at(&mut self, when: Vec<Moment>, hooks: Vec<Arc<dyn Hook>>) {
        self.always_at_with(when, hooks, |_| {});
    }

    /// The same with another change.
    fn always_at_with(
        &mut self,
        when: Vec<Moment>,
        hooks: Vec<Arc<dyn Hook>>,
        change: impl FnOnce(&mut Strategy),
    ) {
        let conversation = self.agent.conversation();
        let mut strategy = (**conversation.strategy()).clone();
        let policy = strategy.overflow.as_mut().unwrap();
        (policy.when, policy.stage) = (when, Arc::new(Always));
        change(&mut strategy);
        let mut services = conversation.services().clone();
        services.hooks = hooks;
        let (limits, frame) = (crate::support::limits(), foldback::Frame::default());
        let mut other = foldback::Conversation::new(Arc::new(strategy), limits, frame, services);
        talk::append(
            &mut other,
            conversation.history().iter().map(|(_, message)| Arc::clone(message)),
        );
        self.agent = AgentLoop::new(other);
    }

    /// The log in short: roles, `!` for a result that says there is none.
    fn log(&self) -> String {
        let history = self.agent.conversation().history();
        let log = history.iter().filter(|(_, message)| !message.is_entry());
        log.map(|(_, message)| match message.shown_text() == NO_RESULT {
            true => "!".to_owned(),
            false => message.role.as_str()[..1].to_owned(),
        })
        .collect()
    }
}

#[tokio::test]
async fn what_comes_next() {
    let rows: Vec<[String; 4]> = table::rows(include_str!("agent.toml"), "rows");
    for [about, preset, acts, log] in rows {
        let mut play = Play::new(&preset);
        for (number, act) in acts.split(", ").enumerate() {
            let (told, next) = act.split_once(" -> ").unwrap_or((act, "-"));
            assert_eq!(play.tell(told).await, next, "{about}, act {number}");
        }
        assert_eq!(play.log(), log, "{about}");
    }
}

/// A long turn, so that there is something to fold.
async fn long(play: &mut Play) {
    play.tell("user").await;
    for _ in 0..14 {
        play.tell("request").await;
        play.tell("answer tool-calls 3").await;
        play.tell("results 0 1 2").await;
    }
}

#[tokio::test]
async fn a_model_that_is_cut_again_after_a_fold_is_cut_for_another_reason() {
    let mut play = Play::new("window");
    long(&mut play).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        play.tell("request").await;
        seen.push(play.tell("answer length 0").await);
    }
    assert_eq!(seen, ["call", "length: again"]);
    // The user's next word is a new chance.
    long(&mut play).await;
    assert_eq!(play.tell("answer length 0").await, "call");
}

/// Never says anything.
#[derive(Debug)]
struct Hangs;

#[async_trait::async_trait]
impl Hook for Hangs {
    async fn before(&self, _: &BeforeCompaction) -> Result<Verdict, String> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn a_dropped_future_takes_no_message_with_it() {
    // moment at which the strategy folds, what is told then, messages that it brings
    for (moment, told, brings) in [
        (Moment::TurnStart, "user", 1),
        (Moment::ToolResult, "results 0 1 2", 3),
        (Moment::StepEnd, "answer stop 0", 1),
    ] {
        let mut play = Play::new("window");
        long(&mut play).await;
        if moment == Moment::ToolResult {
            play.tell("answer tool-calls 3").await;
        }
        play.always_at(vec![moment, Moment::CallStart], vec![Arc::new(Hangs)]);
        let before = play.agent.conversation().history().len();
        let hung = tokio::select! {
            biased;
            _ = play.tell(told) => false,
            () = tokio::task::yield_now() => true,
        };
        assert!(hung, "{moment}: it should have folded");
        let history = play.agent.conversation().history();
        assert_eq!(history.len(), before + brings, "{moment}");
        assert!(play.agent.open_calls().is_empty(), "{moment}");
    }
}

#[derive(Debug)]
struct Always;

impl foldback_core::stage::OverflowPolicy for Always {
    fn moments(&self) -> &'static [Moment] {
        Moment::ALL
    }

    fn decide(&self, _: &foldback_core::stage::Pressure<'_>) -> foldback_core::stage::Decision {
        foldback_core::stage::Decision {
            fold: true,
            ..foldback_core::stage::Decision::off("always")
        }
    }
}

/// A stage of any kind, or a hook, that panics.
#[derive(Debug)]
struct Panics;

impl foldback_core::stage::OverflowPolicy for Panics {
    fn moments(&self) -> &'static [Moment] {
        Moment::ALL
    }

    fn decide(&self, _: &foldback_core::stage::Pressure<'_>) -> foldback_core::stage::Decision {
        panic!("no decision")
    }
}

impl Pruner for Panics {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, _: &StageContext<'_>) -> Pruning {
        panic!("no pruning")
    }
}

impl Filter for Panics {
    fn propose(&self, _: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        panic!("no {}", "proposal")
    }
}

#[async_trait::async_trait]
impl Summarizer for Panics {
    fn id(&self) -> &str {
        "panics"
    }

    async fn summarize(&self, _: &SummaryRequest, _: &Services) -> Result<Summary, SummaryError> {
        tokio::task::yield_now().await;
        panic!("no summary")
    }
}

#[async_trait::async_trait]
impl Hook for Panics {
    async fn before(&self, _: &BeforeCompaction) -> Result<Verdict, String> {
        panic!("no verdict")
    }

    async fn after(&self, _: &Event) {
        panic!("no end")
    }
}

/// A stage that panics is a compaction that failed: the conversation goes on with what it had, and the next one is tried. A hook that
/// panics is one that failed.
#[tokio::test]
async fn a_panic_of_a_stage_is_a_compaction_that_failed() {
    type Plant = fn(&mut Strategy);
    let table: [(&str, Plant, Option<&str>); 6] = [
        (
            "policy",
            |strategy| strategy.overflow.as_mut().unwrap().stage = Arc::new(Panics),
            Some("no decision"),
        ),
        (
            "filter",
            |strategy| strategy.filter.as_mut().unwrap().stage = Arc::new(Panics),
            Some("no proposal"),
        ),
        ("summarizer", |strategy| strategy.summarizer = Some(Arc::new(Panics)), Some("no summary")),
        (
            "pruner",
            |strategy| {
                let (stage, when) = (Arc::new(Panics) as _, vec![Moment::CallStart]);
                let name = "panics".to_owned();
                strategy.pruners.push(Bound { name, stage, when, meter: MeterId::OWN });
            },
            Some("no pruning"),
        ),
        (
            "pruner before a summary",
            |strategy| {
                let (stage, when) = (Arc::new(Panics) as _, vec![Moment::BeforeSummary]);
                let name = "panics".to_owned();
                strategy.pruners.push(Bound { name, stage, when, meter: MeterId::OWN });
            },
            Some("no pruning"),
        ),
        ("nothing", |_| {}, None),
    ];
    for (what, plant, said) in table {
        let mut play = Play::new("window");
        long(&mut play).await;
        long(&mut play).await;
        play.always_at_with(vec![Moment::CallStart], vec![Arc::new(Panics)], plant);
        let before = crate::support::sent(play.agent.conversation());
        play.tell("request").await;
        let reports = play.agent.reports();
        let failed: Vec<String> = reports
            .iter()
            .filter_map(|report| match &report.outcome {
                Outcome::Failed(why) if why.code == "panicked" => Some(why.detail.clone()),
                _ => None,
            })
            .collect();
        match said {
            Some(said) => {
                assert!(failed.iter().any(|why| why.ends_with(said)), "{what}: {reports:?}")
            }
            None => assert_eq!(failed, [""; 0], "{what}"),
        }
        // A pruner takes nothing from the fold after it.
        let folds = said.is_none() || what.starts_with("pruner");
        assert_eq!(
            reports.iter().any(|report| report.outcome.changed()),
            folds,
            "{what}: {reports:?}"
        );
        assert_eq!(crate::support::sent(play.agent.conversation()) != before, folds, "{what}");
        assert_eq!(play.tell("answer tool-calls 1").await, "tools", "{what}");
        assert_eq!(play.tell("results 0").await, "call", "{what}");
    }
}

/// A fold between two results may not take their call away.
#[tokio::test]
async fn a_call_stays_until_all_its_results_are_there() {
    let mut play = Play::new("opencode");
    long(&mut play).await;
    play.always_at(vec![Moment::ToolResult], Vec::new());
    assert_eq!(play.tell("answer tool-calls 2").await, "tools");
    assert_eq!(play.tell("results 0").await, "tools");
    let first = play.agent.reports().to_vec();
    assert!(
        first.iter().any(
            |report| matches!(&report.outcome, Outcome::Failed(why) if why.code == "pair-broken")
        ),
        "{first:?}"
    );
    assert_eq!(play.tell("results 1").await, "call");
    let sent = crate::support::sent(play.agent.conversation());
    assert_eq!(sent.contains("\"c47-1\""), sent.contains("r-c47-1"), "{sent}");
    assert!(
        play.agent.reports().iter().any(|report| report.outcome.changed()),
        "{:?}",
        play.agent.reports()
    );
}
