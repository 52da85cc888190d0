//! A study: one session under every strategy, from the file or from the store, down to what a
//! comparison keeps.
//!
//! A session is read only when the store lacks something of it. It is shared by the replays of all
//! strategies, which run in parallel, and dropped when they are done. What remains is a [`Record`]
//! per strategy in the store, with every row, and a [`Score`] of fixed size in memory.

mod as_recorded;
mod bill;
mod common;
mod context;
mod facts;
mod inaction;
mod keys;
mod measured;
mod paid;
mod record;
mod score;
#[cfg(test)]
mod tests;

pub use bill::Compaction;
pub use bill::{Bill, Billed, Bills, Pauses, RereadBill};
pub(crate) use common::Common;
pub(crate) use context::Context;
pub use context::Run;
pub use facts::Facts;
pub(crate) use facts::Recording;
pub use facts::{CallFacts, SessionFacts};
pub(crate) use keys::Keys;
pub(crate) use keys::Names;
pub use record::{Inaction, Knowledge, Record, Summaries};
#[cfg(test)]
pub(crate) use score::COUNTS;
pub(crate) use score::failed;
pub use score::{Outcome, Score};

use crate::fault::{Fault, REPORT, caught};
use crate::judge::cost::ServiceTerms;
use crate::parallel::try_in_parallel;
use crate::read::corpus::{Content, ContentHash, Failure, Source};
use crate::read::split::Split;
use crate::rows::store::{Key, Store};
use crate::run::setup::{Preset, RequestSource};
use foldback_formats::Session;
use measured::{Shared, replay};
use paid::Paid;
use serde::Serialize;
use std::sync::{Arc, OnceLock};

/// A session that was studied.
#[derive(Debug)]
pub(crate) struct Studied {
    pub(crate) path: String,
    pub(crate) facts: SessionFacts,
    /// By preset; their session index is not set yet.
    pub(crate) scores: Box<[Score]>,
    pub(crate) keys: Keys,
}

/// Reads a source when something of it is asked for the first time.
struct Lazy<'a> {
    source: &'a Source,
    read: OnceLock<Result<Content, Failure>>,
}

impl Lazy<'_> {
    fn content(&self) -> Result<&Content, Failure> {
        let read = self.read.get_or_init(|| self.source.read());
        read.as_ref().map_err(Clone::clone)
    }
}

/// Studies every session of a source whose content had this hash.
pub(crate) fn study(
    context: &Context<'_>,
    source: &Source,
    hash: ContentHash,
) -> Result<Box<[Studied]>, Failure> {
    let lazy = Lazy { source, read: OnceLock::new() };
    let studied = caught(|| {
        let studied = study_content(context, &lazy, hash);
        match lazy.read.get() {
            // It was written in between. What was read is whole, and is studied as what it is: results of
            // two contents are never mixed.
            Some(Ok(content)) if content.hash != hash => {
                study_content(context, &lazy, content.hash)
            }
            _ => studied,
        }
    });
    studied.unwrap_or_else(|fault| Err(Failure::Source(format!("{fault}; {REPORT}"))))
}

/// Studies what the store knows under a hash, and reads the rest.
fn study_content(
    context: &Context<'_>,
    lazy: &Lazy<'_>,
    hash: ContentHash,
) -> Result<Box<[Studied]>, Failure> {
    let sessions = || {
        let content = lazy.content()?;
        let same = (content.hash == hash).then_some(&content.sessions);
        same.ok_or_else(|| Failure::Source("the file changed while it was read".to_owned()))
    };
    let at = Keys::of_file(hash);
    let ids: Vec<String> = match context.store.get(at) {
        Some(ids) => ids,
        None => {
            let ids = sessions()?.iter().map(|session| session.id.clone()).collect();
            keep(context.store, at, &ids)?;
            ids
        }
    };
    let wanted = |id: &str| context.split.is_none_or(|part| Split::from_id(id) == part);
    let wanted: Vec<usize> = (0..ids.len()).filter(|number| wanted(&ids[*number])).collect();
    let studied = try_in_parallel(&wanted, |number| {
        let (number, id) = (*number, &ids[*number]);
        let session = || {
            let session = sessions()?.get(number);
            let gone = || Failure::Source(format!("session {id} is not in the file"));
            session.ok_or_else(gone)
        };
        let path = lazy.source.path_of(id, ids.len() > 1);
        // Of a part that was scored elsewhere there may be no more than that it failed.
        let again = !matches!(lazy.source, Source::Scored { .. });
        study_session(context, hash, number, path, again, &session)
    });
    studied.map(Vec::into)
}

