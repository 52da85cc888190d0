//! The windows that sessions are replayed under: where they come from, and which of them the recordings contradict.

use crate::number::{count, grouped};
use crate::rows::study::{Recording, Score};
use crate::run::setup::Setup;
use foldback_core::Limits;
use std::collections::{BTreeMap, BTreeSet};

/// The windows that sessions were replayed under, and where they come from.
pub(super) fn assumed(setup: &Setup, sessions: &[Recording], scores: &[Box<[Score]>]) -> String {
    if setup.limits.context > 0 {
        return format!(
            "Window of {} tokens for every session (command line).",
            setup.limits.context
        );
    }
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for facts in sessions {
        let known = facts.model.as_deref().and_then(|m| setup.models.find(m));
        if known.is_none() && !facts.windowed {
            *names.entry(facts.model.as_deref().unwrap_or("no name")).or_default() += 1;
        }
    }
    let windows: BTreeSet<u64> = scores.iter().flatten().map(|score| score.window).collect();
    format!(
        "Windows: {} tokens, from the recordings and the model table of {}{}.",
        windows.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        setup.models.as_of,
        unknown(&names),
    )
}

/// How models without known limits are treated, and how to set them.
fn unknown(names: &BTreeMap<&str, usize>) -> String {
    if names.is_empty() {
        return String::new();
    }
    let named: Vec<String> =
        names.iter().map(|(name, sessions)| format!("{name} ({sessions})")).collect();
    format!(
        "; sessions of models without known limits use {} as the provider's limit, and a preset's \
         own window if it has one: {}; set them with --window or a table for --models",
        Limits::DEFAULT.context,
        named.join(", ")
    )
}

/// The sessions whose recorded requests are larger than the usual window of their model.
pub(super) fn contradicted(
    setup: &Setup,
    sessions: &[Recording],
    scores: &[Box<[Score]>],
    baseline: usize,
) -> Option<String> {
    let (mut opened, mut over, mut largest, mut usual) = (BTreeSet::new(), 0, 0, 0);
    let mut contradicted = 0;
    for (facts, scores) in sessions.iter().zip(scores) {
        let model = facts.model.as_deref().and_then(|model| setup.models.find(model));
        let window = scores.get(baseline).map_or(0, |score| score.window);
        let known = match model {
            _ if setup.limits.context > 0 || facts.windowed => window,
            Some(model) => model.context,
            None => Limits::DEFAULT.context,
        };
        if known == 0 || facts.largest_request <= known {
            continue;
        }
        contradicted += 1;
        largest = largest.max(facts.largest_request);
        usual = usual.max(known);
        match window >= facts.largest_request {
            true => {
                opened.insert(window);
            }
            false => over += 1,
        }
    }
    let recorded = format!(
        "{} recorded with requests of up to {} tokens, more than the {} of the window: ",
        match contradicted {
            0 => return None,
            1 => "1 session was".to_owned(),
            more => format!("{} were", count(more, "session")),
        },
        grouped(largest),
        grouped(usual),
    );
    let opened: Vec<String> = opened.into_iter().map(grouped).collect();
    Some(match (over, opened.is_empty()) {
        (0, _) => format!(
            "{recorded}replayed under the {} that the model has on request. --window sets another.",
            opened.join(" and ")
        ),
        (_, true) => {
            format!("{recorded}the real window was larger. Set it with --window {largest} or more.")
        }
        (_, false) => format!(
            "{recorded}some are replayed under the {} that the model has on request; in {} the real window was larger. \
             Set it with --window {largest} or more.",
            opened.join(" and "),
            count(over, "session"),
        ),
    })
}
