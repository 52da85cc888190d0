//! `kimi-code` beside @moonshot-ai/kimi-code 2.1.0: before each step both decide, and where they compact, both go on with what they made
//! of it. The words around a summary are those of the preset in both.

use crate::differential::dsh::{answered, plain};
use crate::differential::{compared, drawn_sessions, numbered, recorded_sessions, strategy};
use foldback::codex::{GO_ON, OMITTED, PREFIX};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{EntryKind, Message, Origin, PartKind, Role, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::sync::Arc;

/// What is set of the compaction: tokens to keep, those of the oldest, and what is kept free.
#[derive(Clone, Copy)]
struct Settings {
    keep: u64,
    head: u64,
    room: u64,
}

/// The settings that the package has.
const OWN: Settings = Settings { keep: 20_000, head: 2_000, room: 50_000 };

struct Case {
    name: String,
    limits: Limits,
    settings: Settings,
    log: Vec<Arc<Message>>,
}

impl Case {
    fn new(session: &Session, limits: Limits, settings: Settings) -> Self {
        let mut log = answered(session.log().flat_map(|message| stored(message)));
        // The package goes by the last usage that it has, the preset by that of the last answer.
        let counted =
            |message: &Message| message.answer.as_ref().is_none_or(|answer| answer.usage.is_some());
        if !log.iter().all(counted) {
            let answers = log.iter_mut().filter_map(|message| message.answer.as_mut());
            answers.for_each(|answer| answer.usage = None);
        }
        let log = log.into_iter().map(Arc::new).collect();
        Self { name: session.id.clone(), limits, settings, log }
    }

    fn json(&self) -> Value {
        let Settings { keep, head, room } = self.settings;
        let mut happens = Vec::new();
        for message in &self.log {
            happens.extend(message.is_answer().then(|| json!({})));
            happens.push(told(message));
        }
        json!({
            "window": self.limits.context,
            "input": self.limits.input,
            "settings": { "keep": keep, "head": head, "ratio": 0.85, "room": room },
            "words": { "prefix": PREFIX, "omitted": OMITTED, "goOn": GO_ON },
            "happens": happens,
        })
    }

    /// Runs the case beside the answers of the package.
    fn compare(&self, answers: &Value, found: &mut Found) {
        let Settings { keep, head, room } = self.settings;
        let mut strategy = (*strategy(&format!(
            "name = \"here\"\nextends = \"kimi-code\"\n[overflow]\nuse = \"answer-usage\"\nreserve = {room}\n\
             [filter]\nuse = \"kimi.users\"\nkeep_tokens = {keep}\nhead_tokens = {head}\n"
        )))
        .clone();
        let own = Guards {
            repeat: false,
            breaker: 0,
            no_growth: false,
            continuation: false,
            ..strategy.guards
        };
        strategy.guards = own;
        strategy.summarizer = Some(numbered() as _);
        let mut talk = talk::conversation(strategy, self.limits);
        let mut answers = answers.as_array().unwrap().iter();
        let mut used = None;
        for message in &self.log {
            if message.is_answer() {
                let theirs = answers.next().unwrap();
                found.asked += 1;
                let ours = asked(&mut talk, used);
                if ours != *theirs {
                    self.differs(&ours, theirs);
                }
                let cut = |shown: &Value| shown.as_str().unwrap().starts_with('…');
                if ours["fires"] == true {
                    found.folds += 1;
                    found.cut += usize::from(ours["view"].as_array().unwrap().iter().any(cut));
                }
                used = message.answer.as_ref().and_then(|answer| answer.usage);
            }
            talk.append(Arc::clone(message));
        }
    }

    fn differs(&self, ours: &Value, theirs: &Value) {
        for what in ["tokens", "fires", "sizes", "view"] {
            println!("{what}\nours:   {}\ntheirs: {}", ours[what], theirs[what]);
        }
        panic!("{}, {:?}", self.name, self.limits);
    }
}

/// What the program stores of a message. What the harness wrote in the person's name has another origin.
fn stored(message: &Message) -> Vec<Message> {
    let of_person = |kind: &PartKind| match kind {
        PartKind::Text { synthetic, ignored, .. } => !synthetic && !ignored,
        PartKind::File(_) => true,
        _ => false,
    };
    let own = message.parts.iter().any(|part| of_person(&part.kind));
    let mut all = plain(message);
    for message in all.iter_mut().filter(|message| message.role == Role::User && !own) {
        for part in &mut message.parts {
            if let PartKind::Text { synthetic, .. } = &mut part.kind {
                *synthetic = true;
            }
        }
    }
    all
}

/// A message as the script reads it.
fn told(message: &Message) -> Value {
    let (mut content, mut calls) = (Vec::new(), Vec::new());
    let mut origin = "user";
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => calls.push(json!({
                "type": "function", "id": call.call_id, "name": call.tool, "arguments": part.shown(),
            })),
            PartKind::Reasoning { text, .. } => content.push(json!({ "type": "think", "think": text })),
            PartKind::Text { synthetic: true, .. } => {
                origin = "injection";
                content.push(json!({ "type": "text", "text": part.shown() }));
            }
            _ => content.push(json!({ "type": "text", "text": part.shown() })),
        }
    }
    let mut told = json!({ "role": message.role.as_str(), "id": message.id, "content": content, "toolCalls": calls });
    if message.role == Role::User {
        told["origin"] = json!({ "kind": origin });
        told["begins"] = message.begins_turn().into();
    }
    if let Some(usage) = message.answer.as_ref().and_then(|answer| answer.usage) {
        told["usage"] = json!({
            "inputOther": usage.uncached,
            "output": usage.output + usage.reasoning,
            "inputCacheRead": usage.cache_read,
            "inputCacheCreation": usage.cache_write,
        });
    }
    told
}

