//! The presets of OpenHands beside the SDK's own condenser: before every call both fold as often as they want to, and what is left,
//! what went and what the summarizer saw of it are compared.

use crate::differential::{Case, Package, generated, recorded, strategy};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::moment::Moment;
use foldback_core::stage::SummaryError;
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Folds before one call: where the summary alone is over a limit, the original goes on without end.
const ROUNDS: usize = 4;

/// What a case runs under; 0 is none.
#[derive(Clone, Copy, Debug)]
struct Settings {
    preset: &'static str,
    max_size: u64,
    keep_first: u64,
    max_tokens: u64,
    minimum_progress: f64,
    window: u64,
    /// Every so many summaries fail.
    fails: usize,
    /// Every so many calls are refused.
    refused: usize,
}

/// Both at the presets' own numbers, unless something else is said.
const OWN: Settings = Settings {
    preset: "openhands",
    max_size: 240,
    keep_first: 2,
    max_tokens: 0,
    minimum_progress: 0.1,
    window: 0,
    fails: 0,
    refused: 0,
};

/// Before a call: the events that are shown, and what the summarizer saw since the call before.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Before {
    shown: Vec<String>,
    asked: Vec<Vec<String>>,
}

impl Settings {
    fn json(&self) -> Value {
        json!({
            "max_size": self.max_size,
            "keep_first": self.keep_first,
            "max_tokens": self.max_tokens,
            "minimum_progress": self.minimum_progress,
            "window": self.window,
            "fails": self.fails,
            "refused": self.refused,
        })
    }

    fn strategy(&self, whole_groups: bool) -> Arc<Strategy> {
        let Self { preset, max_size, keep_first, max_tokens, minimum_progress, window, .. } = self;
        let window = *window > 0;
        let limits = format!("max_size = {max_size}\nmax_tokens = {max_tokens}\nwindow = {window}");
        let guards = "pairs = false\nno-growth = false\nrepeat = false\nbreaker = 0";
        let count = "use = \"chars\"\nunit = \"code-points\"\nrounding = \"floor\"\ncalls = \"arguments\"\nreasoning = false";
        strategy(&format!(
            "name = \"here\"\nextends = \"{preset}\"\n[guards]\n{guards}\n[estimator]\n{count}\n[overflow]\n{limits}\n[filter]\n\
             {limits}\nkeep_first = {keep_first}\nminimum_progress = {minimum_progress}\nwhole_groups = {whole_groups}\n"
        ))
    }
}

/// A message with a number for an id, and without what the SDK has no word for. The system prompt is empty on both sides.
fn plain(number: usize, message: &Message) -> Message {
    let part = |part: &Part| match &part.kind {
        _ if message.role == Role::System => None,
        PartKind::Marker(_) | PartKind::Unknown { .. } | PartKind::File(_) => None,
        PartKind::Result(_) => {
            let mut part = part.clone();
            if let PartKind::Result(result) = &mut part.kind {
                result.structured = None;
                result.media.clear();
            }
            Some(part)
        }
        _ => Some(part.clone()),
    };
    let mut plain = message.with_parts(message.parts.iter().filter_map(part).collect());
    plain.id = number.to_string();
    plain
}

/// A session without the calls that no result came for. The original waits for those until it is started anew, and folds little.
fn answered(case: &Case) -> Case {
    let results = case.log.iter().flat_map(|message| &message.parts).filter_map(Part::as_result);
    let results: BTreeSet<&str> = results.map(|result| &*result.call_id).collect();
    let stays = |part: &&Part| part.as_call().is_none_or(|call| results.contains(&*call.call_id));
    let without = |message: &Arc<Message>| {
        Arc::new(message.with_parts(message.parts.iter().filter(stays).cloned().collect()))
    };
    Case { log: case.log.iter().map(without).collect(), ..case.clone() }
}

/// A message as the script understands it.
fn told(message: &Message) -> Value {
    let texts = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, ignored: false, .. } => Some(text),
        PartKind::Result(result) => Some(&result.text),
        _ => None,
    });
    let calls = message.parts.iter().filter_map(Part::as_call);
    let call = |call: &foldback_core::log::ToolCall| json!({ "id": call.call_id, "arguments": call.arguments });
    let result = message.parts.iter().find_map(Part::as_result).map(|result| &result.call_id);
    let signed = |part: &Part| matches!(part.kind, PartKind::Reasoning { opaque: Some(_), .. });
    json!({
        "role": message.role.as_str(),
        "texts": texts.collect::<Vec<_>>(),
        "calls": calls.map(call).collect::<Vec<_>>(),
        "result": result,
        "thinks": message.parts.iter().any(signed),
    })
}

/// The events of a message: one for each call.
fn events(message: &Message) -> Vec<String> {
    let calls = message.call_ids().count();
    match calls {
        _ if message.role == Role::System => Vec::new(),
        _ if message.is_entry_of(EntryKind::Summary) => vec!["S".to_owned()],
        0 => vec![message.id.clone()],
        _ => (0..calls).map(|call| format!("{}.{call}", message.id)).collect(),
    }
}

/// What the summarizer sees of each event of a message.
fn seen(message: &Message) -> Vec<String> {
    let result = message.parts.iter().find_map(Part::as_result);
    let mut seen = events(message);
    seen.iter_mut().for_each(String::clear);
    if let Some(first) = seen.first_mut() {
        *first = result.map_or_else(|| message.said(), |result| result.text.clone());
    }
    seen
}

