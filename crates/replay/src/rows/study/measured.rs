//! One replay of a session under one strategy with everything that is measured on it.

use super::bill::{self, RereadBill};
use super::context::Context;
use super::facts::Facts;
use super::inaction;
use super::record::{Knowledge, Record, Summaries};
use crate::judge::availability::Availability;
use crate::judge::cost::{HitShare, NamedTerms, ServiceTerms, held};
use crate::judge::measures::Measures;
use crate::judge::request::Probe;
use crate::judge::reread::{CHANCE, Sources};
use crate::read::index::Index;
use crate::read::recorder::{self, RecorderPolicy};
use crate::run::again::{ReplayAgain, replay_and_read_again};
use crate::run::controls::Foresight;
use crate::run::drive::ReplayOptions;
use crate::run::setup::{Preset, RequestSource, Setup};
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
    let mut measures = Measures::new(Arc::clone(&shared.index));
    let mut probes: [&mut dyn Probe; 2] = [&mut availability, &mut measures];
    // A control that sees what comes does not see what would be read; a model would be asked for other summaries; of other
    // controls no screen may show it.
    let is_netted = seeing.is_none() && options.completions.is_none() && preset.net;
    let chances: &[f64] = if is_netted { &[1.0, CHANCE.value] } else { &[] };
    let (replayed, again) =
        replay_and_read_again(session, &shared.sources, chances, strategy, &options, &mut probes);
    let findings = availability.finish();
    let summaries = bill::summary_calls(&replayed.summary_inputs, &replayed.firings);
    let log = &replayed.requests;
    let facts = facts_unknown
        .then(|| Facts::new(session, setup, &replayed.rows, log, &shared.held, &shared.recorder));
    let turns: Vec<usize> = replayed.rows.iter().map(|row| row.turn).collect();
    let items = bill::Items {
        log,
        held: &shared.held,
        turns: &turns,
        timed: log.timed(),
        summaries: &summaries,
    };
    let asked = ServiceTerms {
        hour: session.hour_share(),
        at_ms: session.began(),
        ..ServiceTerms::default()
    };
    let terms = context.terms(session.model.as_deref(), asked);
    let mut bills = bill::bills(&items, terms.iter());
    let net = Net { terms: &terms, timed: items.timed, held: &shared.held };
    let mut again = again.map(|again| net.bills(again));
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
    bill::count_summaries(&mut rows, &summaries);
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

/// What a session costs with what was missed read again.
struct Net<'a> {
    terms: &'a [NamedTerms],
    timed: bool,
    held: &'a [Option<HitShare>],
}

impl Net<'_> {
    /// The bills of a replay in which what is missed is read again, in the order of those of the first replay, and its reads.
    fn bills(&self, again: ReplayAgain) -> (Vec<f64>, Vec<(usize, u64)>) {
        let ReplayAgain { replay, reads: made } = again;
        let summaries = bill::summary_calls(&replay.summary_inputs, &replay.firings);
        let turns: Vec<usize> = replay.rows.iter().map(|row| row.turn).collect();
        // A read goes out before the recorded call that it is for. No recording tells what the cache had of it.
        let mut reads = made.iter().peekable();
        let mut held = Vec::new();
        for (call, recorded) in self.held.iter().enumerate() {
            while reads.next_if(|(before, _)| *before == call).is_some() {
                held.push(None);
            }
            held.push(*recorded);
        }
        let items = bill::Items {
            log: &replay.requests,
            held: &held,
            turns: &turns,
            timed: self.timed,
            summaries: &summaries,
        };
        (bill::bills(&items, self.terms.iter()).usd(), made)
    }
}
