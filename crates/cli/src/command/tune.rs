//! `foldback tune`

use crate::args::{SearchArgs, Tune};
use crate::error::Error;
use crate::groups::Listed;
use crate::progress::Progress;
use crate::strategies::Controls;
use crate::{input, output, replace, results, strategies};
use foldback::{Compiled, Options, Registry};
use foldback_core::strategy::Kind;
use foldback_replay::setup::RequestSource;
use foldback_replay::tune::{
    Bench, Candidate, Field, Header, Range, Search, TuneError, Tuned, candidates, sweeps,
};
use foldback_replay::{Corpus, Preset, Reporting, Run, Setup, Store};
use foldback_report::tune;
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Tune) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let strategy = strategies::compile_without_model(&registry, &args.preset, "tune")?;
    let (fields, ranges) = axes(&registry, &strategy, &args.vary)?;
    let prepared = prepare(&registry, &args.search)?;
    let limits = prepared.setup.limits;
    strategies::check_window(&strategy.strategy, limits)?;
    let search = Search::choose(&ranges, usize::from(args.points));
    let fail = |error| Error::File { path: PathBuf::from(&args.preset), error };
    // A file that is extended is found wherever the new one is written.
    let extends = match args.preset.ends_with(".toml") {
        true => std::path::absolute(&args.preset).map_err(fail)?.display().to_string(),
        false => strategy.strategy.name.clone(),
    };
    let (candidates, rejected) = with_options(|options| {
        candidates(
            &registry,
            &strategy,
            &extends,
            &fields,
            &search.combinations(&ranges),
            limits,
            options,
        )
    });
    if candidates.len() < 2 {
        let nothing = format!(
            "{}: no combination of --vary differs from its own values",
            strategy.strategy.name
        );
        let why = rejected.first().map(|first| format!("{}: {}", first.name, first.why));
        return Err(Error::Usage(why.unwrap_or(nothing)));
    }
    let progress = prepared.progress(&candidates);
    let done = || progress.step();
    let bench = prepared.bench(&done);
    let mut tuned = bench.tune(&candidates)?;
    tuned.rejected = rejected;
    tuned.tune.provenance.made_by(Some(args.search.command_line.clone()));
    let mut shown = tuned.front();
    shown.push(0);
    bench.report(&mut tuned, &candidates, &shown)?;
    drop(progress);
    write(args, &tuned, &candidates, search)?;
    results::tell(&prepared.store);
    Error::of_replays(tuned.failed())
}

fn write(
    args: &Tune,
    tuned: &Tuned,
    candidates: &[Candidate],
    search: Search,
) -> Result<(), Error> {
    output::json(args.json.as_ref(), &tune::document(tuned, search))?;
    if let Some(path) = &args.out {
        let best = tuned.no_worse().and_then(|at| candidates.get(at));
        let Some(best) = best else {
            let why =
                "--out: nothing in any view was needed, so no configuration is better than another";
            return Err(Error::usage(why).after(tuned.failed()));
        };
        let name = format!("{}-tuned", best.of);
        let header = Header { name: &name, ..Header::default() };
        output::write(Some(path), &best.toml(header))?;
    }
    output::print_beside(&[&args.json, &args.out], &tune::tuned(tuned, search, output::width()))
}

/// The fields that `--vary` names and their values.
fn axes(
    registry: &Registry,
    strategy: &Compiled,
    vary: &[String],
) -> Result<(Vec<Field>, Vec<Range>), Error> {
    let mut axes: Vec<(Field, Range)> = Vec::new();
    for text in vary {
        let axis = sweeps::vary(text)
            .and_then(|(path, range)| Ok((Field::find(registry, strategy, path)?, range)));
        let axis = axis.map_err(|why| Error::Usage(format!("--vary {text}: {why}")))?;
        if axes.iter().any(|(field, _)| *field == axis.0) {
            return Err(Error::Usage(format!(
                "--vary {}: given twice; write one range or one list",
                axis.0.path
            )));
        }
        axes.push(axis);
    }
    Ok(axes.into_iter().unzip())
}

/// The approximate number of configurations on a front.
const FRONT: usize = 6;

/// The inputs of a search.
pub(super) struct Prepared {
    pub(super) corpus: Corpus,
    pub(super) setup: Setup,
    pub(super) reporting: Reporting,
    /// All controls but the clairvoyant ones, no compaction first.
    pub(super) controls: Vec<Preset>,
    pub(super) store: Store,
    strict: bool,
}

impl Prepared {
    /// Runs configurations on the corpus.
    pub(super) fn bench<'a>(&'a self, progress: &'a (dyn Fn() + Sync)) -> Bench<'a> {
        let Self { corpus, setup, reporting, controls, store, strict } = self;
        let run = Run { store, progress, strict: *strict };
        Bench { corpus, setup, reporting, controls, run }
    }

    /// Shows the progress.
    pub(super) fn progress(&self, candidates: &[Candidate]) -> Progress {
        let (files, controls) = (self.corpus.sources.len(), self.controls.len());
        // Three in five sessions under all of them, the others under the front.
        let tuned = 3 * files * (controls + candidates.len());
        let reported = 2 * files * (controls + candidates.len().min(FRONT));
        let what = format!("{} configurations and {controls} controls", candidates.len());
        Progress::new((tuned + reported) / 5, "replays", what)
    }
}

pub(super) fn prepare(registry: &Registry, args: &SearchArgs) -> Result<Prepared, Error> {
    let corpus = input::corpus(&args.corpus)?;
    let mut setup = strategies::setup(registry, &args.model)?;
    let regime = args.prices.clone().unwrap_or_else(|| Reporting::default().regime);
    strategies::check_regime(&setup, &regime)?;
    setup.billed.clone_from(&regime);
    let controls = controls(registry, &Listed::new(registry)?)?;
    Ok(Prepared {
        corpus,
        reporting: Reporting {
            regime,
            estimator: setup.measure.id().to_string(),
            ..Reporting::default()
        },
        store: results::store(&args.store, false)?,
        strict: args.corpus.strict,
        controls,
        setup,
    })
}

/// All controls but the clairvoyant ones, no compaction first.
pub(super) fn controls(registry: &Registry, listed: &Listed) -> Result<Vec<Preset>, Error> {
    let none = ["none".to_owned()];
    let mut controls = strategies::presets(registry, listed, &none, Controls::All, None)?;
    controls.retain(|preset| {
        preset.strategy.kind == Kind::Control && !matches!(preset.made, RequestSource::Seeing(_))
    });
    Ok(controls)
}

/// Compiles with files read and the originals' environment variables honored, as for any preset.
pub(super) fn with_options<T>(compile: impl FnOnce(Options<'_>) -> T) -> T {
    let read = |path: &str| {
        replace::uses(Path::new(path));
        std::fs::read_to_string(path).map_err(|error| error.to_string())
    };
    let env = |name: &str| std::env::var(name).ok();
    compile(Options { read_file: Some(&read), env: Some(&env) })
}

impl From<TuneError> for Error {
    fn from(error: TuneError) -> Self {
        match error {
            TuneError::Compare(error) => error.into(),
            other => Self::Usage(other.to_string()),
        }
    }
}
