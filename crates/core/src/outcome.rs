//! How a compaction ended. A run without effect never looks like a success, and a failure never
//! changes the view.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use strum::IntoStaticStr;

/// A reason, as a stable code for programs and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Why {
    /// Stable code, e.g. `below-threshold`.
    pub code: Cow<'static, str>,
    /// The numbers behind the reason.
    pub detail: String,
}

impl Why {
    /// A reason.
    pub fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code: Cow::Borrowed(code), detail: detail.into() }
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.detail.is_empty() { f.write_str(&self.code) } else { f.write_str(&self.detail) }
    }
}

/// Code of the reason why a summary that its model wrote is not all that was asked for.
#[doc(hidden)]
pub const SUMMARY_FORM: &str = "summary-form";

/// How a compaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case", tag = "outcome", content = "why")]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Outcome {
    /// The view changed as the strategy meant it to.
    Changed,
    /// The view changed, but not as well as the strategy meant it to.
    Degraded(Why),
    /// The stage ran and found nothing to do.
    Unchanged(Why),
    /// The stage was not run.
    Skipped(Why),
    /// The stage ran and its proposal was not taken.
    Failed(Why),
}

impl Outcome {
    /// Whether the view changed.
    pub fn changed(&self) -> bool {
        matches!(self, Self::Changed | Self::Degraded(_))
    }

    /// The reason, if there is one.
    pub fn why(&self) -> Option<&Why> {
        match self {
            Self::Changed => None,
            Self::Degraded(why) | Self::Unchanged(why) | Self::Skipped(why) | Self::Failed(why) => {
                Some(why)
            }
        }
    }

    /// `changed`, `degraded`, `unchanged`, `skipped` or `failed`.
    pub fn name(&self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.why() {
            None => f.write_str(self.name()),
            Some(why) => write!(f, "{}: {why}", self.name()),
        }
    }
}
