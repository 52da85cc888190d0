//! What there is to tell about a run, and how it is printed.

use crate::tools::Ran;
use foldback::core::conversation::StageRole;
use foldback::core::log::ToolCall;
use foldback::core::provider::ProviderError;
use foldback::{Message, Outcome, Report};
use std::time::Duration;

/// Something that the agent did.
#[derive(Debug)]
pub enum Event<'a> {
    /// A user turn begins.
    Task(&'a str),
    /// A request is sent.
    Asking {
        /// Which model call it is, from 1; repeated where the request is sent again.
        call: u64,
        /// Messages of the conversation in it.
        messages: usize,
    },
    /// The model answered.
    Answered(&'a Message),
    /// The request failed.
    Failed {
        /// How.
        error: &'a ProviderError,
        /// How long the agent waits before it sends it again; `None` where it doesn't.
        wait: Option<Duration>,
    },
    /// A tool ran.
    Ran {
        /// What was called.
        call: &'a ToolCall,
        /// What came of it.
        result: &'a Ran,
    },
    /// A stage of the strategy ran.
    Compaction(&'a Report),
}

/// Is told what the agent does.
pub type Sink = Box<dyn FnMut(Event<'_>) + Send>;

impl Event<'_> {
    /// The event as a line, or nothing for what happens all the time.
    pub fn line(&self) -> Option<String> {
        match self {
            Self::Task(task) => Some(format!("> {}", first_line(task, 100))),
            Self::Asking { .. } => None,
            Self::Answered(message) => {
                let said = message.said();
                let said = first_line(&said, 100);
                let usage = message.answer.as_ref().and_then(|answer| answer.usage);
                let usage = usage.map_or_else(String::new, |usage| {
                    format!(" [{} in, {} out]", usage.input_total(), usage.output)
                });
                Some(format!("  model{usage}: {said}"))
            }
            Self::Failed { error, wait } => {
                let wait = wait
                    .map_or_else(String::new, |wait| format!("; again in {} s", wait.as_secs()));
                Some(format!("  ! {error}{wait}"))
            }
            Self::Ran { call, result } => Some(format!(
                "  {} {}: {} bytes{}",
                call.tool,
                first_line(&call.arguments, 80),
                result.text.len(),
                if result.failed { ", an error" } else { "" }
            )),
            Self::Compaction(report) => compaction(report),
        }
    }
}

/// A report as a line, or nothing where there was nothing to do.
fn compaction(report: &Report) -> Option<String> {
    let quiet = match (&report.outcome, report.role) {
        (Outcome::Unchanged(why), StageRole::Overflow) => why.code == "below-threshold",
        (Outcome::Unchanged(_), StageRole::Pruner) => true,
        _ => false,
    };
    (!quiet).then(|| {
        format!(
            "  * {} {}: {}, {} -> {} tokens",
            report.moment, report.stage, report.outcome, report.tokens_before, report.tokens_after
        )
    })
}

fn first_line(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut short: String = line.chars().take(most).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
