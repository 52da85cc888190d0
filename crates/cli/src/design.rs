//! How a comparison is made: from the command line, or from a file that fixes it beforehand.

use crate::args::{Compare, EstimatorArgs, ModelArgs};
use crate::error::Error;
use crate::{input, strategies};
use foldback::Document;
use foldback_core::config::in_words;
use foldback_replay::compare::Primary;
use foldback_replay::{Reporting, Setup, Split};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::ops::RangeInclusive;
use std::path::Path;

/// Everything that the outcome of a comparison depends on besides the sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Design {
    /// Presets by name, or TOML files; all presets when empty.
    pub(crate) strategies: Vec<String>,
    /// Price regime.
    pub(crate) prices: String,
    /// Metric that presets are ranked by.
    pub(crate) primary: Primary,
    /// Least difference that matters.
    #[serde(deserialize_with = "margin")]
    pub(crate) margin: f64,
    /// Seed of the bootstrap.
    pub(crate) seed: u64,
    /// Draws of the bootstrap.
    #[serde(deserialize_with = "draws")]
    pub(crate) draws: usize,
    /// Part of the sessions that is reported on; all of them when not given.
    pub(crate) split: Option<Split>,
    /// Window in tokens; the sessions' own when zero.
    window: u64,
    /// Output limit in tokens.
    #[serde(alias = "output")]
    max_output: u64,
    /// Model whose limits apply.
    model: Option<String>,
    /// Estimator that reports.
    #[serde(alias = "measure")]
    estimator: String,
    /// Who writes the summaries, as `--summarizer` takes it; the strategies' own choice when not given.
    pub(crate) summarizer: Option<String>,
    /// Hash of the file.
    #[serde(skip)]
    pub(crate) hash: Option<String>,
}

/// Draws that an experiment may ask for: fewer give no interval, and more take memory and time and tell nothing.
const DRAWS: RangeInclusive<usize> = 100..=1_000_000;

/// Keys of an experiment file that no strategy file has.
const ONLY_HERE: [&str; 6] = ["strategies", "prices", "primary", "margin", "seed", "draws"];

fn draws<'de, D: Deserializer<'de>>(value: D) -> Result<usize, D::Error> {
    let draws = usize::deserialize(value)?;
    DRAWS.contains(&draws).then_some(draws).ok_or_else(|| {
        let (least, most) = (DRAWS.start(), DRAWS.end());
        D::Error::custom(format!(
            "draws = {draws} is not between {least} and {most}; 10000 is usual"
        ))
    })
}

fn margin<'de, D: Deserializer<'de>>(value: D) -> Result<f64, D::Error> {
    let margin = f64::deserialize(value)?;
    (margin.is_finite() && margin >= 0.0)
        .then_some(margin)
        .ok_or_else(|| D::Error::custom(format!("margin = {margin} is no difference; 0 is usual")))
}

impl Default for Design {
    fn default() -> Self {
        let reporting = Reporting::default();
        Self {
            strategies: Vec::new(),
            prices: reporting.regime,
            primary: reporting.primary,
            margin: reporting.margin,
            seed: reporting.seed,
            draws: reporting.draws,
            split: None,
            window: 0,
            max_output: 0,
            model: None,
            estimator: "o200k".to_owned(),
            summarizer: None,
            hash: None,
        }
    }
}

impl Design {
    pub(crate) fn of_args(args: &Compare) -> Self {
        let default = Self::default();
        Self {
            strategies: args.preset.clone(),
            prices: args.prices.clone().unwrap_or(default.prices),
            window: args.model.window.unwrap_or(0),
            max_output: args.model.max_output.unwrap_or(0),
            model: args.model.model.clone(),
            estimator: args.model.estimator.estimator.clone(),
            summarizer: args.summaries.summarizer.clone(),
            ..Self::default()
        }
    }

    /// Whether a file is an experiment rather than a strategy: it says what only an experiment has, and neither
    /// a name nor what it extends, which every strategy has one of.
    pub(crate) fn is_one(name: &str, text: &str) -> bool {
        let Ok(Document { root, .. }) = Document::parse(name, text) else {
            return false;
        };
        let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
        has(&ONLY_HERE) && !has(&["name", "extends"])
    }

    /// Reads an experiment file. Strategy files that it names are looked up beside it.
    pub(crate) fn read(path: &Path) -> Result<Self, Error> {
        let text = input::text(path)?;
        let mut design: Self = toml::from_str(&text).map_err(|error| {
            let line = error
                .span()
                .map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            Error::Usage(format!(
                "{}:{line}: {}; an experiment file has strategies, prices, primary, margin, seed, draws, split, window, max_output, model, estimator, summarizer",
                path.display(),
                in_words(error.message())
            ))
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for name in design.strategies.iter_mut().chain(&mut design.summarizer) {
            if name.ends_with(".toml") {
                *name = folder.join(&*name).display().to_string();
            }
        }
        design.hash = Some(blake3::hash(text.as_bytes()).to_hex()[..16].to_owned());
        Ok(design)
    }

    /// What takes the place of the command's own flags.
    pub(crate) fn model(&self, args: &ModelArgs) -> ModelArgs {
        ModelArgs {
            window: Some(self.window),
            max_output: Some(self.max_output),
            model: self.model.clone(),
            models: args.models.clone(),
            estimator: EstimatorArgs { estimator: self.estimator.clone() },
        }
    }

    pub(crate) fn reporting(&self, setup: &Setup) -> Result<Reporting, Error> {
        strategies::check_regime(setup, &self.prices)?;
        Ok(Reporting {
            regime: self.prices.clone(),
            primary: self.primary,
            margin: self.margin,
            seed: self.seed,
            draws: self.draws,
            split: self.split,
            estimator: setup.measure.id().to_string(),
            experiment: self.hash.clone(),
        })
    }
}
