//! What may be said: one walk over the messages, oldest first.

use super::errors::failure;
use super::files::{Tool, Touch, command, tool, touches};
use super::open::is_open;
use super::previous;
use super::sentence::cut;
use super::shell;
use super::style::Topic;
use foldback_core::log::{EntryKind, Message, Part, PartKind, ResultStatus, Role, ToolCall};
use foldback_core::log::{open_items, sentences};
use foldback_core::stage::SummaryRequest;
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Sentences of decisions, and open items from prose, that are kept at most; the newest.
const MOST_SENTENCES: usize = 100;
/// Errors that are kept at most; the newest.
const MOST_ERRORS: usize = 8;
/// Assistant texts, counted from the end, in which open items are looked for: older ones were dealt
/// with or said again.
const LAST_TEXTS: usize = 4;
/// Bytes that are shown of a command that failed.
const COMMAND_BYTES: usize = 160;

/// Items by topic, oldest first. Within a topic no item occurs twice.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub(super) instructions: Vec<String>,
    pub(super) earlier: Vec<String>,
    pub(super) decisions: Vec<String>,
    /// Least recently touched first.
    pub(super) files: Vec<(String, Touch)>,
    pub(super) errors: Vec<String>,
    pub(super) open: Vec<String>,
    pub(super) state: Vec<String>,
}

impl Facts {
    pub(super) fn is_empty(&self) -> bool {
        self.instructions.is_empty()
            && self.earlier.is_empty()
            && self.decisions.is_empty()
            && self.files.is_empty()
            && self.errors.is_empty()
            && self.open.is_empty()
            && self.state.is_empty()
    }

    fn drop_blank(&mut self) {
        for items in [
            &mut self.instructions,
            &mut self.earlier,
            &mut self.decisions,
            &mut self.errors,
            &mut self.open,
            &mut self.state,
        ] {
            items.retain(|item| !item.trim().is_empty());
        }
    }
}

/// Collects what a request may be answered with.
pub(super) fn collect(request: &SummaryRequest) -> Facts {
    let mut collector =
        Collector { keywords: keywords(&request.instructions), ..Collector::default() };
    let failed = failed_calls(request);
    if let Some(previous) = &request.previous {
        collector.previous(previous);
    }
    for message in &request.messages {
        collector.message(message, &failed);
    }
    let mut facts = collector.finish();
    if facts.is_empty() {
        facts.state.extend(ends(request));
    }
    facts
}

/// Words of the instructions for the summary that are long enough to mean something, in lower case.
fn keywords(instructions: &[String]) -> Vec<String> {
    let mut words: Vec<String> = instructions
        .iter()
        .flat_map(|text| text.split(|c: char| !(c.is_alphanumeric() || "_./-".contains(c))))
        .filter(|word| word.chars().count() >= 5)
        .map(str::to_lowercase)
        .collect();
    words.sort();
    words.dedup();
    words
}

/// Ids of calls whose result is an error: they did nothing to their files.
fn failed_calls(request: &SummaryRequest) -> FxHashSet<&str> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(Part::as_result)
        .filter(|result| matches!(result.status, ResultStatus::Error | ResultStatus::Retry))
        .map(|result| result.call_id.as_str())
        .collect()
}

/// The first and the last sentence of what the messages show, for requests without a message that says
/// anything: tool results alone, or reasoning.
fn ends(request: &SummaryRequest) -> Option<String> {
    let shown = |message: &Message| {
        let texts = message.parts.iter().map(|part| part.shown().into_owned());
        texts.collect::<Vec<_>>()
    };
    let texts = request.messages.iter().flat_map(|message| shown(message));
    let mut texts = texts.filter(|text| !text.trim().is_empty());
    let opening = texts.next()?;
    let first = sentences(&opening).next()?.to_owned();
    let closing = texts.next_back().unwrap_or(opening);
    let last = sentences(&closing).last().unwrap_or_default();
    Some(if *last == first { first } else { format!("{first}\n{last}") })
}

/// A call that a result belongs to: what it is shown as, and whether it ran a command that is judged by
/// what it prints.
struct Run {
    shown: String,
    is_command: bool,
}

