//! The requests of a conversation, each as it came and as the view shows it, in tokens of the strategy's estimator.

use super::breakpoints;
use crate::folding::Folding;
use foldback_core::delta::Cursor;
use foldback_core::meter::MeterId;
use foldback_live::follow::Followed;
use foldback_providers::prices::{Cache, CacheUse, Call, RequestLog, Terms};
use foldback_providers::wire::Request;

/// One request as the cache of its provider sees it, in tokens of the strategy's estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Weight {
    pub(super) total: u64,
    /// Tokens of the beginning that it shares with an earlier request, however old.
    pub(super) shared: u64,
    /// It begins with all of the request before.
    pub(super) appends: bool,
    /// Tokens read, written and uncached, by the cache model.
    pub(super) cache: CacheUse,
}

/// A request in the client's form and in the view's, and its prices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pair {
    pub(super) terms: Terms,
    /// Number of the request, to tell which came one after the other.
    pub(super) number: usize,
    pub(super) received: Weight,
    pub(super) view: Weight,
    /// The request as it came is larger than the model's window: its provider would not have taken it.
    pub(super) outgrown: bool,
}

/// Which request of a pair was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dispatch {
    /// The request of the view.
    View,
    /// The client's request; the view says what would have been sent.
    Shadow,
    /// The client's request, although the view differs: nothing is saved.
    Own,
}

/// The requests of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    model: Option<String>,
    of_model: Option<OfModel>,
}

/// The requests to one model, whose prices are known. Caches of models share nothing.
#[derive(Debug)]
struct OfModel {
    terms: Terms,
    /// Tokens of the largest request that the provider takes.
    window: u64,
    view: RequestLog,
    /// Number of requests before those in `view`.
    earlier: usize,
    cache: Cache,
    cursor: Cursor,
    /// Tokens of the frame of the first request: a change of it shows in what the provider reports.
    frame: u64,
    /// The latest request as it came: its tokens by the same frame, and when it came.
    received: Option<(u64, i64)>,
}

impl Requests {
    /// Prices a request that the conversation has taken. `None` if the price of its model is not known.
    pub(crate) fn take(
        &mut self,
        folding: &Folding,
        request: &Request,
        followed: &Followed,
    ) -> Option<Pair> {
        let model = request.model();
        if self.of_model.is_none() || self.model.as_deref() != model {
            let hour = breakpoints::for_an_hour(request);
            let terms = (folding.terms)(request.dialect(), model, hour);
            self.model = model.map(str::to_owned);
            self.of_model = terms.map(|terms| OfModel::new(terms, followed));
        }
        let now = folding.clock.now();
        let of_model = self.of_model.as_mut()?;
        let (terms, received) = (of_model.terms, of_model.take_received(followed, now));
        let view = of_model.take_view(followed, now);
        let outgrown = received.total > of_model.window;
        Some(Pair { terms, number: of_model.number(), received, view, outgrown })
    }

    /// The pair of a request after one more fold.
    pub(crate) fn again(&mut self, pair: Pair, followed: &Followed, now: i64) -> Pair {
        let Some(of_model) = &mut self.of_model else { return pair };
        let view = of_model.take_view(followed, now);
        Pair { view, number: of_model.number(), ..pair }
    }

    /// A fork with a fold took the place of the conversation. Nothing of the next request is assumed to be cached.
    pub(crate) fn begin_again(&mut self) {
        if let Some(of_model) = &mut self.of_model {
            of_model.earlier += of_model.view.requests().len();
            of_model.view = RequestLog::default();
            of_model.cache = Cache::new(of_model.terms.rules);
            of_model.cursor = Cursor::default();
        }
    }

    /// Bytes that they take in memory.
    pub(crate) fn bytes(&self) -> usize {
        let model = self.model.as_ref().map_or(0, String::capacity);
        let of_model = self.of_model.as_ref();
        model + of_model.map_or(0, |of_model| of_model.view.bytes() + of_model.cache.bytes())
    }
}

impl OfModel {
    fn new((terms, window): (Terms, u64), followed: &Followed) -> Self {
        Self {
            terms,
            window,
            view: RequestLog::default(),
            earlier: 0,
            cache: Cache::new(terms.rules),
            cursor: Cursor::default(),
            frame: followed.conversation().meter(MeterId::OWN).frame_tokens(),
            received: None,
        }
    }

    /// Number of the latest request.
    fn number(&self) -> usize {
        self.earlier + self.view.requests().len()
    }

    /// The request as it came: it goes on from the one before.
    fn take_received(&mut self, followed: &Followed, now: i64) -> Weight {
        let total = followed.sizes().received;
        let messages =
            total.saturating_sub(followed.conversation().meter(MeterId::OWN).frame_tokens());
        let before = self.received.replace((self.frame + messages, now));
        let shared = before.map_or(0, |(tokens, _)| tokens);
        let expired = before.is_some_and(|(_, at)| !self.terms.rules.holds(at, now));
        let held = if expired { 0 } else { shared };
        let cache = CacheUse { expired, ..CacheUse::holding(total, held, self.terms.rules) };
        Weight { total, shared, appends: true, cache }
    }

    /// The request as the view shows it now.
    fn take_view(&mut self, followed: &Followed, now: i64) -> Weight {
        let conversation = followed.conversation();
        let delta = conversation.delta(&mut self.cursor);
        self.view.send(
            conversation,
            &delta,
            MeterId::OWN,
            Call { start_ms: Some(now), ..Call::default() },
        );
        let total = followed.sizes().sent;
        let Some(request) = self.view.requests().last() else { return Weight::default() };
        let cache = self.cache.send(request, Some(now));
        let use_of_all = CacheUse::holding(total, cache.read, self.terms.rules);
        Weight {
            total,
            shared: request.shared_tokens(),
            appends: cache.churn == 0,
            cache: CacheUse { expired: cache.expired, ..use_of_all },
        }
    }
}
