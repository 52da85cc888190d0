//! A thousand seeded schedules of faults: whatever providers and users do, the loop ends, the view is
//! valid, no message is lost, and what was billed is bounded.

use super::faults::{Dice, Faulty, Plan};
use super::world::{agent, answer, is_automatic_fold, is_try, size, view, with_model};
use foldback_core::Limits;
use foldback_core::conversation::Report;
use foldback_core::log::{EntryKind, Finish, Message};
use foldback_core::outcome::Outcome;
use foldback_core::strategy::Strategy;
use foldback_core::validity::Monitor;
use foldback_live::{AgentLoop, Next, Stopped};
use foldback_llm::LlmConfig;
use foldback_providers::errors::Classifier;
use std::fmt::Write as _;
use std::future::Future;
use std::sync::Arc;

const SCHEDULES: u64 = 1_000;
/// Window and output of the agent's model.
const WINDOW: u64 = 6_000;
const OUTPUT: u64 = 600;
/// Requests of an agent in one schedule; one that goes on for ever is stopped by its user.
const REQUESTS: usize = 40;

/// The presets, whether they carry over what the user said, and most summaries that one fold asks for.
const PRESETS: [(&str, &str, u32); 7] = [
    ("opencode", "", 1),
    ("opencode-1.17", "", 1),
    ("brutus", "", 1),
    ("window", "", 1),
    ("window", CARRY, 1),
    ("tiered", "", 3),
    ("opencode-1.17", CARRY, 1),
];
const CARRY: &str = "[carry]\nuser = \"all\"\nplan = true\nbudget = 600\n";

/// One run, and what it must not do.
struct Run {
    seed: u64,
    preset: &'static str,
    carries: bool,
    dice: Dice,
    agent: AgentLoop,
    model: Arc<Faulty>,
    log: Vec<Message>,
    pinned: Vec<String>,
    monitor: Monitor,
    /// Requests of the agent, and folds that may have asked for summaries.
    requests: usize,
    tries: usize,
    cancelled: usize,
    /// Automatic folds since the last answer.
    folds: usize,
    transcript: String,
}

impl Run {
    fn new(seed: u64, strategy: &Arc<Strategy>, preset: &'static str, carries: bool) -> Self {
        let mut dice = Dice::new(seed);
        let good = [100, 80, 50, 0][dice.below(4) as usize];
        let model = Arc::new(Faulty::new(Plan::Drawn { dice: Dice::new(seed ^ 0xfeed), good }));
        let limits = Limits::new(WINDOW, OUTPUT);
        Self {
            seed,
            preset,
            carries,
            agent: agent(strategy, Some(&model), limits),
            dice,
            model,
            log: Vec::new(),
            pinned: Vec::new(),
            monitor: Monitor::default(),
            requests: 0,
            tries: 0,
            cancelled: 0,
            folds: 0,
            transcript: String::new(),
        }
    }

    fn text(&mut self, tokens: u64) -> String {
        let mut out = String::new();
        while (out.len() as u64) < tokens * 4 {
            let _ = write!(out, "w{} ", self.dice.below(100_000));
        }
        out
    }

    fn log(&mut self, message: &Message) {
        self.log.push(message.clone());
    }

    async fn run(&mut self) {
        let turns = 1 + self.dice.below(5);
        for turn in 0..turns {
            let tokens = if self.dice.chance(8) { 4_000 } else { 5 + self.dice.below(120) };
            let said = self.text(tokens);
            let user = Message::user(format!("u{turn}"), said);
            self.log(&user);
            self.agent.user(user).await;
            self.check();
            if self.turn().await {
                break;
            }
        }
    }

    /// One user turn; says whether the agent has to stop for good.
    async fn turn(&mut self) -> bool {
        let mut retries = 0;
        loop {
            if self.requests >= REQUESTS {
                return true;
            }
            self.meddle().await;
            self.before_call().await;
            self.requests += 1;
            self.valid();
            let next = match self.provider() {
                Err(error) => {
                    let next = self.agent.refused(&error).await;
                    self.check();
                    if matches!(next, Next::Stopped(Stopped::Provider(_))) && retries < 2 {
                        // Waiting and sending again is the agent's business.
                        retries += 1;
                        Next::Call
                    } else {
                        next
                    }
                }
                Ok(message) => {
                    self.log(&message);
                    let calls: Vec<String> = message.call_ids().map(str::to_owned).collect();
                    self.folds = 0;
                    let mut next = self.agent.answered(message).await;
                    self.check();
                    if next == Next::Tools {
                        let results = self.results(&calls);
                        next = self.agent.results(results).await;
                        self.check();
                    }
                    next
                }
            };
            let _ = writeln!(self.transcript, "{} {next:?}", self.requests);
            match next {
                Next::Call => {}
                Next::Finished => {
                    assert!(self.agent.conversation().has_finished(), "{}", self.name());
                    return false;
                }
                Next::Stopped(_) => return false,
                Next::Tools => panic!("{}: results were given", self.name()),
            }
        }
    }

