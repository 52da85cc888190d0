//! An agent's loop and the replay of its log come to the same moments in the same order, so what is measured is what runs.
//!
//! An agent lives through a session: it says to its loop what the session's user, model and tools said. The log that it
//! ends with is then replayed. Every stage must have reported the same at the same place, and a stage that is asked at
//! every moment is among them.

use foldback_core::conversation::{Conversation, Report};
use foldback_core::log::{Message, Role, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::services::{CountingIds, FixedClock, IdSource, Services};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::{Bound, Strategy};
use foldback_core::{Frame, Limits};
use foldback_live::{AgentLoop, Next};
use foldback_testkit::generate::{happens, session};
use foldback_testkit::talk::block_on;
use foldback_testkit::{DriveEvent, Session, drive};
use foldback_tests::presets;
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Is asked at a moment, and reports how long the log was.
#[derive(Debug)]
struct Witness(Moment);

impl Pruner for Witness {
    fn moment(&self) -> Moment {
        self.0
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        let messages = context.history.iter().filter(|(_, message)| !message.is_entry()).count();
        Pruning::Nothing(Why::new("witness", format!("{messages} messages")))
    }
}

/// A strategy with a witness of every moment.
fn witnessed(strategy: &Strategy) -> Arc<Strategy> {
    let mut strategy = strategy.clone();
    let witnesses = Moment::ALL.iter().map(|moment| Bound::<dyn Pruner> {
        name: "witness".to_owned(),
        stage: Arc::new(Witness(*moment)),
        when: vec![*moment],
        meter: MeterId::OWN,
    });
    strategy.pruners.extend(witnesses);
    Arc::new(strategy)
}

/// Ids as in a replay, where no loop writes results.
#[derive(Debug, Default)]
struct Ids {
    folds: CountingIds,
    results: CountingIds,
}

impl IdSource for Ids {
    fn next(&self, kind: &str) -> String {
        match kind {
            "no-result" => format!("result-{}", self.results.next(kind)),
            _ => self.folds.next(kind),
        }
    }

    fn taken(&self, id: &str) {
        self.folds.taken(id);
    }
}

/// An agent that lives through a session.
struct Life {
    agent: AgentLoop,
    clock: Arc<FixedClock>,
    next: Next,
    reports: Vec<Report>,
    answers: usize,
}

impl Life {
    fn new(strategy: &Arc<Strategy>, limits: Limits) -> Self {
        let clock = Arc::new(FixedClock::default());
        let mut services = Services::with_clock(Arc::clone(&clock) as _);
        services.ids = Arc::new(Ids::default());
        let conversation =
            Conversation::new(Arc::clone(strategy), limits, Frame::default(), services);
        let agent = AgentLoop::new(conversation);
        Self { agent, clock, next: Next::Finished, reports: Vec::new(), answers: 0 }
    }

    fn note(&mut self) {
        self.reports.extend_from_slice(self.agent.reports());
    }

    async fn said(&mut self, message: &Message) {
        let message = match self.next {
            // Nobody interrupts a loop that does not run.
            Next::Finished if !message.begins_turn() => {
                Message::user(message.id.clone(), message.said())
            }
            _ => message.clone(),
        };
        if message.begins_turn() && self.next == Next::Tools {
            self.agent.interrupted().await;
            self.note();
        }
        self.agent.user(message).await;
        self.note();
        if self.next != Next::Tools {
            self.next = Next::Call;
            // Now and then the agent is started anew, with the conversation that it had.
            if self.answers % 3 == 1 {
                self.agent = AgentLoop::new(self.agent.conversation().clone());
            }
        }
    }

    async fn answered(&mut self, message: &Message) {
        if self.next == Next::Finished && self.answers > 0 {
            self.said(&Message::user(format!("go-on-{}", self.answers), "Go on.")).await;
        }
        self.answers += 1;
        self.agent.before_call().await;
        self.note();
        if self.answers.is_multiple_of(5) {
            let aside = Message::user(format!("aside-{}", self.answers), "Be quick.");
            self.agent.user(aside).await;
            self.note();
        }
        let talk = self.agent.conversation();
        let mut message = message.clone();
        let output = talk.meter(MeterId::OWN).measure(&message);
        let usage = Usage { uncached: talk.tokens(), output, ..Usage::default() };
        message.answer.get_or_insert_default().usage = Some(usage);
        self.next = self.agent.answered(message).await;
        self.note();
        // A host may ask at any time; the moment comes once.
        for wait in [239_999, 240_000, 240_001] {
            self.clock.set(wait);
            self.agent.idle().await;
            self.note();
        }
        self.clock.set(0);
    }

    async fn results(&mut self, messages: Vec<Message>) {
        if self.next == Next::Tools {
            self.next = self.agent.results(messages).await;
            self.note();
        }
    }

    /// Half of the results come one by one, the others with those that follow them.
    async fn live(&mut self, messages: &[Message]) {
        let mut results = Vec::new();
        for (number, message) in messages.iter().enumerate() {
            match message.role {
                Role::Tool => {
                    results.push(message.clone());
                    let more = messages.get(number + 1).is_some_and(|next| next.role == Role::Tool);
                    if number % 2 == 0 || !more {
                        self.results(std::mem::take(&mut results)).await;
                    }
                }
                Role::Assistant if message.is_answer() => self.answered(message).await,
                Role::User => self.said(message).await,
                Role::Assistant | Role::System => {}
            }
        }
        // A replay takes a log that ends in the middle of a step for one whose step ended.
        self.agent.interrupted().await;
        self.note();
    }

    /// What happened, except what the recorder of the session wrote.
    fn log(&self) -> Vec<Arc<Message>> {
        let log = self.agent.conversation().history().iter();
        log.filter(|(_, message)| !message.is_entry()).map(|(_, m)| Arc::clone(m)).collect()
    }
}

fn in_words(report: &Report) -> String {
    format!("{report:?}")
}

fn sent(conversation: &Conversation) -> Vec<Message> {
    conversation.sent().iter().map(|shown| shown.to_message()).collect()
}

/// How often each moment came, or where life and replay differ.
fn check(messages: &[Message], preset: &Strategy) -> BTreeMap<Moment, usize> {
    let window = [8_000, 16_000, 64_000].map(|window| Limits::new(window, window / 8));
    let Some(limits) = window.into_iter().find(|limits| preset.refuses(*limits).is_none()) else {
        panic!("{} works in no window", preset.name);
    };
    let mut preset = preset.clone();
    (preset.user_limits, preset.preset_limits) = (Limits::default(), Limits::default());
    let strategy = witnessed(&preset);
    let mut life = Life::new(&strategy, limits);
    block_on(life.live(messages));

    let log = Session::from_messages("lived", life.log()).window(limits.context, limits.output);
    let mut replayed = Vec::new();
    let mut replay = drive(&log, &strategy, &mut |_, seen| {
        if let DriveEvent::Answered(_, _, reports) = seen {
            replayed.extend_from_slice(reports);
        }
        Ok(())
    })
    .unwrap();
    // And one that ends between two answers for one whose turn ended.
    let over = replayed.split_off(life.reports.len().min(replayed.len()));
    let lived: Vec<String> = life.reports.iter().map(in_words).collect();
    let replayed: Vec<String> = replayed.iter().map(in_words).collect();
    for (number, (lived, replayed)) in lived.iter().zip(&replayed).enumerate() {
        assert_eq!(lived, replayed, "{}: report {number}\n{log}", preset.name);
    }
    assert_eq!(lived.len(), replayed.len(), "{}\n{log}", preset.name);
    let ends = over.iter().all(|report| report.moment == Moment::TurnEnd);
    assert!(ends, "{}: {over:?}", preset.name);
    while replay.folds().len() > life.agent.conversation().folds().len() {
        replay.undo();
    }
    assert_eq!(sent(life.agent.conversation()), sent(&replay), "{}", preset.name);

    let mut moments = BTreeMap::new();
    for report in &life.reports {
        *moments.entry(report.moment).or_default() += usize::from(report.stage == "witness");
    }
    moments
}

/// A session without what its recorder wrote itself. All times but that of the idle moment are one: what the clock shows at a moment
/// depends on the agent.
fn material<'a>(messages: impl IntoIterator<Item = &'a Arc<Message>>) -> Vec<Message> {
    let log = messages.into_iter().filter(|message| !message.is_entry());
    log.map(|message| {
        let mut message = Message::clone(message);
        message.at = Some(0);
        message
    })
    .collect()
}

