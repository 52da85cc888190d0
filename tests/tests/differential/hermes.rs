//! `hermes` beside hermes-agent 0.19.0: at every fold the package is given the same view, and what it leaves, what it would have
//! summarized and how it counts are compared.

use crate::differential::dsh::{answered, plain};
use crate::differential::{Package, drawn_sessions, numbered, recorded_sessions, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::{Pressure, SummaryRequest};
use foldback_core::step::{Step, steps};
use foldback_formats::Session;
use foldback_testkit::talk;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

const PACKAGE: Package = Package { name: "hermes", script: "hermes.py" };

/// What is left of a message: its number, -1 for the new summary; its text; the arguments of its calls.
type Left = (i64, String, Vec<(String, String)>);

/// What the package does with a view.
#[derive(Debug, Deserialize)]
struct Theirs {
    threshold: u64,
    rough: Vec<u64>,
    left: Vec<Left>,
    task: Option<String>,
    goes: Vec<String>,
    focus: Option<String>,
    previous: Option<String>,
    budget: u64,
}

/// A fold of ours.
struct Fold {
    name: String,
    window: u64,
    before: Vec<Arc<Message>>,
    rough: Vec<u64>,
    left: Vec<Left>,
    request: SummaryRequest,
    summary: String,
    trigger: Option<u64>,
}

fn said(message: &Message) -> String {
    let texts = message
        .parts
        .iter()
        .filter(|part| !matches!(part.kind, PartKind::Reasoning { .. } | PartKind::Call(_)));
    texts.map(Part::shown).collect()
}

fn calls(message: &Message) -> impl Iterator<Item = &foldback_core::log::ToolCall> {
    message.parts.iter().filter_map(|part| part.as_call())
}

fn told(message: &Message, number: usize) -> Value {
    let thoughts = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Reasoning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let calls = calls(message)
        .map(|call| json!({ "id": call.call_id, "name": call.tool, "args": call.arguments }));
    let mut told = json!({
        "number": number, "role": message.role.as_str(), "text": said(message),
        "thought": thoughts.collect::<String>(), "calls": calls.collect::<Vec<_>>(),
    });
    if let Some(result) = message.parts.first().and_then(|part| part.as_result()) {
        told["result"] = json!({ "id": result.call_id, "name": result.tool });
    }
    told
}

impl Fold {
    fn json(&self) -> Value {
        let messages = self.before.iter().zip(0..).map(|(message, number)| told(message, number));
        json!({ "window": self.window, "summary": self.summary, "messages": messages.collect::<Vec<_>>() })
    }

    fn compare(&self, theirs: &Theirs) {
        let place = format!("{}, {}, {} messages", self.name, self.window, self.before.len());
        assert_eq!(self.rough, theirs.rough, "{place}");
        assert_eq!(self.trigger.unwrap_or(theirs.threshold), theirs.threshold, "{place}");
        for (ours, theirs) in self.left.iter().zip(&theirs.left) {
            assert_eq!(ours, theirs, "{place}");
        }
        assert_eq!(self.left.len(), theirs.left.len(), "{place}");
        let goes: Vec<String> = self.request.messages.iter().map(|one| serialized(one)).collect();
        for (ours, theirs) in goes.iter().zip(&theirs.goes) {
            assert_eq!(ours, theirs, "{place}");
        }
        assert_eq!(goes.len(), theirs.goes.len(), "{place}");
        let focus = self.request.instructions.first();
        assert_eq!(focus, theirs.focus.as_ref(), "{place}");
        assert_eq!(self.request.previous, theirs.previous, "{place}");
        // Theirs rounds once, ours by message.
        let off = self.request.budget.abs_diff(theirs.budget);
        assert!(off <= goes.len() as u64, "{place}: {} {}", self.request.budget, theirs.budget);
        let task = self.summary.contains("## Historical Task Snapshot");
        assert_eq!(task, theirs.task.is_some(), "{place}");
        let kept = theirs.task.as_ref().is_none_or(|task| self.summary.contains(task));
        assert!(kept, "{place}: {:?}\n{}", theirs.task, self.summary);
    }
}

/// What the summarizer sees of a message, as the package writes it.
fn serialized(message: &Message) -> String {
    let text = said(message);
    match message.role {
        Role::Tool => {
            let id = message.parts.iter().find_map(|part| part.as_result()).map(|of| &*of.call_id);
            format!("[TOOL RESULT {}]: {text}", id.unwrap_or_default())
        }
        Role::Assistant => {
            let calls: Vec<String> =
                calls(message).map(|call| format!("  {}({})", call.tool, call.arguments)).collect();
            match calls.is_empty() {
                true => format!("[ASSISTANT]: {text}"),
                false => format!("[ASSISTANT]: {text}\n[Tool calls:\n{}\n]", calls.join("\n")),
            }
        }
        role => format!("[{}]: {text}", role.as_str().to_uppercase()),
    }
}

fn sent(talk: &Conversation) -> Vec<Arc<Message>> {
    talk.sent().iter().map(|shown| shown.to_shared()).collect()
}

/// The harness keeps what an answer says as one text.
fn in_one_text(mut message: Message) -> Message {
    if message.role == Role::Assistant {
        let text = message.said();
        message.parts.retain(|part| !matches!(part.kind, PartKind::Text { .. }));
        message.parts.insert(0, Part::text(text));
    }
    message
}

/// The folds of a session in a window.
fn folds(session: &Session, window: u64) -> Vec<Fold> {
    let log = answered(session.log().flat_map(|message| plain(message)).map(in_one_text));
    let log: Vec<Arc<Message>> = log.into_iter().map(Arc::new).collect();
    let summaries = numbered();
    let mut strategy = (*strategy("name = \"here\"\nextends = \"hermes\"\n")).clone();
    strategy.guards =
        Guards { no_growth: false, repeat: false, breaker: 0, summary: false, ..strategy.guards };
    strategy.summarizer = Some(Arc::clone(&summaries) as _);
    let estimator = Arc::clone(strategy.estimator());
    let mut talk = talk::conversation(strategy, Limits::new(window, 0));
    let (mut found, mut made) = (Vec::new(), 0);
    let mut look = |talk: &mut Conversation, moment: Moment| {
        let before = sent(talk);
        let reports = talk::at(talk, moment);
        let folded = talk.folds().iter().filter(|fold| fold.plan.layout.is_some()).count();
        if std::mem::replace(&mut made, folded) == folded {
            return;
        }
        let numbers: HashMap<&str, i64> =
            before.iter().zip(0..).map(|(message, number)| (&*message.id, number)).collect();
        let after = sent(talk);
        let left = after.iter().map(|message| {
            let number = numbers.get(&*message.id).copied().unwrap_or(-1);
            let text = if number < 0 { String::new() } else { said(message) };
            let calls = calls(message).map(|call| (call.call_id.clone(), call.arguments.clone()));
            (number, text, calls.collect())
        });
        let new = |message: &&Arc<Message>| !numbers.contains_key(&*message.id);
        let summary = after.iter().find(new).unwrap();
        assert!(summary.is_entry_of(EntryKind::Summary));
        found.push(Fold {
            name: session.id.clone(),
            window,
            rough: before.iter().map(|message| estimator.count(message).total()).collect(),
            left: left.collect(),
            request: summaries.asked().last().unwrap().clone(),
            summary: summary.said(),
            trigger: reports
                .iter()
                .find_map(|report| Some(report.decision.as_ref()?.trigger))
                .filter(|_| moment == Moment::CallStart),
            before,
        });
    };
    for step in steps(&log) {
        match step {
            Step::Append(message) => {
                talk.append(Arc::clone(message));
            }
            Step::At(moment) => look(&mut talk, moment),
            Step::StepEnd { .. } => look(&mut talk, Moment::StepEnd),
            Step::Call { .. } => {}
        }
    }
    look(&mut talk, Moment::Manual);
    found
}

fn compare(what: &str, sessions: &[Session], windows: &[u64]) {
    let of = |session| windows.iter().flat_map(move |window| folds(session, *window));
    let folds: Vec<Fold> = sessions.iter().flat_map(of).collect();
    let asked: Vec<Value> = folds.iter().map(Fold::json).collect();
    let theirs: Vec<Theirs> = PACKAGE.says(&asked);
    for (fold, theirs) in folds.iter().zip(&theirs) {
        fold.compare(theirs);
    }
    let lines = |fold: &&Fold| fold.left.iter().any(|(_, text, _)| text.starts_with('['));
    println!(
        "{what}: {} sessions, windows of {windows:?}: {} folds, {} with lines, all the same",
        sessions.len(),
        folds.len(),
        folds.iter().filter(lines).count()
    );
    assert!(folds.len() > 500, "{what}: {} folds", folds.len());
}

#[test]
#[ignore = "needs hermes-agent: cargo xtask test-external hermes"]
fn hermes_leaves_the_same_of_drawn_sessions() {
    compare("drawn", &drawn_sessions(1_000), &[800, 2_000, 6_000]);
}

#[test]
#[ignore = "needs hermes-agent: cargo xtask test-external hermes"]
fn hermes_leaves_the_same_of_recorded_sessions() {
    compare("recorded", &recorded_sessions(), &[8_000, 30_000, 64_000, 200_000]);
}

#[test]
#[ignore = "needs hermes-agent: cargo xtask test-external hermes"]
fn thresholds_are_the_same() {
    let windows: Vec<u64> =
        (1..1_200).map(|step| step * 997).chain([1, 64_000, 85_333, 511_999, 512_000]).collect();
    let theirs: Vec<Vec<u64>> = PACKAGE.says(&[json!({ "windows": windows })]);
    let strategy = strategy("name = \"here\"\nextends = \"hermes\"\n");
    let policy = &strategy.overflow.as_ref().unwrap().stage;
    let trigger = |window: &u64| {
        policy.decide(&Pressure::at(Moment::CallStart, Limits::new(*window, 0))).trigger
    };
    let ours: Vec<u64> = windows.iter().map(trigger).collect();
    assert_eq!(ours, theirs[0]);
}
