//! `gemini-cli` beside @google/gemini-cli-core 0.61.0: before each request both decide, and where they compress, both go on with what
//! they made of it. After each decision their whole histories are the same JSON.

use crate::differential::{Happens, ask, drawn_sessions, happens, recorded_sessions, strategy};
use foldback::gemini::{Count, CountUnit, Mask, MaskConfig};
use foldback_core::Limits;
use foldback_core::conversation::{Conversation, Report};
use foldback_core::guard::Guards;
use foldback_core::log::{Message, PartKind, ResultStatus, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::outcome::Outcome;
use foldback_core::stage::Estimator as _;
use foldback_core::view::ShownMessage;
use foldback_formats::Session;
use foldback_testkit::stand_in::{Asking, Scripted};
use foldback_testkit::talk;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a case runs under.
#[derive(Clone, Copy, Debug)]
struct Settings {
    model: &'static str,
    limit: u64,
    /// Tokens from which it compresses.
    trigger: u64,
    /// What the provider counts for a history: so many hundredths of its estimate, and a frame.
    factor: u64,
    frame: u64,
    /// How often the text of each result is repeated.
    repeat: usize,
}

const GEMINI: (&str, u64) = ("gemini-2.5-pro", 1_048_576);
const GEMMA: (&str, u64) = ("gemma-4-31b-it", 256_000);

fn settings(
    (model, limit): (&'static str, u64),
    trigger: u64,
    factor: u64,
    frame: u64,
    repeat: usize,
) -> Settings {
    Settings { model, limit, trigger, factor, frame, repeat }
}

/// One case.
struct Case {
    name: String,
    settings: Settings,
    messages: Vec<Arc<Message>>,
    texts: Vec<String>,
}

/// Bytes of a session whose results are within the budget.
const SHORT: usize = 150_000;

/// The session as Gemini CLI could have had it: no messages of the harness, two tools, ids and names of one length, results repeated.
fn adapted(session: &Session, repeat: usize) -> Vec<Arc<Message>> {
    let texts = session.log().map(|message| message.shown_text().len() * repeat);
    let size: usize = texts.sum();
    let mut ids: BTreeMap<String, String> = BTreeMap::new();
    let mut id = |call: &str| {
        let next = format!("c{:06}", ids.len());
        ids.entry(call.to_owned()).or_insert(next).clone()
    };
    let is_shell = |tool: &str| ["sh", "exec", "command"].iter().any(|word| tool.contains(word));
    let name = |tool: &str| if is_shell(tool) { "run_shell_command" } else { "read_a_file_of_it" };
    let log = session.log().filter(|message| message.role != Role::System && !message.is_entry());
    let adapted = log.map(|message| {
        let mut message = Message::clone(message);
        for part in &mut message.parts {
            match &mut part.kind {
                PartKind::Call(call) => {
                    (call.tool, call.call_id) = (name(&call.tool).to_owned(), id(&call.call_id));
                }
                PartKind::Result(result) => {
                    (result.tool, result.call_id) =
                        (name(&result.tool).to_owned(), id(&result.call_id));
                    result.structured = None;
                    result.text = result.text.repeat(repeat);
                    // One over a budget is no failure any more there; here it stays one. Only short sessions have any.
                    if size > SHORT {
                        result.status = ResultStatus::Completed;
                    }
                }
                _ => {}
            }
        }
        Arc::new(message)
    });
    adapted.collect()
}

/// A message as a content of Gemini's protocol; nothing where none of its parts is sent.
fn content(shown: &ShownMessage<'_>) -> Option<Value> {
    let media = |media: &foldback_core::log::Media| {
        let data = media.url.split_once("base64,").map_or(media.url.as_str(), |(_, data)| data);
        match media.url.contains("://") {
            true => json!({ "fileData": { "mimeType": media.mime, "fileUri": media.url } }),
            false => json!({ "inlineData": { "mimeType": media.mime, "data": data } }),
        }
    };
    let part = |(index, part): (usize, &foldback_core::Part)| {
        let text = shown.text_of(index);
        Some(match &part.kind {
            PartKind::Reasoning { .. } => return None,
            PartKind::Call(call) => {
                let args = match serde_json::from_str(&text) {
                    Ok(Value::Object(args)) => Value::Object(args),
                    _ if text.trim().is_empty() => json!({}),
                    _ => json!({ "input": text }),
                };
                json!({ "functionCall": { "id": call.call_id, "name": call.tool, "args": whole(args) } })
            }
            PartKind::Result(result) => {
                let failed = matches!(result.status, ResultStatus::Error | ResultStatus::Retry);
                let failed = failed && shown.edit(index).is_none();
                let response =
                    if failed { json!({ "error": text }) } else { json!({ "output": text }) };
                let mut said =
                    json!({ "id": result.call_id, "name": result.tool, "response": response });
                if !result.media.is_empty() {
                    said["parts"] = result.media.iter().map(media).collect();
                }
                json!({ "functionResponse": said })
            }
            PartKind::File(file) => media(file),
            PartKind::Unknown { raw, .. } => raw.clone(),
            _ if text.is_empty() => return None,
            _ => json!({ "text": text }),
        })
    };
    let parts: Vec<Value> = shown.message.parts.iter().enumerate().filter_map(part).collect();
    let role = if shown.message.role == Role::Assistant { "model" } else { "user" };
    (!parts.is_empty()).then(|| json!({ "role": role, "parts": parts }))
}

/// Numbers as JavaScript writes them: 1.0 is 1.
fn whole(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 1e15 => {
                json!(float as i64)
            }
            _ => Value::Number(number),
        },
        Value::Array(list) => list.into_iter().map(whole).collect(),
        Value::Object(map) => map.into_iter().map(|(key, value)| (key, whole(value))).collect(),
        other => other,
    }
}

