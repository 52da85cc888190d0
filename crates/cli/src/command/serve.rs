//! `foldback serve`

use crate::args::{Serve, TrialArgs};
use crate::asking::prices;
use crate::error::Error;
use crate::summaries::Choice;
use crate::{input, output, strategies};
use foldback::Document;
use foldback::config::in_words;
use foldback::llm::Purse;
use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_replay::{Preset, Setup};
use foldback_serve::folding::terms_of;
use foldback_serve::trial::TrialArm;
use foldback_serve::{Folding, LimitsOf, ServeError, Server, Settings, TermsOf, Trial};
use serde::Deserialize;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use tokio::sync::oneshot;

pub(crate) fn run(args: &Serve) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let model = args.summarizer.as_deref().filter(|name| Choice::is_model(name, &registry));
    let choice = match model {
        Some(model) => Some(Choice::of_client(model)?),
        None => args.summarizer.as_deref().map(Choice::read).transpose()?,
    };
    if choice.as_ref().is_some_and(|choice| choice.recorded) {
        return Err(Error::usage(
            "--summarizer recorded takes summaries of a recording, and a proxy has none; use extractive",
        ));
    }
    let budget = match (model, args.budget_usd, args.dry_run) {
        (Some(_), _, true) => {
            return Err(Error::usage(
                "--dry-run asks no model; leave it out, or use --summarizer extractive",
            ));
        }
        (None, Some(_), _) => {
            return Err(Error::usage(
                "--budget-usd applies to models, and this summarizer asks none",
            ));
        }
        (_, given, _) => Some(given.unwrap_or(SUMMARIES_USD)).filter(|usd| usd.is_finite()),
    };
    let most = args.limits.as_deref().map(ProxyLimits::read).transpose()?.unwrap_or_default();
    let setup = strategies::setup(&registry, &args.model)?;
    let usage = |error: &dyn std::fmt::Display| Error::Usage(error.to_string());
    let mut settings = Settings::default();
    let names: Vec<String> = args.preset.iter().chain(&args.trial).cloned().collect();
    let TrialArgs { weights, seed, trial_file, no_guard } = &args.design;
    check_trial(&args.trial, weights)?;
    let preset = |name: &String| {
        let preset = strategies::preset(&registry, name, choice.as_ref())?;
        strategies::check_window(&preset.strategy, setup.limits)?;
        Ok(preset)
    };
    let presets = strategies::all(names.iter().map(preset))?;
    let asks = |preset: &&Preset| !preset.strategy.asks().is_empty();
    let asking = presets.iter().find(asks).or(presets.first());
    let purse = model.zip(asking).map(|(model, it)| purse(budget, &it.strategy, model, &setup));
    // All arms pay from one purse.
    let (purse, setup) = (purse.transpose()?, Arc::new(setup));
    let (mut arms, mut foldings) = (Vec::new(), Vec::new());
    for (at, (name, preset)) in names.iter().zip(&presets).enumerate() {
        let strategy = Arc::clone(&preset.strategy);
        let limits = limits_of(Arc::clone(&setup), Arc::clone(&strategy));
        let mut folding = match purse.clone().filter(|_| asks(&preset)) {
            Some(purse) => Folding::summarized(strategy, limits, purse),
            None => Folding::new(strategy, limits).map_err(|error| usage(&error))?,
        };
        folding.terms = terms(&setup);
        folding.shadow = args.dry_run;
        folding.journal.clone_from(&args.journal);
        most.apply(&mut folding, &mut settings);
        let weight = weights.get(at).copied().unwrap_or(1);
        arms.push(TrialArm::new(name, &preset.fingerprint, weight));
        foldings.push(folding);
    }
    let label = match args.trial.is_empty() {
        true => presets.iter().map(|preset| preset.strategy.label()).collect::<String>(),
        false => format!("the trial of {}", args.trial.join(", ")),
    };
    settings.listen = args.listen;
    settings.token = std::env::var("FOLDBACK_TOKEN").ok();
    settings.say = Arc::new(|line| output::note(line));
    if let Some(url) = &args.upstream {
        settings.set_upstream(url).map_err(|error| usage(&error))?;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::Usage(format!("can't create a runtime: {error}")))?;
    // A panic message may quote a conversation, so it is not printed. Its request goes through unchanged.
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        output::note(format_args!(
            "a fault of the proxy at {place}; the request goes through as it is"
        ));
    }));
    let served = runtime.block_on(async {
        let trial = Trial { seed: *seed, file: trial_file.clone(), guard: !no_guard, arms };
        let trial = (!args.trial.is_empty()).then_some(trial);
        let server = Server::bind_arms(settings, foldings, trial).await?;
        let mut summarise = presets.iter().filter(|preset| preset.strategy.summarises());
        let summarizer = summarise.find_map(|preset| preset.strategy.summarizer.as_ref());
        let written = match (summarizer, model) {
            (Some(_), Some(model)) => {
                let most = budget.map(|usd| format!(" up to ${usd}")).unwrap_or_default();
                format!("{model} of each client's provider writes its summaries{most}; ")
            }
            (Some(summarizer), None) => {
                format!("`{}` writes its summaries, no model; ", summarizer.id())
            }
            _ => String::new(),
        };
        let does = match args.dry_run {
            true => "shows what it would do".to_owned(),
            false if args.trial.is_empty() => "folds".to_owned(),
            false => format!("(its results: foldback trial {}) runs", trial_file.display()),
        };
        // A signal may come as soon as the line below is printed.
        let mut signals = Signals::new();
        output::note(format_args!(
            "{label} {does} at http://{0}; ANTHROPIC_BASE_URL=http://{0}, OPENAI_BASE_URL=http://{0}/v1; \
             {written}Ctrl-C ends it",
            server.address()
        ));
        let (stop, told) = oneshot::channel();
        let serving = server.run(async {
            // The other end is dropped at the latest when this is.
            let _ = told.await;
        });
        let mut serving = std::pin::pin!(serving);
        tokio::select! {
            () = &mut serving => return Ok(()),
            () = signals.next() => {}
        }
        let _ = stop.send(());
        // A second signal does not wait for the requests under way.
        tokio::select! {
            () = &mut serving => {}
            () = signals.next() => {}
        }
        Ok(())
    });
    // A task that computes is not waited for.
    runtime.shutdown_background();
    served.map_err(|error: ServeError| usage(&error))
}

