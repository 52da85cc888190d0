//! How long the agent waits after an error.

use agent_loop::retry::Retry;
use foldback::core::provider::{ErrorKind, ProviderError};
use std::time::Duration;

#[test]
fn waits_double_follow_the_provider_and_end() {
    let seconds = Duration::from_secs;
    let rows = [
        (ErrorKind::RateLimited, 1, None, Some(1)),
        (ErrorKind::Overloaded, 3, None, Some(4)),
        (ErrorKind::Transport, 4, None, Some(8)),
        (ErrorKind::RateLimited, 5, None, None),
        (ErrorKind::RateLimited, 1, Some(7), Some(7)),
        (ErrorKind::RateLimited, 1, Some(60), Some(60)),
        (ErrorKind::RateLimited, 1, Some(61), None),
        (ErrorKind::ContextOverflow, 1, None, None),
        (ErrorKind::Auth, 1, Some(1), None),
    ];
    for (kind, attempt, asked, expect) in rows {
        let mut error = ProviderError::new(kind, "");
        error.retry_after = asked.map(seconds);
        let wait = Retry::default().wait(attempt, &error);
        assert_eq!(wait, expect.map(seconds), "{kind}, attempt {attempt}, {asked:?}");
    }
}
