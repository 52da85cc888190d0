//! What the usage of the last answer says of an estimator: how many of the provider's tokens one of its own is.

use crate::estimator::mul_div;
use foldback_core::stage::Pressure;

/// Most tokens of a provider that one of an estimator can be, as a fraction: what usage has beyond that is of something that the
/// estimator was not shown, such as the definitions of tools.
const MOST: (u64, u64) = (3, 2);

/// A line from tokens of an estimator to those of the provider, through the last answer's usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The provider's tokens in [`Rate::estimated`].
    counted: u64,
    /// The estimator's.
    estimated: u64,
    /// Tokens of the provider that no message accounts for.
    besides: u64,
}

impl Rate {
    /// As of the last answer. Without its usage, and where that is below the estimate, one is one: some programs report only what
    /// the cache did not hold.
    pub fn from_pressure(pressure: &Pressure<'_>) -> Self {
        let request = pressure.frame_tokens + pressure.view_tokens;
        let estimated = request.saturating_sub(pressure.since_answer);
        let used = pressure.usage.map_or(0, |reading| reading.usage.total_tokens());
        if used <= estimated || estimated == 0 {
            return Self { counted: 1, estimated: 1, besides: 0 };
        }
        let counted = used.min(mul_div(estimated, MOST.0, MOST.1));
        Self { counted, estimated, besides: used - counted }
    }

    /// What the provider would count for a request of so many estimated tokens.
    pub fn provider(&self, tokens: u64) -> u64 {
        mul_div(tokens, self.counted, self.estimated).saturating_add(self.besides)
    }

    /// The estimated tokens of a request that the provider counts so many tokens for.
    pub fn estimator(&self, tokens: u64) -> u64 {
        mul_div(tokens.saturating_sub(self.besides), self.estimated, self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::limits::Limits;
    use foldback_core::log::Usage;
    use foldback_core::moment::Moment;
    use foldback_core::stage::{UsageReading, UsageSource};

    #[test]
    fn rates_as_a_table() {
        // name, usage, tokens up to the answer, since, what the provider counts for all of them, tokens that it counts 100,000 for
        let cases = [
            ("no usage", None, 50_000, 10_000, 60_000, 100_000),
            ("a fifth more", Some(60_000), 50_000, 10_000, 72_000, 83_333),
            ("as many", Some(50_000), 50_000, 10_000, 60_000, 100_000),
            ("fewer are not believed", Some(400), 50_000, 10_000, 60_000, 100_000),
            ("more than half as many again", Some(95_000), 50_000, 10_000, 110_000, 53_333),
            ("nothing before the answer", Some(60_000), 0, 10_000, 10_000, 100_000),
        ];
        for (name, used, before, since, provider, estimator) in cases {
            let usage = used.map(|used| UsageReading {
                usage: Usage { uncached: used, ..Usage::default() },
                source: UsageSource::Provider,
            });
            let rate = Rate::from_pressure(&Pressure {
                view_tokens: before + since,
                usage,
                since_answer: since,
                ..Pressure::at(Moment::CallStart, Limits::new(100_000, 0))
            });
            assert_eq!(rate.provider(before + since), provider, "{name}");
            assert_eq!(rate.estimator(100_000), estimator, "{name}");
        }
    }
}
