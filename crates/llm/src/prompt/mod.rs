//! Prompts: data with a version, one file for each style of summary.
//!
//! The wording lives in `prompts/*.toml`; here it is put together with what a request brings along: the record of the
//! conversation and the earlier summary, both quoted as data, and the instructions of a person or a hook, which are
//! instructions.

mod data;
pub mod record;

pub use data::{Prompt, Prompts, Reminder, Shared};

use crate::quote::Fence;
use std::fmt::Write as _;

/// The contents of a request besides the wording.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// The conversation, [as text](record).
    pub record: &'a str,
    /// Number of the record's part, from 1, and the number of parts.
    pub part: Option<(usize, usize)>,
    /// The summary of the conversation before the record.
    pub previous: Option<&'a str>,
    /// Instructions of a person or a hook.
    pub instructions: &'a [String],
    /// Most tokens of the answer.
    pub budget: u64,
}

/// System text and user turn of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worded {
    /// The system text.
    pub system: String,
    /// The user turn.
    pub turn: String,
}

impl Prompts {
    /// Writes a request of a style.
    pub fn word(&self, style: &str, material: &Material<'_>) -> Worded {
        let (prompt, shared) = (self.style(style), self.shared());
        let previous = material.previous.filter(|text| !text.trim().is_empty());
        let instructions: Vec<&str> = material
            .instructions
            .iter()
            .map(|text| text.trim())
            .filter(|text| !text.is_empty())
            .collect();
        // Instructions are outside of the fence, but must not spell it either.
        let fence = Fence::new(
            [material.record, previous.unwrap_or_default()]
                .into_iter()
                .chain(instructions.iter().copied()),
        );

        let mut turn = String::with_capacity(material.record.len() + 4_096);
        let mut section = |text: &str| {
            if !turn.is_empty() {
                turn.push_str("\n\n");
            }
            turn.push_str(text.trim());
        };
        section(&shared.record);
        section(&fence.quote("RECORD", material.record));
        if let Some((part, parts)) = material.part {
            let (part, parts) = (part.to_string(), parts.to_string());
            section(&fill(&shared.part, &[("part", &part), ("parts", &parts)]));
        }
        if let Some(previous) = previous {
            section(&shared.previous);
            section(&format!(
                "<previous-summary>\n{}\n</previous-summary>",
                fence.quote("EARLIER SUMMARY", previous)
            ));
        }
        match (previous, &prompt.update) {
            (None, _) => section(&prompt.create),
            (Some(_), Some(update)) => section(update),
            (Some(_), None) => {
                section(&prompt.create);
                section(&shared.update);
            }
        }
        if !prompt.headings.is_empty() && !prompt.any_heading {
            let headings = list(&prompt.headings);
            section(&fill(&shared.headings, &[("headings", &headings)]));
        }
        if !instructions.is_empty() {
            let mut text = shared.instructions.clone();
            for instruction in &instructions {
                // Writing into a string can't fail.
                let _ = write!(text, "\n{instruction}");
            }
            section(&text);
        }
        let budget = material.budget.to_string();
        let words = (material.budget * 3 / 4).max(1).to_string();
        section(&fill(&shared.budget, &[("budget", &budget), ("words", &words)]));
        Worded { system: shared.system.trim().to_owned(), turn }
    }
}

/// Replaces `{names}` by values. It is applied to wording only, never to quoted text.
pub(crate) fn fill(wording: &str, values: &[(&str, &str)]) -> String {
    let mut out = wording.to_owned();
    for (name, value) in values {
        out = out.replace(&format!("{{{name}}}"), value);
    }
    out
}

/// `"a", "b"`
pub(crate) fn list(items: &[String]) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("\"{item}\"")).collect();
    quoted.join(", ")
}
