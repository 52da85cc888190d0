//! What the tools of a format are called, and how their results are worded: templates in the JSON file
//! beside the format, filled in from the call and from what the tool found.

use super::{absolute, command, purpose};
use crate::script::{Side, Tool};
use crate::tools::{Failure, Found, Outcome};
use serde_json::Value;
use std::collections::BTreeMap;

/// What stands in braces in a template.
type Words = BTreeMap<&'static str, String>;

/// Words that are numbers where they stand alone.
const NUMBERS: [&str; 3] = ["from", "skipped", "count"];

/// The templates of a format.
#[derive(Debug)]
pub struct Wording(Value);

impl Wording {
    /// The templates of a file that ships with the recorder.
    ///
    /// # Panics
    ///
    /// If it is no JSON.
    pub fn of(json: &str) -> Self {
        Self(serde_json::from_str(json).expect("the wording of a format is JSON"))
    }

    /// Name and input of a call.
    pub fn call(&self, tool: &Tool, root: &str) -> (String, Value) {
        let key = match tool {
            Tool::Read { lines: Some(_), .. } => "read-lines",
            Tool::Read { .. } => "read",
            Tool::Search { .. } => "search",
            Tool::List { .. } => "list",
            Tool::Run { .. } => "run",
            Tool::Edit { .. } => "edit",
            Tool::Write { .. } => "write",
        };
        let call = &self.0["call"][key];
        (call[0].as_str().unwrap_or_default().to_owned(), input(&call[1], &words(tool, root)))
    }

    /// A result as the model is shown it.
    pub fn shown(&self, tool: &Tool, outcome: &Outcome, root: &str) -> String {
        let mut words = words(tool, root);
        let mut body: Vec<String> = Vec::new();
        let key = match &outcome.found {
            Found::Lines(lines, total) => {
                for (number, text) in lines {
                    body.push(self.fill("line", &line(*number, text)));
                }
                let last = lines.last().map_or(*total, |(last, _)| *last);
                words.extend([("last", last.to_string()), ("total", total.to_string())]);
                if last < *total { "lines-up-to" } else { "lines" }
            }
            Found::Hits(hits) => {
                let mut before = "";
                for (path, number, text) in hits {
                    let mut words = line(*number, text);
                    words.extend([("path", path.clone()), ("absolute", absolute(root, path))]);
                    body.push(self.fill(if path == before { "hit" } else { "first-hit" }, &words));
                    before = path;
                }
                words.insert("hits", hits.len().to_string());
                if hits.is_empty() { "no-hits" } else { "hits" }
            }
            Found::Paths(paths) => {
                for path in paths {
                    let words = [("path", path.clone()), ("absolute", absolute(root, path))];
                    body.push(self.fill("path", &words.into()));
                }
                words.insert("paths", paths.len().to_string());
                "paths"
            }
            Found::Output(text, code) => {
                words.extend([("text", text.clone()), ("code", code.to_string())]);
                match code {
                    0 if text.is_empty() => "no-output",
                    0 => "output",
                    _ => "output-and-code",
                }
            }
            Found::Changed if matches!(tool, Tool::Write { .. }) => "wrote",
            Found::Changed => "edited",
            Found::Failed(Failure::NoFile) => "no-file",
            Found::Failed(Failure::NoMatch(text)) => {
                words.insert("text", text.clone());
                "no-match"
            }
            Found::Failed(Failure::ManyMatches(count)) => {
                words.insert("matches", count.to_string());
                "many-matches"
            }
        };
        words.insert("body", body.join("\n"));
        self.fill(key, &words)
    }

    /// A template of the results. Where a format has no `lines-up-to`, `output-and-code` or `first-hit`, it
    /// is `lines`, `output` or `hit`.
    fn fill(&self, key: &str, words: &Words) -> String {
        let shown = &self.0["shown"];
        let general = key.rsplit("first-").next().and_then(|key| key.split('-').next());
        let template = shown.get(key).or_else(|| shown.get(general?)).and_then(Value::as_str);
        filled(template.unwrap_or_default(), words)
    }
}

fn line(number: usize, text: &str) -> Words {
    [
        ("number", number.to_string()),
        ("number-to-6", format!("{number:>6}")),
        ("number-of-5", format!("{number:05}")),
        ("text", text.to_owned()),
        ("trimmed", text.trim().to_owned()),
    ]
    .into()
}

fn words(tool: &Tool, root: &str) -> Words {
    let mut words = Words::from([("root", root.to_owned())]);
    let mut at = |path: &str| {
        let behind = if path.is_empty() { String::new() } else { format!(" {path}") };
        words.extend([
            ("path", path.to_owned()),
            ("absolute", absolute(root, path)),
            ("in", behind),
        ]);
    };
    match tool {
        Tool::Read { path, .. }
        | Tool::Search { path, .. }
        | Tool::List { path }
        | Tool::Edit { path, .. }
        | Tool::Write { path, .. } => at(path),
        Tool::Run { .. } => {}
    }
    match tool {
        Tool::Read { lines: Some((from, to)), .. } => words.extend([
            ("from", from.to_string()),
            ("to", to.to_string()),
            ("skipped", (from - 1).to_string()),
            ("count", (to - from + 1).to_string()),
        ]),
        Tool::Search { pattern, .. } => words.extend([("pattern", pattern.clone())]),
        Tool::Run { args, filters } => words
            .extend([("command", command(args, filters)), ("purpose", purpose(args).to_owned())]),
        Tool::Edit { hunk, .. } => {
            let (old, new) = Tool::replacement(hunk);
            let mark = |side: &Side| match side {
                Side::Both => ' ',
                Side::Old => '-',
                Side::New => '+',
            };
            let lines = hunk.iter().map(|(side, text)| format!("{}{text}", mark(side)));
            let patch = lines.collect::<Vec<_>>().join("\n");
            words.extend([("old", old), ("new", new), ("patch", patch)]);
        }
        Tool::Write { text, .. } => {
            let patch = text.lines().map(|line| format!("+{line}\n")).collect();
            words.extend([("text", text.clone()), ("patch", patch)]);
        }
        Tool::Read { .. } | Tool::List { .. } => {}
    }
    words
}

fn input(template: &Value, words: &Words) -> Value {
    match template {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), input(value, words)));
            Value::Object(fields.collect())
        }
        Value::String(text) => {
            let name = text.trim_matches(['{', '}']);
            let number = words.get(name).filter(|_| NUMBERS.contains(&name));
            let number = number.and_then(|number| number.parse::<u64>().ok());
            number.map_or_else(|| filled(text, words).into(), Value::from)
        }
        other => other.clone(),
    }
}

/// A template with what stands in braces filled in. What is filled in may hold braces itself.
fn filled(template: &str, words: &Words) -> String {
    let mut text = String::new();
    let mut rest = template;
    while let Some((before, (name, after))) =
        rest.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
    {
        text.push_str(before);
        text.push_str(words.get(name).map_or("", String::as_str));
        rest = after;
    }
    text + rest
}
