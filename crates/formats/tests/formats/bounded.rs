//! The work of reading grows with what is read, for every row of the table of formats.
//!
//! Fixtures are grown: each list of objects in them gets many times its elements, in shapes that a reader might search back
//! in. What counts is the processor time of the thread that reads, which does not depend on what else runs. Linux counts it.
use crate::common::{self, fixture};
use foldback_formats::{FORMATS, read, read_file};
use foldback_test_support::cpu::cost;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};

/// Elements that a list is grown to, and eight times as many.
const ELEMENTS: usize = 150;

/// How much more work twice the input may be.
const MOST: f64 = 2.5;

/// How often a measurement is made again that shows more.
const AGAIN: usize = 4;

/// How many shapes are drawn for each list, unless `FOLDBACK_TEST_SHAPES` says otherwise.
const DRAWN: usize = 2;

/// A file as a list of its lines, or as its only document.
#[derive(Clone)]
struct File {
    id: String,
    name: String,
    lines: bool,
    root: Value,
}

impl File {
    fn of(id: &str, name: &str, text: &str) -> Option<Self> {
        let (id, name) = (id.to_owned(), name.to_owned());
        if let Ok(root) = serde_json::from_str(text) {
            return Some(Self { id, name, lines: false, root });
        }
        let lines: Vec<Value> =
            text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        (!lines.is_empty()).then(|| Self { id, name, lines: true, root: lines.into() })
    }

    fn text(&self) -> String {
        match (&self.root, self.lines) {
            (Value::Array(lines), true) => lines.iter().map(|line| format!("{line}\n")).collect(),
            (root, _) => root.to_string(),
        }
    }

    /// The lists of objects in it, of those at the same place the longest.
    fn lists(&self) -> Vec<String> {
        let mut found = BTreeMap::new();
        walk(&self.root, "", "", &mut found);
        found.into_values().map(|(_, pointer)| pointer).collect()
    }
}

fn walk(value: &Value, pointer: &str, place: &str, found: &mut BTreeMap<String, (usize, String)>) {
    match value {
        Value::Array(list) => {
            let objects = list.iter().filter(|element| element.is_object()).count();
            if objects > 0 {
                let entry = found.entry(place.to_owned()).or_default();
                if objects > entry.0 {
                    *entry = (objects, pointer.to_owned());
                }
            }
            for (at, element) in list.iter().enumerate() {
                walk(element, &format!("{pointer}/{at}"), &format!("{place}/*"), found);
            }
        }
        Value::Object(members) => {
            for (key, value) in members {
                let key = key.replace('~', "~0").replace('/', "~1");
                walk(value, &format!("{pointer}/{key}"), &format!("{place}/{key}"), found);
            }
        }
        _ => {}
    }
}

/// How a list grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Over and over, each time with ids of its own.
    Again,
    /// Over and over as it is.
    Same,
    /// Each element many times.
    Blocks,
    /// The same, from the last element.
    Backward,
    /// One element many times behind the whole.
    Each(usize),
    /// One many times, then another.
    Halves(usize, usize),
    /// One many times, then pairs of two others.
    Pairs(usize, usize, usize),
}

impl Shape {
    /// Every shape of a list with these kinds of elements.
    fn all(kinds: &[usize]) -> Vec<Self> {
        let mut all = vec![Self::Again, Self::Same, Self::Blocks, Self::Backward];
        all.extend(kinds.iter().map(|at| Self::Each(*at)));
        for &a in kinds {
            for &b in kinds.iter().filter(|b| **b != a) {
                all.push(Self::Halves(a, b));
                let others = kinds.iter().filter(|c| **c != b);
                all.extend(others.map(|c| Self::Pairs(a, b, *c)));
            }
        }
        all
    }
}

/// What is changed in each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    None,
    /// Each is behind the one before.
    Chained,
    /// Texts are empty.
    Emptied,
    /// Nothing has an id.
    Unnamed,
    /// Lines are cut in the middle.
    Cut,
}

impl Change {
    const ALL: [Self; 5] = [Self::None, Self::Chained, Self::Emptied, Self::Unnamed, Self::Cut];
}

