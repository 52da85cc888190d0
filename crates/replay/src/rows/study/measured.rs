//! One replay of a session under one strategy with everything that is measured on it.

use super::bill::{self, Items, RereadBill};
use super::context::Context;
use super::facts::Facts;
use super::inaction;
use super::record::{Knowledge, Record, Summaries};
use crate::judge::availability::Availability;
use crate::judge::cost::{HitShare, held};
use crate::judge::measures::SummaryProbe;
use crate::judge::request::Probe;
use crate::judge::reread::{CHANCE, Sources};
use crate::read::index::Index;
use crate::read::recorder::{self, RecorderPolicy};
use crate::run::again::{ReplayAgain, replay_and_read_again};
use crate::run::controls::Foresight;
use crate::run::drive::ReplayOptions;
use crate::run::setup::{Preset, RequestSource, Setup, service_terms};
use foldback_formats::Session;
use std::sync::{Arc, OnceLock};

/// What all replays of a session share, made once.
pub(super) struct Shared {
    index: Arc<Index>,
    /// Made when the first control asks for it.
    foresight: OnceLock<Arc<Foresight>>,
    recorder: RecorderPolicy,
    sources: Arc<Sources>,
    held: Vec<Option<HitShare>>,
}

impl Shared {
    pub(super) fn new(session: &Session, setup: &Setup) -> Self {
        let measure = &setup.measure;
        // Counts are kept with the messages. They are made while the index is, by a thread of their own: one that waits
        // here must not take work that waits for this.
        let index = std::thread::scope(|scope| {
            scope.spawn(|| session.log().for_each(|message| _ = measure.counts(message)));
            Arc::new(Index::new(session))
        });
        Self {
            recorder: recorder::policy(session, &**measure),
            sources: Arc::new(Sources::new(&session.id, &index, measure)),
            // Under another model than the one that served the session nothing is known of the cache.
            held: if setup.model.is_some() { Vec::new() } else { held(session) },
            foresight: OnceLock::new(),
            index,
        }
    }
}

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
        RequestSource::Seeing(seer) => {
            let foresight = || Arc::new(Foresight::new(&shared.index));
            let made = seer.strategy(&shared.index, shared.foresight.get_or_init(foresight));
            Some(Arc::new(made.map_err(|invalid| invalid.message)?))
        }
        RequestSource::Replayed | RequestSource::Recorded => None,
    };
    let strategy = seeing.as_ref().unwrap_or(&preset.strategy);
    let options = ReplayOptions {
        completions: preset.completions.clone(),
        ..setup.options(session, strategy)
    };
    let mut availability = Availability::new(Arc::clone(&shared.index));
    let mut measures = SummaryProbe::new(Arc::clone(&shared.index));
    let mut probes: [&mut dyn Probe; 2] = [&mut availability, &mut measures];
    // A control that sees what comes does not see what would be read; a model would be asked for other summaries; of other
    // controls no screen may show it.
    let is_netted = seeing.is_none() && options.completions.is_none() && preset.net;
    let chances: &[f64] = if is_netted { &[1.0, CHANCE.value] } else { &[] };
    let (replayed, again) =
        replay_and_read_again(session, &shared.sources, chances, strategy, &options, &mut probes);
    let findings = availability.finish();
    let log = &replayed.requests;
    let facts = facts_unknown
        .then(|| Facts::new(session, setup, &replayed.rows, log, &shared.held, &shared.recorder));
    let timed = log.timed();
    let terms = context.terms(session.model.as_deref(), service_terms(session));
    let mut bills = bill::bills(&Items::new(&replayed, &shared.held, timed), &terms);
    let mut again = again.map(|ReplayAgain { replay, reads }| {
        let held = held_again(&shared.held, &reads);
        (bill::bills(&Items::new(&replay, &held, timed), &terms).usd(), reads)
    });
    let mut reads = Vec::new();
    if !is_netted {
        let acted = replayed.metrics.compactions > 0;
        bills = bills.with_again(|_, bill| bill.again().filter(|_| !acted));
    } else if let Some((all, _)) = again.next() {
        let likely = again.next();
        bills = bills.with_again(|at, bill| {
            let usd = likely.as_ref().map_or(Some(bill.usd), |(usd, _)| usd.get(at).copied());
            Some(RereadBill { usd: usd?, all_usd: *all.get(at)? })
        });
        reads = likely.map_or_else(Vec::new, |(_, reads)| reads);
    }
    let inaction = (replayed.metrics.compactions == 0)
        .then(|| inaction::inaction(&replayed, strategy, &options));
    let known = if replayed.sealed() { Knowledge::Least } else { Knowledge::Everything };
    let mut rows = replayed.rows;
    for (row, retention) in rows.iter_mut().zip(&findings.calls) {
        row.retention = *retention;
    }
    for (call, tokens) in reads {
        if let Some(row) = rows.get_mut(call) {
            row.retention.rereads += 1;
            row.retention.reread_tokens += tokens;
        }
    }
    bill::count_summaries(&mut rows, &replayed.summary_calls);
    let record = Record {
        known,
        limits: options.limits,
        metrics: replayed.metrics,
        last_error: findings.last_error,
        summaries: Summaries::new(&replayed.firings, &measures.finish()),
        rows,
        bills,
        inaction,
        fault: None,
    };
    Ok((facts, record))
}

/// By request, what the cache still had where something is read again. A read goes out before the recorded call that it is for. No
/// recording tells what the cache had of it.
fn held_again(held: &[Option<HitShare>], reads: &[(usize, u64)]) -> Vec<Option<HitShare>> {
    let mut reads = reads.iter().peekable();
    let mut out = Vec::new();
    for (call, recorded) in held.iter().enumerate() {
        while reads.next_if(|(before, _)| *before == call).is_some() {
            out.push(None);
        }
        out.push(*recorded);
    }
    out
}
