//! `tunacode-2026-02` and `tunacode-0.2` beside tunacode-cli 0.1.78 and 0.2.3: when a user turn starts, at every fifth call as if the
//! provider had refused it, and in the end as if a person had asked, both decide and go on with what they made of it.

use crate::differential::{Package, drawn_sessions, recorded_sessions, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{EntryKind, Media, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::SummaryError;
use foldback_core::step::{Step, steps};
use foldback_formats::Session;
use foldback_stages::python;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// A release: name of its preset, and of the folder that the package is installed in.
#[derive(Clone, Copy, Debug)]
struct Version {
    preset: &'static str,
    installed: &'static str,
}

const FIRST: Version = Version { preset: "tunacode-2026-02", installed: "tunacode" };
const NEWEST: Version = Version { preset: "tunacode-0.2", installed: "tunacode-0.2" };

/// What a case runs under.
#[derive(Clone, Copy, Debug)]
struct Settings {
    version: Version,
    window: u64,
    reserve: u64,
    keep: u64,
}

/// One session under some settings.
struct Case<'s> {
    session: &'s Session,
    settings: Settings,
    /// Numbers of the messages by id.
    numbers: HashMap<&'s str, usize>,
}

/// What happens in a case.
enum Happens<'s> {
    Appended(&'s Arc<Message>),
    Asked(Moment),
}

fn happens(session: &Session) -> Vec<Happens<'_>> {
    let step = |step| match step {
        Step::Append(message) => Some(Happens::Appended(message)),
        Step::At(Moment::TurnStart) => Some(Happens::Asked(Moment::TurnStart)),
        Step::Call { call, .. } if call % 5 == 4 => Some(Happens::Asked(Moment::ProviderOverflow)),
        _ => None,
    };
    let all = steps(session.log()).into_iter().filter_map(step);
    let by_hand = has_ended(session).then_some(Happens::Asked(Moment::Manual));
    all.chain(by_hand).collect()
}

/// Whether the last answer has the results of its calls: a person asks between two requests.
fn has_ended(session: &Session) -> bool {
    let last = session.log().filter(|message| message.is_answer()).last();
    let results = || session.log().flat_map(|message| &message.parts).filter_map(Part::as_result);
    let mut calls = last.iter().flat_map(|answer| answer.call_ids());
    calls.all(|id| results().any(|result| result.call_id == id))
}

/// A message as tinyagent holds it; `None` for what it has no place for.
fn stored(message: &Message, number: usize) -> Option<Value> {
    let image = |_: &Media| json!({ "type": "image" });
    let mut content = Vec::new();
    let mut stored = json!({ "number": number });
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => content.push(json!({
                "type": "tool_call", "id": call.call_id, "name": call.tool,
                "arguments": python::arguments(&call.arguments),
            })),
            PartKind::Reasoning { text, .. } => {
                content.push(json!({ "type": "thinking", "thinking": text }));
            }
            PartKind::File(media) => content.push(image(media)),
            PartKind::Result(result) => {
                stored["tool_call_id"] = result.call_id.as_str().into();
                content.push(json!({ "type": "text", "text": result.text }));
                content.extend(result.media.iter().map(image));
            }
            _ => content.push(json!({ "type": "text", "text": part.shown() })),
        }
    }
    stored["content"] = content.into();
    stored["role"] = match message.role {
        Role::System => return None,
        Role::User => "user".into(),
        Role::Tool => "tool_result".into(),
        Role::Assistant => "assistant".into(),
    };
    // That there is a reason is all that is asked.
    if message.answer.as_ref().is_some_and(|answer| answer.finish.is_some()) {
        stored["stop_reason"] = "stop".into();
    }
    Some(stored)
}

impl<'s> Case<'s> {
    fn new(session: &'s Session, settings: Settings) -> Self {
        let ids = session.log().map(|message| message.id.as_str());
        Self { session, settings, numbers: ids.zip(0..).collect() }
    }

    fn json(&self) -> Value {
        let Settings { window, reserve, keep, .. } = self.settings;
        let happens = happens(self.session).into_iter().filter_map(|what| match what {
            Happens::Appended(message) => {
                let stored = stored(message, self.numbers[message.id.as_str()])?;
                Some(json!({ "message": stored }))
            }
            Happens::Asked(moment) => Some(json!({ "at": moment })),
        });
        let happens: Vec<Value> = happens.collect();
        json!({ "window": window, "reserve": reserve, "keep": keep, "happens": happens })
    }