fn keep<T: Serialize>(store: &Store, at: Key, value: &T) -> Result<(), Failure> {
    store.put(at, value).map_err(|error| Failure::Store(error.to_string()))
}

/// Keeps what was made for a preset, and gives it back.
fn keep_record(
    context: &Context<'_>,
    keys: &Keys,
    preset: usize,
    record: Record,
) -> Result<Record, Failure> {
    if let Some(at) = keys.of_record(preset) {
        keep(context.store, at, &record)?;
    }
    Ok(record)
}

/// Studies one session. `path` is what reports call it; `again` says whether replays that failed are tried again.
fn study_session<'s>(
    context: &Context<'_>,
    hash: ContentHash,
    number: usize,
    path: String,
    again: bool,
    session: &(dyn Fn() -> Result<&'s Session, Failure> + Sync),
) -> Result<Studied, Failure> {
    let keys = Keys::new(hash, number, Arc::clone(&context.names));
    let known: OnceLock<Facts> = OnceLock::new();
    if let Some(facts) = keys.facts(context.store) {
        let _ = known.set(facts);
    }
    let shared: OnceLock<Shared> = OnceLock::new();
    // A preset that sees what comes takes longest. It is taken first, so that no thread waits for it at the end.
    let mut order: Vec<usize> = (0..context.presets.len()).collect();
    order.sort_by_key(|at| !matches!(context.presets[*at].made, RequestSource::Seeing(_)));
    let mut made = try_in_parallel(&order, |at| {
        let at = *at;
        let preset = &context.presets[at];
        if matches!(preset.made, RequestSource::Recorded) {
            return Ok((at, Record::default()));
        }
        let stored = known.get().and_then(|_| keys.record(context.store, at));
        let stored = stored.filter(|record| !again || record.fault.is_none());
        let record = match stored {
            Some(record) => record,
            None => {
                let session = session()?;
                let unknown = known.get().is_none();
                let replayed = caught(|| {
                    let shared = shared.get_or_init(|| Shared::new(session, context.setup));
                    replay(context, session, shared, preset, unknown)
                });
                let record = match replayed.and_then(|made| made.map_err(Fault::from)) {
                    Ok((facts, record)) => {
                        if let Some(facts) = facts {
                            keep(context.store, keys.of_facts(), &facts)?;
                            let _ = known.set(facts);
                        }
                        record
                    }
                    Err(fault) => {
                        let limits = context.setup.options(session, &preset.strategy).limits;
                        Record::failed(limits, fault)
                    }
                };
                keep_record(context, &keys, at, record)?
            }
        };
        (context.progress)();
        Ok::<_, Failure>((at, record))
    })?;
    made.sort_by_key(|(at, _)| *at);
    let mut records: Vec<Record> = made.into_iter().map(|(_, record)| record).collect();
    let mut facts = known.into_inner().ok_or_else(|| {
        let fault = records.iter().find_map(|record| record.fault.as_ref());
        let fault = fault.map(|fault| format!("under every preset: {fault}; {REPORT}"));
        fault.unwrap_or_else(|| "there is no strategy to study it under".to_owned())
    })?;
    let start = Record::exam_start(&records);
    // The recorder's requests are made from those of no compaction.
    let made = |of: fn(&Preset) -> bool| context.presets.iter().position(of);
    let mut paid = Paid::default();
    if let Some(baseline) = made(Preset::is_baseline) {
        let at = made(|preset| matches!(preset.made, RequestSource::Recorded));
        let unknown = records[baseline].fault.is_some();
        let stored = at.and_then(|at| keys.record(context.store, at));
        let stored = stored
            .or_else(|| unknown.then(|| Record { known: Knowledge::Nothing, ..Record::default() }));
        let record = stored.clone().unwrap_or_else(|| {
            let SessionFacts { model, hour, began, .. } = &facts.session;
            let asked = ServiceTerms { hour: *hour, at_ms: *began, ..ServiceTerms::default() };
            let terms = context.terms(model.as_deref(), asked);
            as_recorded::record(&facts, records[baseline].clone(), &terms)
        });
        paid = Paid::new(&facts, &record);
        if let Some(at) = at {
            records[at] = match stored {
                Some(record) => record,
                None => keep_record(context, &keys, at, record)?,
            };
        }
    }
    facts.session.billed = paid.is_known();
    let mut scores: Vec<Score> = Vec::with_capacity(records.len());
    for mut record in records {
        record.bills = paid.bills(record.bills);
        scores.push(Score::from_record(&facts, record, start, &scores, &context.common));
    }
    Ok(Studied { path, facts: facts.session, scores: scores.into(), keys })
}
