//! Rows from TOML: a table for each, grouped by what they are about. What `[like.NAME]` has, a row with
//! `like = "NAME"` has as well, unless it says otherwise.
//!
//! Texts may hold `{x:N}` (so many letters), `{repeat:N:TEXT}`, `{long:TEXT}` and `{anchored:TEXT}` (see
//! [`super::texts`]), and the constants of [`CONSTANTS`].

use super::given::{Act, Before, Given};
use super::model::{Reply, busy, ends, fails, overflow, summary};
use super::row::{Claim, Row};
use super::texts::{GO_ON, MARKER, anchored, answer, image, long, prompt, screenshot, tool, x};
use foldback_core::Limits;
use foldback_core::log::Finish;
use foldback_core::provider::{ErrorKind, ProviderError};
use foldback_core::stage::SummaryError;
use foldback_fake_provider::errors::OVERFLOWS;
use foldback_providers::errors::Classifier;
use foldback_test_support::table;
use serde::Deserialize;
use toml::{Table, Value};

const STREAM: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"content\":[]}}\n\n\
    event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 203073 tokens > 200000 maximum\"}}\n\n";

const STRUCTURED: &str =
    r#"{"error":{"code":"context_length_exceeded","message":"no","type":"invalid_request_error"}}"#;

const CONSTANTS: [(&str, &str); 5] = [
    ("{MARKER}", MARKER),
    ("{GO_ON}", GO_ON),
    ("{LEAD}", "[Previous conversation summary]\n\n"),
    ("{STREAM}", STREAM),
    ("{STRUCTURED}", STRUCTURED),
];

/// A row as it is written.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    id: String,
    origin: String,
    name: String,
    preset: Option<String>,
    /// One row for each, named after it.
    presets: Option<Vec<String>>,
    #[serde(default)]
    changes: String,
    #[serde(default)]
    summarizer: String,
    limits: Option<[u64; 2]>,
    #[serde(default)]
    model: Vec<String>,
    acts: Vec<String>,
    hook: Option<String>,
    notes: Option<(String, i64)>,
    beneath: Option<String>,
    expect: Vec<Claim>,
}