struct Case<'a> {
    file: &'a File,
    pointer: &'a str,
    shape: Shape,
    change: Change,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let File { id, name, .. } = self.file;
        write!(f, "{id} {name} `{}` {:?} {:?}", self.pointer, self.shape, self.change)
    }
}

fn is_id(key: &str) -> bool {
    let key = key.to_lowercase();
    key.ends_with("id") || key.starts_with("parent")
}

fn is_parent(key: &str) -> bool {
    key.to_lowercase().starts_with("parent") && !key.contains("ool")
}

/// Ids in a value, with how many there are.
fn ids(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(list) => list.iter().for_each(|element| ids(element, found)),
        Value::Object(members) => {
            for (key, value) in members {
                match value {
                    Value::String(id) if is_id(key) => drop(found.insert(id.clone())),
                    value => ids(value, found),
                }
            }
        }
        _ => {}
    }
}

fn renamed(value: &Value, own: &BTreeSet<String>, copy: usize, change: Change) -> Value {
    match value {
        Value::String(text) if own.contains(text) => format!("{text}-{copy}").into(),
        Value::String(text) if change == Change::Emptied && text.contains(' ') => "".into(),
        Value::Array(list) => list.iter().map(|value| renamed(value, own, copy, change)).collect(),
        Value::Object(members) => {
            let mut out = Map::new();
            for (key, value) in members {
                if change == Change::Unnamed && is_id(key) {
                    continue;
                }
                let value = match value.as_i64().filter(|_| is_id(key)) {
                    Some(number) => (number + copy as i64 * 1_000).into(),
                    None => renamed(value, own, copy, change),
                };
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        value => value.clone(),
    }
}

impl Case<'_> {
    fn text(&self, n: usize) -> String {
        let mut file = self.file.clone();
        let list = file.root.pointer_mut(self.pointer).unwrap();
        let all = std::mem::take(list.as_array_mut().unwrap());
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for element in &all {
            let mut found = BTreeSet::new();
            ids(element, &mut found);
            found.into_iter().for_each(|id| *counts.entry(id).or_default() += 1);
        }
        // What all share is the session's.
        let own: BTreeSet<String> = counts
            .into_iter()
            .filter(|(_, count)| *count * 2 <= all.len() || all.len() == 1)
            .map(|(id, _)| id)
            .collect();
        let none = BTreeSet::new();
        let own = if self.shape == Shape::Same { &none } else { &own };
        let repeated = |at: usize, times: usize, first: usize| -> Vec<Value> {
            (first..first + times).map(|copy| renamed(&all[at], own, copy, self.change)).collect()
        };
        let mut grown: Vec<Value> = Vec::new();
        match self.shape {
            Shape::Again | Shape::Same => {
                for copy in 0..n.div_ceil(all.len()) {
                    grown
                        .extend(all.iter().map(|element| renamed(element, own, copy, self.change)));
                }
            }
            Shape::Blocks => {
                (0..all.len()).for_each(|at| grown.extend(repeated(at, n.div_ceil(all.len()), 0)));
            }
            Shape::Backward => {
                grown.extend(repeated(0, 1, 0));
                let backward = (0..all.len()).rev();
                backward.for_each(|at| grown.extend(repeated(at, n.div_ceil(all.len()), 1)));
            }
            Shape::Each(at) => {
                grown.extend(all.iter().cloned());
                grown.extend(repeated(at, n, 1));
            }
            Shape::Halves(a, b) => {
                grown.extend(repeated(0, 1, 0));
                grown.extend(repeated(a, n / 2, 1));
                grown.extend(repeated(b, n / 2, n));
            }
            Shape::Pairs(a, b, c) => {
                grown.extend(repeated(0, 1, 0));
                grown.extend(repeated(a, n / 3, 1));
                for copy in 0..n / 3 {
                    grown.extend(repeated(b, 1, n + copy));
                    grown.extend(repeated(c, 1, n + copy));
                }
            }
        }
        if self.change == Change::Chained {
            let mut before = Value::Null;
            for element in &mut grown {
                let Some(members) = element.as_object_mut() else { continue };
                for (key, value) in members.iter_mut() {
                    if is_parent(key) {
                        *value = before.clone();
                    }
                }
                before = ["uuid", "id"]
                    .iter()
                    .find_map(|key| members.get(*key))
                    .cloned()
                    .unwrap_or(before);
            }
        }
        *file.root.pointer_mut(self.pointer).unwrap() = grown.into();
        if self.change != Change::Cut {
            return file.text();
        }
        let text = file.text();
        let half = |line: &str| line.chars().take(line.len() / 2).chain(['\n']).collect::<String>();
        let lines = text.lines().enumerate();
        let lines =
            lines.map(|(at, line)| if at < all.len() { format!("{line}\n") } else { half(line) });
        lines.collect()
    }
}

/// Kinds of elements: the place of the first of each.
fn kinds(list: &[Value]) -> Vec<usize> {
    let mut seen = BTreeSet::new();
    (0..list.len()).filter(|at| seen.insert(members(&list[*at]))).collect()
}

/// The members of a value, and what tells types apart.
fn members(value: &Value) -> String {
    match value {
        Value::Object(object) => {
            let told = |(key, value): (&String, &Value)| match value.as_str() {
                Some(text) if ["type", "role", "kind", "subtype"].contains(&&**key) => {
                    format!("{key}={text},")
                }
                _ => format!("{key}:{},", members(value)),
            };
            format!("{{{}}}", object.iter().map(told).collect::<String>())
        }
        Value::Array(list) => {
            format!("[{}]", list.iter().take(2).map(members).collect::<String>())
        }
        _ => String::new(),
    }
}

/// What is wrong with the work of reading two texts, of which the second has eight times the records.
fn too_much(id: &str, small: &str, large: &str) -> Option<String> {
    let reading = |text: &str| drop(read(text.as_bytes(), Some(id)));
    grows(3.0, &|| reading(small), &|| reading(large))
}

/// What is wrong with two acts, of which the second has an input that is doubled so often.
pub fn grows(doublings: f64, small: &dyn Fn(), large: &dyn Fn()) -> Option<String> {
    // The clock that is read moves in steps of some milliseconds.
    const LEAST: u64 = 12_000_000;
    let most = MOST.powf(doublings);
    let mut least = f64::INFINITY;
    for _ in 0..AGAIN {
        let (Some(once), Some(more)) = (cost(small, LEAST), cost(large, LEAST)) else {
            println!("the processor time of a thread is not known here");
            return None;
        };
        least = least.min(more / once);
        if least <= most {
            return None;
        }
    }
    Some(format!("{least:.1} times the work for {doublings:.1} doublings of the input"))
}

/// Numbers that look random and are the same each time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % end
    }
}

