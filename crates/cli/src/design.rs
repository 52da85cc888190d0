//! The design of a comparison: from the command line, or from a file that fixes it beforehand.

use crate::args::{Compare, EstimatorArgs, ModelArgs};
use crate::error::Error;
use crate::{input, strategies};
use foldback_replay::{Experiment, Reporting, Setup};
use std::path::Path;

/// The experiment that the flags of a comparison describe.
pub(crate) fn of_args(args: &Compare) -> Experiment {
    let default = Experiment::default();
    Experiment {
        strategies: args.preset.clone(),
        prices: args.prices.clone().unwrap_or(default.prices),
        window: args.model.window.unwrap_or(0),
        max_output: args.model.max_output.unwrap_or(0),
        model: args.model.model.clone(),
        estimator: args.model.estimator.estimator.clone(),
        summarizer: args.summaries.summarizer.clone(),
        ..Experiment::default()
    }
}

/// Reads an experiment file.
pub(crate) fn read(path: &Path) -> Result<Experiment, Error> {
    parse(path, &input::text(path)?)
}

/// Reads the text of an experiment file. Strategy files that it names are looked up relative to it.
pub(crate) fn parse(path: &Path, text: &str) -> Result<Experiment, Error> {
    let name = path.display().to_string();
    let mut experiment = Experiment::parse(&name, text).map_err(Error::Usage)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    for name in experiment.strategies.iter_mut().chain(&mut experiment.summarizer) {
        if name.ends_with(".toml") {
            *name = folder.join(&*name).display().to_string();
        }
    }
    Ok(experiment)
}

/// What replaces the command's own flags.
pub(crate) fn model(experiment: &Experiment, args: &ModelArgs) -> ModelArgs {
    ModelArgs {
        window: Some(experiment.window),
        max_output: Some(experiment.max_output),
        model: experiment.model.clone(),
        models: args.models.clone(),
        estimator: EstimatorArgs { estimator: experiment.estimator.clone() },
    }
}

/// How the comparison reports.
pub(crate) fn reporting(experiment: &Experiment, setup: &Setup) -> Result<Reporting, Error> {
    strategies::check_regime(setup, &experiment.prices)?;
    Ok(Reporting {
        regime: experiment.prices.clone(),
        primary: experiment.primary,
        margin: experiment.margin,
        seed: experiment.seed,
        draws: experiment.draws,
        split: experiment.split,
        estimator: setup.measure.id().to_string(),
        experiment: experiment.hash.clone(),
    })
}
