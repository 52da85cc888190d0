//! `cline` beside @cline/core 0.0.86: before each request both decide, and where they compact, both go on with what they made of it.

use crate::differential::{compared, drawn_sessions, recorded_sessions, strategy};
use foldback::cline::NOTICE;
use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::guard::Guards;
use foldback_core::log::{Answer, Message, Part, PartKind, ResultStatus, Role, ToolCall};
use foldback_core::moment::Moment;
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_stages::estimator::{Unit, is_js_whitespace, json_string};
use foldback_stages::extractive::files::{Tool, Touch, command, tool, touches};
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the original's words stand in a note.
const WORDS: &str =
    "Earlier context was compacted. Summary of your actions after the request above:";

/// Every so many requests the provider refuses one.
const REFUSED: usize = 9;

struct Case {
    name: String,
    limits: Limits,
    log: Vec<Arc<Message>>,
}

/// What happens in the loop.
enum Happens<'s> {
    Appended(&'s Arc<Message>),
    Requested { refused: bool },
}

impl Case {
    fn new(session: &Session, limits: Limits, reasoning: bool) -> Self {
        let log =
            session.log().flat_map(|message| plain(message, reasoning)).map(Arc::new).collect();
        Self { name: session.id.clone(), limits, log }
    }

    fn happens(&self) -> Vec<Happens<'_>> {
        let (mut all, mut requests) = (Vec::new(), 0);
        for message in &self.log {
            if message.is_answer() {
                requests += 1;
                all.push(Happens::Requested { refused: requests % REFUSED == 0 });
            }
            all.push(Happens::Appended(message));
        }
        all
    }

    fn json(&self) -> Value {
        let happens = self.happens().into_iter().map(|what| match what {
            Happens::Appended(message) => told(message),
            Happens::Requested { refused } => json!({ "refused": refused }),
        });
        let Limits { context, output, .. } = self.limits;
        json!({ "window": context, "output": output, "happens": happens.collect::<Vec<_>>() })
    }

    /// Runs the case beside the answers of the package. What differs as the preset says it does is counted, and ends the case.
    fn compare(&self, answers: &Value, found: &mut Found) {
        let mut strategy = (*strategy("name = \"here\"\nextends = \"cline\"\n")).clone();
        strategy.guards = Guards { repeat: false, breaker: 0, no_growth: false, ..strategy.guards };
        let mut talk = talk::conversation(strategy, self.limits);
        let mut answers = answers.as_array().unwrap().iter();
        for what in self.happens() {
            match what {
                Happens::Appended(message) => _ = talk.append(Arc::clone(message)),
                Happens::Requested { refused } => {
                    let theirs = answers.next().unwrap();
                    if let Some(difference) = self.requested(&mut talk, refused, theirs, found) {
                        *found.differences.entry(difference).or_default() += 1;
                        return;
                    }
                }
            }
        }
    }

    /// What both do about a request; how they differ, if as the preset says that they do.
    fn requested(
        &self,
        talk: &mut Conversation,
        refused: bool,
        theirs: &Value,
        found: &mut Found,
    ) -> Option<&'static str> {
        found.requests += 1;
        let joined = joined(talk);
        let moment = if refused { Moment::ProviderOverflow } else { Moment::CallStart };
        let (folds, cut) = (talk.folds().len(), talk.view().edits().len());
        let reports = talk::at(talk, moment);
        let decision = reports.iter().find_map(|report| report.decision.clone()).unwrap();
        let folded = talk.folds().len() > folds;
        found.folds += usize::from(folded);
        found.cut += usize::from(talk.view().edits().len() > cut);
        let counted = theirs["tokens"].as_u64().unwrap();
        let context = || format!("{}, {:?}: {}\n{theirs}", self.name, self.limits, decision.reason);
        let off = decision.count.checked_sub(counted).unwrap_or_else(|| panic!("{}", context()));
        assert!(
            off.abs_diff(joined.div_ceil(3)) <= 1,
            "off by {off}, {joined} units: {}",
            context()
        );
        let fires = decision.count >= decision.trigger;
        if fires != theirs["fires"].as_bool().unwrap() {
            assert!(fires && decision.count - decision.trigger <= off, "{}", context());
            return Some("messages that were joined make the difference");
        }
        let view: Vec<String> = talk.sent().iter().flat_map(shown).collect();
        let theirs_view = theirs["view"].as_array().unwrap().iter();
        let theirs_view: Vec<String> =
            theirs_view.map(|text| in_our_words(text.as_str().unwrap())).collect();
        if view != theirs_view {
            for at in 0..view.len().max(theirs_view.len()) {
                if view.get(at) != theirs_view.get(at) {
                    println!("{at}\nours:   {:?}\ntheirs: {:?}", view.get(at), theirs_view.get(at));
                    break;
                }
            }
            println!("ours: {}\ntheirs: {}", view.len(), theirs_view.len());
            for report in &reports {
                println!("{:?}", report.outcome);
            }
            panic!("{}", context());
        }
        if !folded && theirs["folds"] == true {
            return Some("messages are joined, and nothing else is done");
        }
        let reasons = |shown: &ShownMessage<'_>| {
            shown.message.parts.iter().any(|part| matches!(part.kind, PartKind::Reasoning { .. }))
        };
        (folded && talk.sent().iter().any(reasons)).then_some("reasoning stays with its answer")
    }
}