/// The rows of a group.
pub(crate) fn rows(file: &str, group: &str) -> Vec<Row> {
    let path = format!("{}/tests/with_a_model/{file}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file: Table = toml::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
    let written = file[group].as_array().unwrap().iter();
    written.flat_map(|row| read(&file, row.as_table().unwrap().clone())).collect()
}

fn read(file: &Table, mut row: Table) -> Vec<Row> {
    if let Some(like) = row.remove("like") {
        for (key, value) in file["like"][like.as_str().unwrap()].as_table().unwrap() {
            row.entry(key.as_str()).or_insert_with(|| value.clone());
        }
    }
    let mut row = Value::Table(row);
    table::fill(&mut row, &filled);
    let text = row.to_string();
    let row: Written = row.try_into().unwrap_or_else(|error| panic!("{text}: {error}"));
    if let Some(presets) = &row.presets {
        let named = |preset: &String| Written {
            name: format!("{preset}: {}", row.name),
            preset: Some(preset.clone()),
            ..row.clone()
        };
        return presets.iter().map(|preset| named(preset).row(None)).collect();
    }
    if row.name == "{refusal}" {
        return OVERFLOWS
            .iter()
            .map(|refusal| {
                let answer = Classifier::builtin().classify(
                    Some(refusal.provider),
                    Some(refusal.status),
                    refusal.body,
                );
                let name = refusal.source.to_owned();
                Written { name, ..row.clone() }.row(Some(answer))
            })
            .collect();
    }
    vec![row.row(None)]
}

impl Written {
    fn row(self, refused: Option<ProviderError>) -> Row {
        let limits = self.limits.unwrap_or([200_000, 32_000]);
        let given = Given {
            preset: self.preset.unwrap_or_else(|| "opencode-1.17".to_owned()),
            changes: self.changes,
            summarizer: self.summarizer,
            limits: Limits::new(limits[0], limits[1]),
            model: self.model.iter().map(|text| reply(text, refused.as_ref())).collect(),
            acts: self.acts.iter().flat_map(|text| acts(text)).collect(),
            hook: self.hook.map(|hook| match hook.as_str() {
                "hangs" => Before::Hangs,
                _ => Before::Instructs(hook),
            }),
            notes: self.notes,
            beneath: self.beneath.map(|why| {
                SummaryError::Provider(ProviderError::new(ErrorKind::ContextOverflow, why))
            }),
        };
        Row { id: self.id, origin: self.origin, name: self.name, given, expect: self.expect }
    }
}

fn filled(text: &str) -> String {
    let text = table::with(&table::filled(text), "long", long);
    let text = table::with(&text, "anchored", anchored);
    CONSTANTS.iter().fold(text, |text, (name, is)| text.replace(name, is))
}

/// `KIND[@TOKENS][ ARGUMENTS][: TEXT]`.
fn reply(written: &str, refused: Option<&ProviderError>) -> Reply {
    let (head, text) = written.split_once(": ").unwrap_or((written, ""));
    let words: Vec<&str> = head.split(' ').collect();
    let (kind, tokens) = words[0].split_once('@').unwrap_or((words[0], "100"));
    let ended = |finish| ends(text, finish).using(tokens.parse().expect("a number"));
    match (kind, &words[1..]) {
        ("says", []) => ended(Finish::Stop),
        ("calls", []) => ended(Finish::ToolCalls),
        ("length", []) => ended(Finish::Length),
        ("content-filter", []) => ended(Finish::ContentFilter),
        ("error", []) => ended(Finish::Error),
        ("summary", []) => summary(),
        ("overflow", []) => overflow(),
        ("hangs", []) => Reply::Hangs,
        ("busy", [seconds]) => busy(seconds.parse().expect("a number")),
        ("fails", [kind]) => fails(serde_json::from_value((*kind).into()).unwrap(), text),
        ("breaks", []) => match overflow() {
            Reply::Fails(error) => Reply::Breaks(text.to_owned(), error),
            other => other,
        },
        ("answered", [provider, status]) => {
            let provider = Some(*provider).filter(|provider| *provider != "-");
            Reply::Fails(Classifier::builtin().classify(provider, status.parse().ok(), text))
        }
        ("refused", []) => Reply::Fails(refused.expect("a refusal").clone()),
        _ => panic!("no reply of a model: {written}"),
    }
}

/// `compact`, `chat COUNT`, `stored MESSAGE`, `turn MESSAGE` or `interrupted MILLISECONDS ACT`, where a
/// message is `user ID: TEXT`, `assistant ID: TEXT`, `image ID FILE SIZE: TEXT`, and what is stored may
/// be a call and its result as well, `tool NAME: OUTPUT` or `screenshot FILE SIZE`.
fn acts(written: &str) -> Vec<Act> {
    let (head, text) = written.split_once(": ").unwrap_or((written, ""));
    let words: Vec<&str> = head.split(' ').collect();
    let number = |word: &str| word.parse().expect("a number");
    let message = |words: &[&str]| match words {
        ["user", id] => prompt(id, text),
        ["assistant", id] => answer(id, text),
        ["image", id, name, size] => image(id, text, name, number(size)),
        _ => panic!("no message: {written}"),
    };
    let both = |(call, result)| vec![Act::Stored(call), Act::Stored(result)];
    match words.as_slice() {
        ["compact"] => vec![Act::Compact],
        ["chat", count] => (0..number(count)).map(nth_of_chat).collect(),
        ["stored", "tool", name] => both(tool(name, text)),
        ["stored", "screenshot", name, size] => both(screenshot(name, number(size))),
        ["stored", words @ ..] => vec![Act::Stored(message(words))],
        ["turn", words @ ..] => vec![Act::Turn(message(words))],
        ["interrupted", milliseconds, ..] => {
            let prefix = format!("interrupted {milliseconds} ");
            let act = acts(&written[prefix.len()..]).remove(0);
            vec![Act::Interrupted(Box::new(act), number(milliseconds) as u64)]
        }
        _ => panic!("nothing that happens: {written}"),
    }
}

/// User and model in turn, the user first.
fn nth_of_chat(n: usize) -> Act {
    let (id, text) = (format!("m{n}"), x(380));
    Act::Stored(if n.is_multiple_of(2) { prompt(&id, &text) } else { answer(&id, &text) })
}
