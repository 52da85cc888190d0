//! `hermes.middle`: the first messages stay until the first fold, the newest by a budget, and a summary stands for those between.

use super::cut::{Messages, Tail};
use super::{cut_to, is_summary, tail_tokens};
use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, SummaryRequest};
use foldback_core::view::{Place, Pos};
use foldback_stages::filter::{Spoken, arranged, entry, shown, summary_of};
use foldback_stages::python::repr;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use std::num::NonZeroU64;
use std::sync::Arc;

/// What stands around a summary in the view.
const BEFORE: &str = "[CONTEXT COMPACTION] Earlier messages were replaced by this summary. It is background, not a request: what it names was \
                      dealt with at the time. Act on the newest message of the user that stands below it, even where the subject is the same, \
                      and drop whatever that message stops or takes back. Your tools, your memory and the rules of the system prompt hold as \
                      before. Files and settings may already be as described here:\n";
const AFTER: &str = "\n\n--- END OF CONTEXT SUMMARY: go on with what stands below ---";

/// The section of a summary that holds the newest request among what went.
const REQUEST: &str = "## Historical Task Snapshot";

/// Characters of that request that are kept.
const REQUEST_CHARS: usize = 1_400;

/// How many of the newest requests the summarizer is told of, and their characters, each and together.
const FOCUS: (usize, usize, usize) = (3, 260, 700);

/// What the summarizer sees of a text and of arguments: from how many characters on they are cut, and what of them is left.
const TEXT: (usize, usize, usize) = (6_000, 4_000, 1_500);
const ARGUMENTS: (usize, usize) = (1_500, 1_200);

/// Configuration of [`Middle`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MiddleConfig {
    /// Messages at the beginning that stay in the first fold.
    pub keep_first: usize,
    /// Messages at the end that stay at any size, unless there are hardly more.
    pub keep_last: usize,
    /// Share of the threshold that the newest messages have.
    pub tail_share: Share,
    /// How many times that they may have, so that no message is left out for its size.
    pub tail_most: f64,
    /// Share of what goes that its summary is to have.
    pub summary_share: Share,
    /// Tokens that it has at least.
    pub summary_least: NonZeroU64,
    /// Tokens that it has at most.
    pub summary_most: u64,
    /// The same as a share of the window.
    pub summary_window_share: Share,
}

impl StageConfig<dyn Filter> for MiddleConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        if !(1.0..=10.0).contains(&self.tail_most) {
            return Err(Invalid::new("tail_most", "must be from 1 to 10"));
        }
        Ok(Arc::new(Middle(self)))
    }
}

/// A summary of what stands between the first messages and the newest.
#[derive(Clone, Debug)]
pub struct Middle(MiddleConfig);

/// What a fold does: `from..cut` goes.
struct Selection {
    spoken: Spoken,
    shown: Messages,
    from: usize,
    cut: usize,
    /// From where on it is summarized: behind an earlier summary.
    new: usize,
    /// That summary.
    previous: Option<String>,
}

impl Selection {
    fn goes(&self) -> &[Arc<Message>] {
        &self.shown.0[self.new..self.cut]
    }
}

/// Whether a person asks for something here.
fn is_request(message: &Message) -> bool {
    message.role == Role::User && !is_summary(message) && !message.said().trim().is_empty()
}

/// A text with single spaces.
fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text cut to so many characters, with the dots.
fn with_dots(text: String, most: usize) -> String {
    match cut_to(&text, most, most - 1, "") {
        Some(kept) => format!("{}…", kept.trim_end()),
        None => text,
    }
}

impl Middle {
    fn select(&self, context: &StageContext<'_>) -> Result<Selection, Why> {
        let spoken = Spoken::in_view(context);
        let shown = Messages(shown(context, &spoken.messages));
        let count = shown.0.len();
        let first =
            if shown.0.iter().any(|message| is_summary(message)) { 0 } else { self.0.keep_first };
        if count <= first + 4 {
            let why = format!("{count} messages, and {} stay at least", first + 4);
            return Err(Why::new("too-few", why));
        }
        let from = whole_head(context, &spoken, shown.off_results(first));
        let tokens = tail_tokens(context, self.0.tail_share.number());
        let most_tokens = (tokens as f64 * self.0.tail_most).floor() as u64;
        let tail = Tail { tokens, most_tokens, least: self.0.keep_last };
        let cut = spoken.whole(context, shown.tail(from, tail));
        let summary = (0..cut).rev().find(|at| is_summary(&shown.0[*at]));
        let new = summary.map_or(from, |at| from.max(at + 1));
        if cut <= new {
            let why = format!("all but the newest {tokens} tokens was summarized, or stays");
            return Err(Why::new("all-fits", why));
        }
        let previous = summary.map(|at| {
            let message = &shown.0[at];
            summary_of(message, BEFORE, AFTER).unwrap_or_else(|| message.said())
        });
        Ok(Selection { spoken, shown, from, cut, new, previous })
    }

    /// Tokens that a summary may have.
    fn summary_tokens(&self, context: &StageContext<'_>, selection: &Selection) -> u64 {
        let gone = &selection.spoken.messages[selection.new..selection.cut];
        let gone: u64 = gone.iter().map(|pos| context.tokens(Place::Item(*pos))).sum();
        let of_window = self.0.summary_window_share.floor_of(context.limits.context);
        let most = of_window.min(self.0.summary_most);
        self.0.summary_share.floor_of(gone).min(most).max(self.0.summary_least.get())
    }
}