/// The original's note with the words of the preset, also where it was cut within them.
fn in_our_words(text: &str) -> String {
    let (tag, ours) = NOTICE.trim_end().split_at("<SYSTEM_NOTICE>\n".len());
    assert_eq!(ours.len(), WORDS.len());
    let Some(theirs) = text.strip_prefix(tag) else { return text.to_owned() };
    let same = theirs.bytes().zip(WORDS.bytes()).take_while(|(a, b)| a == b).count();
    format!("{tag}{}{}", &ours[..same], &theirs[same..])
}

/// Units that messages of the person count here, and not there, once a compaction has joined and trimmed them.
fn joined(talk: &Conversation) -> u64 {
    let folded = talk.view().layout().tail_from;
    let places = talk.view().places().iter().filter_map(|place| place.item());
    let (mut units, mut behind) = (0, false);
    for pos in places.filter(|pos| *pos < folded) {
        let message = talk.history().message(pos);
        let user = message.role == Role::User;
        let said = talk.view().show_item(talk.history(), pos).to_message().said();
        if user && is_gone(&said) {
            units += json_string(&said) - json_string("");
        }
        if user && !message.is_entry() {
            let said = if is_gone(&said) { "" } else { &said };
            units += json_string(said) - json_string(said.trim_matches(is_js_whitespace));
            let mut told = told(message);
            told["content"] = json!([]);
            units += if behind { Unit::Utf16.len(&told.to_string()) } else { 0 };
        }
        behind = user;
    }
    units
}

/// What a message shows, as the script tells it.
fn shown(shown: &ShownMessage<'_>) -> Vec<String> {
    let message = shown.to_message();
    let texts = message.parts.iter().filter_map(|part| match &part.kind {
        PartKind::Text { text, .. } => Some(text.clone()),
        PartKind::Result(result) => Some(result.text.clone()),
        _ => None,
    });
    if message.role != Role::User {
        return vec![format!("{}: {}", message.id, texts.collect::<Vec<_>>().join("\n"))];
    }
    let texts = texts.map(|text| text.trim_matches(is_js_whitespace).to_owned());
    texts.filter(|text| !text.is_empty() && !is_gone(text)).collect()
}

/// Whether it stands for a text of which nothing is left; the original leaves an empty one.
fn is_gone(text: &str) -> bool {
    text.starts_with("...[truncated ")
}

/// What Cline stores of a message: a result is one of its own, and its tools are called as they are there.
fn plain(message: &Message, reasoning: bool) -> Vec<Message> {
    match message.role {
        Role::System => Vec::new(),
        Role::Tool => {
            let results = message.parts.iter().filter_map(|part| part.as_result()).enumerate();
            let plain = results.map(|(number, result)| {
                let (id, tool) = (format!("{}-{number}", message.id), named(&result.tool));
                let text = match tool {
                    "editor" => edit(&result.text),
                    _ => result.text.clone(),
                };
                let failed = matches!(result.status, ResultStatus::Error | ResultStatus::Retry);
                let of = if failed { Message::tool_error } else { Message::tool };
                timed(message, of(id, result.call_id.clone(), tool.to_owned(), text))
            });
            plain.collect()
        }
        Role::User => {
            let text = Part::text(message.said());
            vec![timed(message, Message::new(message.id.clone(), Role::User, vec![text]))]
        }
        Role::Assistant => {
            let kept = message.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Text { text, .. } => Some(Part::text(text.clone())),
                PartKind::Reasoning { text, .. } if reasoning => {
                    Some(Part::new(PartKind::Reasoning { text: text.clone(), opaque: None }))
                }
                PartKind::Call(call) => Some(called(call)),
                _ => None,
            });
            let parts: Vec<Part> = kept.collect();
            // The loop stores no answer without content.
            if parts.is_empty() {
                return Vec::new();
            }
            let plain = Message::new(message.id.clone(), Role::Assistant, parts);
            vec![timed(message, plain.with_answer(Answer::default()))]
        }
    }
}