/// Refuses arms that make no trial.
fn check_trial(arms: &[String], weights: &[u32]) -> Result<(), Error> {
    let twice = arms.iter().enumerate().find(|(at, arm)| arms[..*at].contains(arm));
    let why = match (arms.len(), weights.len(), twice) {
        (_, _, Some((_, arm))) => {
            format!(
                "--trial names {arm} twice; an arm is in a trial once, and --weights makes it larger"
            )
        }
        (1, ..) => "--trial: a trial has two arms or more, such as none,indexed".to_owned(),
        (many, given @ 1.., _) if many != given => {
            format!(
                "--weights gives {given} numbers for {many} arms; it takes one for each arm, in the order of --trial"
            )
        }
        _ => return Ok(()),
    };
    Err(Error::Usage(why))
}

/// Most US dollars that summaries by a model may cost unless a limit is given.
const SUMMARIES_USD: f64 = 5.0;

/// The file of `--limits`. What it leaves out keeps its default.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProxyLimits {
    /// Conversations in memory.
    conversations: Option<NonZeroUsize>,
    /// Bytes of all conversations in memory, by estimate.
    conversation_bytes: Option<usize>,
    /// Conversations that stay in the folder of `--journal` after they left memory.
    journals: Option<usize>,
    /// Bytes of a body that is read to be folded. A larger one goes through.
    body_bytes: Option<usize>,
    /// Connections at a time.
    connections: Option<NonZeroUsize>,
}

impl ProxyLimits {
    fn read(path: &Path) -> Result<Self, Error> {
        let root = Document::parse(&path.display().to_string(), &input::text(path)?)?.root;
        serde_json::from_value(root.to_value()).map_err(|error| {
            Error::Usage(format!("{}: {}", path.display(), in_words(&error.to_string())))
        })
    }

    fn apply(self, folding: &mut Folding, settings: &mut Settings) {
        let set = |to: &mut usize, most: Option<usize>| *to = most.unwrap_or(*to);
        set(&mut folding.max_conversations, self.conversations.map(NonZeroUsize::get));
        set(&mut folding.max_bytes, self.conversation_bytes);
        set(&mut folding.max_journals, self.journals);
        set(&mut settings.max_body, self.body_bytes);
        set(&mut settings.max_connections, self.connections.map(NonZeroUsize::get));
    }
}

/// The budget of summaries.
fn purse(
    limit: Option<f64>,
    strategy: &Strategy,
    model: &str,
    setup: &Setup,
) -> Result<Purse, Error> {
    let prices = prices(&[], &setup.models);
    let asks = strategy.asks();
    let Some(asks) = asks.first() else {
        let label = strategy.label();
        return Err(Error::Usage(format!("--summarizer {model}: {label} uses no summaries")));
    };
    if limit.is_some() && prices.get(&asks.endpoint).is_none() {
        return Err(Error::Usage(format!(
            "--summarizer {model}: no summarizer is called so, and for a model of this name no table has a price, so no budget can \
             be kept; give a table with it (--models FILE), or --budget-usd none"
        )));
    }
    Ok(Purse::new(limit, prices))
}

/// The limits of a model, found as in a comparison.
fn limits_of(setup: Arc<Setup>, strategy: Arc<Strategy>) -> LimitsOf {
    Arc::new(move |model| {
        let model = setup.model.as_deref().or(strategy.model.as_deref()).or(model);
        Some(setup.limits_of(model, Limits::default(), &strategy))
    })
}

/// The prices of a model, or of the model of the command line, found as in a comparison.
fn terms(setup: &Setup) -> TermsOf {
    let terms = terms_of(setup.models.clone(), setup.regimes.clone());
    let given = setup.model.clone();
    Arc::new(move |dialect, model, hour| terms(dialect, given.as_deref().or(model), hour))
}

/// Signals to stop: Ctrl-C, or a supervisor's.
struct Signals {
    /// `None` if the system refuses them.
    #[cfg(unix)]
    both: Option<[tokio::signal::unix::Signal; 2]>,
}

impl Signals {
    /// From now on a signal does not end the program.
    fn new() -> Self {
        Self {
            #[cfg(unix)]
            both: {
                use tokio::signal::unix::{SignalKind, signal};
                let interrupt = signal(SignalKind::interrupt()).ok();
                interrupt.zip(signal(SignalKind::terminate()).ok()).map(<[_; 2]>::from)
            },
        }
    }

    /// Waits for the next signal.
    async fn next(&mut self) {
        #[cfg(unix)]
        if let Some([interrupt, terminate]) = &mut self.both {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
        // Without signals it runs until it is killed.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
