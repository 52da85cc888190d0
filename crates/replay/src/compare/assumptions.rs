//! What must be known to read the numbers of a comparison.

use super::{Corpus, DEFAULT_LIMITS, Preset, SessionResult, Setup};

pub(super) fn assumptions(
    corpus: &Corpus,
    presets: &[Preset],
    setup: &Setup,
    results: &[SessionResult],
) -> Vec<String> {
    let mut lines = vec![
        "Replayed under the recorded actions: what the agent would have done on a smaller view, and \
         whether it would have succeeded, a replay can't tell."
            .to_owned(),
        format!(
            "Every preset decides with its own estimator; all token columns are measured with {}.",
            setup.measure.id()
        ),
        "What the recorders compacted themselves is undone where the file still holds it.".to_owned(),
        "Cache: the longest common beginning of two consecutive requests, always warm.".to_owned(),
    ];
    let with_usage = corpus
        .sessions
        .iter()
        .filter(|loaded| crate::calibrate::observations(&loaded.session, &*setup.measure).len() > 1)
        .count();
    lines.push(format!(
        "{with_usage} of {} sessions record usage; there, system prompt and tools that were not \
         recorded are put at what usage says they weigh.",
        corpus.sessions.len()
    ));
    if presets
        .iter()
        .any(|preset| preset.strategy.filter.is_some())
    {
        lines.push(
            "Summaries are written by the summarizer that the preset's name ends with, not by a model \
             of the original."
                .to_owned(),
        );
    }
    let unknown = corpus
        .sessions
        .iter()
        .filter(|loaded| {
            let known = loaded
                .session
                .model
                .as_deref()
                .and_then(|m| setup.models.find(m));
            known.is_none() && loaded.session.limits.context == 0
        })
        .count();
    if setup.limits.context > 0 {
        lines.push(format!(
            "Window of {} tokens for every session (command line).",
            setup.limits.context
        ));
    } else {
        let mut windows: Vec<u64> = results.iter().map(|result| result.limits.context).collect();
        windows.sort_unstable();
        windows.dedup();
        lines.push(format!(
            "Windows: {} tokens, from the recordings and the model table of {}; {unknown} sessions of \
             unknown models take the preset's own window, else {}.",
            windows.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
            setup.models.as_of,
            DEFAULT_LIMITS.context,
        ));
    }
    lines
}
