//! The model that strategies may ask: a cassette, a provider, or a counter for dry runs.
//!
//! ```text
//! watch ── cassette ── telling ── bill ── client   --record, or no cassette (then a temporary one)
//! watch ── cassette                                --cassette
//! watch ── cassette ── count                       --dry-run, one for every strategy
//! ```
//!
//! A strategy survives a missing summary, and would then be compared as something that it is
//! not. The watch therefore checks at the end, and a request without an answer is an error of the command. A model that
//! is too slow is no error: the strategy does what its `on_failure` says, and the command reports how often.

use crate::args::SummaryArgs;
use crate::error::Error;
use crate::output;
use crate::progress::{Progress, Teller};
use crate::summaries::{Choice, ChosenPrice};
use foldback::llm::dry_run::Tally;
use foldback::llm::{
    Bill, Budget, Cassette, Client, DryRun, Price, Prices, Reporter, RequestReport, Watch,
};
use foldback_core::provider::{Asks, Endpoint, Model, ProviderError};
use foldback_core::stage::Estimator;
use foldback_replay::{ModelTable, Preset, Setup};
use foldback_report::number::grouped;
use foldback_report::terminal::{ALWAYS, Head, table, wrap};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// Answers to the requests of the strategies of a run.
#[derive(Debug)]
pub(crate) struct Answers {
    watch: Arc<Watch>,
    /// The cassette inside the watch, and whether a person named its folder.
    cassette: Arc<Cassette>,
    named: bool,
    /// The cost of the requests; `None` if no request is sent.
    budget: Option<Arc<Budget>>,
    /// By strategy; empty if requests are really sent.
    counts: BTreeMap<usize, Count>,
    prices: Prices,
    teller: Teller,
    asks: bool,
}

/// The requests that one strategy would send.
#[derive(Debug)]
struct Count {
    label: String,
    /// The model to name if nothing was asked.
    endpoint: Endpoint,
    dry_run: DryRun,
    cassette: Arc<Cassette>,
    model: Arc<Watch>,
}

impl Answers {
    /// Opens what the flags select, and checks before anything runs that there is a key, a server at the
    /// address, and a price if there is a budget. Behind the presets come `questions` by their labels.
    pub(crate) fn open(
        args: &SummaryArgs,
        presets: &[Preset],
        questions: &[(String, Asks)],
        choices: &[Choice],
        setup: &Setup,
    ) -> Result<Self, Error> {
        let mut askers: Vec<(String, Vec<Asks>)> = Vec::new();
        askers.extend(presets.iter().map(|it| (it.strategy.label(), it.strategy.asks())));
        askers.extend(questions.iter().map(|(label, asks)| (label.clone(), vec![asks.clone()])));
        let asked: Vec<&Asks> = askers.iter().flat_map(|(_, asks)| asks).collect();
        let flags = [
            ("--cassette", args.cassette.is_some()),
            ("--dry-run", args.dry_run),
            ("--budget-usd", args.budget_usd.is_some()),
        ];
        if let Some((flag, _)) = flags.iter().find(|(_, given)| *given && asked.is_empty()) {
            return Err(Error::Usage(format!(
                "{flag} applies to models, and no strategy uses one; to let a model write the summaries, add --summarizer llm"
            )));
        }
        let prices = prices(choices, &setup.models);
        let folder = args.cassette.as_deref();
        let (mut counts, mut budget) = (BTreeMap::new(), None);
        let teller = Teller::default();
        let cassette = if asked.is_empty() {
            cassette(None, None)
        } else if args.dry_run {
            for (at, (label, asks)) in askers.iter().enumerate() {
                if let Some(Asks { endpoint, .. }) = asks.first() {
                    let count = Count::new(label.clone(), endpoint.clone(), folder, &setup.measure);
                    counts.insert(at, count);
                }
            }
            cassette(folder, None)
        } else if let (Some(folder), false) = (folder, args.record) {
            replayed(folder)?
        } else {
            let asking = budget.insert(asking(args, &asked, &prices)?);
            let teller = teller.clone();
            let tell = move |report: &RequestReport<'_>| teller.tell(&report.to_string());
            cassette(folder, Some(Arc::new(Reporter::new(Arc::clone(asking) as _, tell))))
        };
        let cassette = Arc::new(cassette);
        Ok(Self {
            watch: Arc::new(Watch::new(Arc::clone(&cassette) as _)),
            cassette,
            named: folder.is_some(),
            budget,
            counts,
            prices,
            teller,
            asks: !asked.is_empty(),
        })
    }