    fn conversation(&self, summaries: &Arc<Scripted>) -> Conversation {
        let Settings { version: Version { preset, .. }, window, reserve, keep } = self.settings;
        let toml = format!(
            "name = \"here\"\nextends = \"{preset}\"\n[overflow]\nreserve = {}\n[filter]\nuse = \"tunacode.summary\"\nkeep_recent_tokens = {keep}\n",
            reserve + keep,
        );
        let mut strategy = (*strategy(&toml)).clone();
        // What the original does below the guards.
        strategy.guards = Guards { no_growth: false, repeat: false, breaker: 0, ..strategy.guards };
        strategy.summarizer = Some(Arc::clone(summaries) as _);
        talk::conversation(strategy, Limits::new(window, 0))
    }

    /// Runs the case beside the answers of the package. What differs as the preset says it does is counted.
    fn compare(&self, answers: &[Value], found: &mut Found) {
        let mut written = 0_usize;
        let summaries = Scripted::by(move |_| {
            written += 1;
            match written % 4 {
                0 => Err(SummaryError::Failed("no model".to_owned())),
                _ => Ok(format!(" summary {written} {}\n", "x".repeat(written * 37 % 900))),
            }
        });
        let mut talk = self.conversation(&summaries);
        let mut answers = answers.iter();
        for what in happens(self.session) {
            match what {
                Happens::Appended(message) => {
                    talk.append(Arc::clone(message));
                }
                Happens::Asked(moment) => {
                    let theirs = answers.next().unwrap();
                    let ours = self.decides(&mut talk, moment, &summaries);
                    *found.decisions.entry(format!("{moment}: {}", ours["reason"])).or_default() +=
                        1;
                    let difference = self.difference(&ours, theirs);
                    if let Some(difference) = difference {
                        *found.differences.entry(difference).or_default() += 1;
                    }
                    if difference == Some(MOVED) {
                        return;
                    }
                }
            }
        }
    }

    /// What the preset does, as the script says it of the package.
    fn decides(&self, talk: &mut Conversation, moment: Moment, summaries: &Scripted) -> Value {
        let asked = summaries.asked().len();
        let policy = talk.strategy().overflow.as_ref().unwrap().meter;
        // A refused request is counted with what it has done, which the original takes back.
        let count = (moment != Moment::ProviderOverflow).then(|| talk.meter(policy).view_tokens());
        let report = talk::at(talk, moment).pop().unwrap();
        let code = report.outcome.why().map(|why| why.code.to_string());
        let reason = match code.as_deref() {
            None => "compacted",
            Some("below-threshold") => "below_threshold",
            Some("no-valid-boundary") => "no_valid_boundary",
            Some("summary-failed" | "nothing-to-summarize") => "summarization_failed",
            Some(other) => panic!("{other}"),
        };
        let status = match reason {
            "compacted" => "compacted",
            "summarization_failed" => "failed",
            _ => "skipped",
        };
        let request = summaries.asked().into_iter().nth(asked);
        let results = |message: &Arc<Message>| {
            let results = message.parts.iter().filter_map(|part| part.as_result());
            // An image is a word in brackets there.
            let results = results.filter(|result| result.media.is_empty());
            results.map(|result| result.text.trim().chars().count()).sum::<usize>()
        };
        let request = request.map(|request| {
            json!({
                "messages": request.messages.iter().map(|one| self.numbers[one.id.as_str()]).collect::<Vec<_>>(),
                "previous": request.previous,
                "results": request.messages.iter().map(results).sum::<usize>(),
            })
        });
        let sent = talk.sent();
        let sent = sent.iter().filter(|shown| shown.message.role != Role::System);
        let sent: Vec<Value> = sent
            .map(|shown| match shown.message.is_entry_of(EntryKind::Summary) {
                true => shown.to_message().said().into(),
                false => self.numbers[shown.message.id.as_str()].into(),
            })
            .collect();
        json!({ "count": count, "status": status, "reason": reason, "asked": request, "sent": sent })
    }