/// Contents, those of one role in a row as one.
fn history<'s>(shown: impl IntoIterator<Item = ShownMessage<'s>>) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for one in shown {
        let Some(mut next) = content(&one) else { continue };
        match all.last_mut() {
            Some(last) if last["role"] == next["role"] => {
                let parts = next["parts"].as_array_mut().unwrap();
                last["parts"].as_array_mut().unwrap().append(parts);
            }
            _ => all.push(next),
        }
    }
    all
}

/// Length and hash, as the script makes them.
fn digest(text: &str) -> Value {
    let hash = text
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    json!([text.len(), hash])
}

fn digest_of(contents: &[Value]) -> Value {
    digest(&serde_json::to_string(contents).unwrap())
}

/// The messages of the view up to the last answer: what came since is part of the next request.
fn sent(talk: &Conversation) -> Vec<ShownMessage<'_>> {
    let mut sent = talk.sent();
    let last = sent.iter().rposition(|shown| shown.message.role == Role::Assistant);
    sent.truncate(last.map_or(0, |last| last + 1));
    sent
}

impl Case {
    fn new(settings: Settings, session: &Session) -> Self {
        let text = |n: usize| match n % 11 {
            // The second answer, the first, and both of one fold without text.
            3 | 4 | 8 | 9 => String::new(),
            _ => format!(
                "<state_snapshot>\n{n} {}\n</state_snapshot> ",
                "é fact ".repeat(n * 37 % 900)
            ),
        };
        let messages = adapted(session, settings.repeat);
        Self { name: session.id.clone(), settings, messages, texts: (0..143).map(text).collect() }
    }

    fn json(&self) -> Value {
        let Settings { model, trigger, factor, frame, .. } = self.settings;
        // Gemini CLI decides before a request is sent: what it will hold is not in the history yet.
        let happens = self.messages.iter().flat_map(|message| {
            let content =
                content(&ShownMessage::plain(message)).map(|content| json!({ "content": content }));
            content.into_iter().chain(message.is_answer().then(|| json!({})))
        });
        json!({
            "model": model,
            "trigger": trigger,
            "factor": factor,
            "frame": frame,
            "texts": self.texts,
            "folder": folder(),
            "happens": happens.collect::<Vec<_>>(),
        })
    }