    /// Proactive, and now and then given up halfway.
    async fn before_call(&mut self) {
        if self.dice.chance(10) {
            let polls = self.dice.below(6);
            let before = view(self.agent.conversation());
            if !within(polls, self.agent.before_call()).await {
                self.cancelled += 1;
                let after = view(self.agent.conversation());
                let cleared = self.agent.conversation().counters().prune_operations > 0;
                assert!(
                    before == after || cleared,
                    "{}: a cancelled compaction changed the view",
                    self.name()
                );
                return;
            }
        } else {
            self.agent.before_call().await;
        }
        self.check();
    }

    /// What people do meanwhile.
    async fn meddle(&mut self) {
        match self.dice.below(40) {
            0 => {
                self.agent.compact(Some("Keep the numbers.".to_owned())).await;
                self.check();
            }
            1 => {
                self.agent.conversation_mut().undo();
            }
            2 => {
                let len = self.agent.conversation().history().len() as u64;
                let pos = self.dice.below(len.max(1)) as usize;
                let conversation = self.agent.conversation_mut();
                if let Some(message) = conversation.history().get(pos).cloned()
                    && !message.is_entry()
                    && conversation.view().is_visible(pos)
                    && !conversation.view().has_edit(pos)
                    && message.shown_text().len() < 400
                {
                    conversation.pin(pos);
                    self.pinned.push(message.shown_text());
                }
            }
            _ => {}
        }
    }

    /// The agent's own model and its provider.
    fn provider(&mut self) -> Result<Message, foldback_core::provider::ProviderError> {
        let input = size(self.agent.conversation());
        let classify = |status, body: &str| {
            Classifier::builtin().classify(Some("anthropic"), Some(status), body)
        };
        if input > WINDOW {
            let body = format!(
                r#"{{"type":"error","error":{{"type":"invalid_request_error","message":"prompt is too long: {input} tokens > {WINDOW} maximum"}}}}"#
            );
            return Err(classify(400, &body));
        }
        let id = format!("a{}", self.requests);
        match self.dice.below(100) {
            0..=2 => Err(classify(
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            )),
            3..=4 => Err(foldback_core::provider::ProviderError::new(
                foldback_core::provider::ErrorKind::Transport,
                "cut",
            )),
            5..=7 => Ok(answer(&id, "half a", &[], Finish::Length, input)),
            8..=9 => Ok(answer(&id, "", &[], Finish::Stop, input)),
            10..=14 => Ok(answer(&id, "Done.", &[], Finish::Stop, input)),
            _ => {
                let calls: Vec<(String, String)> = (0..1 + self.dice.below(3))
                    .map(|n| {
                        let path = self.dice.below(6);
                        let id = format!("c{}-{n}", self.requests);
                        (id, format!("{{\"path\":\"src/f{path}.rs\"}}"))
                    })
                    .collect();
                Ok(answer(&id, "Reading on.", &calls, Finish::ToolCalls, input))
            }
        }
    }

    fn results(&mut self, calls: &[String]) -> Vec<Message> {
        let mut results = Vec::new();
        for call in calls {
            let tokens = if self.dice.chance(6) { 2_000 } else { 20 + self.dice.below(500) };
            let text = self.text(tokens);
            let message = Message::tool(format!("r-{call}"), call.clone(), "read", text);
            self.log(&message);
            results.push(message);
        }
        results
    }

    /// After every thing that happened: reports are honest, nothing is lost.
    fn check(&mut self) {
        let reports = self.agent.reports().to_vec();
        for report in &reports {
            self.tries += usize::from(is_try(report));
            self.folds += usize::from(is_automatic_fold(report));
            self.honest(report);
            let _ = writeln!(
                self.transcript,
                "  {} {} {}",
                report.moment, report.stage, report.outcome
            );
        }
        assert!(
            self.folds <= 1,
            "{}: {} automatic compactions between two answers\n{}",
            self.name(),
            self.folds,
            self.transcript
        );
        let history = self.agent.conversation().history();
        let log: Vec<&Message> = history
            .iter()
            .map(|(_, message)| &**message)
            .filter(|message| !message.is_entry())
            .collect();
        let same = log.len() == self.log.len()
            && log.iter().zip(&self.log).all(|(kept, said)| **kept == *said);
        assert!(same, "{}: the log is not what was said", self.name());
    }

