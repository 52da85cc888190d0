//! What is in recorded sessions: one in full, or many as a table or a document.

use crate::number::{self, count, grouped, short};
use crate::plain;
use crate::terminal::{ALWAYS, Head, Width, table, wrap};
use foldback_core::log::{self, Part, Role};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_formats::session::{Boundary, Warning};
use foldback_replay::calibrate::{Thin, observations};
use foldback_replay::corpus::Skipped;
use foldback_replay::spent::Prices;
use jiff::Timestamp;
use serde::Serialize;
use std::collections::BTreeMap;

/// Warnings of one kind that are shown.
const WARNINGS: usize = 5;

/// Columns of the names.
const NAMES: usize = 14;

/// The contents of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Inspected {
    path: String,
    id: String,
    format: &'static str,
    model: Option<String>,
    /// Task or repository.
    project: Option<String>,
    /// The recorded window.
    window: Option<u64>,
    messages: usize,
    in_log: usize,
    calls: usize,
    /// Calls that another file holds as well; they count there.
    copied_calls: usize,
    turns: usize,
    tool_calls: usize,
    usage: Option<Usage>,
    /// Dollars for what was used, at the models' own prices on their day.
    usd: Option<f64>,
    /// The model whose prices those have whose own are not known, where there are some.
    usd_stand_in: Option<String>,
    /// When the last message was recorded (UTC).
    last: Option<String>,
    /// The estimator that counted the tokens.
    estimator: String,
    tokens: u64,
    tokens_by_kind: BTreeMap<&'static str, u64>,
    boundaries: Vec<Boundary>,
    /// Results that the recorder had cleared.
    cleared: usize,
    warnings: Vec<Warning>,
}

/// Recorded usage, in tokens of input.
#[derive(Clone, Copy, Debug, Serialize)]
struct Usage {
    calls: usize,
    input: u64,
    largest: u64,
}

impl Inspected {
    /// Inspects a session that is listed under `path`, and counts tokens by `estimator`.
    pub fn new(
        path: String,
        session: &Session,
        estimator: &dyn Estimator,
        prices: &Prices,
    ) -> Self {
        let last = session.log().filter_map(|message| message.at).max();
        let tokens_by_kind = tokens_by_kind(session, estimator);
        let spent = prices.spent(session);
        let stood_in = spent.is_some_and(|spent| spent.stood_in);
        Self {
            path,
            id: session.id.clone(),
            format: session.format,
            model: session.model.clone(),
            project: session.cluster.clone(),
            window: Some(session.limits.context).filter(|context| *context > 0),
            messages: session.recorded_messages(),
            in_log: session.log().count(),
            calls: session.calls(),
            copied_calls: session.copied,
            turns: session.turns(),
            tool_calls: session.recorded_tool_calls(),
            usage: usage(session),
            usd: spent.map(|spent| spent.usd),
            usd_stand_in: stood_in.then(|| prices.stand_in().to_owned()),
            last: last
                .and_then(|at| Timestamp::from_millisecond(at).ok())
                .map(|at| format!("{at:.0}")),
            estimator: estimator.id().to_string(),
            tokens: tokens_by_kind.values().sum(),
            tokens_by_kind,
            boundaries: session.boundaries.clone(),
            cleared: session.cleared.len(),
            warnings: warnings(session, estimator),
        }
    }
}

/// The document of `--json`.
#[derive(Serialize)]
struct Document<'a> {
    files: usize,
    skipped: &'a [Skipped],
    sessions: &'a [Inspected],
}

/// All sessions as one document.
pub fn document<'a>(
    files: usize,
    sessions: &'a [Inspected],
    skipped: &'a [Skipped],
) -> impl Serialize + 'a {
    Document { files, skipped, sessions }
}