    /// How the two differ, if as the preset says that they do.
    fn difference(&self, ours: &Value, theirs: &Value) -> Option<&'static str> {
        if ours == theirs {
            return None;
        }
        let mut counted = ours.clone();
        counted["count"] = theirs["count"].clone();
        let has_image = |message: &Arc<Message>| {
            message.parts.iter().any(|part| matches!(part.kind, PartKind::File(_)))
        };
        if counted == *theirs && self.session.log().any(has_image) {
            return Some("an image that is no result is a character more");
        }
        let boundary = |said: &Value| said["asked"]["messages"].as_array().map_or(0, Vec::len);
        let moved = boundary(ours) < boundary(theirs)
            && ours["count"] == theirs["count"]
            && self.parts_a_call(&theirs["asked"]["messages"]);
        assert!(
            moved,
            "{}, {:?}\nours:   {ours}\ntheirs: {theirs}",
            self.session.id, self.settings
        );
        Some(MOVED)
    }
}

impl Case<'_> {
    /// Whether a call is among these messages whose result is not.
    fn parts_a_call(&self, messages: &Value) -> bool {
        let is_among = |message: &Message| {
            let number = json!(self.numbers[message.id.as_str()]);
            messages.as_array().is_some_and(|all| all.contains(&number))
        };
        let gone: Vec<_> = self.session.log().filter(|one| is_among(one)).collect();
        let parts = || gone.iter().flat_map(|message| &message.parts);
        let answered: Vec<&str> =
            parts().filter_map(Part::as_result).map(|result| result.call_id.as_str()).collect();
        parts().filter_map(Part::as_call).any(|call| !answered.contains(&call.call_id.as_str()))
    }
}

/// What is different from there on, so that the comparison ends.
const MOVED: &str = "the boundary moves back in front of a call";

/// What was compared, and what differed as the preset says it does.
#[derive(Debug, Default)]
struct Found {
    decisions: BTreeMap<String, usize>,
    differences: BTreeMap<&'static str, usize>,
}

fn compare(version: Version, cases: &[Case<'_>]) -> Found {
    let package = Package { name: version.installed, script: "tunacode_controller.py" };
    let asked: Vec<Value> = cases.iter().map(Case::json).collect();
    let answers: Vec<Vec<Value>> = package.says(&asked);
    let mut found = Found::default();
    for (case, answers) in cases.iter().zip(&answers) {
        case.compare(answers, &mut found);
    }
    let all: usize = found.decisions.values().sum();
    println!("{}: {} sessions, {all} decisions: {found:#?}", version.preset, cases.len());
    found
}

fn on_recorded_sessions(version: Version) {
    let sessions = recorded_sessions();
    let cases: Vec<Case<'_>> = sessions
        .iter()
        .flat_map(|session| {
            [40_000, 60_000, 100_000].map(|window| {
                let settings = Settings { version, window, reserve: 16_384, keep: 20_000 };
                Case::new(session, settings)
            })
        })
        .collect();
    let found = compare(version, &cases);
    assert!(found.decisions["turn-start: \"compacted\""] > 30, "{found:?}");
}

fn on_drawn_sessions(version: Version) {
    let settings = [(3_000, 500, 800), (1_000, 400, 300), (20_000, 4_000, 6_000), (600, 100, 1)];
    let sessions = drawn_sessions(1_000);
    let cases: Vec<Case<'_>> = sessions
        .iter()
        .zip(settings.iter().cycle())
        .map(|(session, (window, reserve, keep))| {
            let (window, reserve, keep) = (*window, *reserve, *keep);
            Case::new(session, Settings { version, window, reserve, keep })
        })
        .collect();
    let found = compare(version, &cases);
    assert!(found.decisions["turn-start: \"compacted\""] > 500, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external tunacode"]
fn tunacode_on_recorded_sessions() {
    on_recorded_sessions(FIRST);
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external tunacode"]
fn tunacode_on_drawn_sessions() {
    on_drawn_sessions(FIRST);
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external tunacode"]
fn tunacode_0_2_on_recorded_sessions() {
    on_recorded_sessions(NEWEST);
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external tunacode"]
fn tunacode_0_2_on_drawn_sessions() {
    on_drawn_sessions(NEWEST);
}
