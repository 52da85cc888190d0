//! The front of cost against retention: which strategies nothing beats on both, no compaction included
//! where the window allows it.

use foldback_core::strategy::Kind;
use foldback_replay::compare::PresetLine;

/// Where a preset stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing<'a> {
    /// No strategy that passes the gates is both cheaper and keeps more, nor is doing nothing.
    Front,
    /// This one is at least as good in both and better in one.
    Dominated(&'a str),
    /// Not among those that are compared: a control, a gate failed, or a value is missing.
    Apart,
}

/// Bill and retention of what only observations said, where a preset has both.
pub(super) fn point(line: &PresetLine) -> Option<(f64, f64)> {
    Some((line.metrics.cost_ratio.value?, line.metrics.frr_obs.value?))
}

/// Whether this is the control that never compacts.
fn is_plain(line: &PresetLine) -> bool {
    line.kind == Kind::Control && line.compactions == 0
}

/// The standing of every preset, by the values alone, in the order of the presets. Of several that
/// dominate a preset the one that keeps most is named, then the cheapest.
pub(super) fn standings(presets: &[PresetLine]) -> Vec<Standing<'_>> {
    let runs = |line: &&PresetLine| line.kind == Kind::Strategy && line.gate.passed;
    let idle = |line: &PresetLine| is_plain(line) && line.gate.passed;
    let field: Vec<(&str, (f64, f64))> = presets
        .iter()
        .filter(|line| runs(line) || idle(line))
        .filter_map(|line| Some((line.preset.as_str(), point(line)?)))
        .collect();
    presets
        .iter()
        .map(|line| {
            let Some((cost, kept)) = point(line).filter(|_| runs(&line)) else {
                return Standing::Apart;
            };
            field
                .iter()
                .filter(|(_, other)| other.0 <= cost && other.1 >= kept)
                .filter(|(_, other)| other.0 < cost || other.1 > kept)
                .max_by(|(_, a), (_, b)| a.1.total_cmp(&b.1).then(b.0.total_cmp(&a.0)))
                .map_or(Standing::Front, |(name, _)| Standing::Dominated(name))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_replay::compare::{Gate, Metric, Metrics};

    #[test]
    fn only_strategies_that_pass_dominate() {
        let line = |preset: &str, cost: f64, kept: f64| {
            let of = |value| Metric { value: Some(value), ..Metric::default() };
            PresetLine {
                preset: preset.to_owned(),
                gate: Gate { passed: true, ..Gate::default() },
                metrics: Metrics { cost_ratio: of(cost), frr_obs: of(kept), ..Metrics::default() },
                ..PresetLine::default()
            }
        };
        let mut presets = vec![
            line("whole", 1.0, 1.0),
            line("same", 1.0, 1.0),
            line("cheap", 0.5, 0.6),
            line("worse", 0.7, 0.6),
            line("dear", 1.2, 0.9),
            line("broken", 0.1, 1.0),
            line("control", 0.1, 1.0),
            line("nothing", 0.1, 1.0),
        ];
        presets[5].gate.passed = false;
        presets[6].kind = Kind::Control;
        presets[6].compactions = 1;
        presets[7].metrics.frr_obs.value = None;
        let expect = [
            Standing::Front,
            Standing::Front,
            Standing::Front,
            Standing::Dominated("cheap"),
            Standing::Dominated("same"),
            Standing::Apart,
            Standing::Apart,
            Standing::Apart,
        ];
        assert_eq!(standings(&presets), expect);
        // Doing nothing is an option where every request fits.
        presets[1].kind = Kind::Control;
        presets[0].metrics.cost_ratio.value = Some(1.01);
        assert_eq!(standings(&presets)[0], Standing::Dominated("same"));
        presets[1].gate.passed = false;
        assert_eq!(standings(&presets)[0], Standing::Front);
    }
}
