//! `opencode-1.18` beside the program opencode-ai 1.18.33: where the kept tail starts, what the request for the summary shows, and
//! which earlier summary it holds, at compactions in the course of a session. After each both go on with what they made of it.

use crate::differential::{
    ask_program, drawn_sessions, record, recorded_sessions, stored_as, strategy,
};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{EntryKind, Message, Part, PartKind, ResultStatus, Role};
use foldback_core::moment::Moment;
use foldback_formats::Session;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Compactions of a recorded session at most, and of a drawn one: each takes the program most of a second.
const OF_RECORDED: usize = 8;
const OF_DRAWN: usize = 2;

/// A session as OpenCode stores it: its messages with those of the log that each holds, and how many there are before each
/// compaction.
struct Case {
    name: String,
    limits: [u64; 2],
    stored: Vec<(Value, Vec<Arc<Message>>)>,
    at: Vec<usize>,
}

impl Case {
    fn new(limits: [u64; 2], session: &Session, most: usize) -> Self {
        let kept = stored_as("opencode", session);
        let mut stored: Vec<(Value, Vec<Arc<Message>>)> = Vec::new();
        for message in kept.log() {
            match stored.last_mut().filter(|(_, last)| last[0].record == message.record) {
                Some((_, messages)) => messages.push(Arc::clone(message)),
                None => {
                    let json = serde_json::from_str(record(&kept, message)).unwrap();
                    stored.push((json, vec![Arc::clone(message)]));
                }
            }
        }
        let prompts = (1..stored.len()).filter(|at| stored[*at].1[0].role == Role::User);
        let turns: Vec<usize> = prompts.chain([stored.len()]).collect();
        let every = turns.len().div_ceil(most).max(1);
        let at = turns.into_iter().rev().step_by(every).collect::<Vec<_>>();
        Self { name: session.id.clone(), limits, stored, at: at.into_iter().rev().collect() }
    }

    fn summaries(&self) -> impl Iterator<Item = String> + Clone + use<> {
        (0..self.at.len()).map(|n| format!("## Objective\n- {n} {}", "x".repeat(n * 37 % 900)))
    }

    fn json(&self) -> Value {
        let [context, output] = self.limits;
        json!({
            "messages": self.stored.iter().map(|(json, _)| json).collect::<Vec<_>>(),
            "at": self.at,
            "summaries": self.summaries().collect::<Vec<_>>(),
            "limits": { "context": context, "output": output },
        })
    }

    fn conversation(&self, summaries: &Arc<Scripted>) -> Conversation {
        let mut strategy = (*strategy("name = \"here\"\nextends = \"opencode-1.18\"\n")).clone();
        // What the original does below the guards.
        strategy.guards = Guards { no_growth: false, repeat: false, breaker: 0, ..strategy.guards };
        strategy.summarizer = Some(Arc::clone(summaries) as _);
        let [context, output] = self.limits;
        talk::conversation(strategy, Limits::new(context, output))
    }

    fn compare(&self, answers: &Value, found: &mut Found) {
        let mut texts = self.summaries();
        let summaries = Scripted::by(move |_| Ok(texts.next().unwrap()));
        let mut talk = self.conversation(&summaries);
        let mut appended = 0;
        for (at, theirs) in self.at.iter().zip(answers.as_array().unwrap()) {
            for (_, messages) in &self.stored[appended..*at] {
                talk::append(&mut talk, messages.iter().map(Arc::clone));
            }
            appended = *at;
            let before = summaries.asked().len();
            talk::at(&mut talk, Moment::Manual);
            let Some(request) = summaries.asked().get(before).cloned() else {
                found.note("nothing but what compaction wrote");
                return;
            };
            found.compactions += 1;
            let ours = json!({
                "tail": self.tail(&talk),
                "record": record_of(&request.messages),
                "previous": request.previous,
            });
            let theirs = read(theirs);
            found.tails += usize::from(!ours["tail"].is_null());
            if ours == theirs {
                continue;
            }
            match self.difference(&ours, &theirs) {
                Some(difference) => found.note(difference),
                None => found.faults.push(format!(
                    "{} {:?} at {at}: {}",
                    self.name,
                    self.limits,
                    told(&ours, &theirs)
                )),
            }
            return;
        }
    }

    /// Number of the stored message that the kept tail starts with.
    fn tail(&self, talk: &Conversation) -> Option<usize> {
        let marker = talk.history().iter().rev().find(|(_, m)| m.is_entry_of(EntryKind::Marker))?.1;
        let PartKind::Marker(marker) = &marker.parts[0].kind else { return None };
        let start = marker.tail_start.as_ref()?;
        self.stored.iter().position(|(_, messages)| messages[0].id == *start)
    }

    /// How the two differ, if as the preset says that they do.
    fn difference(&self, ours: &Value, theirs: &Value) -> Option<&'static str> {
        // The program also counts what the provider wants back unaltered, by names of its own.
        let opaque = |message: &Arc<Message>| {
            let is_opaque =
                |part: &Part| matches!(part.kind, PartKind::Reasoning { opaque: Some(_), .. });
            message.parts.iter().any(is_opaque)
        };
        let has_opaque = self.stored.iter().any(|(_, messages)| messages.iter().any(opaque));
        (ours["tail"] != theirs["tail"] && has_opaque)
            .then_some("the size of opaque reasoning decides")
    }
}

