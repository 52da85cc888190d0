//! `oh-my-pi` beside the functions of @oh-my-pi/pi-agent-core, put together as its coding agent does: before each request both decide, and
//! where they clear, shake or compact, both go on with what they made of it.

use crate::differential::dsh::{answered, plain};
use crate::differential::{
    Happens, beside, compared, drawn_sessions, happens, numbered, recorded_sessions, strategy,
};
use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Report, Signals};
use foldback_core::guard::Guards;
use foldback_core::log::{EntryKind, Message, PartKind, Usage};
use foldback_core::moment::Moment;
use foldback_core::stage::{SummaryRequest, UsageReading, UsageSource};
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a case runs under.
#[derive(Clone, Copy, Debug)]
struct Settings {
    window: u64,
    keep: u64,
    protect: u64,
    minimum: u64,
}

struct Case {
    name: String,
    settings: Settings,
    log: Vec<Arc<Message>>,
}

impl Case {
    fn new(session: &Session, settings: Settings) -> Self {
        let log = answered(session.log().flat_map(|message| plain(message)));
        let log = log.into_iter().map(|message| Arc::new(stored(message))).collect();
        Self { name: session.id.clone(), settings, log }
    }

    fn json(&self) -> Value {
        let Settings { window, keep, protect, minimum } = self.settings;
        let happens = happens(&self.log).into_iter().map(|what| match what {
            Happens::Appended(message) => json!({ "id": message.id, "message": told(message) }),
            Happens::Asked => json!({}),
        });
        json!({
            "window": window, "keep": keep, "protect": protect, "minimum": minimum,
            "happens": happens.collect::<Vec<_>>(),
        })
    }

    fn conversation(&self, summaries: &Arc<Scripted>) -> Conversation {
        let Settings { window, keep, protect, minimum } = self.settings;
        let toml = format!(
            "name = \"here\"\nextends = \"oh-my-pi\"\n[filter]\nuse = \"oh-my-pi.checkpoint\"\nkeep_recent_tokens = {keep}\n\
             [[pruner]]\nuse = \"oh-my-pi.stale\"\nwhen = \"step-end\"\n\
             [[pruner]]\nuse = \"oh-my-pi.shake\"\nwhen = \"before-summary\"\nprotect_tokens = {protect}\nminimum_tokens = {minimum}\n"
        );
        let mut strategy = (*strategy(&toml)).clone();
        // What the original does below the guards.
        strategy.guards = Guards { no_growth: false, repeat: false, breaker: 0, ..strategy.guards };
        strategy.summarizer = Some(Arc::clone(summaries) as _);
        talk::conversation(strategy, Limits::new(window, 0))
    }

    /// Runs the case beside the answers of the package. What differs as the preset says it does is counted, and ends the case.
    fn compare(&self, answers: &Value, found: &mut Found) {
        let summaries = numbered();
        let mut talk = self.conversation(&summaries);
        let difference = beside(&self.log, answers, &mut talk, |talk, used, theirs| {
            found.asked += 1;
            let ours = asked(talk, &summaries, used);
            found.folds += usize::from(!theirs["kept"].is_null());
            found.shaken += usize::from(theirs["enough"] == true);
            found.stale += usize::from(theirs["stale"] != 0);
            self.difference(&ours, theirs)
        });
        if let Some(difference) = difference {
            *found.differences.entry(difference).or_default() += 1;
        }
    }

    /// How the two differ, if as the preset says that they do.
    fn difference(&self, ours: &Value, theirs: &Value) -> Option<&'static str> {
        let (mut ours, mut theirs) = (ours.clone(), theirs.clone());
        let (stale, left) = (theirs["stale"].take(), theirs["left"].take());
        for name in ["stale", "left"] {
            theirs.as_object_mut().unwrap().remove(name);
        }
        let off = ours["tokens"].as_u64().unwrap().abs_diff(theirs["tokens"].as_u64().unwrap());
        if off <= AROUND_SUMMARY {
            ours["tokens"] = theirs["tokens"].clone();
        }
        if ours == theirs {
            return None;
        }
        if off > 0 && off <= AROUND_SUMMARY && ours["fires"] != theirs["fires"] {
            return Some("the text around the summary makes the difference");
        }
        if ours["fires"] == theirs["fires"] && ours["enough"] != theirs["enough"] {
            if stale != 0 {
                return Some("what went as stale at the same moment");
            }
            if left.as_i64().is_some_and(|left| left.unsigned_abs() <= AROUND_SUMMARY) {
                return Some("the text around the summary, or what blocks are rounded to");
            }
        }
        let names = ours.as_object().unwrap().keys().chain(theirs.as_object().unwrap().keys());
        for name in names.filter(|name| ours[*name] != theirs[*name]) {
            println!("{name}\nours:   {}\ntheirs: {}", ours[name], theirs[name]);
        }
        panic!("{}, {:?}", self.name, self.settings);
    }
}

/// Tokens of the text that stands around a summary at most.
const AROUND_SUMMARY: u64 = 35;

/// A message as it is stored: arguments are an object, and thoughts can be told from what is said.
fn stored(mut message: Message) -> Message {
    for part in &mut message.parts {
        match &mut part.kind {
            PartKind::Reasoning { text, .. } => *text = format!("a thought of mine: {text}"),
            PartKind::Call(call) => {
                let arguments = call.arguments_value();
                let arguments = match arguments.is_object() {
                    true => arguments.clone(),
                    false => json!({ "raw": call.arguments }),
                };
                call.arguments = arguments.to_string();
            }
            _ => {}
        }
    }
    message
}