/// What the preset does when it is asked, as the script says it of the package.
fn asked(talk: &mut Conversation, used: Option<Usage>) -> Value {
    let places = talk.view().places().iter();
    let sizes: Vec<u64> = places.map(|place| talk.meter(MeterId::OWN).shown(*place)).collect();
    let reports = talk::at_usage(talk, Moment::CallStart, used);
    let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
    let short = |shown: &ShownMessage<'_>| {
        let text = || shown.to_message().said();
        match shown.message.origin {
            Origin::Log => shown.message.id.clone(),
            Origin::Entry(EntryKind::Summary) => "summary".to_owned(),
            Origin::Entry(EntryKind::Continue) => "go on".to_owned(),
            Origin::Entry(EntryKind::Boundary) => {
                let digits: String = text().chars().filter(char::is_ascii_digit).collect();
                format!("…{digits}")
            }
            Origin::Entry(_) => format!("~{}", text()),
        }
    };
    json!({
        "tokens": decision.count,
        "fires": decision.fold,
        "sizes": sizes,
        "view": talk.sent().iter().map(short).collect::<Vec<_>>(),
    })
}

/// What was compared.
#[derive(Debug, Default)]
struct Found {
    asked: usize,
    folds: usize,
    /// Folds that left out some of what the person said.
    cut: usize,
}

fn compare(cases: &[Case]) -> Found {
    compared("kimi-code", cases, Case::json, Case::compare)
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external kimi-code"]
fn kimi_code_on_recorded_sessions() {
    let few = Settings { keep: 500, head: 50, ..OWN };
    let runs = [
        (Limits::new(40_000, 0), few),
        (Limits::new(60_000, 0), OWN),
        (Limits::new(100_000, 0), few),
        (Limits::new(200_000, 0).with_input(90_000), OWN),
    ];
    let cases: Vec<Case> = recorded_sessions()
        .iter()
        .flat_map(|session| runs.map(|(limits, settings)| Case::new(session, limits, settings)))
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 100 && found.cut > 10, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external kimi-code"]
fn kimi_code_on_drawn_sessions() {
    let windows = [1_000, 3_001, 8_000, 20_011];
    let settings = [
        OWN,
        Settings { keep: 200, head: 40, room: 500 },
        Settings { keep: 61, head: 7, room: 2_000 },
    ];
    let cases: Vec<Case> = drawn_sessions(1_000)
        .iter()
        .zip(windows.iter().cycle())
        .zip(settings.iter().cycle())
        .map(|((session, window), settings)| Case::new(session, Limits::new(*window, 0), *settings))
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 500 && found.cut > 100, "{found:?}");
}
