//! The loop, from beginning to end: what comes next after everything that can happen, what is told out
//! of turn, and futures that are dropped.

use foldback::Message;
use foldback_core::log::{Answer, Finish, Part};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::services::{BeforeCompaction, Hook, Verdict};
use foldback_live::{AgentLoop, NO_RESULT, Next, Stopped};
use std::sync::Arc;

/// What an agent is told.
enum Told {
    User,
    Request,
    /// An answer that calls so many tools and ends so.
    Answer(usize, Option<Finish>),
    /// Results of the calls of the last answer with these numbers.
    Results(&'static [usize]),
    Refused(ErrorKind),
    Interrupted,
    Compact,
}
use Told::{Answer as Says, Compact, Interrupted, Refused, Request, Results, User};

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
        Message {
            answer: Some(Answer { finish, ..Answer::default() }),
            ..Message::assistant(format!("a{}", self.number), parts)
        }
    }

    fn results(&self, which: &[usize]) -> Vec<Message> {
        let ids = which.iter().map(|n| self.calls.get(*n).cloned().unwrap_or("unknown".to_owned()));
        ids.map(|id| Message::tool(format!("r-{id}"), id, "read", "text ".repeat(60))).collect()
    }

    async fn tell(&mut self, told: &Told) -> String {
        self.number += 1;
        let next = match told {
            User => {
                self.agent.user(crate::support::asks(self.number)).await;
                return "-".to_owned();
            }
            Request => {
                self.agent.before_call().await;
                return "-".to_owned();
            }
            Interrupted => {
                self.agent.interrupted();
                return "-".to_owned();
            }
            Compact => {
                let reports = self.agent.compact(None).await;
                return reports.last().map_or("nothing", |last| last.outcome.name()).to_owned();
            }
            Says(calls, finish) => {
                let answer = self.answer(*calls, *finish);
                self.agent.answered(answer).await
            }
            Results(which) => {
                let results = self.results(which);
                self.agent.results(results).await
            }
            Refused(kind) => self.agent.refused(&ProviderError::new(*kind, "no")).await,
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

const CALLS: Option<Finish> = Some(Finish::ToolCalls);
const STOP: Option<Finish> = Some(Finish::Stop);
const LENGTH: Option<Finish> = Some(Finish::Length);

#[tokio::test]
async fn what_comes_next() {
    // what it is about, preset, (told, next) in order, the log afterwards
    type Row = (&'static str, &'static str, Vec<(Told, &'static str)>, &'static str);
    let overflow = || Refused(ErrorKind::ContextOverflow);
    let table: Vec<Row> = vec![
        (
            "a turn without tools",
            "window",
            vec![(User, "-"), (Request, "-"), (Says(0, STOP), "finished")],
            "ua",
        ),
        (
            "no reason to stop is given",
            "window",
            vec![(User, "-"), (Says(0, None), "finished")],
            "ua",
        ),
        (
            "a turn with tools",
            "window",
            vec![
                (User, "-"),
                (Request, "-"),
                (Says(2, CALLS), "tools"),
                (Results(&[0, 1]), "call"),
                (Request, "-"),
                (Says(0, STOP), "finished"),
            ],
            "uatta",
        ),
        (
            "results one by one, in any order",
            "window",
            vec![
                (User, "-"),
                (Says(2, CALLS), "tools"),
                (Results(&[1]), "tools"),
                (Results(&[]), "tools"),
                (Results(&[0]), "call"),
            ],
            "uatt",
        ),
        (
            "calls with another reason",
            "window",
            vec![(User, "-"), (Says(1, STOP), "tools"), (Results(&[0]), "call")],
            "uat",
        ),
        (
            "a result of no call, a result twice",
            "window",
            vec![
                (User, "-"),
                (Says(1, CALLS), "tools"),
                (Results(&[9]), "tools"),
                (Results(&[0, 0]), "call"),
                (Results(&[0]), "call"),
            ],
            "uat",
        ),
        (
            "results after the end",
            "window",
            vec![(User, "-"), (Says(0, STOP), "finished"), (Results(&[0]), "finished")],
            "ua",
        ),
        (
            "a result that never comes",
            "window",
            vec![
                (User, "-"),
                (Says(2, CALLS), "tools"),
                (Results(&[0]), "tools"),
                (Request, "-"),
                (Results(&[1]), "call"),
                (Says(0, STOP), "finished"),
            ],
            "uat!a",
        ),
        (
            "an answer instead of results",
            "window",
            vec![(User, "-"), (Says(1, CALLS), "tools"), (Says(0, STOP), "finished")],
            "ua!a",
        ),
        (
            "the user speaks while a tool runs",
            "window",
            vec![
                (User, "-"),
                (Says(1, CALLS), "tools"),
                (User, "-"),
                (Results(&[0]), "call"),
                (Request, "-"),
                (Says(0, STOP), "finished"),
            ],
            "uatua",
        ),
        (
            "the user speaks while the model answers",
            "window",
            vec![
                (User, "-"),
                (Request, "-"),
                (User, "-"),
                (Says(0, STOP), "call"),
                (Request, "-"),
                (Says(0, STOP), "finished"),
            ],
            "uaua",
        ),
        (
            "the user speaks before a refusal",
            "window",
            vec![
                (User, "-"),
                (Request, "-"),
                (User, "-"),
                (Refused(ErrorKind::RateLimited), "provider: rate-limited"),
                (Request, "-"),
                (Says(0, STOP), "finished"),
            ],
            "uua",
        ),
        (
            "the user stops everything",
            "window",
            vec![
                (User, "-"),
                (Says(2, CALLS), "tools"),
                (Results(&[1]), "tools"),
                (Interrupted, "-"),
                (User, "-"),
                (Request, "-"),
                (Says(0, STOP), "finished"),
            ],
            "uat!ua",
        ),
        (
            "compact while a tool runs",
            "window",
            vec![
                (User, "-"),
                (Says(1, CALLS), "tools"),
                (Compact, "skipped"),
                (Results(&[0]), "call"),
            ],
            "uat",
        ),
        (
            "refused, and nobody answers to it",
            "window",
            vec![(User, "-"), (Request, "-"), (overflow(), "overflow: not-asked")],
            "u",
        ),
        (
            "refused for another reason",
            "window",
            vec![(User, "-"), (Request, "-"), (Refused(ErrorKind::Auth), "provider: auth")],
            "u",
        ),
        (
            "a strategy that never folds",
            "none",
            vec![(User, "-"), (Request, "-"), (overflow(), "overflow: not-asked")],
            "u",
        ),
        (
            "cut, by one that never folds",
            "none",
            vec![(User, "-"), (Says(0, LENGTH), "length: not-asked")],
            "ua",
        ),
        (
            "cut in the middle of calls",
            "none",
            vec![(User, "-"), (Says(1, LENGTH), "tools"), (Results(&[0]), "length: not-asked")],
            "uat",
        ),
    ];
    for (about, preset, acts, log) in table {
        let mut play = Play::new(preset);
        for (number, (told, next)) in acts.iter().enumerate() {
            assert_eq!(play.tell(told).await, *next, "{about}, act {number}");
        }
        assert_eq!(play.log(), log, "{about}");
    }
}

/// A long turn, so that there is something to fold.
async fn long(play: &mut Play) {
    play.tell(&User).await;
    for _ in 0..14 {
        play.tell(&Request).await;
        play.tell(&Says(3, CALLS)).await;
        play.tell(&Results(&[0, 1, 2])).await;
    }
}

#[tokio::test]
async fn a_model_that_is_cut_again_after_a_fold_is_cut_for_another_reason() {
    let mut play = Play::new("window");
    long(&mut play).await;
    let mut seen = Vec::new();
    for _ in 0..2 {
        play.tell(&Request).await;
        seen.push(play.tell(&Says(0, LENGTH)).await);
    }
    assert_eq!(seen, ["call", "length: again"]);
    // The user's next word is a new chance.
    long(&mut play).await;
    assert_eq!(play.tell(&Says(0, LENGTH)).await, "call");
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
        (Moment::TurnStart, User, 1),
        (Moment::ToolResult, Results(&[0, 1, 2]), 3),
        (Moment::StepEnd, Says(0, STOP), 1),
    ] {
        let mut play = Play::new("window");
        long(&mut play).await;
        if moment == Moment::ToolResult {
            play.tell(&Says(3, CALLS)).await;
        }
        // The same conversation under a policy that folds at this moment, and a hook that hangs.
        let conversation = play.agent.conversation();
        let mut strategy = (**conversation.strategy()).clone();
        strategy.overflow.as_mut().unwrap().when = vec![moment, Moment::CallStart];
        strategy.overflow.as_mut().unwrap().stage = Arc::new(Always);
        let mut services = conversation.services().clone();
        services.hooks = vec![Arc::new(Hangs)];
        let mut other = foldback::Conversation::new(
            Arc::new(strategy),
            crate::support::limits(),
            foldback::Frame::default(),
            services,
        );
        for (_, message) in conversation.history().iter() {
            other.append(Arc::clone(message));
        }
        let before = other.history().len();
        play.agent = AgentLoop::new(other);
        let hung = tokio::select! {
            biased;
            _ = play.tell(&told) => false,
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
        &Moment::ALL
    }

    fn decide(&self, _: &foldback_core::stage::Pressure<'_>) -> foldback_core::stage::Decision {
        foldback_core::stage::Decision {
            fold: true,
            reason: "always".to_owned(),
            ..foldback_core::stage::Decision::off("")
        }
    }
}

/// A fold between two results may not take their call away.
#[tokio::test]
async fn a_call_stays_until_all_its_results_are_there() {
    let mut play = Play::new("opencode");
    long(&mut play).await;
    let conversation = play.agent.conversation();
    let mut strategy = (**conversation.strategy()).clone();
    let policy = strategy.overflow.as_mut().unwrap();
    (policy.when, policy.stage) = (vec![Moment::ToolResult], Arc::new(Always));
    let mut other = foldback::Conversation::new(
        Arc::new(strategy),
        crate::support::limits(),
        foldback::Frame::default(),
        conversation.services().clone(),
    );
    for (_, message) in conversation.history().iter() {
        other.append(Arc::clone(message));
    }
    play.agent = AgentLoop::new(other);
    assert_eq!(play.tell(&Says(2, CALLS)).await, "tools");
    assert_eq!(play.tell(&Results(&[0])).await, "tools");
    let first = play.agent.reports().to_vec();
    assert!(
        first.iter().any(
            |report| matches!(&report.outcome, Outcome::Failed(why) if why.code == "pair-broken")
        ),
        "{first:?}"
    );
    assert_eq!(play.tell(&Results(&[1])).await, "call");
    let sent = crate::support::sent(play.agent.conversation());
    assert_eq!(sent.contains("\"c47-1\""), sent.contains("r-c47-1"), "{sent}");
    assert!(
        play.agent.reports().iter().any(|report| report.outcome.changed()),
        "{:?}",
        play.agent.reports()
    );
}