    fn conversation(&self) -> (Conversation, Arc<Scripted>) {
        let (folder, file) = (folder(), "x".repeat(17));
        let toml = format!(
            "name = \"here\"\nextends = \"gemini-cli\"\n[overflow]\nuse = \"answer-usage\"\nlimit = {}\n[filter]\nuse = \"gemini.snapshot\"\n\
             reply = \"Got it. Thanks for the additional context!\"\nsummary_tokens = 1_000_000\nonly_smaller = false\n\
             note = \"Output too large. Showing first {{first}} and last {{last}} characters. For full output see: {folder}/tool-outputs/{file}_1.txt\"\n",
            self.settings.trigger,
        );
        let masked = Arc::new(Mask::from(MaskConfig {
            note: format!(
                "Output too large. Full output available at: {folder}/tool-outputs/session-session/{file}_c000000_.txt"
            ),
            ..talk::config(&foldback::registry().unwrap(), "gemini-cli", "pruner[0]")
        }));
        let mut strategy = (*strategy(&toml)).clone();
        strategy.pruners[0].stage = masked;
        // What the original does below the guards.
        strategy.guards = Guards { no_growth: false, repeat: false, breaker: 0, ..strategy.guards };
        let (texts, mut asked) = (self.texts.clone(), 0);
        let scripted = Scripted::by(move |_| {
            asked += 1;
            Ok(texts[(asked - 1) % texts.len()].clone())
        });
        // It asks a model, so that it is asked twice.
        strategy.summarizer = Some(Arc::new(Asking(Arc::clone(&scripted))));
        (talk::conversation(strategy, Limits::new(self.settings.limit, 0)), scripted)
    }

    /// Runs the case beside the answers of the package. What differs as the preset says it does is counted, and ends the case.
    fn compare(&self, answers: &Value, found: &mut Found) {
        let (mut talk, scripted) = self.conversation();
        let mut answers = answers.as_array().unwrap().iter();
        for what in happens(&self.messages) {
            match what {
                Happens::Appended(message) => {
                    talk.append(Arc::clone(message));
                }
                Happens::Asked => {
                    let theirs = answers.next().unwrap();
                    let ours = self.asked(&mut talk, &scripted);
                    found.count(theirs);
                    if let Some(difference) = self.difference(&ours, theirs) {
                        *found.differences.entry(difference).or_default() += 1;
                        return;
                    }
                }
            }
        }
        assert_eq!(
            answers.next().unwrap()["history"],
            digest_of(&history(talk.sent())),
            "{}",
            self.name
        );
    }

    /// What the preset does before a request, as the script says it of the package.
    fn asked(&self, talk: &mut Conversation, scripted: &Scripted) -> Value {
        let Settings { factor, frame, .. } = self.settings;
        let quarters = Count::new(CountUnit::Quarters);
        let size = |shown: &ShownMessage<'_>| quarters.counts(&shown.to_shared()).total();
        let estimate = Count::tokens(sent(talk).iter().map(size).sum());
        let count = estimate * factor / 100 + frame;
        let before = scripted.asked().len();
        let usage = Usage { uncached: count, ..Usage::default() };
        let reports = talk::at_usage(talk, Moment::StepEnd, Some(usage));
        let status = status(talk, reports.last().unwrap());
        let mut said = json!({ "count": count, "status": status });
        if ["COMPRESSED", "CONTENT_TRUNCATED"].contains(&status) {
            said["history"] = digest_of(&history(sent(talk)));
        }
        let reports = talk::at(talk, Moment::CallStart);
        if reports.iter().any(|report| report.outcome.changed()) {
            said["masked"] = digest_of(&history(sent(talk)));
        }
        let asked = scripted.asked();
        if let [first, second, ..] = &asked[before..] {
            said["previous"] = first.previous.as_deref().map_or(Value::Null, digest);
            let given = first.messages.iter().map(ShownMessage::plain);
            said["given"] = digest_of(&history(given));
            said["second"] = digest(second.previous.as_deref().unwrap());
        }
        said
    }

    /// How the two differ, if as the preset says that they do.
    fn difference(&self, ours: &Value, theirs: &Value) -> Option<&'static str> {
        let mut same = theirs.clone();
        for only_theirs in ["after", "split"] {
            same.as_object_mut().unwrap().remove(only_theirs);
        }
        // Where nothing is left to be cut, the original puts the same history in place again.
        if same["status"] == "CONTENT_TRUNCATED" && ours["status"] == "NOOP" {
            same["status"] = "NOOP".into();
            same.as_object_mut().unwrap().remove("history");
        }
        // An empty first answer is asked about all the same.
        if *ours == same {
            return None;
        }
        if theirs["split"] == true && ours["status"] == same["status"] {
            return Some("a cut falls into the middle of a character");
        }
        let over = ours["count"].as_u64().unwrap() >= self.settings.limit;
        if over && ours["status"] == same["status"] {
            return Some(
                "the request is over the limit, so that there is nothing to cut results to",
            );
        }
        let (after, count) = (theirs["after"].as_u64().unwrap(), theirs["count"].as_u64().unwrap());
        if theirs["status"] == "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT"
            && ours["status"] == "COMPRESSED"
            && after - count <= SESSION_CONTEXT
        {
            return Some("the session's context makes the difference");
        }
        panic!("{}, {:?}\nours:   {ours}\ntheirs: {theirs}", self.name, self.settings);
    }
}

