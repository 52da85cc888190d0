//! Would a provider accept this request? The structural rules of four providers, as pure functions.
//!
//! A view that separates a tool call from its result is refused by every provider, and a session in
//! that state is dead. [`validate`] renders nothing: it walks the messages in their canonical form
//! and applies the rules to what each provider would see. A recording may itself break the rules (a call
//! that was interrupted), so [`caused_by_strategy`] subtracts what the un-compacted history already
//! had; only the rest counts against a strategy.
//!
//! What the canonical form becomes, by dialect:
//!
//! | dialect | rendering that the rules assume |
//! |---|---|
//! | `anthropic` | neighbors of one role are one turn; results are blocks of the user turn; system text is hoisted; nothing before a compaction of its own is read |
//! | `openai-chat` | one message each; reasoning is not sent |
//! | `openai-responses` | one item per part, joined by `call_id` |
//! | `gemini` | neighbors of one role are one turn; results are a turn of their own; system text is hoisted |
//!
//! In all of them a message with nothing to send is left out, and a result that is still pending or
//! running is sent as an error, so the call counts as answered. What can't be seen from the messages
//! is not checked: whether tool definitions exist, whether a signature is genuine.

mod checker;
mod ledger;
mod monitor;
mod names;
mod pairing;
#[cfg(test)]
mod tests;

pub use monitor::{Findings, Monitor};

use crate::view::ShownMessage;
use checker::Checker;
use names::Names;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fmt;

/// A provider's way of writing a conversation.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
pub enum Dialect {
    /// Anthropic Messages.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// OpenAI Chat Completions, and everything compatible with it.
    #[serde(rename = "openai-chat")]
    OpenAiChat,
    /// OpenAI Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Gemini `generateContent`.
    #[serde(rename = "gemini")]
    Gemini,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 4] =
        [Self::Anthropic, Self::OpenAiChat, Self::OpenAiResponses, Self::Gemini];

    /// The name used in configuration and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Codes of the rules.
pub mod rule {
    /// A call has no result where the provider looks for it. All dialects.
    pub const CALL_UNANSWERED: &str = "call-unanswered";
    /// A result has no call where the provider looks for it. All dialects.
    pub const RESULT_WITHOUT_CALL: &str = "result-without-call";
    /// A call has more than one result. All dialects.
    pub const RESULT_REPEATED: &str = "result-repeated";
    /// Two calls have one id. All dialects but Gemini, which does not need ids.
    pub const CALL_ID_REPEATED: &str = "call-id-repeated";
    /// A result follows other content of its user turn. Anthropic.
    pub const RESULT_NOT_FIRST: &str = "result-not-first";
    /// The conversation does not start with a user turn. Anthropic, and Gemini where the first turn
    /// calls a function.
    pub const FIRST_NOT_USER: &str = "first-not-user";
    /// A text block is empty or blank. Anthropic.
    pub const EMPTY_TEXT: &str = "empty-text";
    /// The last message is the model's and ends in white space. Anthropic.
    pub const TRAILING_SPACE: &str = "trailing-space";
    /// Reasoning that must go back unaltered was altered. All dialects that send reasoning.
    pub const REASONING_ALTERED: &str = "reasoning-altered";
    /// A reasoning item is sent without the item that it produced. OpenAI Responses.
    pub const REASONING_ALONE: &str = "reasoning-alone";
    /// A compaction of the provider's own stands elsewhere than in an answer. Anthropic.
    pub const COMPACTION_MISPLACED: &str = "compaction-misplaced";
    /// The arguments of a call were JSON and no longer are. All dialects.
    pub const ARGUMENTS_BROKEN: &str = "arguments-broken";
}

/// One way in which a request breaks a provider's rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// Whose rule it is.
    pub dialect: Dialect,
    /// Code of the rule, one of [`rule`].
    pub rule: &'static str,
    /// Id of the message that breaks the rule.
    pub message: String,
    /// Id of the tool call concerned, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// What is wrong, in words.
    pub detail: String,
}

/// What is worse than a rule for the same call: a result that the history sends where no call is found for it is not
/// broken anew where a view has the call, and something was said in between.
fn worse_rule(rule: &str) -> Option<&'static str> {
    (rule == rule::RESULT_NOT_FIRST).then_some(rule::RESULT_WITHOUT_CALL)
}

impl Violation {
    /// What makes two violations the same one, in a view and in the history underneath.
    fn key(&self) -> (Dialect, &'static str, &str, Option<&str>) {
        (self.dialect, self.rule, &self.message, self.call.as_deref())
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: message {}: {}", self.dialect, self.rule, self.message, self.detail)
    }
}

/// What is wrong with a request of these messages, in one dialect. Linear in the number of parts.
pub fn validate<'a>(
    messages: impl IntoIterator<Item = ShownMessage<'a>>,
    dialect: Dialect,
) -> Vec<Violation> {
    let (mut checker, mut names) = (Checker::new(dialect), Names::default());
    for shown in messages {
        let named = names.number_message(shown.message);
        checker.push(&shown, &named);
    }
    checker.violations(&names)
}

/// The violations of a view that the un-compacted history did not have: those that a strategy caused.
///
/// `inherited` must be the violations of the whole history up to the same call.
pub fn caused_by_strategy(view: &[Violation], inherited: &[Violation]) -> Vec<Violation> {
    if view.is_empty() {
        return Vec::new();
    }
    let mut had: HashMap<_, usize> = HashMap::new();
    for violation in inherited {
        *had.entry(violation.key()).or_default() += 1;
    }
    let worse = |(dialect, rule, message, call)| Some((dialect, worse_rule(rule)?, message, call));
    view.iter()
        .filter(|violation| match had.get_mut(&violation.key()) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            _ => worse(violation.key()).is_none_or(|worse| !had.contains_key(&worse)),
        })
        .cloned()
        .collect()
}
