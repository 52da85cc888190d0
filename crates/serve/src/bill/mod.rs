//! What the requests of a conversation cost, and what they would have cost without folds.
//!
//! Every request has two forms: the client's own, and the one that the view shows. One of them is sent. What the
//! provider reports of it (read from the cache, written to it, neither) is what it cost. The other was not sent, so
//! what it would have cost is an estimate. Its size is the provider's count of the new messages that both have, plus
//! an estimate of the rest, scaled by the ratio of the provider's count to our estimate. The provider is assumed to have
//! cached the same share of its prefix. Where the provider reports nothing, both are counted by the cache
//! model of a comparison, in tokens of the strategy's estimator.
//!
//! Answers cost the same on both sides, and so do compactions of the provider's own. What is added up never goes
//! through the history again: a request costs what is new in it.

pub(crate) mod breakpoints;
pub(crate) mod course;
pub(crate) mod requests;

use derive_more::AddAssign;
use foldback_core::log::{Message, Round, Usage};
use foldback_providers::prices::{CacheUse, Rates};
use requests::{Dispatch, Pair, Weight};

/// Dollars of the requests that a provider made by itself for an answer, such as those to an advisor: each at the
/// prices of its model, else at those of the request.
pub(crate) fn rounds_usd(
    pair: &Pair,
    answer: &Message,
    rates: impl Fn(&str) -> Option<Rates>,
) -> f64 {
    let rounds = answer.answer.iter().flat_map(|answer| &answer.rounds);
    let usd = |round: &Round| {
        let own = round.model.as_deref().and_then(&rates).unwrap_or(pair.terms.rates);
        own.used_usd(&round.usage, 0)
    };
    rounds.map(usd).sum()
}

/// Sums over answers.
#[derive(AddAssign, Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sums {
    /// Dollars that the requests would have cost as they came, with their answers.
    pub(crate) received: f64,
    /// Dollars of these requests as they were sent or, in shadow, would have been.
    pub(crate) sent: f64,
    /// Dollars of what was sent, whatever it is held against.
    pub(crate) billed: f64,
    /// Answers whose provider reported what was sent.
    pub(crate) reported: u64,
    /// Answers counted by the model of the cache alone.
    pub(crate) estimated: u64,
    /// Answers of models whose price is not known. They are in no other sum.
    pub(crate) unpriced: u64,
    /// Answers to folded requests that would have been larger than the window as they came: nothing can be said to be
    /// saved. They are in no other sum but `billed`.
    pub(crate) outgrown: u64,
}

impl Sums {
    /// Dollars saved; negative where folds cost more than they saved.
    pub(crate) fn saved(&self) -> f64 {
        self.received - self.sent
    }

    /// Answers that have a price.
    pub(crate) fn priced(&self) -> u64 {
        self.reported + self.estimated
    }
}

/// What the answers of one conversation cost.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Bill {
    pub(crate) sums: Sums,
    /// Of requests that went on from the one before: tokens that the provider read from its cache, and those that
    /// it could have read.
    read: (f64, f64),
    last: Option<Last>,
}

/// The latest request whose size a provider reported.
#[derive(Clone, Copy, Debug)]
struct Last {
    number: usize,
    /// Tokens by the provider.
    reported: f64,
    /// Tokens that the provider would have counted of the other request of the pair.
    instead: f64,
    /// Tokens of the other request by the estimator.
    estimated: u64,
}

impl Bill {
    /// Adds an answer with its request; what was added. `output` are the tokens of the answer, and `rounds` the
    /// dollars of what [`rounds_usd`] finds: they are the same whichever request was sent.
    pub(crate) fn add(
        &mut self,
        pair: Option<&Pair>,
        sent: Dispatch,
        answer: &Message,
        output: u64,
        rounds: f64,
    ) -> Sums {
        let added = match pair {
            Some(pair) => self.priced(pair, sent, answer, output, rounds),
            None => Sums { unpriced: 1, ..Sums::default() },
        };
        self.sums += added;
        added
    }

    fn priced(
        &mut self,
        pair: &Pair,
        sent: Dispatch,
        answer: &Message,
        output: u64,
        rounds: f64,
    ) -> Sums {
        let Pair { terms, number, received, view, outgrown } = pair;
        let (was_sent, other) = match sent {
            Dispatch::View => (view, received),
            Dispatch::Shadow => (received, view),
            Dispatch::Own => (received, received),
        };
        let said = answer.answer.as_ref();
        let compaction = said.and_then(|said| said.compaction);
        // The provider compacted what it was sent. The other request would have come to the same.
        let other = if compaction.is_some() { was_sent } else { other };
        let usage = usage_of(answer);
        let (actual, instead) = match &usage {
            Some(usage) => {
                let reported = reported(usage);
                self.learn(&reported, was_sent);
                let counted = self.count(&reported, *number, was_sent, other);
                let kept = match was_sent.appends {
                    true => counted.kept(reported.read, terms.rules.granularity),
                    // The cache of a folded request gives no evidence for an unfolded one.
                    false => counted.other_shared * self.kept(other),
                };
                let instead = match was_sent == other {
                    true => reported,
                    false => instead(&reported, counted.other, kept),
                };
                (reported, instead)
            }
            // The answer is a compaction and nothing else.
            None if compaction.is_some() => Default::default(),
            None => (was_sent.cache, other.cache),
        };
        let searches = said.map_or(0, |said| said.web_searches);
        let compacted = compaction.map_or(0.0, |usage| terms.rates.used_usd(&usage, 0));
        // What the provider says was written for an hour, else what the client asked for.
        let told = usage.filter(|usage| usage.cache_write_1h > 0);
        let hour = told.map_or(terms.rates.hour, |usage| {
            usage.cache_write_1h.min(usage.cache_write) as f64 / usage.cache_write.max(1) as f64
        });
        let usd = |cache: &CacheUse| {
            let rates = Rates { hour, ..terms.rates.at(total(cache)) };
            rates.input_usd(cache) + rates.output_usd(output, searches) + compacted + rounds
        };
        let (actual, instead) = (usd(&actual), usd(&instead));
        if *outgrown && sent == Dispatch::View {
            return Sums { outgrown: 1, billed: actual, ..Sums::default() };
        }
        let billed = actual;
        let (received, sent) = match sent {
            Dispatch::View => (instead, actual),
            Dispatch::Shadow | Dispatch::Own => (actual, instead),
        };
        let reported = u64::from(usage.or(compaction).is_some());
        Sums { received, sent, billed, reported, estimated: 1 - reported, ..Sums::default() }
    }

