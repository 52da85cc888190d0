//! `calibrated`: another estimator times κ, plus what a request costs besides what was recorded.

use super::bpe::{Bpe, BpeConfig, Vocabulary};
use super::chars::CharsConfig;
use super::fit::Calibration;
use foldback_core::log::{Message, Part};
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::Estimator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The estimator underneath.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Base {
    /// `o200k`.
    #[default]
    O200k,
    /// `cl100k`.
    Cl100k,
    /// `chars`, configured in the table of that name.
    Chars,
}

/// Configuration of [`Calibrated`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CalibratedConfig {
    /// The estimator underneath.
    pub base: Base,
    /// Fields of `chars`, where that is the base.
    pub chars: CharsConfig,
    /// Factor on every count, in parts per million.
    pub kappa_ppm: u64,
    /// Tokens of a request that are in none of its messages and not in the recorded frame.
    pub overhead: u64,
}

impl Default for CalibratedConfig {
    fn default() -> Self {
        let Calibration { kappa_ppm, overhead, .. } = Calibration::default();
        Self { base: Base::default(), chars: CharsConfig::default(), kappa_ppm, overhead }
    }
}

impl StageConfig<dyn Estimator> for CalibratedConfig {
    fn build(self) -> Result<Arc<dyn Estimator>, Invalid> {
        if self.kappa_ppm == 0 {
            return Err(Invalid::new(
                "kappa_ppm",
                "must be 1 or more; 1_000_000 leaves the counts as they are",
            ));
        }
        let bpe = |vocabulary| Arc::new(Bpe::new(vocabulary, &BpeConfig::default()));
        let base: Arc<dyn Estimator> = match self.base {
            Base::O200k => bpe(Vocabulary::O200k),
            Base::Cl100k => bpe(Vocabulary::Cl100k),
            Base::Chars => Arc::new(self.chars.estimator().map_err(|invalid| {
                Invalid::new(format!("chars.{}", invalid.path), invalid.message)
            })?),
        };
        let calibration = Calibration {
            kappa_ppm: self.kappa_ppm,
            overhead: self.overhead,
            ..Calibration::default()
        };
        Ok(Arc::new(Calibrated::new(base, calibration)))
    }
}

/// Another estimator times κ. Counts are scaled part by part and rounded half up, so that the count of
/// a message stays the sum of its parts.
#[derive(Clone, Debug)]
pub struct Calibrated {
    base: Arc<dyn Estimator>,
    calibration: Calibration,
    id: Arc<str>,
}

impl Calibrated {
    /// An estimator scaled by what was fitted on it.
    pub fn new(base: Arc<dyn Estimator>, calibration: Calibration) -> Self {
        let Calibration { kappa_ppm, overhead, .. } = calibration;
        let id = format!("calibrated({}) ×{kappa_ppm}ppm +{overhead}", base.id()).into();
        Self { base, calibration, id }
    }

    /// The fit.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }
}

impl Estimator for Calibrated {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        self.calibration.scale(self.base.text(text))
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        self.calibration.scale(self.base.part(part, shown))
    }

    fn result(&self, shown: &str) -> Option<u64> {
        Some(self.calibration.scale(self.base.result(shown)?))
    }

    fn overhead(&self, message: &Message) -> u64 {
        self.calibration.scale(self.base.overhead(message))
    }

    fn per_request(&self) -> u64 {
        self.calibration.scale(self.base.per_request()) + self.calibration.overhead
    }
}