/// The fixtures of every row of the table.
fn files() -> Vec<File> {
    let session = &common::sessions(&fixture("pi", "compaction.jsonl"), "pi")[0];
    let own = ("foldback".to_owned(), String::new(), common::rewritten(session, "foldback").text);
    let all = common::fixtures().into_iter().chain([own]);
    let files: Vec<File> = all.filter_map(|(id, name, text)| File::of(&id, &name, &text)).collect();
    let here: BTreeSet<&str> = files.iter().map(|file| &*file.id).collect();
    assert_eq!(here, FORMATS.iter().map(|format| format.id).collect());
    files
}

fn cases(file: &File, drawn: usize) -> Vec<(String, Shape, Change)> {
    let lists = file.lists();
    let length = |pointer: &String| file.root.pointer(pointer).unwrap().as_array().unwrap().len();
    let longest = lists.iter().max_by_key(|pointer| length(pointer)).cloned();
    let mut cases = Vec::new();
    let mut draw = Draw(file.name.len() as u64);
    for pointer in lists {
        let list = file.root.pointer(&pointer).unwrap().as_array().unwrap();
        let shapes = Shape::all(&kinds(list));
        let fixed = if longest.as_ref() == Some(&pointer) { 4 } else { 0 };
        let fixed = shapes.iter().take(fixed).map(|shape| (*shape, Change::None));
        let mut of_list: Vec<_> = fixed.collect();
        for _ in 0..drawn {
            let shape = shapes[draw.below(shapes.len())];
            of_list.push((shape, Change::ALL[draw.below(Change::ALL.len())]));
        }
        // What is not of one stream of lines cannot be cut, and what has no parents cannot be chained.
        let is_possible = |(_, change): &(Shape, Change)| match change {
            Change::Cut => file.lines && pointer.is_empty(),
            Change::Chained => Value::Array(list.clone()).to_string().contains("\"parent"),
            _ => true,
        };
        cases.extend(
            of_list
                .into_iter()
                .filter(is_possible)
                .map(|(shape, change)| (pointer.clone(), shape, change)),
        );
    }
    cases
}

