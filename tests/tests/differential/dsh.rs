//! `dsh` beside @deepseek-ai/dsh-compaction-basic and dsh-compaction-tool-result-pruner 0.1.0-rc.8: before each step both decide, and
//! where they compact, both go on with what they made of it.

use crate::differential::{
    Happens, beside, compared, drawn_sessions, happens, numbered, recorded_sessions, strategy,
};
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{Answer, EntryKind, Message, Part, PartKind, Role, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_testkit::stand_in::Scripted;
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

struct Case {
    name: String,
    window: u64,
    log: Vec<Arc<Message>>,
}

impl Case {
    fn new(session: &Session, window: u64) -> Self {
        let log = answered(session.log().flat_map(|message| plain(message)));
        Self { name: session.id.clone(), window, log: log.into_iter().map(Arc::new).collect() }
    }

    fn json(&self) -> Value {
        let happens = happens(&self.log).into_iter().map(|what| match what {
            Happens::Appended(message) => told(message),
            Happens::Asked => json!({}),
        });
        json!({ "window": self.window, "happens": happens.collect::<Vec<_>>() })
    }

    /// Runs the case beside the answers of the package. What differs as the preset says it does is counted, and ends the case.
    fn compare(&self, answers: &Value, found: &mut Found) {
        let summaries = numbered();
        let mut strategy = (*strategy("name = \"here\"\nextends = \"dsh\"\n")).clone();
        strategy.guards = Guards { repeat: false, breaker: 0, ..strategy.guards };
        strategy.summarizer = Some(Arc::clone(&summaries) as _);
        let mut talk = talk::conversation(strategy, Limits::new(self.window, 0));
        let difference = beside(&self.log, answers, &mut talk, |talk, used, theirs| {
            found.asked += 1;
            let ours = asked(talk, &summaries, used);
            found.folds += usize::from(ours["summarized"] != 0);
            found.cut += usize::from(talk.folds().last().is_some_and(|fold| {
                fold.plan.layout.is_none() && fold.history_len() == talk.history().len()
            }));
            self.difference(talk, &ours, theirs)
        });
        if let Some(difference) = difference {
            *found.differences.entry(difference).or_default() += 1;
        }
    }

    /// How the two differ, if as the preset says that they do.
    fn difference(
        &self,
        talk: &Conversation,
        ours: &Value,
        theirs: &Value,
    ) -> Option<&'static str> {
        let off = ours["tokens"].as_u64().unwrap().abs_diff(theirs["tokens"].as_u64().unwrap());
        let mut same = ours.clone();
        // The text around a summary counts where the request is estimated.
        let folded = talk.folds().iter().any(|fold| fold.plan.layout.is_some());
        if folded && off <= AROUND_SUMMARY {
            same["tokens"] = theirs["tokens"].clone();
        }
        if same == *theirs {
            return None;
        }
        if off > 0 && same["tokens"] == theirs["tokens"] {
            return Some("the text around the summary makes the difference");
        }
        let names = ["tokens", "fires", "sizes", "summarized"];
        if names.iter().all(|name| same[*name] == theirs[*name]) && near(ours, theirs) {
            return Some("a checkpoint as large as what it replaces");
        }
        for what in ["sizes", "view"] {
            println!("{what}\nours:   {}\ntheirs: {}", ours[what], theirs[what]);
        }
        panic!("{}, {}\nours:   {ours}\ntheirs: {theirs}", self.name, self.window);
    }
}

/// Whether one of the two refused a checkpoint that is within the text around it of what it replaces.
fn near(ours: &Value, theirs: &Value) -> bool {
    let region = usize::try_from(ours["summarized"].as_u64().unwrap()).unwrap();
    let sizes = ours["sizes"].as_array().unwrap().iter().take(region);
    let tokens: u64 = sizes.map(|size| size.as_u64().unwrap()).sum();
    let (ours, theirs) = (ours["view"].as_array().unwrap(), theirs["view"].as_array().unwrap());
    let behind = ours.len().min(theirs.len()).saturating_sub(region);
    let tail = |view: &[Value]| view[view.len() - behind..].to_vec();
    tail(ours) == tail(theirs) && tokens <= LARGEST_SUMMARY + 2 * AROUND_SUMMARY
}

/// Tokens of the longest summary.
const LARGEST_SUMMARY: u64 = 912 / 4;

/// Tokens by which the text around a summary differs at most.
const AROUND_SUMMARY: u64 = 60;

/// What the harness stores of a message: a result is one of its own.
pub(super) fn plain(message: &Message) -> Vec<Message> {
    match message.role {
        Role::System => Vec::new(),
        Role::Tool => {
            let results = message.parts.iter().filter_map(|part| part.as_result()).enumerate();
            results
                .map(|(number, result)| {
                    let id = format!("{}-{number}", message.id);
                    Message::tool(id, &result.call_id, &result.tool, &result.text)
                })
                .collect()
        }
        Role::User => {
            vec![Message::new(message.id.clone(), Role::User, vec![Part::text(message.said())])]
        }
        Role::Assistant => {
            let kept = message.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Text { text, .. } => Some(Part::text(text.clone())),
                PartKind::Reasoning { text, .. } => {
                    Some(Part::new(PartKind::Reasoning { text: text.clone(), opaque: None }))
                }
                PartKind::Call(call) => {
                    Some(Part::call(&call.call_id, &call.tool, call.arguments.clone()))
                }
                _ => None,
            });
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            let usage = usage.filter(|usage| !usage.is_zero());
            let mut plain = Message::new(message.id.clone(), Role::Assistant, kept.collect());
            plain.answer = Some(Answer { usage, ..Answer::default() });
            // The harness sends no answer without content.
            if plain.parts.is_empty() { Vec::new() } else { vec![plain] }
        }
    }
}