/// What a call shows on its own.
struct Called {
    run: Run,
    touched: Vec<(String, Touch)>,
    todo: Option<Vec<String>>,
}

/// What the calls of a message tell, in order. Worked out once: folds come back to the same messages.
fn called(message: &Message) -> &[Called] {
    struct Calls(Vec<Called>);
    let calls = || message.parts.iter().filter_map(Part::as_call).map(Called::from_call).collect();
    &message.derived.get_or(|| Calls(calls())).0
}

/// The telling lines of the results of a message, in order, where they failed.
fn failures(message: &Message, is_command: bool) -> &[Option<String>] {
    struct Failures<const IS_COMMAND: bool>(Vec<Option<String>>);
    let failures = || {
        let results = message.parts.iter().filter_map(Part::as_result);
        results.map(|result| Some(failure(result, is_command)?.join("\n"))).collect()
    };
    match is_command {
        true => &message.derived.get_or(|| Failures::<true>(failures())).0,
        false => &message.derived.get_or(|| Failures::<false>(failures())).0,
    }
}

/// The sentences of an answer that tell a decision whatever is asked for.
fn decisions(message: &Message) -> &[String] {
    struct Decisions(Vec<String>);
    let decisions = || {
        let sentences = message.parts.iter().filter_map(said_in).flat_map(prose);
        let decided = sentences.filter(|sentence| is_decision(sentence, &[]));
        Decisions(decided.map(str::to_owned).collect())
    };
    &message.derived.get_or(decisions).0
}

/// What somebody said in a part.
fn said_in(part: &Part) -> Option<&str> {
    match &part.kind {
        PartKind::Text { text, synthetic: false, ignored: false } if !text.trim().is_empty() => {
            Some(text)
        }
        _ => None,
    }
}

impl Called {
    fn from_call(call: &ToolCall) -> Self {
        let arguments = call.arguments_value();
        let kind = tool(&call.tool);
        let touched = touches(call, &arguments);
        let run = match (kind, command(&arguments)) {
            (Tool::Shell, Some(command)) => Run {
                is_command: !shell::only_prints(&command),
                shown: cut(command.trim().lines().next().unwrap_or_default(), COMMAND_BYTES)
                    .into_owned(),
            },
            _ => Run {
                shown: match touched.first() {
                    Some((path, _)) => format!("{} {path}", call.tool),
                    None => call.tool.clone(),
                },
                is_command: kind == Tool::Shell,
            },
        };
        let todo = (kind == Tool::Todo).then(|| open_items(&arguments)).flatten();
        Self { run, touched, todo }
    }
}

/// The description of a failure.
enum Failure<'a> {
    /// What was run, and the telling lines of its result.
    Lines(&'a str, &'a str),
    /// What an earlier summary said.
    Said(String),
}

impl Failure<'_> {
    fn into_text(self) -> String {
        match self {
            Self::Lines(shown, lines) => format!("{shown}\n{lines}"),
            Self::Said(text) => text,
        }
    }
}

#[derive(Default)]
struct Collector<'a> {
    facts: Facts,
    keywords: Vec<String>,
    instructions: FxHashMap<String, usize>,
    decisions: FxHashMap<Cow<'a, str>, usize>,
    touched: FxHashMap<Cow<'a, str>, (usize, Touch)>,
    runs: FxHashMap<&'a str, &'a Run>,
    /// Failures by what was run, with their order; a later success takes them out.
    failures: FxHashMap<Cow<'a, str>, (usize, Failure<'a>)>,
    /// Open items of an earlier summary; they hold until something newer is known.
    open_before: Vec<String>,
    todo: Option<&'a Vec<String>>,
    /// The newest texts of the assistant.
    last_texts: VecDeque<&'a str>,
    /// Whether the newest of them came after the state that an earlier summary gives.
    said: bool,
    clock: usize,
}

impl<'a> Collector<'a> {
    fn tick(&mut self) -> usize {
        self.clock += 1;
        self.clock
    }

