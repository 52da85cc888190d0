//! `mxf.structured`: MXF's structured summary.
//!
//! What the user said, cut; decisions and pending work by patterns in what the model said; a line for each of the last tool runs; the
//! last errors. It copies and words nothing. Lengths are in UTF-16 units.

use crate::microcompact::name;
use async_trait::async_trait;
use foldback_core::Role;
use foldback_core::log::{Message, ToolResult};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::services::Services;
use foldback_core::stage::{Summarizer, Summary, SummaryError, SummaryRequest};
use foldback_stages::estimator::{Unit, is_js_whitespace};
use foldback_stages::filter::first_units;
use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

/// Name of the summarizer.
const ID: &str = "structured";

/// Most units of the first request, of what the user said, of an item, of a tool run and of an error.
const REQUEST: usize = 500;
const SAID: usize = 200;
const ITEM: usize = 150;
const RUN: usize = 100;
const ERROR: usize = 200;

/// What an item is longer than.
const SHORT: u64 = 10;

/// Most decisions, pending items, tool runs and errors; the newest stay.
const DECISIONS: usize = 10;
const PENDING: usize = 5;
const RUNS: usize = 20;
const ERRORS: usize = 10;

/// What tells a failed run.
const FAILURE: &str = "error:";

/// JavaScript's `\s`.
const SPACE: &str =
    r"[\t-\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}]";

/// What begins a decision, and what begins pending work: three and two patterns, looked for one after the other.
static DECIDED: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        "I (?:will|decided|chose|selected|picked)",
        "The (?:best|right|correct) approach is",
        "Let's|Let me|Going to",
    ]
    .map(after)
    .into()
});
static LEFT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    ["still need to|remaining|TODO|next step|haven't yet", "will do|will handle|will address"]
        .map(after)
        .into()
});

/// What follows these words up to a full stop or the end, in one line. The words are ASCII, in any case.
fn after(words: &str) -> Regex {
    let pattern = format!(r"(?i-u:{words}){SPACE}+([^\n\r\u{{2028}}\u{{2029}}]+?)(?:\.|$)");
    #[expect(
        clippy::unwrap_used,
        reason = "the patterns are constants, and every test compiles them"
    )]
    Regex::new(&pattern).unwrap()
}

/// Configuration of [`Structured`]; there is nothing to set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StructuredConfig {}

impl StageConfig<dyn Summarizer> for StructuredConfig {
    fn build(self) -> Result<Arc<dyn Summarizer>, Invalid> {
        Ok(Arc::new(Structured))
    }
}

/// MXF's structured summary.
#[derive(Clone, Debug, Default)]
pub struct Structured;

/// What is found.
#[derive(Debug, Default)]
struct Sections {
    request: Option<String>,
    said: Vec<String>,
    decisions: Vec<String>,
    runs: Vec<String>,
    errors: Vec<String>,
    pending: Vec<String>,
}

/// A text, cut to so many units with three dots at its end.
fn cut(text: &str, limit: usize) -> Cow<'_, str> {
    if first_units(text, limit).is_none() {
        return text.into();
    }
    let kept = first_units(text, limit - 3).map_or(text, |(kept, _)| kept);
    format!("{kept}...").into()
}

/// Adds what the patterns find, and keeps the newest.
fn find(patterns: &[Regex], text: &str, most: usize, items: &mut Vec<String>) {
    let found = patterns.iter().flat_map(|pattern| pattern.captures_iter(text));
    let found = found.filter_map(|captures| captures.get(1)).map(|found| found.as_str());
    let long = found.filter(|item| Unit::Utf16.len(item) > SHORT);
    items.extend(long.map(|item| cut(item.trim_matches(is_js_whitespace), ITEM).into_owned()));
    newest(items, most);
}

fn newest(items: &mut Vec<String>, most: usize) {
    items.drain(..items.len().saturating_sub(most));
}

impl Sections {
    fn from_messages(messages: &[Arc<Message>]) -> Self {
        let mut sections = Self::default();
        for message in messages {
            match message.role {
                Role::User => sections.asked(&message.said()),
                Role::Assistant => {
                    let said = message.said();
                    find(&DECIDED, &said, DECISIONS, &mut sections.decisions);
                    find(&LEFT, &said, PENDING, &mut sections.pending);
                }
                Role::Tool => {
                    let results = message.parts.iter().filter_map(|part| part.as_result());
                    results.for_each(|result| sections.ran(result));
                }
                Role::System => {}
            }
        }
        sections
    }

    fn asked(&mut self, said: &str) {
        if self.request.is_none() && !said.is_empty() {
            self.request = Some(cut(said, REQUEST).into_owned());
        }
        self.said.push(cut(said, SAID).into_owned());
    }

    fn ran(&mut self, ToolResult { tool, text, .. }: &ToolResult) {
        let (tool, failed) = (name(tool), text.to_ascii_lowercase().contains(FAILURE));
        let how = if failed { "FAILED" } else { "success" };
        self.runs.push(format!("{tool}: {how} — {}", cut(text, RUN)));
        newest(&mut self.runs, RUNS);
        if failed {
            self.errors.push(format!("{tool}: {}", cut(text, ERROR)));
            newest(&mut self.errors, ERRORS);
        }
    }

    fn text(&self, messages: usize) -> String {
        let mut text = "<conversation-summary>".to_owned();
        if let Some(request) = &self.request {
            text += &format!("\n\n## Primary Request\n{request}");
        }
        for (heading, items) in [
            ("User Directives (verbatim)", &self.said),
            ("Key Decisions", &self.decisions),
            ("Tool Executions", &self.runs),
            ("Errors Encountered", &self.errors),
            ("Pending Work", &self.pending),
        ] {
            if !items.is_empty() {
                text += &format!("\n\n## {heading}\n- {}", items.join("\n- "));
            }
        }
        text + &format!("\n\n\n(Summarized {messages} messages)\n\n</conversation-summary>")
    }
}

#[async_trait]
impl Summarizer for Structured {
    fn id(&self) -> &str {
        ID
    }

    async fn summarize(
        &self,
        request: &SummaryRequest,
        _services: &Services,
    ) -> Result<Summary, SummaryError> {
        let written = Sections::from_messages(&request.messages).text(request.messages.len());
        // MXF has none: it always summarizes the whole history.
        let earlier = request.previous.as_ref().map(|previous| format!("{previous}\n\n"));
        let text = earlier.unwrap_or_default() + &written;
        let tokens = request.estimator.text(&text);
        Ok(Summary { text, tokens, by: ID.to_owned(), usage: None, lacks: None })
    }
}
