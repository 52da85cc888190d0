//! From what a row gives to what can be seen: a preset with the `llm` summarizer, an agent's loop around
//! it, and everything that reached the model, the observers and the user.
//!
//! Time is tokio's, paused: it stands still while anything can be done, and leaps to the next timer.

use super::given::{Act, Given, NOW, strategy};
use super::model::{AGENT, Scripted};
use foldback_core::conversation::{Conversation, Report, StageRole};
use foldback_core::event::Event;
use foldback_core::log::{Answer, EntryKind, Finish, Message, Origin, Part};
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, Model, ProviderError, Turn,
};
use foldback_core::services::{FixedClock, Observer, Services};
use foldback_core::{Frame, Role};
use foldback_live::{AgentLoop, Next, Stopped};
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Writes down what observers are told of a fold, a word or two for each.
#[derive(Debug, Default)]
struct Witness(Mutex<Vec<String>>);

impl Observer for Witness {
    fn observe(&self, event: &Event) {
        let note = match event {
            Event::PreCompact { trigger, .. } => format!("pre-compact {}", trigger.as_str()),
            Event::Boundary { trigger, tokens_before, .. } => {
                let size = if *tokens_before > 0 { "" } else { " of nothing" };
                format!("boundary {}{size}", trigger.as_str())
            }
            Event::SessionStart { .. } => "session-start".to_owned(),
            _ => return,
        };
        self.0.lock().unwrap().push(note);
    }
}

/// What can be seen after a row.
#[derive(Debug)]
pub(crate) struct Seen {
    /// How the last act ended: `finished`, `overflow: …`, `length: …`, `provider: …`, `interrupted`, or
    /// the outcome of a person's compaction.
    pub(crate) ended: String,
    /// Who was asked, in order: `agent summary agent`.
    pub(crate) asked: String,
    /// The requests as text, turns separated by [`TURN`].
    pub(crate) requests: Vec<String>,
    /// The view, `role: text`.
    pub(crate) view: Vec<String>,
    /// What was stored by compactions: kinds of entries.
    pub(crate) entries: Vec<EntryKind>,
    /// Every text of every stored message, with tool calls spelled out.
    pub(crate) stored: String,
    /// Folds in force.
    pub(crate) folds: usize,
    /// Who wrote the summaries.
    pub(crate) by: Vec<String>,
    /// Whether the log is what was appended, in order.
    pub(crate) whole: bool,
    /// Outcomes of all folds that were tried, in order, with their reasons.
    pub(crate) outcomes: Vec<String>,
    /// What observers were told.
    pub(crate) events: String,
    /// Milliseconds that were waited.
    pub(crate) waited: u64,
    /// Replies that were not requested.
    pub(crate) left: usize,
}

/// Stands between the turns of a request.
pub(crate) const TURN: &str = "\n=====\n";

/// Runs a row.
pub(crate) fn run(given: &Given) -> Seen {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap()
        .block_on(Session::new(given).play(given))
}

/// An agent with one tool, and its conversation.
struct Session {
    agent: AgentLoop,
    model: Arc<Scripted>,
    witness: Arc<Witness>,
    /// Ids of what was appended.
    appended: Vec<String>,
    outcomes: Vec<String>,
}

impl Session {
    fn new(given: &Given) -> Self {
        let model = Arc::new(Scripted::new(given.model.clone()));
        let witness = Arc::new(Witness::default());
        let mut services = Services::with_clock(Arc::new(FixedClock::at(NOW)))
            .with_observer(Arc::clone(&witness) as _)
            .with_model(Arc::clone(&model) as _);
        services.hooks.extend(given.hook.clone().map(|hook| Arc::new(hook) as _));
        services.extensions = given.extensions();
        let strategy = Arc::new(strategy(given));
        let conversation = Conversation::new(strategy, given.limits, Frame::default(), services);
        Self {
            agent: AgentLoop::new(conversation),
            model,
            witness,
            appended: Vec::new(),
            outcomes: Vec::new(),
        }
    }

    async fn play(mut self, given: &Given) -> Seen {
        let start = tokio::time::Instant::now();
        let mut ended = String::new();
        for act in &given.acts {
            ended = self.act(act).await;
        }
        let waited = start.elapsed().as_millis() as u64;
        self.seen(ended, waited)
    }

    async fn act(&mut self, act: &Act) -> String {
        match act {
            Act::Interrupted(act, after) => {
                let limit = Duration::from_millis(*after);
                let done = tokio::time::timeout(limit, Box::pin(self.act(act))).await;
                done.unwrap_or_else(|_| "interrupted".to_owned())
            }
            Act::Stored(message) => {
                self.appended.push(message.id.clone());
                self.agent.conversation_mut().append(message.clone());
                "stored".to_owned()
            }
            Act::Compact => {
                self.agent.compact(None).await;
                self.note();
                self.outcomes.last().cloned().unwrap_or_default()
            }
            Act::Turn(prompt) => self.turn(prompt.clone()).await,
        }
    }

