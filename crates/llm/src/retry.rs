//! When a failed request is sent again.

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use foldback_core::provider::{ErrorKind, ProviderError};
use std::time::Duration;

/// Shortest and longest wait. If a provider asks for a longer one, there is no retry: an agent stands still meanwhile,
/// and an earlier request would be refused again.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// The retries of one summary, which all of its requests share. Waits double from one to the next; there
/// is no jitter, because one conversation has one request under way.
///
/// A request that was not answered in time is sent again once: each try costs the full time limit, and an agent stands
/// still meanwhile.
#[derive(Debug)]
pub(crate) struct Retries {
    waits: ExponentialBackoff,
    late: bool,
}

impl Retries {
    pub(crate) fn new(attempts: u32) -> Self {
        let most = usize::try_from(attempts.saturating_sub(1)).unwrap_or(usize::MAX);
        let waits = ExponentialBuilder::new()
            .with_min_delay(SHORTEST)
            .with_max_delay(LONGEST)
            .with_factor(2.0)
            .with_max_times(most)
            .build();
        Self { waits, late: false }
    }

    /// How long to wait before the request is sent again; `None` if that is useless or no retry is
    /// left.
    pub(crate) fn next(&mut self, error: &ProviderError) -> Option<Duration> {
        let asked = error.retry_after.unwrap_or_default();
        if !error.kind.is_transient() || asked > LONGEST {
            return None;
        }
        if error.kind == ErrorKind::Timeout && std::mem::replace(&mut self.late, true) {
            return None;
        }
        self.waits.next().map(|wait| wait.max(asked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_as_a_table() {
        let after = |kind, seconds: Option<u64>| ProviderError {
            retry_after: seconds.map(Duration::from_secs),
            ..ProviderError::new(kind, "")
        };
        use ErrorKind::{Auth, Overloaded, RateLimited, Timeout, Transport};
        let cases = [
            (vec![after(Transport, None); 4], vec![Some(1), Some(2), Some(4), None]),
            (vec![after(Timeout, None); 2], vec![Some(1), None]),
            // Whatever comes between.
            (
                vec![after(Timeout, None), after(Overloaded, None), after(Timeout, None)],
                vec![Some(1), Some(2), None],
            ),
            (
                vec![after(RateLimited, Some(7)), after(RateLimited, Some(1))],
                vec![Some(7), Some(2)],
            ),
            (vec![after(RateLimited, Some(61))], vec![None]),
            // What is not retried takes no retry from the others.
            (vec![after(Auth, None), after(Overloaded, None)], vec![None, Some(1)]),
        ];
        for (errors, expected) in cases {
            let mut retries = Retries::new(4);
            let waits: Vec<Option<u64>> =
                errors.iter().map(|error| retries.next(error).map(|wait| wait.as_secs())).collect();
            assert_eq!(waits, expected, "{errors:?}");
        }
        assert_eq!(Retries::new(1).next(&after(Timeout, None)), None);
    }
}