/// A message with the time of another.
fn timed(of: &Message, mut message: Message) -> Message {
    message.at = of.at;
    message
}

/// What a tool is called in Cline.
fn named(name: &str) -> &str {
    match tool(name) {
        Tool::Files(Touch::Read) => "read_files",
        Tool::Files(_) | Tool::Editor | Tool::Patch => "editor",
        Tool::Shell => "run_commands",
        _ => name,
    }
}

/// A call as Cline's tools take it.
fn called(call: &ToolCall) -> Part {
    let arguments = call.arguments_value();
    let path =
        || touches(call, &arguments).into_iter().next().map_or(String::new(), |(path, _)| path);
    let tool = named(&call.tool);
    let arguments = match tool {
        "read_files" if call.arguments.len().is_multiple_of(2) => {
            json!({ "files": [{ "path": path() }] })
        }
        "read_files" => {
            json!({ "files": [{ "path": path(), "start_line": 3, "end_line": call.arguments.len() }] })
        }
        "editor" => json!({ "path": path(), "new_text": arguments }),
        "run_commands" => json!({ "commands": [command(&arguments).unwrap_or_default()] }),
        _ if arguments.is_object() => arguments,
        _ => json!({ "input": arguments }),
    };
    Part::call(call.call_id.clone(), tool, arguments.to_string())
}

/// What an editor says of an edit.
fn edit(text: &str) -> String {
    let (first, last) = (text.len() % 90, text.len() % 70 + 1);
    let result = format!("{text}\n-{first}: \n+{last}: ");
    if text.len().is_multiple_of(3) {
        result
    } else {
        json!({ "result": result, "success": true }).to_string()
    }
}

/// A message as the script reads it.
fn told(message: &Message) -> Value {
    let role = if message.role == Role::Assistant { "assistant" } else { "user" };
    let blocks = message.parts.iter().map(|part| match &part.kind {
        PartKind::Call(call) => json!({
            "type": "tool_use", "id": call.call_id, "name": call.tool, "input": call.arguments_value(),
        }),
        PartKind::Result(result) => {
            let mut block = json!({
                "type": "tool_result", "tool_use_id": result.call_id, "name": result.tool, "content": result.text,
            });
            if result.status == ResultStatus::Error {
                block["is_error"] = true.into();
            }
            block
        }
        PartKind::Reasoning { text, .. } => json!({ "type": "thinking", "thinking": text }),
        _ => json!({ "type": "text", "text": part.shown() }),
    });
    let mut told = json!({ "id": message.id, "role": role, "content": blocks.collect::<Vec<_>>() });
    if let Some(at) = message.at {
        told["ts"] = at.into();
    }
    told
}

/// What was compared, and what differed as the preset says it does.
#[derive(Debug, Default)]
struct Found {
    requests: usize,
    folds: usize,
    /// Folds that cut what stays.
    cut: usize,
    differences: BTreeMap<&'static str, usize>,
}

fn compare(cases: &[Case]) -> Found {
    compared("cline", cases, Case::json, Case::compare)
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external cline"]
fn cline_on_recorded_sessions() {
    let limits = [Limits::new(20_000, 0), Limits::new(40_000, 4_000), Limits::new(100_000, 8_000)];
    let cases: Vec<Case> = recorded_sessions()
        .iter()
        .flat_map(|session| [false, true].map(|reasoning| (session, reasoning)))
        .flat_map(|(session, reasoning)| limits.map(|limits| Case::new(session, limits, reasoning)))
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 100, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external cline"]
fn cline_on_drawn_sessions() {
    let windows = [1_000, 3_000, 8_000, 20_000];
    let cases: Vec<Case> = drawn_sessions(1_000)
        .iter()
        .enumerate()
        .map(|(number, session)| {
            let output = if number % 3 == 0 { 0 } else { 500 };
            Case::new(session, Limits::new(windows[number % 4], output), number % 5 == 0)
        })
        .collect();
    let found = compare(&cases);
    assert!(found.folds > 500 && found.cut > 20, "{found:?}");
}
