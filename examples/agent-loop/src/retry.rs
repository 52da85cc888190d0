//! How often and how long the agent waits where waiting helps: rate limits, overload, cut streams.

use foldback::core::provider::ProviderError;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

/// Waits for a time.
pub type Pause = fn(Duration) -> Pin<Box<dyn Future<Output = ()> + Send>>;

/// Patience.
#[derive(Clone, Copy)]
pub struct Retry {
    /// Times that one request is sent, the first included.
    pub attempts: u32,
    /// Wait after the first failure where the provider names none; doubles from there.
    pub first: Duration,
    /// Longest wait. A provider that asks for more is not waited for.
    pub longest: Duration,
    /// Waits; replaced in tests.
    pub pause: Pause,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            first: Duration::from_secs(1),
            longest: Duration::from_secs(60),
            pause: |time| Box::pin(tokio::time::sleep(time)),
        }
    }
}

impl Retry {
    /// How long to wait after a failed attempt, numbered from 1; `None` where it won't help.
    pub fn wait(&self, attempt: u32, error: &ProviderError) -> Option<Duration> {
        if !error.kind.is_transient() || attempt >= self.attempts {
            return None;
        }
        let doubled = self.first.saturating_mul(1 << (attempt - 1).min(16));
        let wait = error.retry_after.unwrap_or(doubled.min(self.longest));
        (wait <= self.longest).then_some(wait)
    }

    /// Waits.
    pub async fn pause(&self, time: Duration) {
        (self.pause)(time).await;
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("attempts", &self.attempts)
            .field("first", &self.first)
            .field("longest", &self.longest)
            .finish_non_exhaustive()
    }
}
