//! Where the retention of a preset is between chance and foresight.

use super::Score;
use crate::availability::Retention;
use crate::controls::nfr;
use crate::share::Share;
use foldback_core::strategy::Kind;
use schemars::JsonSchema;
use serde::Serialize;

/// A retention between chance (0) and greedy foresight (1) at the sizes of the preset's own views, over
/// the sessions in which it changed something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Normalised {
    /// `(FRR − FRR_random) / (FRR_clairvoyant − FRR_random)`; `null` if that is meaningless.
    pub value: Option<f64>,
    /// The preset's retention there.
    pub own: Option<f64>,
    /// That of a random eviction at the same sizes.
    pub random: Option<f64>,
    /// That of a clairvoyant one.
    pub clairvoyant: Option<f64>,
    /// Why there is no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Normalizes the retention of what only observations said. Controls have none: they are the reference, at sizes of their
/// own.
pub(super) fn normalised(kind: Kind, scores: &[&Score]) -> Normalised {
    if kind == Kind::Control {
        let why = Some("controls are the reference for others".to_owned());
        return Normalised { why, ..Normalised::default() };
    }
    let mut sum = Retention::default();
    let acted = scores.iter().filter(|score| score.metrics.compactions > 0);
    acted.for_each(|score| sum.add(&score.retention));
    let share = |kept| Share { kept, ..sum.obs }.value();
    let (own, random, clairvoyant) =
        (share(sum.obs.kept), share(sum.random), share(sum.clairvoyant));
    let (value, why) = match (own, random, clairvoyant) {
        (Some(own), Some(random), Some(clairvoyant)) => match nfr(own, random, clairvoyant) {
            Ok(value) => (Some(value), None),
            Err(not_binding) => (None, Some(not_binding.to_string())),
        },
        _ => (None, Some("the preset changed nothing, or nothing was needed".to_owned())),
    };
    Normalised { value, own, random, clairvoyant, why }
}