/// Many sessions, one row each, and what was not used.
///
/// Files that are not used for one reason are one line, unless `all` are asked for.
pub fn list(sessions: &[Inspected], skipped: &[Skipped], all: bool, width: Width) -> String {
    let heads = [
        Head::names("session"),
        Head::words("format", 4),
        Head::words("project", 3),
        Head::words("model", 1),
        Head::words("last", 5),
        Head::number("calls", ALWAYS),
        Head::number("tokens", ALWAYS),
        Head::number("$", ALWAYS),
        Head::number("compacted", 6),
        Head::number("warnings", 2),
    ];
    let number = |number: usize| grouped(number as u64);
    let dash = || "–".to_owned();
    let folder = common_folder(sessions.iter().map(|one| one.path.as_str()));
    let row = |one: &Inspected| {
        vec![
            one.path[folder.len()..].to_owned(),
            one.format.to_owned(),
            one.project.as_deref().map_or_else(dash, |project| last_name(project).to_owned()),
            one.model.clone().unwrap_or_else(dash),
            one.last
                .as_deref()
                .and_then(|at| at.split('T').next())
                .map_or_else(dash, str::to_owned),
            number(one.calls),
            short(one.tokens),
            one.usd.map_or_else(dash, |usd| {
                format!("{usd:.2}{}", if one.usd_stand_in.is_some() { "*" } else { "" })
            }),
            number(one.boundaries.len()),
            number(one.warnings.len()),
        ]
    };
    let mut out = String::new();
    table(&mut out, width, &heads, sessions.iter().map(row).collect());
    let calls: usize = sessions.iter().map(|one| one.calls).sum();
    let tokens: u64 = sessions.iter().map(|one| one.tokens).sum();
    let by = sessions.first().map_or("", |one| one.estimator.as_str());
    let dollars = sessions.iter().filter_map(|one| one.usd).reduce(|sum, usd| sum + usd);
    let dollars = dollars.map_or("none known".to_owned(), |usd| format!("{usd:.2} in all"));
    let legend = format!(
        "{} with {} and {} tokens; tokens: every message once, by {by}, though each call sends all before it; $: recorded \
         usage at the models' list prices, {dollars}; last: day of the last message (UTC); `foldback inspect FILE` shows all of one",
        count(sessions.len() as u64, "session"),
        count(calls as u64, "call"),
        short(tokens),
    );
    wrap(&mut out, "", "  ", &legend, width);
    let stood_in: Vec<&str> =
        sessions.iter().filter_map(|one| one.usd_stand_in.as_deref()).collect();
    if let Some(model) = stood_in.first() {
        let text = format!(
            "*: the model table has no prices of what {} used, so they are billed as {model}",
            count(stood_in.len() as u64, "session"),
        );
        wrap(&mut out, "", "  ", &text, width);
    }
    if !folder.is_empty() {
        wrap(&mut out, "", "  ", &format!("all are in {folder}"), width);
    }
    let copied = |one: &&Inspected| one.copied_calls > 0;
    if let count @ 1.. = sessions.iter().filter(copied).count() {
        let calls: usize = sessions.iter().map(|one| one.copied_calls).sum();
        let text = format!(
            "{} with the history of others, which were resumed, forked or handed on: {} copied, which count where they \
             were made",
            number::count(count as u64, "session"),
            number::count(calls as u64, "call"),
        );
        wrap(&mut out, "", "  ", &text, width);
    }
    for text in not_used(skipped, all) {
        wrap(&mut out, "", "  ", &text, width);
    }
    out
}

/// The unused files: a text for each, or for each reason that several share.
pub fn not_used(skipped: &[Skipped], all: bool) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&Skipped>> = BTreeMap::new();
    for one in skipped {
        by_reason.entry(&one.reason).or_default().push(one);
    }
    let together = |one: &Skipped| !all && by_reason.get(&*one.reason).is_some_and(|s| s.len() > 1);
    let one_by_one = skipped
        .iter()
        .filter(|one| !together(one))
        .map(|one| format!("not used: {}: {}", one.path, one.reason));
    let reasons = by_reason.iter().filter(|(_, ones)| together(ones[0]));
    let reasons = reasons.map(|(reason, ones)| {
        // Advice on a single file needs a single file.
        let reason = reason.split_once(';').map_or(*reason, |(first, _)| first);
        format!("not used: {} files: {reason} (-v lists them)", grouped(ones.len() as u64))
    });
    one_by_one.chain(reasons).collect()
}

/// The folder that all paths begin with, with what divides it from them; empty if there is none.
pub(crate) fn common_folder<'a>(mut paths: impl Iterator<Item = &'a str>) -> &'a str {
    let first = paths.next().unwrap_or_default();
    let common = paths.fold(first.len(), |common, path| {
        let alike = first.bytes().zip(path.bytes()).take_while(|(a, b)| a == b);
        common.min(alike.count())
    });
    // A file that holds several sessions is no folder of them.
    let end = first.as_bytes()[..common].iter().rposition(|byte| matches!(byte, b'/' | b'\\'));
    &first[..end.map_or(0, |end| end + 1)]
}

/// The last part of the name of a project: of a folder, or of a repository.
fn last_name(project: &str) -> &str {
    project.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or(project)
}