    /// Whether a model may be asked.
    pub(crate) fn asks(&self) -> bool {
        self.asks
    }

    /// Shows the progress of requests, if there may be any.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let progress = self.asks.then(Progress::of_requests);
        progress.inspect(|progress| self.show(progress))
    }

    /// Reports requests in this display, too.
    pub(crate) fn show(&self, progress: &Progress) {
        self.teller.show(progress);
    }

    /// The model of a strategy, by its place in the list; `None` where no model is asked.
    pub(crate) fn model(&self, strategy: usize) -> Option<Arc<dyn Model>> {
        let model = self.counts.get(&strategy).map_or(&self.watch, |count| &count.model);
        self.asks.then(|| Arc::clone(model) as _)
    }

    /// The text to print instead of a result after a dry run; an error if requests were
    /// not answered. `used` are the tokens of requests whose summaries were used, if known; `idle` says why a strategy,
    /// by its place in the list, had nothing to ask.
    pub(crate) fn finish(
        &self,
        used: Option<u64>,
        idle: &dyn Fn(usize) -> String,
    ) -> Result<Option<String>, Error> {
        let recorded = self.cassette.recorded();
        if self.named && recorded > 0 {
            output::note(format_args!("{recorded} answers were recorded"));
        }
        // Also of a run that failed: it cost as much.
        let bill = self.budget.as_ref().map(|budget| budget.bill());
        if let Some(bill) = bill.filter(|bill| bill.requests > 0) {
            let answered = bill.input + bill.output;
            // The cost of answers of an earlier run is in `used` and not in the bill.
            let unused = used
                .filter(|_| !self.named || self.cassette.replayed() == 0)
                .map_or(0, |used| answered.saturating_sub(used));
            output::note(bill_note(&bill, unused));
        }
        if let Some((error, late)) = self.watch.late() {
            output::note(late_note(&error, late, self.named));
        }
        let watches = self.counts.values().map(|count| &count.model);
        let unanswered = watches.chain([&self.watch]).find_map(|watch| watch.unanswered());
        if let Some((error, unanswered)) = unanswered {
            return Err(Error::Model { error, unanswered });
        }
        Ok((!self.counts.is_empty()).then(|| self.table(idle)))
    }

    fn table(&self, idle: &dyn Fn(usize) -> String) -> String {
        let heads = [
            Head::names("strategy"),
            Head::words("model", 1),
            Head::number("requests", ALWAYS),
            Head::number("input tokens", 3),
            Head::number("output at most", 2),
            Head::number("USD", ALWAYS),
        ];
        let (mut rows, mut nothing) = (Vec::new(), Vec::new());
        for (at, count) in &self.counts {
            let mut report = count.dry_run.report();
            if report.is_empty() {
                let why = match count.cassette.replayed() {
                    0 => idle(*at),
                    _ => "the cassette holds every answer".to_owned(),
                };
                nothing.push(format!("{}: no request, {why}", count.label));
                report.push((count.endpoint.clone(), Tally::default()));
            }
            for (endpoint, tally) in report {
                let dollars = self.dollars(&endpoint, &tally);
                rows.push(row(count.label.clone(), endpoint.model, tally, dollars));
            }
        }
        // Requests that strategies share are sent once.
        let (mut all, mut cost) = (Tally::default(), Some(0.0));
        for (endpoint, tally) in DryRun::together(self.counts.values().map(|count| &count.dry_run))
        {
            all.requests += tally.requests;
            all.input += tally.input;
            all.output_at_most += tally.output_at_most;
            cost = cost.zip(self.dollars(&endpoint, &tally)).map(|(sum, more)| sum + more);
        }
        rows.push(row("together".to_owned(), String::new(), all, cost));
        let mut text = String::new();
        table(&mut text, output::width(), &heads, rows);
        text.push('\n');
        let dry = "A dry run: nothing was sent, and the numbers are an estimate. Extracted summaries stand in for the \
             model's; different answers lead to different requests, and retries and reminders come on top. Input is counted \
             by --estimator; output is the most that may be generated. What the cassette holds is not counted, \
             and requests that strategies share are sent once. --budget-usd is a hard limit.";
        let unknown = cost.is_none().then_some(PRICE);
        let nothing = nothing.iter().map(String::as_str);
        for line in nothing.chain([dry]).chain(unknown) {
            wrap(&mut text, "", "", line, output::width());
        }
        text
    }

    fn dollars(&self, endpoint: &Endpoint, tally: &Tally) -> Option<f64> {
        self.prices.get(endpoint).map(|price| tally.at_most(&price))
    }
}