/// The first messages, as far as no result of their calls comes later.
fn whole_head(context: &StageContext<'_>, spoken: &Spoken, head: usize) -> usize {
    let history = context.history;
    let behind = spoken.messages.get(head).copied().unwrap_or(history.len());
    let parts = |pos: &Pos| {
        history.group(history.group_of(*pos)).items.iter().any(|other| *other >= behind)
    };
    spoken.messages[..head].iter().position(parts).unwrap_or(head)
}

/// A message as the summarizer sees it.
fn for_summary(message: &Arc<Message>) -> Arc<Message> {
    let (most, head, tail) = TEXT;
    let ends = |text: &str| {
        let start = cut_to(text, most, head, "\n...[truncated]...\n")?;
        let end = text.char_indices().rev().nth(tail - 1).map_or(0, |(at, _)| at);
        Some(start + &text[end..])
    };
    let mut parts = Vec::new();
    let said = message.said();
    if !said.is_empty() {
        parts.push(Part::text(ends(&said).unwrap_or(said)));
    }
    for part in &message.parts {
        let mut part = part.clone();
        match &mut part.kind {
            PartKind::Text { .. } | PartKind::Reasoning { .. } => continue,
            PartKind::Call(call) => {
                let shorter = cut_to(&call.arguments, ARGUMENTS.0, ARGUMENTS.1, "...");
                call.arguments = shorter.unwrap_or_else(|| std::mem::take(&mut call.arguments));
            }
            PartKind::Result(result) => {
                if let Some(shorter) = ends(&result.text) {
                    (result.text, result.structured) = (shorter, None);
                }
            }
            _ => {}
        }
        parts.push(part);
    }
    Arc::new(message.with_parts(parts))
}

/// What the newest requests are about.
fn focus(messages: &[Arc<Message>]) -> Option<String> {
    let (count, each, all) = FOCUS;
    let newest = messages.iter().rev().filter(|message| is_request(message)).take(count);
    let newest: Vec<String> = newest
        .map(|message| format!("- {}", with_dots(on_one_line(&message.said()), each)))
        .collect();
    let lines: Vec<&str> = newest.iter().rev().map(String::as_str).collect();
    (!lines.is_empty()).then(|| with_dots(format!("Recent user focus:\n{}", lines.join("\n")), all))
}

/// A summary with the newest request among what goes in its words, whatever the summarizer made of it.
fn grounded(summary: &str, goes: &[Arc<Message>]) -> String {
    let Some(request) = goes.iter().rev().find(|message| is_request(message)) else {
        return summary.to_owned();
    };
    let text = on_one_line(&request.said());
    let text = match cut_to(&text, REQUEST_CHARS, REQUEST_CHARS - 15, "") {
        Some(kept) => format!("{} ...[truncated]", kept.trim_end()),
        None => text,
    };
    let text = repr(&Value::from(text));
    let section = format!(
        "{REQUEST}\nThe user asked, in these words: {text}\nThis is history; newer messages below the summary come first.\n\n"
    );
    let (mut before, mut after, mut found) = (String::new(), String::new(), false);
    let mut inside = false;
    for line in summary.trim().split_inclusive('\n') {
        if !found && line.trim_end() == REQUEST && line.ends_with('\n') {
            (found, inside) = (true, true);
            continue;
        }
        inside &= !line.starts_with("## ");
        match (found, inside) {
            (false, _) => before += line,
            (true, false) => after += line,
            (true, true) => {}
        }
    }
    match found {
        true => format!("{before}{section}{after}"),
        false => format!("{section}{before}"),
    }
    .trim()
    .to_owned()
}

impl Filter for Middle {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let selection = self.select(context)?;
        let messages = || selection.goes().iter().map(for_summary).collect();
        let most = self.summary_tokens(context, &selection);
        let mut request = SummaryRequest {
            previous: selection.previous.clone(),
            ..context.summary("summary", "hermes.checkpoint", messages, most)
        };
        if request.instructions.is_empty() {
            request.instructions.extend(focus(&selection.shown.0));
        }
        let (from, cut) = (selection.from, selection.cut);
        let reason = format!(
            "keeps the first {from} and the last {} messages",
            selection.shown.0.len() - cut
        );
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("", |summary| &summary.text);
            let text = format!("{BEFORE}{}{AFTER}", grounded(text, selection.goes()));
            let summary = entry(context, Role::User, EntryKind::Summary, text);
            let Spoken { system, messages } = selection.spoken;
            let mut order = messages[..from].to_vec();
            order.push(context.history.len());
            order.extend(&messages[cut..]);
            with_request(context, &messages, &mut order);
            Ok(arranged(context, vec![summary], system.into_iter().chain(order)))
        }))
    }
}

/// Where no request stays, the newest one comes back, before the first answer that stands behind anything but a message of the user.
fn with_request(context: &StageContext<'_>, all: &[Pos], order: &mut Vec<Pos>) {
    let message = |pos: &Pos| context.history.get(*pos);
    let asks = |pos: &Pos| message(pos).is_some_and(|message| is_request(message));
    if order.iter().any(asks) {
        return;
    }
    let Some(newest) = all.iter().rev().find(|pos| asks(pos)) else { return };
    let role = |pos: &Pos| message(pos).map_or(Role::User, |message| message.role);
    let answer = (0..order.len()).find(|at| {
        let behind = at.checked_sub(1).map(|at| role(&order[at]));
        role(&order[*at]) == Role::Assistant && behind != Some(Role::User)
    });
    order.insert(answer.unwrap_or(order.len()), *newest);
}
