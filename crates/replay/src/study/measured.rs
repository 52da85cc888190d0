//! One replay of a session under one strategy with everything that is measured on it.

use super::record::Summaries;
use super::{Context, Facts, Known, Record, bill, inaction};
use crate::availability::{Availability, RereadRow};
use crate::controls::{Foresight, MatchedControls, view_sizes};
use crate::cost::{Asked, Held, Reread, held};
use crate::drive::{Probe, Replay, ReplayOptions, replay_with};
use crate::index::Index;
use crate::measures::{Measures, SessionMeasures};
use crate::recorder::{self, RecorderPolicy};
use crate::setup::{Made, Preset, Setup};
use foldback_formats::Session;
use std::sync::Arc;

/// What all replays of a session share, made once.
pub(super) struct Shared {
    index: Arc<Index>,
    foresight: Arc<Foresight>,
    matched_controls: MatchedControls,
    recorder: RecorderPolicy,
    held: Vec<Option<Held>>,
}

impl Shared {
    pub(super) fn of(session: &Session, setup: &Setup) -> Self {
        let measure = &*setup.measure;
        // Counts are kept with the messages. They are made while the index is, by a thread of their own: one that waits
        // here must not take work that waits for this.
        let index = std::thread::scope(|scope| {
            scope.spawn(|| session.log().for_each(|message| _ = measure.counts(message)));
            Arc::new(Index::of(session))
        });
        let foresight = Arc::new(Foresight::of(&index));
        Self {
            matched_controls: MatchedControls::new(&index, Arc::clone(&foresight), measure),
            recorder: recorder::policy(session, measure),
            held: held(session, setup),
            foresight,
            index,
        }
    }
}

/// Seed of the random shadows.
const SEED: u64 = 1;

/// Replays a session under one strategy and measures everything; with the facts of the session, where they
/// are not known yet.
pub(super) fn replay(
    context: &Context<'_>,
    session: &Session,
    shared: &Shared,
    preset: &Preset,
    facts_unknown: bool,
) -> Result<(Option<Facts>, Record), String> {
    let setup = context.setup;
    let seeing = match &preset.made {
        Made::Seeing(seer) => {
            let made = seer.of(&shared.index, &shared.foresight);
            Some(Arc::new(made.map_err(|invalid| invalid.message)?))
        }
        Made::Replayed | Made::Recorded => None,
    };
    let strategy = seeing.as_ref().unwrap_or(&preset.strategy);
    let options = ReplayOptions {
        completions: preset.completions.clone(),
        ..setup.options(session, strategy)
    };
    let measure = &setup.measure;
    let mut availability = Availability::new(Arc::clone(&shared.index), Arc::clone(measure));
    let mut measures = Measures::new(Arc::clone(&shared.index));
    let mut probes: [&mut dyn Probe; 2] = [&mut availability, &mut measures];
    let replayed = replay_with(session, &shared.index, strategy, &options, &mut probes);
    let (findings, measures) = (availability.finish(), measures.finish());
    let summaries = bill::summary_calls(&replayed.summary_inputs, &measures.firings);
    let (log, index) = (&replayed.requests, &shared.index);
    let facts = facts_unknown
        .then(|| Facts::of(session, setup, &replayed.rows, log, shared.recorder.clone()));
    let rereads = rereads(&replayed, &findings.rereads, &measures);
    let turns: Vec<usize> = replayed.rows.iter().map(|row| row.turn).collect();
    let items = bill::Items {
        log,
        held: &shared.held,
        turns: &turns,
        timed: log.timed(),
        firings: &measures.firings,
        summaries: &summaries,
        rereads: &rereads,
    };
    let asked = Asked { hour: session.hour_share(), at_ms: session.began(), ..Asked::default() };
    let terms = context.terms(session.model.as_deref(), asked);
    let bills = bill::bills(&items, terms.iter());
    let frame = replayed.conversation.meter(replayed.meter).frame_tokens();
    let views = view_sizes(&replayed.rows, frame);
    let inaction = (replayed.metrics.compactions == 0)
        .then(|| inaction::inaction(&replayed, strategy, &options));
    let known = if replayed.sealed() { Known::Least } else { Known::Everything };
    let mut rows = replayed.rows;
    for (row, retention) in rows.iter_mut().zip(&findings.calls) {
        row.retention = *retention;
    }
    shared.matched_controls.matched(&views, SEED).count(index, &mut rows);
    bill::count_summaries(&mut rows, &summaries);
    let record = Record {
        known,
        limits: options.limits,
        metrics: replayed.metrics,
        must_keep: findings.must_keep,
        summaries: Summaries::of(&measures),
        rows,
        bills,
        inaction,
        fault: None,
    };
    Ok((facts, record))
}

/// The would-be re-reads with what each would have weighed until the next compaction.
fn rereads(replayed: &Replay, rows: &[RereadRow], measures: &SessionMeasures) -> Vec<Reread> {
    rows.iter()
        .map(|row| {
            let next = measures.firings.partition_point(|firing| firing.call <= row.call);
            let until = measures.firings.get(next).map_or(replayed.rows.len(), |next| next.call);
            let request = replayed.rows.get(row.call);
            Reread {
                input_tokens: request.map_or(0, |row| row.input_tokens),
                result_tokens: row.tokens,
                calls: until.saturating_sub(row.call) as u64,
            }
        })
        .collect()
}
