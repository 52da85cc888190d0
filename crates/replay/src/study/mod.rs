//! A study: one session under every strategy, from the file or from the store, down to what a
//! comparison keeps.
//!
//! A session is read only when the store lacks something of it. It is shared by the replays of all
//! strategies, which run in parallel, and is gone when they are done. What is left are a [`Record`]
//! per strategy in the store, with every row, and a [`Score`] of fixed size in memory.

mod bill;
mod facts;
mod inaction;
mod record;
mod score;

pub(crate) use bill::named;
pub use bill::{Bill, NamedTerms, OWN, Pauses};
pub use facts::{CallFacts, Facts};
pub use record::{Inaction, Record};
pub use score::{Exam, Score, Shadow};

use crate::availability::Availability;
use crate::controls::{Foresight, Hindsight, MatchedControls, view_sizes};
use crate::corpus::{ContentHash, Source};
use crate::cost::Reread;
use crate::drive::{Probe, Replay, ReplayOptions, replay_with};
use crate::index::Index;
use crate::measures::{Measures, SessionMeasures};
use crate::recorder::{self, RecorderPolicy};
use crate::setup::{Preset, Setup};
use crate::split::Split;
use crate::store::{Key, Store, key};
use crate::walk::{Detail, Walk};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};

/// What a study needs besides its source.
pub(crate) struct Context<'a> {
    pub(crate) presets: &'a [Preset],
    pub(crate) setup: &'a Setup,
    /// The same for every session: [`Setup::fingerprint`].
    pub(crate) fingerprint: String,
    pub(crate) store: &'a Store,
    /// The part of the sessions that is studied; all where not given.
    pub(crate) split: Option<Split>,
    /// Called once per preset that is done with a session.
    pub(crate) progress: &'a (dyn Fn() + Sync),
}

/// Where the store keeps what is too large for memory.
#[derive(Clone, Debug)]
pub struct Keys {
    facts: Key,
    records: Vec<Key>,
}

impl Keys {
    /// The facts of the session; `None` when the store has lost them.
    pub fn facts(&self, store: &Store) -> Option<Facts> {
        store.get(self.facts)
    }

    /// The record of a preset by its index.
    pub fn record(&self, store: &Store, preset: usize) -> Option<Record> {
        store.get(*self.records.get(preset)?)
    }

    /// The walk under presets by their indices; where the store has none, the one that is made is kept.
    pub fn walk(
        &self,
        store: &Store,
        presets: &[usize],
        detail: Detail,
        make: impl FnOnce() -> Option<Walk>,
    ) -> Option<Walk> {
        let detail = format!("{detail:?}");
        let mut parts: Vec<&[u8]> = vec![b"walk", detail.as_bytes(), self.facts.as_bytes()];
        for preset in presets {
            parts.push(self.records.get(*preset)?.as_bytes());
        }
        let at = key(&parts);
        store.get(at).or_else(|| {
            let walk = make()?;
            // What can't be kept is made again next time.
            let _ = store.put(at, &walk);
            Some(walk)
        })
    }
}

/// A session that was studied.
#[derive(Debug)]
pub(crate) struct Studied {
    pub(crate) path: String,
    /// Without what only the scores needed.
    pub(crate) facts: Facts,
    /// By preset; their session index is not set yet.
    pub(crate) scores: Vec<Score>,
    pub(crate) keys: Keys,
}

/// What the store knows of a file.
#[derive(Serialize, Deserialize)]
struct Imported {
    /// Ids of its sessions.
    ids: Vec<String>,
}

/// Studies every session of a source. The error says why the source can't be used.
pub(crate) fn study(
    context: &Context<'_>,
    source: &Source,
    hash: ContentHash,
) -> Result<Vec<Studied>, String> {
    let read: OnceLock<Result<Vec<Session>, String>> = OnceLock::new();
    let sessions = || match read.get_or_init(|| source.sessions()) {
        Ok(sessions) => Ok(sessions),
        Err(reason) => Err(reason.clone()),
    };
    let at = key(&[b"file", hash.as_bytes()]);
    let imported = match context.store.get::<Imported>(at) {
        Some(imported) => imported,
        None => {
            let ids = sessions()?.iter().map(|session| session.id.clone());
            let imported = Imported { ids: ids.collect() };
            keep(context.store, at, &imported)?;
            imported
        }
    };
    let ids = &imported.ids;
    let wanted = |id: &str| context.split.is_none_or(|part| Split::of(id) == part);
    ids.par_iter()
        .enumerate()
        .filter(|(_, id)| wanted(id))
        .map(|(number, id)| {
            let session = || {
                let session = sessions()?.get(number);
                session.ok_or_else(|| "the file changed while it was read".to_owned())
            };
            let path = source.path_of(id, ids.len() > 1);
            study_session(context, hash, number, path, &session)
        })
        .collect()
}

fn keep<T: Serialize>(store: &Store, at: Key, value: &T) -> Result<(), String> {
    store.put(at, value).map_err(|error| format!("its results can't be stored: {error}"))
}

