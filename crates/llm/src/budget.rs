//! A limit on what models may cost.

use async_trait::async_trait;
use foldback_core::log::Usage;
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Price {
    /// Input that is neither read from nor written to a cache.
    pub input: f64,
    /// Input read from the prompt cache.
    pub cache_read: f64,
    /// Input written to the prompt cache.
    pub cache_write: f64,
    /// Output, reasoning included.
    pub output: f64,
}

impl Price {
    /// What a request cost, in US dollars.
    pub fn of(&self, usage: &Usage) -> f64 {
        let dollars = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        dollars(usage.uncached, self.input)
            + dollars(usage.cache_read, self.cache_read)
            + dollars(usage.cache_write, self.cache_write)
            + dollars(usage.output + usage.reasoning, self.output)
    }

    /// The most that a request can cost: nothing of it is cached, or all of it is written to the cache
    /// where that is dearer, and the answer is as long as it may be.
    pub fn at_most(&self, input: u64, output: u64) -> f64 {
        (input as f64 * self.input.max(self.cache_write) + output as f64 * self.output) / 1e6
    }
}

/// Input tokens of a request, estimated: a token for every four bytes of its texts, rounded up. English
/// text has about that many; code and other languages may have half again as many.
pub fn estimated_input(request: &CompletionRequest) -> u64 {
    (request.bytes() as u64).div_ceil(4)
}

type Lookup = dyn Fn(&Endpoint) -> Option<Price> + Send + Sync;

/// Prices of models; `None` for one whose price is not known.
#[derive(Clone)]
pub struct Prices(Arc<Lookup>);

impl Prices {
    /// Prices as `lookup` gives them.
    pub fn new(lookup: impl Fn(&Endpoint) -> Option<Price> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// The price of a model.
    pub fn get(&self, endpoint: &Endpoint) -> Option<Price> {
        (self.0)(endpoint)
    }
}

impl fmt::Debug for Prices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Prices(…)")
    }
}

/// Stops before a request that could cost more than is left.
///
/// What is compared is the most that a request can cost; what is booked is what the provider counted.
/// A request that may have reached the model and whose cost was not told (no answer in time, a cut
/// connection, an answer that can't be read, a cancelled request) is booked at its most. Requests that
/// the provider refused cost nothing. Several requests may be under way at once: each holds its most
/// until it is booked, so that together they can't pass the limit either.
#[derive(Debug)]
pub struct Budget {
    model: Arc<dyn Model>,
    prices: Prices,
    /// US dollars.
    limit: f64,
    account: Arc<Mutex<Account>>,
}

#[derive(Debug, Default)]
struct Account {
    spent: f64,
    held: f64,
}

impl Budget {
    /// Lets `model` cost up to `limit` US dollars.
    pub fn new(model: Arc<dyn Model>, limit: f64, prices: Prices) -> Self {
        Self {
            model,
            prices,
            limit,
            account: Arc::default(),
        }
    }

    /// What was booked so far, in US dollars.
    pub fn spent(&self) -> f64 {
        lock(&self.account).spent
    }

    fn hold(&self, request: &CompletionRequest, price: Price) -> Result<Hold, ProviderError> {
        let input = estimated_input(request);
        let most = price.at_most(input, request.max_output);
        let mut account = lock(&self.account);
        if account.spent + account.held + most > self.limit {
            return Err(ProviderError::new(
                ErrorKind::Budget,
                format!(
                    "a request to {} may cost up to ${most:.4} (about {input} input tokens and up to {} output tokens), and of the ${:.4} that may be spent ${:.4} are spent and ${:.4} held for requests under way; allow more with `--budget-usd`",
                    request.endpoint.model,
                    request.max_output,
                    self.limit,
                    account.spent,
                    account.held,
                ),
            ));
        }
        account.held += most;
        Ok(Hold {
            account: Arc::clone(&self.account),
            most,
            cost: most,
        })
    }
}

/// Money that is held while a request is under way, and booked when this is dropped.
struct Hold {
    account: Arc<Mutex<Account>>,
    most: f64,
    cost: f64,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut account = lock(&self.account);
        account.held = (account.held - self.most).max(0.0);
        account.spent += self.cost;
    }
}

#[async_trait]
impl Model for Budget {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let Some(price) = self.prices.get(&request.endpoint) else {
            return Err(ProviderError::new(
                ErrorKind::Budget,
                format!(
                    "the price of {} is not known, so that no budget can be kept: give its price, or no budget",
                    request.endpoint.model
                ),
            ));
        };
        let mut hold = self.hold(request, price)?;
        let answer = self.model.complete(request).await;
        match &answer {
            Ok(completion) => {
                if let Some(usage) = &completion.usage {
                    hold.cost = price.of(usage);
                }
            }
            Err(error) if free(error) => hold.cost = 0.0,
            Err(_) => {}
        }
        answer
    }
}

/// Whether an error says that no model worked on the request.
fn free(error: &ProviderError) -> bool {
    let refused = error.status.is_some_and(|status| status >= 400);
    let not_sent = matches!(
        error.kind,
        ErrorKind::Auth
            | ErrorKind::InvalidRequest
            | ErrorKind::NotRecorded
            | ErrorKind::Budget
            | ErrorKind::DryRun
    );
    refused || not_sent
}

fn lock(account: &Mutex<Account>) -> std::sync::MutexGuard<'_, Account> {
    account.lock().unwrap_or_else(PoisonError::into_inner)
}
