//! A page of a thousand sessions that were generated: what it weighs. How fast it opens is a bench.

use super::fixtures::tiny;
use crate::html::{Details, comparison};
use foldback_replay::Comparison;
use foldback_replay::stats::Share;
use foldback_replay::study::{Bill, Billed, Pauses};
use foldback_replay::study::{Inaction, Knowledge, Outcome, Score};
use std::sync::Arc;

const SESSIONS: usize = 1_000;
const PRESETS: usize = 24;

/// Twenty-four presets over a thousand sessions: half of the presets act in every session, the others in none.
fn large() -> Comparison {
    let mut large = tiny();
    let session = large.corpus.sessions[0].clone();
    let path =
        |at: usize| format!("recordings/of-{}/a-project-{}/session-{at:05}.jsonl", at % 7, at % 31);
    large.corpus.sessions = (0..SESSIONS)
        .map(|at| {
            let mut session = session.clone();
            session.path = path(at).into();
            session
        })
        .collect();
    let line = large.presets[1].clone();
    large.presets.truncate(1);
    for preset in 1..PRESETS {
        let mut line = line.clone();
        line.preset = format!("a-preset-{preset}+extractive");
        large.presets.push(line);
    }
    let score = |session: usize, preset: usize| {
        let mut outcome = Outcome { known: Knowledge::Everything, ..Outcome::default() };
        outcome.metrics.compactions = (preset % 2) as u64 * 3;
        outcome.metrics.input_tokens = (1_000_000 - 1_000 * preset - session) as u64;
        outcome.retention.edits = Share { kept: 0, needed: session as u64 % 40 };
        outcome.retention.obs_far = Share { kept: 900 - session as u64 % 500, needed: 1_000 };
        let usd = 1.0 + preset as f64 / 9.0;
        let by = Billed { regime: "cached".into(), pauses: Pauses::Warm };
        outcome.bills = [(by, Bill::of_requests(usd, 0.0))].into_iter().collect();
        let why = "52345 < 180000 of the window".to_owned();
        let mut score = Score::new(session, preset, outcome);
        score.inaction = (preset > 0 && preset.is_multiple_of(2))
            .then(|| Arc::new(Inaction { why, window: Some(61_000) }));
        score
    };
    let all = |session| (0..PRESETS).map(|preset| score(session, preset)).collect();
    large.scores = (0..SESSIONS).map(all).collect();
    large
}

#[test]
fn a_thousand_sessions_weigh_less_than_eight_megabytes() {
    let page = comparison(&large(), &Details::default());
    for session in ["00000.jsonl</", "00999.jsonl</"] {
        assert!(page.contains(session), "{session}");
    }
    // What weighs most is the table with all presets; nothing else grows with the sessions without bound.
    let table = &page[page.find("id=\"sessions\"").unwrap()..];
    let table = &table[..table.find("</section>").unwrap()];
    let rest = page.len() - table.len();
    assert!(page.len() < 8_000_000, "{} bytes", page.len());
    assert!(rest < 1_000_000, "{rest} bytes besides the table");
}