/// Twice the records are at most two and a half times the work, in every shape of the fixtures of a format.
fn linear(id: &str) {
    let drawn = std::env::var("FOLDBACK_TEST_SHAPES");
    let drawn = drawn.map_or(DRAWN, |drawn| drawn.parse().unwrap());
    let files = files();
    let mut wrong = Vec::new();
    for file in files.iter().filter(|file| file.id == id) {
        for (pointer, shape, change) in cases(file, drawn) {
            let case = Case { file, pointer: &pointer, shape, change };
            let found = too_much(id, &case.text(ELEMENTS), &case.text(8 * ELEMENTS));
            wrong.extend(found.map(|found| format!("{case}: {found}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A test for each row of the table, since all of them together take minutes.
macro_rules! linear {
    ($($name:ident $id:literal,)*) => {
        mod twice_the_records_are_at_most_two_and_a_half_times_the_work {
            $(#[test]
            fn $name() {
                super::linear($id);
            })*
        }

        const ROWS: &[&str] = &[$($id),*];
    };
}

linear! {
    foldback "foldback",
    qwen_code "qwen-code",
    claude_code "claude-code",
    codex "codex",
    dsh "dsh",
    kimi_code "kimi-code",
    goose "goose",
    crush "crush",
    hermes "hermes",
    cursor "cursor",
    pi "pi",
    gemini_cli "gemini-cli",
    copilot_cli "copilot-cli",
    roo_code "roo-code",
    cline "cline",
    gemini "gemini",
    openhands "openhands",
    openhands_llm "openhands-llm",
    opencode "opencode",
    atif "atif",
    inspect "inspect",
    tau2 "tau2",
    langchain "langchain",
    otel "otel",
    pydantic_ai "pydantic-ai",
    swe_agent "swe-agent",
    mini_swe_agent "mini-swe-agent",
    openai_responses "openai-responses",
    openai_chat "openai-chat",
    anthropic "anthropic",
}

#[test]
fn every_row_of_the_table_has_its_test() {
    let ids: Vec<&str> = FORMATS.iter().map(|format| format.id).collect();
    assert_eq!(ROWS, ids);
}

/// As `tests/cases/C01-quadratic-readers` writes it: what was said before many summaries.
fn hermes(n: usize) -> String {
    let row = |id: usize, role: &str, content: &str| json!({"id": id, "role": role, "content": content, "timestamp": 1_700_000_000 + id});
    let mut rows: Vec<Value> = (0..n).map(|id| row(id, "user", "x")).collect();
    for number in 0..n / 10 {
        rows.push(row(n + 2 * number, "assistant", &format!("y{number}")));
        rows.push(row(n + 2 * number + 1, "user", "[CONTEXT COMPACTION] s"));
    }
    json!({"id": "s1", "source": "cli", "model": "m", "started_at": 1_700_000_000, "end_reason": null, "messages": rows}).to_string()
}

/// Hermes: as many summaries, one behind the other, as words before them.
fn hermes_summaries(n: usize) -> String {
    let row = |id: usize| {
        let content =
            if id < 8 * n { format!("x{id}") } else { format!("[CONTEXT COMPACTION] {id}") };
        json!({"id": id, "role": "user", "content": content, "timestamp": 1_700_000_000 + id})
    };
    let rows: Vec<Value> = (0..16 * n).map(row).collect();
    json!({"id": "s1", "source": "cli", "model": "m", "started_at": 1_700_000_000, "end_reason": null, "messages": rows}).to_string()
}

/// Hermes' sessions that each go on with the one before, without a summary.
fn hermes_sessions(n: usize) -> String {
    let session = |number: usize| {
        let parent = number.checked_sub(1).map(|before| format!("s{before}"));
        let row = json!({"id": number, "role": "user", "content": format!("x{number}")});
        json!({
            "id": format!("s{number}"), "source": "cli", "started_at": number, "end_reason": "compression",
            "parent_session_id": parent, "messages": [row],
        })
    };
    (0..n).map(|number| format!("{}\n", session(number))).collect()
}

/// As `tests/cases/C01-quadratic-readers` writes it: hidden pairs behind nothing that was said.
fn goose(n: usize) -> String {
    let hidden = json!({"userVisible": false, "agentVisible": true});
    let pairs = (0..n).flat_map(|number| {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        let text = json!({"type": "text", "text": "go"});
        [("user", image), ("assistant", text)].map(|(role, part)| json!({"id": format!("{role}{number}"), "role": role, "created": 1_700_000_000 + number, "content": [part], "metadata": hidden}))
    });
    json!({"id": "g", "working_dir": "/x", "conversation": pairs.collect::<Vec<Value>>()})
        .to_string()
}

/// Codex: turns without usage, then compactions, then turns that are taken back.
fn codex(n: usize) -> String {
    let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload});
    let said = |role: &str, number: usize| {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let content = json!([{"type": kind, "text": format!("said {number}")}]);
        line("response_item", json!({"type": "message", "role": role, "content": content}))
    };
    let mut lines = vec![line("session_meta", json!({"id": "s"}))];
    for number in 0..n {
        lines.extend(["user", "assistant", "developer"].map(|role| said(role, number)));
    }
    lines.extend((0..n).map(|_| line("compacted", json!({"message": ""}))));
    let back = json!({"type": "thread_rolled_back", "num_turns": 1});
    lines.extend((1..n).map(|_| line("event_msg", back.clone())));
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// Gemini CLI: messages, then histories of one message each.
fn gemini_cli(n: usize) -> String {
    let said =
        |number: usize| json!({"id": format!("i{number}"), "type": "info", "content": "note"});
    let set = |number: usize| json!({"$set": {"messages": [{"id": format!("u{number}"), "type": "user", "content": format!("<session_context>{number}")}]}});
    let header = json!({"sessionId": "s", "projectHash": "h"});
    let lines = (0..n).map(said).chain((0..n).map(set));
    let last = json!({"id": "last", "type": "user", "content": "go"});
    std::iter::once(header).chain(lines).chain([last]).map(|line| format!("{line}\n")).collect()
}

/// OTLP: a scope of its own for each call, each of another conversation with the same words.
fn otel(n: usize) -> String {
    let call = |number: usize| {
        let said = json!([{"role": "user", "parts": [{"type": "text", "content": "Hello"}]}]);
        let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "Hi"}]}]);
        let texts = [
            ("gen_ai.conversation.id", format!("c{number}")),
            ("gen_ai.input.messages", said.to_string()),
            ("gen_ai.output.messages", answer.to_string()),
        ];
        let attributes =
            texts.map(|(key, text)| json!({"key": key, "value": {"stringValue": text}}));
        json!({"scopeSpans": [{"spans": [{"spanId": number.to_string(), "startTimeUnixNano": number.to_string(), "attributes": attributes}]}]})
    };
    json!({"resourceSpans": (0..n).map(call).collect::<Vec<Value>>()}).to_string()
}

