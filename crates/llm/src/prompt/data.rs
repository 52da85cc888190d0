//! The files of wording, embedded.

use foldback_core::registry::Invalid;
use serde::Deserialize;
use std::collections::BTreeMap;

const SHARED: &str = include_str!("../../prompts/shared.toml");
const DEFAULT: &str = include_str!("../../prompts/default.toml");
const STYLES: &[&str] = &[
    include_str!("../../prompts/opencode-anchored.toml"),
    include_str!("../../prompts/opencode-checkpoint.toml"),
    include_str!("../../prompts/opencode-checkpoint-2.toml"),
    include_str!("../../prompts/opencode-objective.toml"),
    include_str!("../../prompts/tiered-1.toml"),
    include_str!("../../prompts/tiered-2.toml"),
    include_str!("../../prompts/tiered-3.toml"),
    include_str!("../../prompts/claude-code-summary.toml"),
    include_str!("../../prompts/codex-handoff.toml"),
    include_str!("../../prompts/dsh-checkpoint.toml"),
    include_str!("../../prompts/gemini-snapshot.toml"),
    include_str!("../../prompts/gemini-verify.toml"),
    include_str!("../../prompts/hermes-checkpoint.toml"),
    include_str!("../../prompts/kimi-handoff.toml"),
    include_str!("../../prompts/mxf-history.toml"),
    include_str!("../../prompts/oh-my-pi-history.toml"),
    include_str!("../../prompts/oh-my-pi-turn.toml"),
    include_str!("../../prompts/openhands-condensation.toml"),
    include_str!("../../prompts/pi-history.toml"),
    include_str!("../../prompts/pi-turn.toml"),
    include_str!("../../prompts/tunacode-summary.toml"),
    include_str!("../../prompts/window-compact.toml"),
];

/// The wording of one style.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Prompt {
    /// Its name, as [`SummaryRequest::style`](foldback_core::stage::SummaryRequest::style) has it.
    pub style: String,
    /// What is asked for without an earlier summary.
    pub create: String,
    /// What is asked for with an earlier summary; `create` and [`Shared::update`] if unset.
    pub update: Option<String>,
    /// Lines that an answer must have as headings.
    pub headings: Vec<String>,
    /// Whether one of them is enough; an answer without any is then no summary, even after the reminder.
    #[serde(default)]
    pub any_heading: bool,
}

/// Wording that all styles share; see `prompts/shared.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Version of all wording.
    pub version: u32,
    /// The system text.
    pub system: String,
    /// Before the record.
    pub record: String,
    /// The number of the record's part.
    pub part: String,
    /// Before the earlier summary.
    pub previous: String,
    /// What to do with the earlier summary, for styles that say nothing on it.
    pub update: String,
    /// Before the instructions of a person or a hook.
    pub instructions: String,
    /// The headings that are required.
    pub headings: String,
    /// How long the answer may be.
    pub budget: String,
    /// The reply to an unusable answer.
    pub reminder: Reminder,
}

/// The replies to unusable answers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reminder {
    /// The sentence around the fault.
    pub again: String,
    /// The answer had no text.
    pub empty: String,
    /// The answer called tools and had no text.
    pub tools: String,
    /// The answer reached the output limit.
    pub cut: String,
    /// Headings are missing.
    pub headings: String,
    /// The answer is over its budget.
    pub long: String,
}

/// All wording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prompts {
    shared: Shared,
    default: Prompt,
    styles: BTreeMap<String, Prompt>,
}

impl Prompts {
    /// The wording of this crate.
    ///
    /// # Errors
    ///
    /// An embedded file can't be read, which would be a defect of this crate.
    pub fn embedded() -> Result<Self, Invalid> {
        let mut styles = BTreeMap::new();
        for text in STYLES {
            let prompt: Prompt = read(text)?;
            styles.insert(prompt.style.clone(), prompt);
        }
        Ok(Self { shared: read(SHARED)?, default: read(DEFAULT)?, styles })
    }

    /// Version of all wording.
    pub fn version(&self) -> u32 {
        self.shared.version
    }

    /// Wording that all styles share.
    pub fn shared(&self) -> &Shared {
        &self.shared
    }

    /// The wording of a style; the default one for styles that have none.
    pub fn style(&self, name: &str) -> &Prompt {
        self.styles.get(name).unwrap_or(&self.default)
    }

    /// Names of the styles that have wording of their own.
    pub fn styles(&self) -> impl Iterator<Item = &str> {
        self.styles.keys().map(String::as_str)
    }
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Invalid> {
    toml::from_str(text).map_err(|error| Invalid::new("", format!("embedded prompt: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The id of the summarizer names the version, so wording must not change beneath it.
    #[test]
    fn changed_wording_has_a_new_version() {
        let mut hash = blake3::Hasher::new();
        for text in STYLES.iter().chain(&[DEFAULT, SHARED]) {
            hash.update(text.as_bytes());
        }
        let digest = hash.finalize().to_hex();
        let version = Prompts::embedded().unwrap().version();
        assert_eq!(
            (version, &digest[..16]),
            (7, "ab6cb22ba56e1d1c"),
            "raise `version` in prompts/shared.toml, then note the new digest here"
        );
    }
}
