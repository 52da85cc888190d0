//! The cost of models, and a limit on it.

use crate::scrub::left_out;
use async_trait::async_trait;
use foldback_core::log::{Price, Usage};
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, ErrorKind, Model, ProviderError,
};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Input tokens of a request, estimated: a token for every four bytes of its texts, rounded up. English
/// text has about that many; code and other languages may have half again as many.
pub(crate) fn estimated_input(request: &CompletionRequest) -> u64 {
    (request.bytes() as u64).div_ceil(4)
}

type Lookup = dyn Fn(&Endpoint) -> Option<Price> + Send + Sync;

/// Prices of models; `None` for a model without a known price.
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

/// Requests and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bill {
    /// Requests that a model answered, or may have worked on.
    pub requests: u64,
    /// Requests with unknown token counts; they are charged at their maximum cost.
    pub unreported: u64,
    /// Requests whose price is not known; they are charged at nothing.
    pub unpriced: u64,
    /// Input tokens that providers counted, cached or not.
    pub input: u64,
    /// Output tokens that providers counted, reasoning included.
    pub output: u64,
    /// Secrets that were left out of the requests.
    pub secrets: u64,
    /// US dollars.
    pub usd: f64,
}

/// Keeps the bill of a model, and stops before a request that could cost more than is left.
///
/// The limit is compared with the most that a request can cost; the charge is what the provider counted. A request
/// that may have reached the model and whose cost is not known (no answer in time, a cut connection, an unreadable
/// answer, a canceled request) is charged at its maximum. Requests that the provider refused cost nothing. Running
/// requests hold their maximum until they are charged, so that together they can't pass the limit either.
#[derive(Debug)]
pub struct Budget {
    model: Arc<dyn Model>,
    purse: Purse,
}

/// What models together may cost, and did.
#[derive(Clone, Debug)]
pub struct Purse {
    prices: Prices,
    /// US dollars.
    limit: Option<f64>,
    account: Arc<Mutex<Account>>,
}

#[derive(Debug, Default)]
struct Account {
    bill: Bill,
    /// US dollars.
    held: f64,
}

impl Budget {
    /// Lets `model` cost up to `limit` US dollars; without a limit only the bill is kept, and a price may be
    /// unknown.
    pub fn new(model: Arc<dyn Model>, limit: Option<f64>, prices: Prices) -> Self {
        Purse::new(limit, prices).budget(model)
    }

    /// The charges so far.
    pub fn bill(&self) -> Bill {
        self.purse.bill()
    }
}

impl Purse {
    /// A limit in US dollars, or none, for models with these prices.
    pub fn new(limit: Option<f64>, prices: Prices) -> Self {
        Self { prices, limit, account: Arc::default() }
    }

    /// A model that is paid from it.
    pub fn budget(&self, model: Arc<dyn Model>) -> Budget {
        Budget { model, purse: self.clone() }
    }

    /// The charges so far.
    pub fn bill(&self) -> Bill {
        lock(&self.account).bill
    }

    /// Dollars for what a provider counted; nothing where its price is not known.
    pub fn usd(&self, endpoint: &Endpoint, usage: &Usage) -> f64 {
        self.prices.get(endpoint).map_or(0.0, |price| price.dollars(usage))
    }

    fn hold(&self, request: &CompletionRequest) -> Result<Hold, ProviderError> {
        let price = self.prices.get(&request.endpoint);
        let input = estimated_input(request);
        let most = price.map_or(0.0, |price| price.at_most(input, request.max_output));
        let mut account = lock(&self.account);
        let spent = account.bill.usd;
        match self.limit {
            Some(_) if price.is_none() => {
                return Err(ProviderError::new(
                    ErrorKind::Budget,
                    format!(
                        "the price of {} is not known, so that no budget can be kept: give its price, or no budget",
                        request.endpoint.model
                    ),
                ));
            }
            Some(limit) if spent + account.held + most > limit => {
                return Err(ProviderError::new(
                    ErrorKind::Budget,
                    format!(
                        "a request to {} may cost up to ${most:.4} (about {input} input tokens and up to {} output tokens), and of the ${:.4} that may be spent ${:.4} are spent and ${:.4} held for requests under way; allow more with `--budget-usd`",
                        request.endpoint.model, request.max_output, limit, spent, account.held,
                    ),
                ));
            }
            _ => {}
        }
        account.held += most;
        let secrets = request.turns.iter().map(|turn| left_out(&turn.text)).sum();
        let account = Arc::clone(&self.account);
        Ok(Hold { account, price, most, secrets, charge: Charge::AtMost })
    }
}

/// Money that is held while a request is under way, and charged when this is dropped.
struct Hold {
    account: Arc<Mutex<Account>>,
    price: Option<Price>,
    most: f64,
    secrets: u64,
    charge: Charge,
}

enum Charge {
    /// No model worked on the request.
    Nothing,
    /// What the provider counted.
    Counted(Usage),
    /// The most that the request can cost.
    AtMost,
}

impl Drop for Hold {
    fn drop(&mut self) {
        let mut account = lock(&self.account);
        account.held = (account.held - self.most).max(0.0);
        let bill = &mut account.bill;
        match &self.charge {
            Charge::Nothing => return,
            Charge::Counted(usage) => {
                bill.input = bill.input.saturating_add(usage.input_total());
                bill.output = bill.output.saturating_add(usage.output_total());
                bill.usd += self.price.map_or(0.0, |price| price.dollars(usage));
            }
            Charge::AtMost => {
                bill.unreported += 1;
                bill.usd += self.most;
            }
        }
        bill.requests += 1;
        bill.secrets += self.secrets;
        bill.unpriced += u64::from(self.price.is_none());
    }
}

#[async_trait]
impl Model for Budget {
    async fn complete(&self, request: &CompletionRequest) -> Result<Completion, ProviderError> {
        let mut hold = self.purse.hold(request)?;
        let answer = self.model.complete(request).await;
        hold.charge = match &answer {
            Ok(Completion { usage, text, .. }) => {
                // Many gateways count one of the two and give 0 for the other.
                let told = usage.filter(Usage::has_input);
                let told = told.filter(|told| told.output_total() > 0 || text.is_empty());
                told.map_or(Charge::AtMost, Charge::Counted)
            }
            Err(error) if free(error) => Charge::Nothing,
            Err(_) => Charge::AtMost,
        };
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