/// Inspect: words of the user's before the first answer, and compactions that follow no message.
fn inspect(n: usize) -> String {
    let said =
        (0..n).map(|number| json!({"id": format!("u{number}"), "role": "user", "content": "x"}));
    let answers = (0..n)
        .map(|number| json!({"id": format!("a{number}"), "role": "assistant", "content": "y"}));
    let call = json!({"event": "model", "output": {"choices": [{"message": {"id": "gone"}}]}});
    let events =
        std::iter::once(call).chain((0..n).map(|_| json!({"event": "compaction", "type": "edit"})));
    json!({"id": 1, "epoch": 1, "messages": said.chain(answers).collect::<Vec<Value>>(), "events": events.collect::<Vec<Value>>()}).to_string()
}

#[test]
fn shapes_that_readers_search_back_in_are_linear() {
    type Made = fn(usize) -> String;
    let rows: [(&str, &str, Made); 8] = [
        ("hermes", "words before summaries", hermes),
        ("hermes", "summaries behind summaries", hermes_summaries),
        ("hermes", "sessions that go on with others", hermes_sessions),
        ("goose", "hidden pairs", goose),
        ("codex", "compactions and turns that were taken back", codex),
        ("gemini-cli", "histories of one message", gemini_cli),
        ("otel", "conversations that begin alike", otel),
        ("inspect", "words before answers", inspect),
    ];
    for (id, name, make) in rows {
        let (small, large) = (make(ELEMENTS), make(8 * ELEMENTS));
        assert!(read(large.as_bytes(), Some(id)).is_ok(), "{id}, {name}");
        let wrong = too_much(id, &small, &large);
        assert!(wrong.is_none(), "{id}, {name}: {}", wrong.unwrap_or_default());
    }
}