/// What the program said, as the preset says it.
fn read(theirs: &Value) -> Value {
    let request = theirs["request"].as_str().unwrap_or_else(|| panic!("{theirs}"));
    let inner =
        request.strip_prefix("Here is the conversation so far:\n\n<conversation>\n").unwrap();
    let (record, rest) = inner.rsplit_once("\n</conversation>\n\n").unwrap();
    let previous = rest
        .split_once("<prior-summary>\n")
        .map(|(_, rest)| rest.split_once("\n</prior-summary>").unwrap().0.to_owned());
    json!({ "tail": theirs["tail"], "record": record, "previous": previous })
}

/// Where two answers part.
fn told(ours: &Value, theirs: &Value) -> String {
    let (a, b) = (ours["record"].as_str().unwrap(), theirs["record"].as_str().unwrap());
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    let near = |text: &str| {
        let from = text.floor_char_boundary(same.saturating_sub(60));
        text[from..].chars().take(200).collect::<String>()
    };
    format!(
        "tail {} for {}, previous {} for {}, records of {} and {}, from {same}:\n{:?}\n{:?}",
        ours["tail"],
        theirs["tail"],
        ours["previous"],
        theirs["previous"],
        a.len(),
        b.len(),
        near(a),
        near(b)
    )
}

/// The messages of a request with the labels that the program gives them.
fn record_of(messages: &[Arc<Message>]) -> String {
    let stored = messages.chunk_by(|a, b| a.record == b.record);
    let entries: Vec<String> = stored.map(entry).filter(|entry| !entry.is_empty()).collect();
    entries.join("\n\n")
}

fn entry(messages: &[Arc<Message>]) -> String {
    let parts = || messages.iter().flat_map(|message| &message.parts);
    if messages[0].role == Role::User {
        let is_file = |text: &&str| text.starts_with("[Attached ");
        let texts = || {
            parts().filter_map(|part| match &part.kind {
                PartKind::Text { text, ignored: false, .. } if !text.is_empty() => Some(&**text),
                _ => None,
            })
        };
        let said: Vec<&str> = texts().filter(|text| !is_file(text)).collect();
        let said = (!said.is_empty()).then(|| format!("[User]: {}", said.join("\n")));
        return said
            .into_iter()
            .chain(texts().filter(is_file).map(str::to_owned))
            .collect::<Vec<_>>()
            .join("\n");
    }
    let mut lines = Vec::new();
    for part in parts() {
        match &part.kind {
            PartKind::Text { text, .. } if !text.is_empty() => {
                lines.push(format!("[Assistant]: {text}"));
            }
            PartKind::Reasoning { text, .. } if !text.is_empty() => {
                lines.push(format!("[Assistant reasoning]: {text}"));
            }
            PartKind::Call(call) => {
                lines.push(format!(
                    "[Assistant tool call]: {}({})",
                    call.tool,
                    call.arguments_value()
                ));
                let results = parts().filter_map(Part::as_result);
                lines.extend(results.filter(|result| result.call_id == call.call_id).filter_map(
                    |result| match result.status {
                        ResultStatus::Completed => Some(format!("[Tool result]: {}", result.text)),
                        ResultStatus::Error | ResultStatus::Retry => {
                            Some(format!("[Tool error]: {}", result.text))
                        }
                        ResultStatus::Pending | ResultStatus::Running => None,
                    },
                ));
            }
            _ => {}
        }
    }
    lines.join("\n")
}

/// What was compared, and what differed as the preset says it does.
#[derive(Debug, Default)]
struct Found {
    compactions: usize,
    tails: usize,
    differences: BTreeMap<&'static str, usize>,
    faults: Vec<String>,
}

impl Found {
    fn note(&mut self, difference: &'static str) {
        *self.differences.entry(difference).or_default() += 1;
    }
}

fn compare(cases: &[Case]) -> Found {
    let asked: Vec<Value> = cases.iter().map(Case::json).collect();
    let answers = ask_program("opencode", &asked);
    let mut found = Found::default();
    for (case, answers) in cases.iter().zip(&answers) {
        case.compare(answers, &mut found);
    }
    assert!(found.faults.is_empty(), "{}\n{found:?}", found.faults.join("\n"));
    println!("{} sessions: {found:?}", cases.len());
    found
}

#[test]
#[ignore = "runs the released program: cargo xtask test-external opencode"]
fn opencode_on_recorded_sessions() {
    let windows = [[200_000, 32_000], [60_000, 8_000], [24_000, 4_000]];
    let cases: Vec<Case> = recorded_sessions()
        .iter()
        .zip(windows.iter().cycle())
        .map(|(session, limits)| Case::new(*limits, session, OF_RECORDED))
        .collect();
    let found = compare(&cases);
    assert!(found.tails > 100, "{found:?}");
}

#[test]
#[ignore = "runs the released program: cargo xtask test-external opencode"]
fn opencode_on_drawn_sessions() {
    let windows = [[12_000, 4_000], [6_000, 2_000], [200_000, 32_000]];
    let cases: Vec<Case> = drawn_sessions(500)
        .iter()
        .zip(windows.iter().cycle())
        .map(|(session, limits)| Case::new(*limits, session, OF_DRAWN))
        .collect();
    let found = compare(&cases);
    assert!(found.tails > 100, "{found:?}");
}