    fn honest(&self, report: &Report) {
        let Report { outcome, tokens_before, tokens_after, .. } = report;
        match outcome {
            Outcome::Changed | Outcome::Degraded(_) => {
                assert!(tokens_after <= tokens_before, "{}: grew: {report:?}", self.name())
            }
            _ => {
                assert_eq!(tokens_before, tokens_after, "{}: {report:?}", self.name());
            }
        }
    }

    /// The request that goes out.
    fn valid(&mut self) {
        let name = self.name();
        let conversation = self.agent.conversation();
        let findings = self.monitor.check(conversation);
        assert!(findings.caused.is_empty(), "{name}: {:?}", findings.caused);
        let sent = view(conversation);
        for pinned in &self.pinned {
            assert!(sent.contains(pinned.trim_end()), "{name}: a pinned message is gone");
        }
        if self.carries {
            let task = self.log[0].said();
            let start: String = task.chars().take(40).collect();
            assert!(sent.contains(start.trim_end()), "{name}: the task is gone");
        }
        let last = conversation.sent().last().map(|shown| Arc::clone(shown.message));
        let told = last.is_some_and(|message| message.is_entry_of(EntryKind::Continue));
        assert!(
            !(told && conversation.has_finished()),
            "{name}: told to go on after it had finished"
        );
    }

    fn name(&self) -> String {
        format!("seed {} under {}", self.seed, self.preset)
    }
}

/// Polls a future this often; says whether it ended. Dropping it is how an agent cancels.
async fn within(polls: u64, work: impl Future<Output = ()>) -> bool {
    let patience = async {
        for _ in 0..polls {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = work => true,
        () = patience => false,
    }
}

fn strategies() -> Vec<Arc<Strategy>> {
    PRESETS.iter().map(|(preset, changes, _)| with_model(preset, changes)).collect()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_schedules_end_well() {
    let strategies = strategies();
    let each = LlmConfig { attempts: LlmConfig::default().attempts, ..LlmConfig::default() }
        .max_requests() as usize;
    let (mut tries, mut cancelled, mut folds, mut most) = (0, 0, 0, 0);
    let mut faults = std::collections::BTreeMap::new();
    for seed in 0..SCHEDULES {
        let index = seed as usize % PRESETS.len();
        let (preset, changes, summaries) = PRESETS[index];
        let mut run = Run::new(seed, &strategies[index], preset, !changes.is_empty());
        run.run().await;
        // A fold is tried at most once before a request and once because of it or after it.
        assert!(run.requests <= REQUESTS, "{}", run.name());
        assert!(
            run.tries <= 2 * run.requests + 2 + REQUESTS / 10,
            "{}: {} tries for {} requests",
            run.name(),
            run.tries,
            run.requests
        );
        let bound = (run.tries + run.cancelled) * summaries as usize * each;
        let billed = run.model.billed();
        assert!(billed <= bound, "{}: {billed} billed, at most {bound}", run.name());
        tries += run.tries;
        cancelled += run.cancelled;
        folds += run.agent.conversation().counters().folds;
        most = most.max(billed);
        for fault in run.model.faults() {
            *faults.entry(format!("{fault:?}")).or_insert(0_u32) += 1;
        }
    }
    println!(
        "{SCHEDULES} schedules: {tries} compactions tried, {folds} committed, {cancelled} requests given up halfway, at most {most} requests for summaries in one schedule; {faults:?}"
    );
    assert!(folds > SCHEDULES, "too little happened to prove anything: {folds} folds");
    assert_eq!(faults.len(), super::faults::Fault::ALL.len(), "{faults:?}");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_is_its_seed() {
    for seed in 0..28 {
        let index = seed as usize % PRESETS.len();
        let mut transcripts = Vec::new();
        let (preset, changes, _) = PRESETS[index];
        for _ in 0..2 {
            // Compiled anew: a strategy may keep summaries.
            let strategy = with_model(preset, changes);
            let mut run = Run::new(seed, &strategy, preset, !changes.is_empty());
            run.run().await;
            transcripts.push(run.transcript + &view(run.agent.conversation()));
        }
        let lines = transcripts[0].lines().zip(transcripts[1].lines());
        for (line, (first, second)) in lines.enumerate() {
            assert_eq!(first, second, "seed {seed}, line {line}");
        }
        assert_eq!(transcripts[0].len(), transcripts[1].len(), "seed {seed}");
    }
}