    fn previous(&mut self, summary: &str) {
        let mut state = Vec::new();
        let mut open = Vec::new();
        for (topic, text) in previous::items(summary) {
            match topic {
                Topic::Instructions => self.instruction(&text),
                Topic::Earlier => {
                    if !self.facts.earlier.contains(&text) {
                        self.facts.earlier.push(text);
                    }
                }
                Topic::Decisions => self.decision(text.into()),
                Topic::Files => self.file_again(&text),
                Topic::Errors => {
                    let order = self.tick();
                    let key = text.lines().next().unwrap_or_default().to_owned();
                    self.failures.insert(key.into(), (order, Failure::Said(text)));
                }
                Topic::Open => open.push(text),
                Topic::State => state.push(text),
            }
        }
        self.open_before = open;
        self.facts.state = state;
        self.said = false;
    }

    /// A line of the files of an earlier summary.
    fn file_again(&mut self, line: &str) {
        let (path, touch) = Touch::ALL
            .into_iter()
            .find_map(|touch| Some((line.strip_suffix(touch.mark())?, touch)))
            .unwrap_or((line, Touch::Read));
        self.touch(path.to_owned().into(), touch);
    }

    fn message(&mut self, message: &'a Message, failed: &FxHashSet<&str>) {
        if message.is_entry_of(EntryKind::Summary) {
            self.previous(&message.said());
            return;
        }
        if message.is_entry() {
            return;
        }
        if message.role == Role::Assistant {
            self.decided(message);
        }
        let mut calls = called(message).iter();
        let mut results = 0..;
        for part in &message.parts {
            match &part.kind {
                PartKind::Text { .. } => match (said_in(part), message.role) {
                    (Some(text), Role::User) => self.instruction(text),
                    (Some(text), Role::Assistant) => self.said(text),
                    _ => {}
                },
                PartKind::Call(call) => {
                    let id = call.call_id.as_str();
                    self.call(id, calls.next(), failed.contains(id));
                }
                PartKind::Result(result) => {
                    let run = self.runs.get(result.call_id.as_str()).copied();
                    let is_command = match run {
                        Some(run) => run.is_command,
                        None => tool(&result.tool) == Tool::Shell,
                    };
                    let shown = run.map_or(&result.tool, |run| &run.shown);
                    let failure = results
                        .next()
                        .and_then(|at: usize| failures(message, is_command).get(at)?.as_deref());
                    match failure {
                        Some(lines) => {
                            let order = self.tick();
                            let failure = Failure::Lines(shown, lines);
                            self.failures.insert(shown.into(), (order, failure));
                        }
                        None if result.status == ResultStatus::Completed => {
                            self.failures.remove(shown.as_str());
                        }
                        None => {}
                    }
                }
                _ => {}
            }
        }
    }

    fn instruction(&mut self, text: &str) {
        let text = tidy(text);
        let order = self.tick();
        self.instructions.insert(text, order);
    }

    fn decision(&mut self, sentence: Cow<'a, str>) {
        let order = self.tick();
        self.decisions.insert(sentence, order);
    }

    fn decided(&mut self, message: &'a Message) {
        if self.keywords.is_empty() {
            decisions(message).iter().for_each(|sentence| self.decision(sentence.into()));
            return;
        }
        for sentence in message.parts.iter().filter_map(said_in).flat_map(prose) {
            if is_decision(sentence, &self.keywords) {
                self.decision(sentence.into());
            }
        }
    }

    fn said(&mut self, text: &'a str) {
        if self.last_texts.len() == LAST_TEXTS {
            self.last_texts.pop_front();
        }
        self.last_texts.push_back(text);
        self.said = true;
    }

    fn call(&mut self, id: &'a str, called: Option<&'a Called>, failed: bool) {
        let Some(Called { run, touched, todo }) = called else {
            return;
        };
        self.runs.insert(id, run);
        if failed {
            return;
        }
        self.todo = todo.as_ref().or(self.todo);
        for (path, touch) in touched {
            self.touch(path.into(), *touch);
        }
    }

    fn touch(&mut self, path: Cow<'a, str>, touch: Touch) {
        let order = self.tick();
        let Some(entry) = self.touched.get_mut(&path) else {
            self.touched.insert(path, (order, touch));
            return;
        };
        let touch = match (entry.1, touch) {
            (Touch::Created, _) => Touch::Created,
            (Touch::Read, Touch::Read) => Touch::Read,
            // Writing a file that was there before changes it.
            (Touch::Read | Touch::Modified, _) => Touch::Modified,
        };
        *entry = (order, touch);
    }