    /// Converts the sizes of a pair to tokens of the provider, which counted only the request that was sent.
    fn count(
        &mut self,
        reported: &CacheUse,
        number: usize,
        sent: &Weight,
        other: &Weight,
    ) -> ProviderCounts {
        let all = total(reported) as f64;
        let scale = all / sent.total.max(1) as f64;
        let last = self.last.filter(|last| last.number < number);
        let counted = match last {
            // Both have the same new messages, which the provider counted.
            Some(last) if last.number + 1 == number && sent.appends && other.appends => {
                ProviderCounts {
                    sent: all,
                    sent_shared: last.reported,
                    other: last.instead + all - last.reported,
                    other_shared: last.instead,
                }
            }
            last => ProviderCounts {
                sent: all,
                sent_shared: scale * sent.shared as f64,
                other: match last.filter(|_| other.appends) {
                    Some(last) => {
                        last.instead + scale * other.total.saturating_sub(last.estimated) as f64
                    }
                    None => scale * other.total as f64,
                },
                other_shared: match last.filter(|last| other.appends && last.number + 1 == number) {
                    Some(last) => last.instead,
                    None => scale * other.shared as f64,
                },
            },
        };
        let (instead, estimated) = (counted.other, other.total);
        self.last = Some(Last { number, reported: all, instead, estimated });
        counted
    }

    /// Notes which share of the repeated beginning the provider read from its cache. Nothing is learned after a fold
    /// or a long pause.
    fn learn(&mut self, reported: &CacheUse, sent: &Weight) {
        if sent.appends && !sent.cache.expired && sent.shared > 0 {
            let could = total(reported) as f64 * sent.shared as f64 / sent.total.max(1) as f64;
            self.read.0 += (reported.read as f64).min(could);
            self.read.1 += could;
        }
    }

    /// The cached share that is assumed of a request that was not sent, if the sent one gives no evidence.
    fn kept(&self, other: &Weight) -> f64 {
        match self.read {
            _ if other.cache.expired => 0.0,
            (_, 0.0) => 1.0,
            (read, could) => read / could,
        }
    }
}

/// The sizes of a pair in tokens of the provider, and the parts of them that repeat earlier requests.
struct ProviderCounts {
    sent: f64,
    sent_shared: f64,
    other: f64,
    other_shared: f64,
}

impl ProviderCounts {
    /// What the provider would have read of the other request, by what it read of the one that was sent.
    fn kept(&self, read: u64, granularity: u64) -> f64 {
        let missed = self.sent_shared - read as f64;
        match missed {
            // The remainder is below the granularity of the cache.
            _ if missed >= 0.0 && missed <= granularity as f64 => self.other_shared - missed,
            _ if missed > 0.0 => self.other_shared * read as f64 / self.sent_shared,
            // More was read than this conversation ever sent: another one shares the prefix.
            _ => {
                let new = (self.sent - self.sent_shared).max(1.0);
                self.other_shared + (self.other - self.other_shared) * -missed / new
            }
        }
    }
}

/// The usage that a provider reported with an answer, if any.
fn usage_of(answer: &Message) -> Option<Usage> {
    answer.answer.as_ref()?.usage.filter(Usage::has_input)
}

fn total(cache: &CacheUse) -> u64 {
    cache.read + cache.write + cache.uncached
}

fn reported(usage: &Usage) -> CacheUse {
    let Usage { cache_read: read, cache_write: write, uncached, .. } = *usage;
    CacheUse { read, write, uncached, ..CacheUse::default() }
}

/// What the provider would have reported for a request of which it had read `kept` tokens from its cache. Of the rest it
/// writes the share that it wrote of the request that was sent.
fn instead(reported: &CacheUse, size: f64, kept: f64) -> CacheUse {
    let read = kept.clamp(0.0, size.max(0.0));
    let rest = size - read;
    let written = reported.write as f64 / ((reported.write + reported.uncached).max(1)) as f64;
    CacheUse {
        read: read.round() as u64,
        write: (rest * written).round() as u64,
        uncached: (rest * (1.0 - written)).round() as u64,
        ..CacheUse::default()
    }
}

#[cfg(test)]
mod tests;