/// A bill in one line.
fn bill_note(bill: &Bill, unused: u64) -> String {
    let requests = match bill.requests {
        1 => "1 request".to_owned(),
        n => format!("{n} requests"),
    };
    let mut text = format!("{requests}: {} input and {} output tokens, ", bill.input, bill.output);
    let _ = match bill.unpriced {
        0 => write!(text, "{:.4} USD", bill.usd),
        _ => write!(text, "at an unknown price"),
    };
    if bill.unreported > 0 {
        let _ = write!(
            text,
            "; {} did not report their tokens and are billed at their maximum",
            bill.unreported
        );
    }
    let _ = match bill.secrets {
        0 => Ok(()),
        1 => write!(text, "; 1 secret was left out"),
        secrets => write!(text, "; {secrets} secrets were left out"),
    };
    if unused > 0 {
        let _ = write!(text, "; {unused} of these tokens were for summaries that were not used");
    }
    text
}

/// A line on requests that were not answered in time.
fn late_note(error: &ProviderError, late: usize, named: bool) -> String {
    let (requests, are) = match late {
        1 => ("1 request".to_owned(), "is"),
        n => (format!("{n} requests"), "are"),
    };
    let recorded = match named {
        true => format!(" and {are} not in the cassette"),
        false => String::new(),
    };
    format!(
        "{requests} had no answer in time{recorded}; what the strategy does then, `on_failure` in [summarizer] says ({error})"
    )
}

fn row(label: String, model: String, tally: Tally, dollars: Option<f64>) -> Vec<String> {
    vec![
        label,
        model,
        grouped(tally.requests),
        grouped(tally.input),
        grouped(tally.output_at_most),
        dollars.map_or_else(|| "unknown".to_owned(), |dollars| format!("{dollars:.2}")),
    ]
}

impl Count {
    fn new(
        label: String,
        endpoint: Endpoint,
        folder: Option<&Path>,
        measure: &Arc<dyn Estimator>,
    ) -> Self {
        let measure = Arc::clone(measure);
        let dry_run = DryRun::with_estimate(move |request| {
            let turns: u64 = request.turns.iter().map(|turn| measure.text(&turn.text)).sum();
            measure.text(&request.system) + turns
        });
        // Nothing is recorded in a dry run: all there is to record is that it is one.
        let cassette = Arc::new(cassette(folder, Some(Arc::new(dry_run.clone()))));
        let model = Arc::new(Watch::new(Arc::clone(&cassette) as _));
        Self { label, endpoint, dry_run, cassette, model }
    }
}

/// What to do about an unknown price.
const PRICE: &str = "The price of a model is unknown: add [price] with input and output, in USD per million tokens, to the file for --summarizer, or add the model to a table for --models.";