/// A session in words and numbers.
pub fn session(one: &Inspected, width: Width) -> String {
    let mut out = String::new();
    // Nothing is wrapped if the output is not a terminal.
    let width = Width { text: width.table, ..width };
    let mut line = |name: &str, value: String| {
        let name = format!("{name:<NAMES$}");
        wrap(&mut out, &name, &" ".repeat(NAMES + 2), &plain::line(&value), width);
    };
    line("file", one.path.clone());
    line("format", one.format.to_owned());
    line("session", one.id.clone());
    line("model", one.model.clone().unwrap_or_else(|| "not recorded".to_owned()));
    if let Some(project) = &one.project {
        line("project", project.clone());
    }
    if let Some(window) = one.window {
        line("window", format!("{} tokens, as recorded", grouped(window)));
    }
    let shown = |number: usize| grouped(number as u64);
    line(
        "messages",
        format!("{} as stored, {} in the log", shown(one.messages), shown(one.in_log)),
    );
    let copied = match one.copied_calls {
        0 => String::new(),
        count => format!(
            ", and {} copied from another session, which count where they were made",
            number::count(count as u64, "call")
        ),
    };
    line("calls", shown(one.calls) + &copied);
    line("turns", shown(one.turns));
    line("tool calls", shown(one.tool_calls));
    line(
        "usage",
        match one.usage {
            None => "not recorded".to_owned(),
            Some(Usage { calls, input, largest }) => format!(
                "recorded for {calls} calls; {} input tokens in all, {} at most",
                grouped(input),
                grouped(largest)
            ),
        },
    );
    if let Some(usd) = one.usd {
        let prices = match &one.usd_stand_in {
            None => "the models' list prices".to_owned(),
            Some(model) => format!("the prices of {model}: the model table has none of its own"),
        };
        line("cost", format!("{}, the usage at {prices}", number::dollars(usd, 2)));
    }
    if let Some(last) = &one.last {
        line("last message", last.clone());
    }
    line(
        "tokens",
        format!("{} in the messages, each once, by {}", grouped(one.tokens), one.estimator),
    );
    for kind in KINDS {
        if let Some(tokens) = one.tokens_by_kind.get(kind) {
            line("", format!("{kind:<16}{:>12}", grouped(*tokens)));
        }
    }
    for boundary in &one.boundaries {
        let size = match (boundary.tokens_before, boundary.tokens_after) {
            (Some(before), Some(after)) => {
                format!(", {} → {} tokens", grouped(before), grouped(after))
            }
            (Some(before), None) => format!(", at {} tokens", grouped(before)),
            _ => String::new(),
        };
        let kept = if boundary.original_kept { "" } else { ", the original is not in the file" };
        line(
            "boundary",
            format!(
                "{} ({}) before message {}{size}{kept}",
                boundary.kind, boundary.trigger, boundary.before
            ),
        );
    }
    if one.cleared > 0 {
        line("cleared", format!("{} results that the recorder had cleared", one.cleared));
    }
    let mut by_code: BTreeMap<&str, Vec<&Warning>> = BTreeMap::new();
    for warning in &one.warnings {
        by_code.entry(&warning.code).or_default().push(warning);
    }
    for (code, warnings) in by_code {
        line("warning", format!("{code}, {} times", warnings.len()));
        for warning in warnings.iter().take(WARNINGS) {
            line("", format!("{}: {}", warning.place, warning.detail));
        }
        if let more @ 1.. = warnings.len().saturating_sub(WARNINGS) {
            line("", format!("{more} more; --json lists them"));
        }
    }
    out
}

fn usage(session: &Session) -> Option<Usage> {
    let recorded: Vec<u64> = session
        .log()
        .filter_map(|message| message.answer.as_ref()?.usage)
        .filter(log::Usage::has_input)
        .map(|usage| usage.input_total())
        .collect();
    let largest = *recorded.iter().max()?;
    Some(Usage { calls: recorded.len(), input: recorded.iter().sum(), largest })
}

/// The reader's warnings, and whether the text is a small part of the requests.
fn warnings(session: &Session, estimator: &dyn Estimator) -> Vec<Warning> {
    let thin = Thin::detect(&observations(session, estimator)).map(|thin| Warning {
        code: "text-missing".to_owned(),
        place: "the session".to_owned(),
        detail: thin.told(),
    });
    session.warnings.iter().cloned().chain(thin).collect()
}

/// Kinds of parts by speaker, in the order of the output.
const KINDS: [&str; 7] =
    ["user text", "assistant text", "reasoning", "tool calls", "tool results", "frame", "other"];

/// Tokens of the log by kind.
fn tokens_by_kind(session: &Session, estimator: &dyn Estimator) -> BTreeMap<&'static str, u64> {
    let mut sums = [0u64; KINDS.len()];
    for message in session.log() {
        let counts = estimator.counts(message);
        for (part, tokens) in message.parts.iter().zip(&counts.parts) {
            sums[kind_of(part, message.role)] += tokens;
        }
        sums[6] += counts.overhead;
    }
    sums[5] = session.frame.tokens(estimator);
    KINDS.into_iter().zip(sums).filter(|(_, tokens)| *tokens > 0).collect()
}

fn kind_of(part: &Part, role: Role) -> usize {
    match (part.kind_name(), role) {
        ("text", Role::User) => 0,
        ("text", Role::Assistant) => 1,
        ("reasoning", _) => 2,
        ("tool-call", _) => 3,
        ("tool-result", _) => 4,
        _ => 6,
    }
}