    fn finish(mut self) -> Facts {
        if let Some(text) = self.last_texts.back().filter(|_| self.said) {
            self.facts.state = vec![tidy(text)];
        }
        self.facts.instructions = in_order(self.instructions);
        self.facts.decisions = last(in_order(self.decisions), MOST_SENTENCES);
        let mut files: Vec<_> = self.touched.into_iter().collect();
        files.sort_unstable_by_key(|(_, (order, _))| *order);
        self.facts.files =
            files.into_iter().map(|(path, (_, touch))| (path.into_owned(), touch)).collect();
        let mut failures: Vec<_> = self.failures.into_values().collect();
        failures.sort_unstable_by_key(|(order, _)| *order);
        let failures = last(failures, MOST_ERRORS).into_iter();
        self.facts.errors = failures.map(|(_, failure)| failure.into_text()).collect();
        // A list that is kept up to date knows better than what was said before it.
        let mut open = self.todo.cloned().unwrap_or(self.open_before);
        let said = self.last_texts.iter().flat_map(|text| prose(text));
        open.extend(said.filter(|sentence| is_open(sentence)).map(str::to_owned));
        let mut met = FxHashSet::default();
        open.retain(|item| met.insert(item.clone()));
        open.truncate(MOST_SENTENCES);
        self.facts.open = open;
        self.facts.drop_blank();
        self.facts
    }
}

/// Texts by the order in which they were last met.
fn in_order<T: Into<String>>(texts: FxHashMap<T, usize>) -> Vec<String> {
    let mut texts: Vec<(T, usize)> = texts.into_iter().collect();
    texts.sort_unstable_by_key(|(_, order)| *order);
    texts.into_iter().map(|(text, _)| text.into()).collect()
}

fn last<T>(mut items: Vec<T>, most: usize) -> Vec<T> {
    items.split_off(items.len().saturating_sub(most))
}

/// A text without empty lines and white space at the ends of its lines.
fn tidy(text: &str) -> String {
    let lines = text.lines().map(str::trim_end);
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    lines.join("\n").trim_start().to_owned()
}

/// Sentences of a text outside code blocks, list marks and headings taken off.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines()
        .filter(move |line| {
            let fence = line.trim_start().starts_with("```");
            code ^= fence;
            !code && !fence
        })
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| sentences(unmarked(line)))
}

/// A line without the list marks and quotation marks of Markdown before it.
fn unmarked(line: &str) -> &str {
    let mut line = line.trim_start();
    while let Some(rest) = ["- ", "* ", "> "].iter().find_map(|mark| line.strip_prefix(mark)) {
        line = rest.trim_start();
    }
    line
}

/// Whether a sentence states what was decided or found out, or has a word that the instructions for
/// the summary ask for.
fn is_decision(sentence: &str, keywords: &[String]) -> bool {
    const MARKS: [&str; 24] = [
        "decid",
        "decision",
        "instead of",
        "rather than",
        "going with",
        "go with",
        "opted",
        "opt for",
        " chose ",
        "root cause",
        "turns out",
        "the fix is",
        "fixed by",
        "the problem is",
        "the issue is",
        "the bug is",
        "caused by",
        "i'll use",
        "we'll use",
        "let's use",
        "will use",
        "switch to",
        "switched to",
        "trade-off",
    ];
    const DOUBTS: [&str; 4] = ["Maybe", "Perhaps", "What if", "I wonder"];
    // One that ends with a colon announces something; what it announces is elsewhere.
    let decides = (16..400).contains(&sentence.len())
        && !sentence.ends_with([':', '?'])
        && !DOUBTS.iter().any(|doubt| sentence.starts_with(doubt));
    if !decides {
        return false;
    }
    let lower = sentence.to_lowercase();
    MARKS.iter().any(|mark| lower.contains(mark))
        || keywords.iter().any(|word| lower.contains(word.as_str()))
}