/// Studies one session. `path` is what reports call it.
fn study_session<'s>(
    context: &Context<'_>,
    hash: ContentHash,
    number: usize,
    path: String,
    session: &(dyn Fn() -> Result<&'s Session, String> + Sync),
) -> Result<Studied, String> {
    let name = |kind: &str, fingerprint: &str| {
        let number = (number as u64).to_le_bytes();
        key(&[
            kind.as_bytes(),
            hash.as_bytes(),
            &number,
            context.fingerprint.as_bytes(),
            fingerprint.as_bytes(),
        ])
    };
    let keys = Keys {
        facts: name("facts", ""),
        records: context.presets.iter().map(|preset| name("record", &preset.fingerprint)).collect(),
    };
    let known: OnceLock<Facts> = OnceLock::new();
    if let Some(facts) = keys.facts(context.store) {
        let _ = known.set(facts);
    }
    let shared: OnceLock<Shared> = OnceLock::new();
    let records: Vec<Record> = context
        .presets
        .par_iter()
        .enumerate()
        .map(|(at, preset)| {
            let stored = known.get().and_then(|_| keys.record(context.store, at));
            let record = match stored {
                Some(record) => record,
                None => {
                    let session = session()?;
                    let measure = &*context.setup.measure;
                    let shared = shared.get_or_init(|| Shared::of(session, measure));
                    let unknown = known.get().is_none();
                    let (facts, record) = replay(context.setup, session, shared, preset, unknown)?;
                    if let Some(facts) = facts {
                        keep(context.store, keys.facts, &facts)?;
                        let _ = known.set(facts);
                    }
                    keep(context.store, keys.records[at], &record)?;
                    record
                }
            };
            (context.progress)();
            Ok(record)
        })
        .collect::<Result<_, String>>()?;
    let mut facts =
        known.into_inner().ok_or_else(|| "there is no strategy to study it under".to_owned())?;
    let start = Record::exam_start(&records);
    let scores = records
        .into_iter()
        .enumerate()
        .map(|(preset, record)| Score::of(preset, &facts, record, start))
        .collect();
    facts.references = Vec::new();
    facts.edits = Vec::new();
    facts.pieces = Vec::new();
    Ok(Studied { path, facts, scores, keys })
}

/// What all replays of a session share, made once.
struct Shared {
    index: Arc<Index>,
    foresight: Arc<dyn Foresight>,
    matched_controls: MatchedControls,
    recorder: RecorderPolicy,
}

impl Shared {
    fn of(session: &Session, measure: &dyn Estimator) -> Self {
        let index = Arc::new(Index::of(session));
        let foresight: Arc<dyn Foresight> = Arc::new(Hindsight::of(&index));
        Self {
            matched_controls: MatchedControls::new(&index, Arc::clone(&foresight), measure),
            recorder: recorder::policy(session, measure),
            foresight,
            index,
        }
    }
}

/// Seed of the random shadows.
const SEED: u64 = 1;

/// Replays a session under one strategy and measures everything; with the facts of the session, where they
/// are not known yet.
fn replay(
    setup: &Setup,
    session: &Session,
    shared: &Shared,
    preset: &Preset,
    facts_unknown: bool,
) -> Result<(Option<Facts>, Record), String> {
    let seeing = match &preset.clairvoyant {
        Some(seer) => {
            let made = seer.of(&shared.index, &shared.foresight);
            Some(Arc::new(made.map_err(|invalid| invalid.message)?))
        }
        None => None,
    };
    let strategy = seeing.as_ref().unwrap_or(&preset.strategy);
    let options = ReplayOptions {
        completions: preset.completions.clone(),
        ..setup.options(session, strategy)
    };
    let measure = &setup.measure;
    // The measuring meter comes behind those of the strategy.
    let meter = strategy.estimators.len();
    let mut availability = Availability::new(Arc::clone(&shared.index), Arc::clone(measure));
    let mut measures = Measures::new(Arc::clone(&shared.index), meter);
    let mut probes: [&mut dyn Probe; 2] = [&mut availability, &mut measures];
    let replayed = replay_with(session, &shared.index, strategy, &options, &mut probes);
    let (findings, measures) = (availability.finish(), measures.finish());
    let summaries = bill::summary_calls(&replayed.summary_inputs, &measures.firings);
    let (log, index) = (&replayed.requests, &shared.index);
    let facts = facts_unknown.then(|| {
        Facts::of(session, &**measure, &replayed.rows, log, index, shared.recorder.clone())
    });
    let rereads = rereads(&replayed, &findings.rereads, &measures);
    let turns: Vec<usize> = replayed.rows.iter().map(|row| row.turn).collect();
    let items = bill::Items {
        log,
        turns: &turns,
        timed: log.timed(),
        firings: &measures.firings,
        summaries: &summaries,
        rereads: &rereads,
    };
    let terms = setup.terms(options.model.as_deref());
    let bills = bill::bills(&items, terms.iter());
    let frame = replayed.conversation.meter(meter).frame_tokens();
    let views = view_sizes(&replayed.rows, frame);
    let inaction = (replayed.metrics.compactions == 0)
        .then(|| inaction::inaction(&replayed, strategy, &options));
    let record = Record {
        limits: options.limits,
        metrics: replayed.metrics,
        references: findings.references,
        edits: findings.edits,
        pieces: findings.pieces,
        rereads: findings.rereads,
        must_keep: findings.must_keep,
        measures,
        matched: shared.matched_controls.matched(&views, SEED),
        rows: replayed.rows,
        bills,
        summaries,
        inaction,
    };
    Ok((facts, record))
}

/// The would-be re-reads with what each would have weighed until the next compaction.
fn rereads(
    replayed: &Replay,
    rows: &[crate::availability::RereadRow],
    measures: &SessionMeasures,
) -> Vec<Reread> {
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