/// Tokens of the context that the original puts in front of a history, at most.
const SESSION_CONTEXT: u64 = 100;

/// Where the package writes the results that it cuts.
fn folder() -> String {
    format!("{}/gemini-cli", env!("CARGO_TARGET_TMPDIR"))
}

/// What became of it, in the words of Gemini CLI.
fn status(talk: &Conversation, report: &Report) -> &'static str {
    let code = report.outcome.why().map(|why| &*why.code);
    match &report.outcome {
        Outcome::Changed | Outcome::Degraded(_) => {
            match talk.folds().last().unwrap().plan.entries.len() {
                0 => "CONTENT_TRUNCATED",
                _ => "COMPRESSED",
            }
        }
        _ if code == Some("inflated") => "COMPRESSION_FAILED_INFLATED_TOKEN_COUNT",
        _ if code == Some("summary-failed") => "COMPRESSION_FAILED_EMPTY_SUMMARY",
        Outcome::Failed(why) => panic!("{why}"),
        _ => "NOOP",
    }
}

/// What was compared.
#[derive(Debug, Default)]
struct Found {
    statuses: BTreeMap<String, usize>,
    masked: usize,
    differences: BTreeMap<&'static str, usize>,
}

impl Found {
    fn count(&mut self, theirs: &Value) {
        let status = theirs["status"].as_str().unwrap().to_owned();
        *self.statuses.entry(status).or_default() += 1;
        self.masked += usize::from(!theirs["masked"].is_null());
    }

    fn of(&self, status: &str) -> usize {
        self.statuses.get(status).copied().unwrap_or(0)
    }
}

fn compare(cases: &[Case]) -> Found {
    let mut found = Found::default();
    // A few at a time: some are large.
    for cases in cases.chunks(50) {
        let asked: Vec<Value> = cases.iter().map(Case::json).collect();
        let answers = ask("gemini-cli", &asked);
        for (case, answers) in cases.iter().zip(&answers) {
            case.compare(answers, &mut found);
        }
    }
    println!("{} sessions: {found:?}", cases.len());
    found
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external gemini"]
fn gemini_cli_on_recorded_sessions() {
    let settings = [
        settings(GEMINI, 20_000, 120, 9_000, 1),
        settings(GEMINI, 50_000, 100, 12_000, 2),
        // The provider counts less than the estimate says, so that summaries inflate.
        settings(GEMINI, 4_000, 40, 0, 1),
        // Nearly no room is left in the window.
        settings(GEMMA, 128_000, 2, 249_000, 3),
        // Results are masked, and compression comes late.
        settings(GEMINI, 400_000, 100, 0, 2),
    ];
    let sessions = recorded_sessions();
    let cases: Vec<Case> = sessions
        .iter()
        .flat_map(|session| settings.map(|settings| Case::new(settings, session)))
        .collect();
    let found = compare(&cases);
    assert!(found.of("COMPRESSED") > 100, "{found:?}");
}

#[test]
#[ignore = "runs the released package: cargo xtask test-external gemini"]
fn gemini_cli_on_drawn_sessions() {
    let settings = [
        settings(GEMINI, 3_000, 100, 0, 1),
        settings(GEMINI, 8_000, 130, 2_000, 1),
        settings(GEMINI, 40_000, 100, 5_000, 10),
        settings(GEMINI, 2_000, 30, 0, 1),
        settings(GEMMA, 64_000, 4, 240_000, 20),
        settings(GEMMA, 128_000, 10, 120_000, 40),
        // A summary inflates, and then results are cut without one.
        settings(GEMINI, 500, 60, 0, 25),
        // Results are masked and nothing is compressed.
        settings(GEMINI, 900_000, 10, 0, 8),
    ];
    let cases: Vec<Case> = drawn_sessions(500)
        .iter()
        .zip(settings.into_iter().cycle())
        .map(|(session, settings)| Case::new(settings, session))
        .collect();
    let found = compare(&cases);
    assert!(found.of("COMPRESSED") > 300, "{found:?}");
}
