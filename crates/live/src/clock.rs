//! The system clock.

use foldback_core::services::Clock;
use std::time::{SystemTime, UNIX_EPOCH};

/// Tells the time of the machine: what an agent has, where tests and replays have a
/// [`FixedClock`](foldback_core::services::FixedClock).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}