/// The messages with a result behind every call, as the harness writes one; others are left out.
pub(super) fn answered(messages: impl Iterator<Item = Message>) -> Vec<Message> {
    let mut log: Vec<Message> = Vec::new();
    let mut open: Vec<(String, String)> = Vec::new();
    let close = |open: &mut Vec<(String, String)>, log: &mut Vec<Message>| {
        for (call, tool) in open.drain(..) {
            let id = format!("{call}-none-{}", log.len());
            log.push(Message::tool(id, call, tool, "no result"));
        }
    };
    for message in messages {
        let result = message.parts.first().and_then(|part| part.as_result());
        match result {
            Some(result) => {
                let waits = open.iter().position(|(call, _)| *call == result.call_id);
                let Some(at) = waits else { continue };
                open.remove(at);
            }
            None => {
                close(&mut open, &mut log);
                let calls = message.parts.iter().filter_map(|part| part.as_call());
                open = calls.map(|call| (call.call_id.clone(), call.tool.clone())).collect();
            }
        }
        log.push(message);
    }
    close(&mut open, &mut log);
    log
}

/// A message as the script reads it.
fn told(message: &Message) -> Value {
    let mut told = json!({ "role": message.role.as_str(), "id": message.id });
    if let Some(result) = message.parts.first().and_then(|part| part.as_result()) {
        told["callId"] = result.call_id.as_str().into();
        told["text"] = result.text.as_str().into();
        return told;
    }
    let blocks = message.parts.iter().map(|part| match &part.kind {
        PartKind::Call(call) => json!({
            "type": "tool-call", "id": call.call_id, "name": call.tool, "arguments": part.shown(),
        }),
        PartKind::Reasoning { text, .. } => json!({ "type": "reasoning", "text": text }),
        _ => json!({ "type": "text", "text": part.shown() }),
    });
    told["content"] = blocks.collect();
    if let Some(usage) = message.answer.as_ref().and_then(|answer| answer.usage) {
        told["usage"] = json!({
            "inputTokens": usage.uncached,
            "outputTokens": usage.output + usage.reasoning,
            "cacheReadTokens": usage.cache_read,
            "cacheWriteTokens": usage.cache_write,
        });
    }
    told
}

/// What the preset does when it is asked, as the script says it of the package.
fn asked(talk: &mut Conversation, summaries: &Scripted, used: Option<Usage>) -> Value {
    let before = summaries.asked().len();
    let view = talk.view();
    let said = view
        .places()
        .iter()
        .filter(|place| !view.message(talk.history(), **place).is_entry_of(EntryKind::Summary));
    let sizes: Vec<u64> = said.map(|place| talk.meter(MeterId::OWN).shown(*place)).collect();
    let reports = talk::at_usage(talk, Moment::StepEnd, used);
    let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
    // The earlier checkpoint goes apart; there it is the first message.
    let summarized: usize = summaries.asked()[before..]
        .iter()
        .map(|request| request.messages.len() + usize::from(request.previous.is_some()))
        .sum();
    let id = |shown: &ShownMessage<'_>| {
        let id = &shown.message.id;
        match shown.message.is_entry_of(EntryKind::Summary) {
            true => "summary".to_owned(),
            false if shown.to_message().parts.iter().any(|part| part.shown().contains(MARKER)) => {
                format!("{id}+")
            }
            false => id.clone(),
        }
    };
    json!({
        "tokens": decision.count,
        "fires": decision.fold,
        "sizes": sizes,
        "summarized": summarized,
        "view": talk.sent().iter().map(id).collect::<Vec<_>>(),
    })
}

/// Stands in a result that lost its middle.
const MARKER: &str = "[... tool result middle pruned ...]";

/// What was compared, and what differed as the preset says it does.
#[derive(Debug, Default)]
struct Found {
    asked: usize,
    /// Times that results were cut and nothing was summarized.
    cut: usize,
    folds: usize,
    differences: BTreeMap<&'static str, usize>,
}

fn compare(cases: &[Case]) -> Found {
    compared("dsh", cases, Case::json, Case::compare)
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external dsh"]
fn dsh_on_recorded_sessions() {
    let windows = [40_000, 60_000, 100_000];
    let cases: Vec<Case> = recorded_sessions()
        .iter()
        .flat_map(|session| windows.map(|window| Case::new(session, window)))
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 100 && found.cut > 10, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external dsh"]
fn dsh_on_drawn_sessions() {
    let cases: Vec<Case> = drawn_sessions(1_000)
        .iter()
        .zip([1_000, 3_000, 8_000, 20_000].iter().cycle())
        .map(|(session, window)| Case::new(session, *window))
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 500, "{found:?}");
}