/// Folds until nothing more is folded; whether there was anything.
fn fold(talk: &mut Conversation, first: Moment) -> usize {
    let mut folds = 0;
    let mut moment = first;
    while folds < ROUNDS && talk::at(talk, moment).iter().any(|report| report.fold.is_some()) {
        moment = Moment::CallStart;
        folds += 1;
    }
    folds
}

/// Runs a case, and shows `look` what it does before each call. Gives the number of folds.
fn run(
    settings: &Settings,
    whole: bool,
    log: &[Arc<Message>],
    look: &mut dyn FnMut(Before),
) -> usize {
    let mut asked = 0_usize;
    let fails = settings.fails;
    let summaries = Scripted::by(move |_| {
        asked += 1;
        match fails {
            1.. if asked.is_multiple_of(fails) => Err(SummaryError::Failed("no model".to_owned())),
            _ => Ok(format!("summary {asked} {}", "y".repeat(asked * 97 % 900))),
        }
    });
    let mut strategy = settings.strategy(whole);
    Arc::get_mut(&mut strategy).unwrap().summarizer = Some(summaries.clone());
    let mut talk = talk::conversation(strategy, Limits::new(settings.window, 0));
    let (mut folds, mut had) = (0, 0);
    for step in steps(log) {
        match step {
            Step::Append(message) => drop(talk.append(Arc::clone(message))),
            Step::Call { call, .. } => {
                folds += fold(&mut talk, Moment::CallStart);
                if settings.refused > 0 && call % settings.refused == settings.refused - 1 {
                    folds += fold(&mut talk, Moment::ProviderOverflow);
                }
                let requests = summaries.asked();
                let of = |request: &foldback_core::stage::SummaryRequest| {
                    request.messages.iter().flat_map(|message| seen(message)).collect()
                };
                let asked = requests[had..].iter().map(of).collect();
                had = requests.len();
                let shown = talk.sent().iter().flat_map(|shown| events(shown.message)).collect();
                look(Before { shown, asked });
            }
            Step::At(_) | Step::StepEnd { .. } => {}
        }
    }
    folds
}

/// How often both folded, and how many sessions `whole_groups` folds otherwise.
fn compare(settings: &Settings, cases: &[Case]) -> (usize, usize) {
    let package = Package { name: "openhands", script: "openhands_condenser.py" };
    let logs: Vec<Vec<Arc<Message>>> = cases
        .iter()
        .map(|case| {
            let numbered = case.log.iter().enumerate();
            numbered.map(|(number, message)| Arc::new(plain(number, message))).collect()
        })
        .collect();
    let asked: Vec<Value> = cases
        .iter()
        .zip(&logs)
        .map(|(case, log)| {
            let messages: Vec<Value> = log.iter().map(|message| told(message)).collect();
            json!({ "messages": messages, "calls": case.calls, "options": settings.json() })
        })
        .collect();
    let answers: Vec<Vec<Before>> = package.says(&asked);
    let (mut folds, mut otherwise) = (0, 0);
    for ((case, log), theirs) in cases.iter().zip(&logs).zip(&answers) {
        let mut calls = theirs.iter().zip(&case.calls);
        folds += run(settings, false, log, &mut |ours| {
            let (theirs, at) = calls.next().unwrap();
            assert_eq!(ours.shown, theirs.shown, "{settings:?}, {} before message {at}", case.name);
            let all = |before: &Before| before.asked.concat();
            for (ours, theirs) in all(&ours).iter().zip(&all(theirs)) {
                assert_eq!(ours, theirs, "{settings:?}, {} before message {at}", case.name);
            }
            assert!(ours == *theirs, "{settings:?}, {} before message {at}", case.name);
        });
        let mut calls = theirs.iter();
        let mut same = true;
        run(settings, true, log, &mut |ours| same &= calls.next() == Some(&ours));
        otherwise += usize::from(!same);
    }
    (folds, otherwise)
}

#[test]
#[ignore = "needs the OpenHands SDK: cargo xtask test-external openhands"]
fn the_same_events_are_forgotten() {
    let eighty = Settings { preset: "openhands-80", max_size: 80, keep_first: 4, ..OWN };
    let small = Settings { max_size: 14, keep_first: 3, ..OWN };
    let settings = [
        OWN,
        Settings { window: 20_000, ..eighty },
        Settings { max_tokens: 6_000, ..OWN },
        Settings { window: 3_000, max_tokens: 5_000, refused: 9, ..eighty },
        Settings { keep_first: 0, refused: 7, ..small },
        Settings { minimum_progress: 0.4, fails: 3, ..small },
        Settings { max_tokens: 1_500, minimum_progress: 0.6, ..small },
    ];
    let drawn = generated(500);
    let all_answered = drawn.iter().map(answered).collect();
    let corpora = [
        ("recorded", recorded(), 5_000),
        ("drawn", drawn, 2_000),
        ("drawn, all calls answered", all_answered, 4_000),
    ];
    for (what, cases, least) in corpora {
        assert!(cases.len() >= 20, "{what}: {} sessions", cases.len());
        let mut all = 0;
        for settings in &settings {
            let (folds, otherwise) = compare(settings, &cases);
            println!(
                "{what}: {} sessions, {settings:?}: {folds} folds, all the same; {otherwise} sessions otherwise with whole_groups",
                cases.len()
            );
            all += folds;
        }
        assert!(all >= least, "{what}: {all} folds");
    }
}
