//! Two judges of what is kept that share nothing: references (`frr_obs_far`) and verbatim reuse
//! (`verbatim_far`), both of what only tool results (and users) had said and what was not seen recently.
//!
//! A preset can be made for one of them: a placeholder that lists the identifiers of what it cleared keeps
//! all references and none of their context. The comparison therefore names the presets that are
//! [good by one judge only](PresetLine::good_by_one).

use super::figures::LEAST_GAP;
use super::line::PresetLine;
use foldback_core::strategy::Kind;

/// The presets that are good by one judge only, in a sentence.
pub(super) fn caution(lines: &[PresetLine]) -> Option<String> {
    let flagged: Vec<String> = lines
        .iter()
        .filter(|line| line.kind == Kind::Strategy)
        .filter_map(|line| {
            let (references, verbatim) = line.metrics.judged()?;
            line.good_by_one?;
            let percent = |share: f64| format!("{:.0}", share * 100.0);
            let (kept, reused) = (percent(references), percent(verbatim));
            Some(format!("{} (kept {kept}, verbatim {reused})", line.preset))
        })
        .collect();
    (!flagged.is_empty()).then(|| {
        format!(
            "Good by one judge only, at least {:.0} points less by the other: {}. A preset may be tuned \
             to that judge, such as one that lists the identifiers of what it clears.",
            LEAST_GAP * 100.0,
            flagged.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Judge, Metric, Metrics};

    fn line(preset: &str, references: f64, verbatim: f64) -> PresetLine {
        let of = |value| Metric { value: Some(value), ..Metric::default() };
        let metrics = Metrics {
            frr_obs_far: of(references),
            verbatim_far: of(verbatim),
            ..Metrics::default()
        };
        let mut line = PresetLine { preset: preset.to_owned(), metrics, ..PresetLine::default() };
        line.good_by_one = line.metrics.good_by();
        line
    }

    #[test]
    fn what_one_judge_alone_likes_is_flagged() {
        let lines = vec![
            line("honest", 0.6, 0.5),
            line("gamer", 0.91, 0.3),
            line("summary", 0.3, 0.49),
            line("quoter", 0.2, 0.45),
        ];
        let flags: Vec<_> = lines.iter().map(|line| line.good_by_one).collect();
        assert_eq!(flags, [None, Some(Judge::References), None, Some(Judge::Verbatim)]);
        let said = caution(&lines).unwrap();
        assert!(
            said.contains("gamer (kept 91, verbatim 30), quoter (kept 20, verbatim 45)"),
            "{said}"
        );
        assert_eq!(caution(&lines[..1]), None);
    }
}
