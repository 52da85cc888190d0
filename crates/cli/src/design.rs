//! The design of a comparison: from the command line, or from a file that fixes it beforehand.

use crate::args::{DesignArgs, ModelArgs, SummaryArgs};
use crate::asking::Answers;
use crate::error::Error;
use crate::groups::Listed;
use crate::strategies::Controls;
use crate::summaries::Choice;
use crate::{input, output, strategies};
use foldback::Registry;
use foldback_replay::{Experiment, Preset, Reporting, Setup};
use std::path::{Path, PathBuf};

/// An experiment and its presets, ready to run.
pub(crate) struct Planned {
    pub(crate) experiment: Experiment,
    /// All presets that could have been named.
    pub(crate) listed: Listed,
    pub(crate) presets: Vec<Preset>,
    pub(crate) setup: Setup,
    /// Answers of models.
    pub(crate) answers: Answers,
}

/// Reads a design and compiles its presets.
pub(crate) fn plan(
    registry: &Registry,
    args: &DesignArgs,
    prices: Option<&str>,
    summaries: &SummaryArgs,
    controls: Controls,
) -> Result<Planned, Error> {
    let experiment = match &args.experiment {
        Some(path) => read(path)?,
        None => of_args(args, prices, summaries),
    };
    let choice = experiment.summarizer.as_deref().map(Choice::read).transpose()?;
    let listed = Listed::new(registry)?;
    let names = &experiment.strategies;
    let presets = strategies::presets(registry, &listed, names, controls, choice.as_ref())?;
    let mut setup = strategies::setup(registry, &model(&experiment, args.model.models.as_ref()))?;
    setup.billed.clone_from(&experiment.prices);
    let presets = able(presets, &listed, names, &setup)?;
    let answers = Answers::open(summaries, &presets, &[], choice.as_slice(), &setup)?;
    let presets = with_answers(presets, &answers);
    Ok(Planned { experiment, listed, presets, setup, answers })
}

/// The presets that can work with the window. If one can't, it is an error if it was named, and a note if it came with
/// a group.
fn able(
    presets: Vec<Preset>,
    listed: &Listed,
    names: &[String],
    setup: &Setup,
) -> Result<Vec<Preset>, Error> {
    let mut able = Vec::new();
    for preset in presets {
        match strategies::check_window(&preset.strategy, setup.limits) {
            Ok(()) => able.push(preset),
            Err(error) if listed.is_by_group(names, &preset.strategy.name) => {
                output::note(format_args!("note: left out: {error}"));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(able)
}

/// The experiment that the flags of a comparison describe.
fn of_args(args: &DesignArgs, prices: Option<&str>, summaries: &SummaryArgs) -> Experiment {
    let default = Experiment::default();
    Experiment {
        strategies: args.preset.clone(),
        prices: prices.map_or(default.prices, str::to_owned),
        window: args.model.window.unwrap_or(0),
        max_output: args.model.max_output.unwrap_or(0),
        model: args.model.model.clone(),
        estimator: args.model.estimator.clone(),
        summarizer: summaries.summarizer.clone(),
        ..Experiment::default()
    }
}

/// Reads an experiment file.
fn read(path: &Path) -> Result<Experiment, Error> {
    match parse_rest(path, &input::text(path)?) {
        (experiment, wrong) if wrong.is_empty() => Ok(experiment),
        (_, wrong) => Err(Error::Several(wrong)),
    }
}

/// Reads the text of an experiment file as far as it can be, with all that is wrong. Strategy files that it names are looked
/// up relative to it.
fn parse_rest(path: &Path, text: &str) -> (Experiment, Vec<Error>) {
    let (mut experiment, wrong) = Experiment::parse_rest(&path.display().to_string(), text);
    let folder = path.parent().unwrap_or(Path::new(""));
    for name in experiment.strategies.iter_mut().chain(&mut experiment.summarizer) {
        if name.ends_with(".toml") {
            *name = folder.join(&*name).display().to_string();
        }
    }
    (experiment, wrong.into_iter().map(Error::Usage).collect())
}

/// All that keeps an experiment from being run.
pub(crate) fn check(registry: &Registry, path: &Path, text: &str) -> Result<usize, Error> {
    let (experiment, mut wrong) = parse_rest(path, text);
    let choice = experiment.summarizer.as_deref().map(Choice::read).transpose();
    let choice = noted(choice, &mut wrong).flatten();
    let (listed, names) = (Listed::new(registry)?, &experiment.strategies);
    let presets = strategies::presets(registry, &listed, names, Controls::All, choice.as_ref());
    let presets = noted(presets, &mut wrong);
    let setup = match noted(strategies::setup(registry, &model(&experiment, None)), &mut wrong) {
        Some(setup) => setup,
        None => {
            let Experiment { window, max_output, .. } = experiment;
            let known = Experiment { window, max_output, ..Experiment::default() };
            strategies::setup(registry, &model(&known, None))?
        }
    };
    noted(strategies::check_regime(&setup, &experiment.prices), &mut wrong);
    let able = presets.map(|presets| able(presets, &listed, names, &setup));
    let able = able.and_then(|able| noted(able, &mut wrong));
    match wrong.is_empty() {
        true => Ok(able.map_or(0, |able| able.len())),
        false => Err(Error::Several(wrong)),
    }
}

/// The presets that can be read; errors of the others are noted.
fn noted<T>(made: Result<T, Error>, wrong: &mut Vec<Error>) -> Option<T> {
    made.map_err(|error| wrong.push(error)).ok()
}

/// The flags that an experiment file replaces.
fn model(experiment: &Experiment, models: Option<&PathBuf>) -> ModelArgs {
    ModelArgs {
        window: Some(experiment.window),
        max_output: Some(experiment.max_output),
        model: experiment.model.clone(),
        models: models.cloned(),
        estimator: experiment.estimator.clone(),
    }
}

/// How the comparison reports.
pub(crate) fn reporting(experiment: &Experiment, setup: &Setup) -> Result<Reporting, Error> {
    strategies::check_regime(setup, &experiment.prices)?;
    Ok(Reporting {
        regime: experiment.prices.clone(),
        seed: experiment.seed,
        split: experiment.split,
        estimator: setup.measure.id().to_string(),
        experiment: experiment.hash.clone(),
        ..Reporting::default()
    })
}

/// The presets, each with its model, if it asks one.
pub(crate) fn with_answers(mut presets: Vec<Preset>, answers: &Answers) -> Vec<Preset> {
    for (at, preset) in presets.iter_mut().enumerate() {
        if !preset.strategy.asks().is_empty() {
            preset.completions = answers.model(at);
        }
    }
    presets
}