    async fn turn(&mut self, prompt: Message) -> String {
        self.appended.push(prompt.id.clone());
        self.agent.user(prompt).await;
        self.note();
        loop {
            self.agent.before_call().await;
            self.note();
            let mut next = match self.ask().await {
                Ok(completion) => self.answered(completion).await,
                Err(error) => {
                    if let Some(text) = self.model.broken() {
                        self.half(text);
                    }
                    self.agent.refused(&error).await
                }
            };
            self.note();
            if next == Next::Tools {
                let results = self.results();
                next = self.agent.results(results).await;
                self.note();
            }
            match next {
                Next::Call => {}
                Next::Tools => return "waits for a tool".to_owned(),
                Next::Finished => return "finished".to_owned(),
                Next::Stopped(Stopped::Overflow { error, .. }) => {
                    return format!("overflow: {error}");
                }
                Next::Stopped(Stopped::Length { why }) => return format!("length: {why}"),
                Next::Stopped(Stopped::Provider(error)) => return format!("provider: {error}"),
            }
        }
    }

    /// The agent's request: what the conversation sends, a turn for each message.
    async fn ask(&self) -> Result<Completion, ProviderError> {
        let sent = self.agent.conversation().sent();
        let turns = sent.iter().map(|shown| {
            let message = shown.to_message();
            let role = match message.role {
                Role::Assistant => Role::Assistant,
                Role::System | Role::User | Role::Tool => Role::User,
            };
            let text = message.shown_text();
            Turn { role, text }
        });
        let request = CompletionRequest {
            endpoint: Endpoint { model: AGENT.to_owned(), ..Endpoint::default() },
            system: String::new(),
            turns: turns.collect(),
            temperature: None,
            max_output: 1_000,
            timeout: Duration::from_secs(60),
            replicate: 0,
        };
        self.model.complete(&request).await
    }

    async fn answered(&mut self, completion: Completion) -> Next {
        let id = format!("answer-{}", self.appended.len());
        let parts = if completion.finish == Finish::ToolCalls {
            // The tool gets its output along, and gives it back.
            let output = serde_json::Value::String(completion.text).to_string();
            vec![Part::call(format!("{id}-call"), "echo", output)]
        } else {
            vec![Part::text(completion.text)]
        };
        let answer = Answer {
            usage: completion.usage,
            finish: Some(completion.finish),
            ..Answer::default()
        };
        let message = Message::assistant(&id, parts).with_answer(answer);
        self.appended.push(id);
        self.agent.answered(message).await
    }

    /// Stores half an answer, as an agent does that has shown it.
    fn half(&mut self, text: String) {
        let id = format!("half-{}", self.appended.len());
        let answer = Answer { finish: Some(Finish::Error), ..Answer::default() };
        let message = Message::assistant(&id, vec![Part::text(text)]).with_answer(answer);
        self.appended.push(id);
        self.agent.conversation_mut().append(message);
    }

    /// Results of the calls of the last answer.
    fn results(&mut self) -> Vec<Message> {
        let history = self.agent.conversation().history();
        let last = history.iter().next_back().map(|(_, message)| message);
        let calls = last.into_iter().flat_map(|message| &message.parts);
        let results: Vec<Message> = calls
            .filter_map(Part::as_call)
            .map(|call| {
                let output = serde_json::from_str::<String>(&call.arguments).unwrap();
                Message::tool(format!("{}-result", call.call_id), &call.call_id, &call.tool, output)
            })
            .collect();
        self.appended.extend(results.iter().map(|result| result.id.clone()));
        results
    }

    /// Takes down how folds ended.
    fn note(&mut self) {
        let folds = self.agent.reports().iter();
        let folds = folds.filter(|report| report.role == StageRole::Fold);
        self.outcomes.extend(folds.map(|report: &Report| report.outcome.to_string()));
    }

    fn seen(self, ended: String, waited: u64) -> Seen {
        let conversation = self.agent.conversation();
        let requests = self.model.requests();
        let who = |request: &CompletionRequest| {
            if request.endpoint.model == AGENT { "agent" } else { "summary" }
        };
        let asked: Vec<&str> = requests.iter().map(who).collect();
        let log = conversation.history().iter();
        let log: Vec<&str> = log
            .filter(|(_, message)| !message.is_entry())
            .map(|(_, message)| &*message.id)
            .collect();
        let mut stored = String::new();
        let mut entries = Vec::new();
        for (_, message) in conversation.history().iter() {
            if let Origin::Entry(kind) = message.origin {
                entries.push(kind);
                for part in &message.parts {
                    let _ = writeln!(stored, "{}: {}", part.kind_name(), part.shown());
                }
            }
        }
        let view = conversation.sent();
        let view: Vec<String> = view
            .iter()
            .map(|shown| {
                let message = shown.to_message();
                format!("{}: {}", message.role.as_str(), message.shown_text())
            })
            .collect();
        Seen {
            ended,
            asked: asked.join(" "),
            requests: requests.iter().map(text).collect(),
            view,
            entries,
            stored,
            folds: conversation.folds().len(),
            by: conversation.folds().iter().flat_map(|fold| fold.plan.summaries.clone()).collect(),
            whole: log == self.appended,
            events: self.witness.0.lock().unwrap().join(", "),
            outcomes: self.outcomes,
            waited,
            left: self.model.left(),
        }
    }
}

fn text(request: &CompletionRequest) -> String {
    let turns = request.turns.iter().map(|turn| turn.text.as_str());
    let texts: Vec<&str> = std::iter::once(request.system.as_str()).chain(turns).collect();
    texts.join(TURN)
}