/// A message as the package stores it.
fn told(message: &Message) -> Value {
    let text = |text: &str| json!({ "type": "text", "text": text });
    if let Some(result) = message.parts.first().and_then(|part| part.as_result()) {
        return json!({
            "role": "toolResult", "toolCallId": result.call_id, "toolName": result.tool, "content": [text(&result.text)],
            "isError": false, "timestamp": 0,
        });
    }
    let blocks = message.parts.iter().map(|part| match &part.kind {
        PartKind::Call(call) => json!({
            "type": "toolCall", "id": call.call_id, "name": call.tool, "arguments": call.arguments_value(),
        }),
        PartKind::Reasoning { text, .. } => json!({ "type": "thinking", "thinking": text }),
        _ => text(&part.shown()),
    });
    let blocks: Vec<Value> = blocks.collect();
    if !message.is_answer() {
        return json!({ "role": "user", "content": blocks, "timestamp": 0 });
    }
    let usage = message.answer.as_ref().and_then(|answer| answer.usage).unwrap_or_default();
    json!({
        "role": "assistant", "content": blocks, "timestamp": 0, "stopReason": "stop", "api": "a", "provider": "p", "model": "m",
        "usage": {
            "input": usage.uncached, "output": usage.output + usage.reasoning, "cacheRead": usage.cache_read,
            "cacheWrite": usage.cache_write, "totalTokens": usage.total.unwrap_or_default(),
        },
    })
}

/// What the preset does when it is asked, as the script says it of the package.
fn asked(talk: &mut Conversation, summaries: &Scripted, used: Option<Usage>) -> Value {
    let before = summaries.asked().len();
    let usage = used.map(|usage| UsageReading { usage, source: UsageSource::Provider });
    let instructions = Some("the names".to_owned());
    let reports = talk::block_on(talk.at(Moment::StepEnd, Signals { usage, instructions }));
    let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
    let shown = talk.sent();
    let said = |shown: &&ShownMessage<'_>| !shown.message.is_entry_of(EntryKind::Summary);
    let view: Vec<(String, usize)> = shown.iter().filter(said).map(told_of).collect();
    let mut ours = json!({ "tokens": decision.count, "fires": decision.fold, "view": view });
    if !decision.fold {
        return ours;
    }
    let spared =
        |report: &Report| report.outcome.why().is_some_and(|why| why.code == "shaken-enough");
    ours["enough"] = reports.iter().any(spared).into();
    let requests = &summaries.asked()[before..];
    if requests.is_empty() {
        return ours;
    }
    let thought = |request: &SummaryRequest| {
        let mut parts = request.messages.iter().flat_map(|message| &message.parts);
        parts.any(|part| matches!(part.kind, PartKind::Reasoning { .. }))
    };
    let told = |request: &SummaryRequest| json!({ "most": request.budget, "told": !request.instructions.is_empty(), "thought": thought(request) });
    ours["requests"] = requests.iter().map(told).collect();
    let request = |name: &str| requests.iter().find(|request| request.name == name);
    for name in ["history", "turn"] {
        let messages = request(name).map(|request| request.messages.as_slice()).unwrap_or_default();
        ours[name] = messages.iter().map(|message| message.id.as_str()).collect();
    }
    ours["previous"] = json!(request("history").and_then(|request| request.previous.clone()));
    let text = shown[0].to_message().said();
    let inner = text.split_once("<summary>\n").unwrap().1.strip_suffix("\n</summary>").unwrap();
    ours["summary"] = inner.into();
    ours["kept"] = view[0].0.as_str().into();
    ours
}

/// A message of a view: its id, and how long its texts are.
fn told_of(shown: &ShownMessage<'_>) -> (String, usize) {
    let message = shown.to_message();
    let texts = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, .. } => Some(text.len()),
        PartKind::Result(result) => Some(result.text.len()),
        _ => None,
    });
    let texts: Vec<usize> = texts.collect();
    (shown.message.id.clone(), texts.iter().sum::<usize>() + texts.len().saturating_sub(1))
}

/// What was compared, and what differed as the preset says it does.
#[derive(Debug, Default)]
struct Found {
    asked: usize,
    /// Times that reads went as stale.
    stale: usize,
    /// Times that shaking was enough.
    shaken: usize,
    folds: usize,
    differences: BTreeMap<&'static str, usize>,
}

fn compare(cases: &[Case]) -> Found {
    compared("oh-my-pi", cases, Case::json, Case::compare)
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external oh-my-pi"]
fn oh_my_pi_on_recorded_sessions() {
    let default = Settings { window: 0, keep: 20_000, protect: 16_000, minimum: 4_000 };
    let cases: Vec<Case> = recorded_sessions()
        .iter()
        .flat_map(|session| {
            [40_000, 60_000, 100_000]
                .map(|window| Case::new(session, Settings { window, ..default }))
        })
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 100 && found.shaken > 10 && found.stale > 0, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external oh-my-pi"]
fn oh_my_pi_on_drawn_sessions() {
    let settings = [
        (1_000, 300, 300, 100),
        (3_000, 800, 800, 200),
        (8_000, 2_000, 2_000, 500),
        (25_000, 6_000, 6_000, 1_000),
    ];
    let cases: Vec<Case> = drawn_sessions(1_000)
        .iter()
        .zip(settings.iter().cycle())
        .map(|(session, (window, keep, protect, minimum))| {
            let settings =
                Settings { window: *window, keep: *keep, protect: *protect, minimum: *minimum };
            Case::new(session, settings)
        })
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 500 && found.shaken > 50 && found.stale > 100, "{found:?}");
}