/// A cassette in a folder, else a temporary one.
fn cassette(folder: Option<&Path>, model: Option<Arc<dyn Model>>) -> Cassette {
    match (folder, model) {
        (Some(folder), Some(model)) => Cassette::record(folder, model),
        (Some(folder), None) => Cassette::replay(folder),
        (None, model) => Cassette::in_memory(model),
    }
}

/// A cassette that is only replayed. A missing folder is most often misspelled.
fn replayed(folder: &Path) -> Result<Cassette, Error> {
    match std::fs::read_dir(folder) {
        Ok(_) => Ok(Cassette::replay(folder)),
        Err(error) => Err(Error::Usage(format!(
            "there is no cassette {} ({error}); `--record` sends the requests and writes it",
            folder.display()
        ))),
    }
}

/// A client for all models, with its bill, and a budget if there is one.
fn asking(args: &SummaryArgs, asked: &[&Asks], prices: &Prices) -> Result<Arc<Budget>, Error> {
    let client = Client::from_env()?;
    let mut endpoints: Vec<&Endpoint> = Vec::new();
    for one in asked {
        if !endpoints.contains(&&one.endpoint) {
            endpoints.push(&one.endpoint);
        }
    }
    let mut notes = BTreeSet::new();
    for endpoint in &endpoints {
        let address = client.check(endpoint)?;
        let mut of_it = asked.iter().filter(|one| one.endpoint == **endpoint);
        let secrets = match of_it.all(|one| one.scrubs) {
            true => "secrets in known forms are left out",
            false => {
                "secrets in it are sent, too, unless a summarizer leaves them out (`scrub = true` with `llm`)"
            }
        };
        let model = &endpoint.model;
        notes.insert(format!("text of the sessions is sent to {model} at {address}; {secrets}"));
    }
    let own = asked.iter().filter_map(|one| one.budget_usd).reduce(f64::min);
    let budget = args.budget_usd.or(own);
    let unknown = endpoints.iter().filter(|endpoint| prices.get(endpoint).is_none());
    let unknown = unknown.map(|endpoint| &endpoint.model).min();
    if let Some(model) = unknown.filter(|_| budget.is_some()) {
        return Err(Error::Usage(format!("no budget can be enforced for {model}. {PRICE}")));
    }
    let runtime = runtime()?;
    for endpoint in endpoints {
        runtime.block_on(client.reach(endpoint))?;
    }
    // Before anything is sent, so that the user can still stop it.
    notes.iter().for_each(output::note);
    let budget = Budget::new(Arc::new(client), budget, prices.clone());
    Ok(Arc::new(budget))
}

/// The runtime that requests are sent on.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Error::Usage(format!("can't create a runtime: {error}")))
}

/// The chosen price of a model, else the one of the table. Models on a local Ollama are free.
pub(crate) fn prices(choices: &[Choice], models: &ModelTable) -> Prices {
    let models = models.clone();
    let priced = choices.iter().filter_map(|choice| Some((choice.model(), choice.price?)));
    let priced: BTreeMap<String, ChosenPrice> = priced.collect();
    Prices::new(move |endpoint| {
        if let Some(chosen) = priced.get(&endpoint.model) {
            return Some(Price {
                input: chosen.input,
                output: chosen.output,
                cache_read: chosen.cache_read.unwrap_or(chosen.input),
                cache_write: chosen.cache_write.unwrap_or(chosen.input),
            });
        }
        if endpoint.provider == "ollama" {
            return Some(Price::default());
        }
        let price = models.find(&endpoint.model)?.price?;
        // A class that is not billed apart is input like any other.
        let or_input = |class: f64| if class > 0.0 { class } else { price.input };
        Some(Price {
            input: price.input,
            output: price.output,
            cache_read: or_input(price.cache_read),
            cache_write: or_input(price.cache_write_5m),
        })
    })
}