/// A folder with rollouts of Codex that each continue the one before; gives the last.
fn rollouts(n: usize) -> PathBuf {
    let name = format!("foldback-chain-{}-{n}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let path = |number: usize| folder.join(format!("rollout-x-{number:06}.jsonl"));
    let mut end = 0;
    for number in 0..n {
        let id = |number: usize| format!("{number:06}");
        let base = number
            .checked_sub(1)
            .map(|before| json!({"thread_id": id(before), "end_byte_offset": end}));
        let header =
            json!({"type": "session_meta", "payload": {"id": id(number), "history_base": base}});
        let text = format!("{header}\n{number}\n");
        end = text.len();
        std::fs::write(path(number), text).unwrap();
    }
    path(n - 1)
}

#[test]
fn a_rollout_costs_what_the_rollouts_hold_that_it_continues() {
    let (small, large) = (rollouts(100), rollouts(800));
    let reading = |path: &Path| {
        let read = read_file(path).unwrap();
        assert!(read.ends_with(b"\n99\n") || read.ends_with(b"\n799\n"));
        assert!(read.windows(3).any(|line| line == b"\n0\n"), "the first is in front");
    };
    let wrong = grows(3.0, &|| reading(&small), &|| reading(&large));
    for path in [small, large] {
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
    assert!(wrong.is_none(), "{}", wrong.unwrap_or_default());
}

/// Neither is read: a pipe never ends, and a link may lead to a device.
#[cfg(unix)]
#[test]
fn a_rollout_continues_ordinary_files_alone() {
    let folder = std::env::temp_dir().join(format!("foldback-pipe-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let before = "{\"type\":\"session_meta\",\"payload\":{\"id\":\"before\"}}\n0\n";
    let (plain, pipe) = (folder.join("rollout-x-plain.jsonl"), folder.join("rollout-x-pipe.jsonl"));
    std::fs::write(&plain, before).unwrap();
    std::os::unix::fs::symlink(&plain, folder.join("rollout-x-link.jsonl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    for (id, continues) in [("plain", true), ("link", false), ("pipe", false)] {
        let base = json!({"thread_id": id, "end_byte_offset": before.len()});
        let header = json!({"type": "session_meta", "payload": {"id": "s", "history_base": base}});
        // Its own name ends in another way: otherwise it would be the one that is found.
        let path = folder.join(format!("rollout-x-{id}-after.jsonl"));
        let text = format!("{header}\n1\n");
        std::fs::write(&path, &text).unwrap();
        let (send, done) = std::sync::mpsc::channel();
        std::thread::spawn(move || send.send(read_file(&path).unwrap()));
        let read = done.recv_timeout(std::time::Duration::from_secs(60)).expect("it ends");
        let read = String::from_utf8(read).unwrap();
        assert_eq!(read.ends_with("\n0\n1\n"), continues, "{id}: {read}");
        assert_eq!(read == text, !continues, "{id}: {read}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
