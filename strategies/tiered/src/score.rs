//! How important is a message?
//!
//! A score is a sum of named factors. It is not clamped: the document speaks of 0 to 100, gives an
//! example of 110 and a table whose parts add up to more, and a clamp would change which messages win
//! when more are important than may stay. [`Score::display`] is the number from 0 to 100.
//!
//! What is looked at is what was said and what tools answered: text parts and results, not reasoning
//! and not the arguments of calls. Words are found whatever their case, as ASCII.

use crate::pattern::Pattern;
use foldback_core::log::{Message, PartKind, ResultStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

static DECISION: Pattern =
    Pattern::new(r"(?i-u)\b(?:decided|concluded|agreed|will do|won't do|determined|resolved)\b");
static ERROR: Pattern = Pattern::new(r"(?i-u)error");
static TOOL_OR_FAILED: Pattern = Pattern::new(r"(?i-u)tool|failed");
static TASK: Pattern = Pattern::new(r"(?i-u)task|objective");

const MINUTE: i64 = 60_000;
/// Younger than this is very recent.
const VERY_RECENT: i64 = 5 * MINUTE;
/// Younger than this is recent.
const RECENT: i64 = 60 * MINUTE;
/// As many later messages must refer to a message for it to count as referenced.
const REFERENCED: u32 = 2;

/// A reason for a message to be important.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Factor {
    /// A word that settles something: decided, concluded, agreed, will do, won't do, determined, resolved.
    DecisionLanguage,
    /// A tool failed, or the text speaks of an error together with a tool or a failure.
    ToolError,
    /// A tool succeeded.
    ToolSuccess,
    /// The recorder marked it as of high importance.
    ExplicitHighImportance,
    /// The recorder marked it as of medium importance.
    ExplicitMediumImportance,
    /// Two or more later messages refer to it.
    Referenced,
    /// Less than five minutes old.
    VeryRecent,
    /// Less than an hour old.
    Recent,
    /// The recorder marked it as a task (`type`), or it speaks of a task or an objective.
    TaskRelated,
}

/// Points that each factor adds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Weights {
    /// A word that settles something.
    pub decision_language: u32,
    /// A tool failed.
    pub tool_error: u32,
    /// A tool succeeded; not added to a failure.
    pub tool_success: u32,
    /// Marked as of high importance.
    pub explicit_high_importance: u32,
    /// Marked as of medium importance.
    pub explicit_medium_importance: u32,
    /// Two or more later messages refer to it.
    pub referenced: u32,
    /// Less than five minutes old.
    pub very_recent: u32,
    /// Less than an hour old.
    pub recent: u32,
    /// A task, or about one.
    pub task_related: u32,
}

impl Default for Weights {
    fn default() -> Self {
        Self {
            decision_language: 50,
            tool_error: 40,
            tool_success: 30,
            explicit_high_importance: 40,
            explicit_medium_importance: 20,
            referenced: 20,
            very_recent: 15,
            recent: 5,
            task_related: 20,
        }
    }
}

impl Weights {
    fn weight(&self, factor: Factor) -> u32 {
        match factor {
            Factor::DecisionLanguage => self.decision_language,
            Factor::ToolError => self.tool_error,
            Factor::ToolSuccess => self.tool_success,
            Factor::ExplicitHighImportance => self.explicit_high_importance,
            Factor::ExplicitMediumImportance => self.explicit_medium_importance,
            Factor::Referenced => self.referenced,
            Factor::VeryRecent => self.very_recent,
            Factor::Recent => self.recent,
            Factor::TaskRelated => self.task_related,
        }
    }
}

/// An explicit importance marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Importance {
    /// `high`
    High,
    /// `medium`
    Medium,
}

/// What is known of a message that bears on its score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// It holds a word that settles something.
    pub decision: bool,
    /// A tool failed.
    pub tool_error: bool,
    /// A tool succeeded.
    pub tool_success: bool,
    /// Explicit marker.
    pub importance: Option<Importance>,
    /// Later messages that refer to it.
    pub references: u32,
    /// Age in milliseconds, where known.
    pub age: Option<i64>,
    /// It is a task, or speaks of one.
    pub task: bool,
}

impl Evidence {
    /// What the message itself shows. References and age are for the caller, who knows the others.
    pub fn from_message(message: &Message) -> Self {
        *message.derived.get_or(|| Self::read(message))
    }

    fn read(message: &Message) -> Self {
        let mut evidence = Self {
            importance: match message.annotations.get("importance").map(String::as_str) {
                Some(mark) if mark.eq_ignore_ascii_case("high") => Some(Importance::High),
                Some(mark) if mark.eq_ignore_ascii_case("medium") => Some(Importance::Medium),
                _ => None,
            },
            task: message.annotations.get("type").is_some_and(|mark| mark == "task"),
            ..Self::default()
        };
        let (mut error, mut tool_or_failed) = (false, false);
        for part in &message.parts {
            let text = match &part.kind {
                PartKind::Text { text, ignored: false, .. } => text,
                PartKind::Result(result) => {
                    match result.status {
                        ResultStatus::Completed => evidence.tool_success = true,
                        ResultStatus::Error | ResultStatus::Retry => evidence.tool_error = true,
                        ResultStatus::Pending | ResultStatus::Running => {}
                    }
                    &result.text
                }
                _ => continue,
            };
            evidence.decision = evidence.decision || DECISION.finds(text);
            evidence.task = evidence.task || TASK.finds(text);
            error = error || ERROR.finds(text);
            tool_or_failed = tool_or_failed || TOOL_OR_FAILED.finds(text);
        }
        evidence.tool_error |= error && tool_or_failed;
        evidence
    }

    /// The factors that apply, in a fixed order.
    pub fn factors(self) -> impl Iterator<Item = Factor> {
        let age = self.age.unwrap_or(i64::MAX);
        let high = self.importance == Some(Importance::High);
        let medium = self.importance == Some(Importance::Medium);
        [
            (self.decision, Factor::DecisionLanguage),
            (self.tool_error, Factor::ToolError),
            (self.tool_success && !self.tool_error, Factor::ToolSuccess),
            (high, Factor::ExplicitHighImportance),
            (medium, Factor::ExplicitMediumImportance),
            (self.references >= REFERENCED, Factor::Referenced),
            (age < VERY_RECENT, Factor::VeryRecent),
            ((VERY_RECENT..RECENT).contains(&age), Factor::Recent),
            (self.task, Factor::TaskRelated),
        ]
        .into_iter()
        .filter_map(|(applies, factor)| applies.then_some(factor))
    }

    /// The score.
    pub fn score(self, weights: &Weights) -> Score {
        let points =
            self.factors().fold(0u32, |sum, factor| sum.saturating_add(weights.weight(factor)));
        Score { points, evidence: self }
    }
}

/// How important a message is, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Sum of the factors' points, not clamped.
    pub points: u32,
    /// What they are for.
    pub evidence: Evidence,
}

impl Score {
    /// The factors, in a fixed order.
    pub fn factors(&self) -> Vec<Factor> {
        self.evidence.factors().collect()
    }

    /// The score on the document's scale of 0 to 100.
    pub fn display(&self) -> u32 {
        self.points.min(100)
    }

    /// Whether the message may bypass compression: the threshold is inclusive.
    pub fn is_residual(&self, threshold: u32) -> bool {
        self.points >= threshold
    }
}