fn check_all(sessions: &[Vec<Message>]) -> BTreeMap<Moment, usize> {
    let presets = presets();
    let pairs: Vec<_> = sessions
        .iter()
        .flat_map(|session| presets.iter().map(move |preset| (session, preset)))
        .collect();
    let counts: Vec<_> = pairs.par_iter().map(|(session, preset)| check(session, preset)).collect();
    let mut all = BTreeMap::new();
    for (moment, count) in counts.into_iter().flatten() {
        *all.entry(moment).or_default() += count;
    }
    all
}

#[test]
fn an_agent_that_lives_through_a_shipped_session_has_the_moments_of_its_replay() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/sessions");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending != "md"));
    paths.sort();
    assert_eq!(paths.len(), 12);
    let mut sessions = Vec::new();
    for path in paths {
        let bytes = std::fs::read(&path).unwrap();
        let read = foldback_formats::read(&bytes, None).unwrap();
        sessions.extend(read.iter().map(|session| material(&session.messages)));
    }
    let moments = [
        Moment::TurnStart,
        Moment::CallStart,
        Moment::ToolResult,
        Moment::StepEnd,
        Moment::TurnEnd,
        Moment::Idle,
    ];
    all_came(&check_all(&sessions), &moments);
}

#[test]
fn an_agent_that_lives_through_a_generated_session_has_the_moments_of_its_replay() {
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let drawn = (0..100).map(|_| happens().new_tree(&mut runner).unwrap().current());
    let sessions: Vec<_> = drawn.map(|all| material(session(&all).messages())).collect();
    all_came(&check_all(&sessions), &[Moment::LengthStop, Moment::TurnEnd]);
}

fn all_came(counts: &BTreeMap<Moment, usize>, moments: &[Moment]) {
    for moment in moments.iter().chain([&Moment::BeforeSummary]) {
        assert!(counts.get(moment).is_some_and(|count| *count > 1_000), "{moment}: {counts:?}");
    }
}
