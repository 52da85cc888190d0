//! An experiment: a comparison that a file fixes beforehand.

use crate::compare::{Reporting, short};
use crate::read::split::Split;
use foldback_core::config::{Document, in_words};
use serde::Deserialize;

/// Everything that the outcome of a comparison depends on besides the sessions.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// Presets by name, or TOML files; all presets when empty.
    pub strategies: Vec<String>,
    /// Price regime.
    pub prices: String,
    /// Seed of the draws of the sign-flip test.
    pub seed: u64,
    /// Part of the sessions that is reported on; all of them when not given.
    pub split: Option<Split>,
    /// Window in tokens; the sessions' own when zero.
    pub window: u64,
    /// Output limit in tokens.
    pub max_output: u64,
    /// Model whose limits apply.
    pub model: Option<String>,
    /// Estimator that reports.
    pub estimator: String,
    /// Who writes the summaries, as `--summarizer` takes it; the strategies' own choice when not given.
    pub summarizer: Option<String>,
    /// Hash of the file.
    #[serde(skip)]
    pub hash: Option<String>,
}

/// Keys of an experiment file that no strategy file has.
const ONLY_HERE: [&str; 3] = ["strategies", "prices", "seed"];

impl Default for Experiment {
    fn default() -> Self {
        let reporting = Reporting::default();
        Self {
            strategies: Vec::new(),
            prices: reporting.regime,
            seed: reporting.seed,
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

impl Experiment {
    /// Whether a file is an experiment rather than a strategy: it says what only an experiment has, and neither
    /// a name nor what it extends, which every strategy has one of.
    pub fn is_one(name: &str, text: &str) -> bool {
        let Ok(Document { root, .. }) = Document::parse(name, text) else {
            return false;
        };
        let has = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
        has(&ONLY_HERE) && !has(&["name", "extends"])
    }

    /// Reads the text of an experiment file.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with it, each with its line.
    pub fn parse(name: &str, text: &str) -> Result<Self, String> {
        match Self::parse_rest(name, text) {
            (experiment, wrong) if wrong.is_empty() => Ok(experiment),
            (_, wrong) => Err(wrong.join("\n")),
        }
    }

    /// Reads what can be read, and what is wrong with the rest, which is as in an empty file.
    pub fn parse_rest(name: &str, text: &str) -> (Self, Vec<String>) {
        let hash = Some(short(blake3::hash(text.as_bytes())));
        let line = |at: usize| text[..at.min(text.len())].matches('\n').count() + 1;
        let error = match toml::from_str::<Self>(text) {
            Ok(experiment) => return (Self { hash, ..experiment }, Vec::new()),
            Err(error) => error,
        };
        let told = |line: usize, message: &str| format!("{name}:{line}: {}", in_words(message));
        let Ok(document) = Document::parse(name, text) else {
            let at = error.span().map_or(0, |span| span.start);
            return (Self::default(), vec![told(line(at), error.message())]);
        };
        // One key at a time.
        let (mut good, mut wrong) = (toml::Table::new(), Vec::new());
        for (key, value) in text.parse::<toml::Table>().unwrap_or_default() {
            let alone = toml::Table::from_iter([(key.clone(), value.clone())]);
            match alone.try_into::<Self>() {
                Ok(_) => drop(good.insert(key, value)),
                Err(error) => {
                    let place = document.root.get(&key).map_or(1, |node| node.key_place.line);
                    wrong.push((place, told(place, error.message())));
                }
            }
        }
        wrong.sort();
        let experiment = good.try_into::<Self>().unwrap_or_default();
        (Self { hash, ..experiment }, wrong.into_iter().map(|(_, told)| told).collect())
    }
}
