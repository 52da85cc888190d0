//! Why a model did not answer, in one vocabulary for all providers.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use strum::{Display, IntoStaticStr};

/// Kinds of error, by what can be done about them.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    Serialize,
    Deserialize,
    Display,
    IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request is larger than the model's window: fold, then send again.
    ContextOverflow,
    /// The request is larger than the provider takes as a body: as above.
    TooLarge,
    /// Too many requests or tokens in a time: wait.
    RateLimited,
    /// The provider is overloaded or failed: wait.
    Overloaded,
    /// No answer in time: try again.
    Timeout,
    /// The connection failed or was cut: try again.
    Transport,
    /// The answer could not be read: try again.
    Decode,
    /// The key is missing or not accepted.
    Auth,
    /// Nothing left on the account.
    Quota,
    /// The provider refuses the content.
    ContentRefused,
    /// More output was asked for than the model may generate.
    OutputLimit,
    /// The request is wrong in another way.
    InvalidRequest,
    /// No answer is recorded for the request, and none may be asked for.
    NotRecorded,
    /// The budget for model calls is spent.
    Budget,
    /// Only the estimate was wanted.
    DryRun,
    /// Not recognized.
    Unknown,
}

impl ErrorKind {
    /// Whether the request itself is too large, in tokens or in bytes.
    pub fn is_overflow(self) -> bool {
        matches!(self, Self::ContextOverflow | Self::TooLarge)
    }

    /// Whether the same request may succeed a little later.
    pub fn is_transient(self) -> bool {
        matches!(
            self,
            Self::RateLimited | Self::Overloaded | Self::Timeout | Self::Transport | Self::Decode
        )
    }

    /// The name used in configuration and output.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Why a model did not answer.
///
/// Texts come from the provider and may be long; they never hold a key, the creator of the error sees
/// to that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderError {
    /// What can be done about it.
    pub kind: ErrorKind,
    /// HTTP status, where there was an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The provider's own code, e.g. `context_length_exceeded`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// What the provider said, and what to do where it is known.
    pub message: String,
    /// How long the provider asks to wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<Duration>,
}

impl ProviderError {
    /// An error without an HTTP answer.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, status: None, code: None, message: message.into(), retry_after: None }
    }
}

impl fmt::Display for ProviderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.as_str())?;
        if let Some(status) = self.status {
            write!(f, " (HTTP {status})")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for ProviderError {}
