//! What the compactions that recorders made themselves did: when each came, what it cost, what it took from the calls that came next; and
//! beside it, what strategies would have made of the same places.
//!
//! A session is replayed once with the views that its recorder had after its compactions ([`cuts`]), and once under each strategy, which
//! folds at those places and nowhere else. All calls are the recorded ones, so what they need is the same for all.
//!
//! - *Missing*: what a call needs that had been in the log and is not in its view ([`crate::judge::availability`]): names, old texts of
//!   edits, pieces of results that are repeated word for word. Counted are the calls from a compaction up to the next, and the first
//!   [`NEAR`] of them by themselves.
//! - *Read again*: see [`ReadAgain`]. *Cost*: see [`FoldCost`]. *Rules and tasks*: see [`Binding`].

mod again;
mod cost;
mod cuts;
mod kept;

pub use again::ReadAgain;
pub use cost::FoldCost;
pub use kept::{Binding, Texts};

use crate::fault::{FailedReplay, caught};
use crate::judge::availability::Availability;
use crate::judge::cost::{ServiceTerms, held};
use crate::judge::measures::Measures;
use crate::judge::request::Probe;
use crate::judge::spent;
use crate::parallel::in_parallel;
use crate::read::index::Index;
use crate::run::drive::{ReplayOptions, replay_forced};
use crate::run::forced::ForcedFold;
use crate::run::setup::{Preset, Setup};
use crate::run::walk::{Detail, NeedKind, Tracer, Track, Walk};
use again::Results;
use cost::Bill;
use cuts::{Cut, cuts};
use foldback_core::Message;
use foldback_formats::Session;
use kept::Kept;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Calls after a compaction that are looked at by themselves.
pub const NEAR: usize = 20;

/// A session, and the compactions that its recorder made.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Path of the file, `#id` after it where the file holds several sessions.
    pub path: String,
    /// The recorder's id.
    pub id: String,
    /// Id of the format.
    pub format: &'static str,
    /// Task or repository.
    pub project: Option<String>,
    /// The model of most calls.
    pub model: Option<String>,
    /// Whether another session spawned or handed it on.
    pub subagent: bool,
    /// Model calls.
    pub calls: usize,
    /// What it cost by its usage, at its models' own prices: the figure of `sessions`.
    pub usd: Option<f64>,
    /// Window in force, in tokens.
    pub window: u64,
    /// The largest request by the provider's count; 0 if it counted none.
    pub largest: u64,
    /// In their order.
    pub compactions: Vec<Compaction>,
    /// Replays that failed.
    pub failed: Vec<FailedReplay>,
    /// The session under the recorder and the strategies, with their folds at the recorder's places; `None` without any.
    #[serde(skip)]
    pub walk: Option<Walk>,
}

/// A compaction that a recorder made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compaction {
    /// Number of the call that came next, from 0; the number of calls where none did.
    pub call: usize,
    /// Calls up to the next compaction, or the end.
    pub followed: usize,
    /// The agent that it happened to, where a session has several.
    pub agent: Option<String>,
    /// When, in milliseconds since the Unix epoch, where recorded.
    pub at: Option<i64>,
    /// `auto`, `manual`, or the recorder's own word.
    pub trigger: String,
    /// What kind: `summary`, `clear`, `replace`, `drop` or `sealed`.
    pub kind: String,
    /// Size of the request before, by the recorder or its provider.
    pub tokens_before: Option<u64>,
    /// Size of the request after.
    pub tokens_after: Option<u64>,
    /// Time since what was recorded last, in milliseconds.
    pub pause: Option<i64>,
    /// Whether the recording still holds what was compacted. If not, nothing is known of what went.
    pub original_kept: bool,
    /// What the agent read again.
    pub read_again: ReadAgain,
    /// What the recorder made of it, then what each strategy would have.
    pub folds: Vec<AuditedFold>,
}

/// What a recorder or a strategy made of a place.
#[derive(Clone, Debug, Default, Serialize)]
pub struct AuditedFold {
    /// `as-recorded`, or the preset with the summarizer that stood in.
    pub by: String,
    /// Whether anything was folded.
    pub folded: bool,
    /// Whether a summary that only the provider can read may hold what is missing.
    pub sealed: bool,
    /// What it cost; `None` where nothing was folded.
    pub cost: Option<FoldCost>,
    /// Size of the next request, by the measuring estimator.
    pub tokens: u64,
    /// What the first calls missed.
    pub near: Missing,
    /// What all calls up to the next compaction missed.
    pub missing: Missing,
    /// What the next request says of rules and tasks; `None` where none came.
    pub binding: Option<Binding>,
}

/// What calls needed and did not have in view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Names, each once, those that most calls used first.
    pub names: Vec<String>,
    /// Old texts of edits.
    pub old_texts: usize,
    /// Pieces of results that calls repeat.
    pub pieces: usize,
    /// Results that held the latter two.
    pub results: usize,
    /// Their size in tokens.
    pub tokens: u64,
}

/// One replay with folds at the recorder's places.
struct Folded {
    track: Track,
    costs: Vec<Option<FoldCost>>,
    bindings: Vec<Option<Binding>>,
    /// What was read again after the recorder's own.
    again: Vec<ReadAgain>,
}

impl Setup {
    /// The compactions of a session, and what presets would have made of their places.
    ///
    /// # Errors
    ///
    /// None in a release; see [`Preset::as_recorded`].
    pub fn audit(
        &self,
        path: &str,
        session: &Session,
        presets: &[&Preset],
        detail: Detail,
    ) -> Result<Audit, String> {
        let recorder = Preset::as_recorded().map_err(|invalid| invalid.message)?;
        let mut audit = self.plain(path, session, presets.last().copied().unwrap_or(&recorder));
        let cuts = cuts(session);
        if cuts.is_empty() || audit.calls == 0 {
            return Ok(audit);
        }
        let index = Arc::new(Index::new(session));
        let asked = ServiceTerms {
            hour: session.hour_share(),
            at_ms: session.began(),
            ..ServiceTerms::default()
        };
        let terms = self.own(session.model.as_deref(), asked).ok_or("no prices of any model")?;
        let held = if self.model.is_some() { Vec::new() } else { held(session) };
        let log = session.log().cloned().enumerate();
        let answers: Vec<_> = log.filter(|(_, message)| message.is_answer()).collect();
        let bill = Bill { setup: self, session, terms: &terms, held: &held, answers: &answers };
        let all: Vec<&Preset> = [&recorder].into_iter().chain(presets.iter().copied()).collect();
        let folded = in_parallel(&all, |preset| {
            let own = std::ptr::eq(*preset, &recorder);
            caught(|| folded(&bill, &index, preset, &cuts, own, detail))
        });
        let mut walk = Walk::new(path, session, &index, &self.measure, detail);
        audit.compactions = (0..cuts.len()).map(|at| compaction(session, &cuts, at)).collect();
        for (preset, folded) in all.iter().zip(folded) {
            match folded {
                Ok(folded) => {
                    add(&mut audit.compactions, &walk, &cuts, &folded);
                    walk.tracks.push(folded.track);
                }
                Err(fault) => {
                    let preset = preset.strategy.label();
                    audit.failed.push(FailedReplay { session: path.into(), preset, fault });
                }
            }
        }
        audit.walk = Some(walk);
        Ok(audit)
    }

    /// A session without its compactions.
    fn plain(&self, path: &str, session: &Session, replica: &Preset) -> Audit {
        let own = spent::own(session, &self.models, &self.regimes, self.model.as_deref());
        Audit {
            path: path.to_owned(),
            id: session.id.clone(),
            format: session.format,
            project: session.cluster.clone(),
            model: session.model.clone(),
            subagent: session.parent.is_some(),
            calls: session.calls(),
            usd: own.map(|own| own.usd),
            window: self.limits_for(session, &replica.strategy).context,
            largest: session.largest_request(),
            compactions: Vec::new(),
            failed: Vec::new(),
            walk: None,
        }
    }
}

/// Replays a session with folds at the recorder's places: its own, or those of a preset.
fn folded(
    bill: &Bill<'_>,
    index: &Arc<Index>,
    preset: &Preset,
    cuts: &[Cut<'_>],
    own: bool,
    detail: Detail,
) -> Folded {
    let Bill { setup, session, .. } = *bill;
    let forced: Vec<ForcedFold> = match own {
        true => cuts.iter().filter_map(Cut::recorded).collect(),
        false => cuts.iter().map(Cut::forced).collect(),
    };
    let options = ReplayOptions { validate: false, ..setup.options(session, &preset.strategy) };
    let mut availability = Availability::new(Arc::clone(index));
    let mut tracer = Tracer::new(Arc::clone(index), detail);
    let mut measures = Measures::new(Arc::clone(index));
    let mut kept = Kept::new(index, cuts);
    let mut probes: [&mut dyn Probe; 4] =
        [&mut availability, &mut tracer, &mut measures, &mut kept];
    let replay = replay_forced(session, index, &preset.strategy, &options, &forced, &mut probes);
    let track = tracer.finish(&replay, &availability.finish());
    let mut costs = bill.replayed(cuts, &replay, &measures.finish().firings);
    let mut again = Vec::new();
    if own {
        let results = Results::new(index);
        for (at, cut) in cuts.iter().enumerate() {
            costs[at] = Some(bill.recorded(cut, &replay, costs[at]));
            let until = cut.call + followed(cuts, at, bill.answers.len());
            let mut read = results.again(cut, until, NEAR, &*setup.measure);
            read.usd = bill.written_usd(&replay, cut.call, read.tokens)
                + crate::number::total(
                    read.by_call.iter().map(|(call, part)| bill.request_usd(&replay, *call, *part)),
                );
            again.push(read);
        }
    }
    Folded { track, costs, bindings: kept.found, again }
}

/// Calls from a compaction up to the next.
fn followed(cuts: &[Cut<'_>], at: usize, calls: usize) -> usize {
    cuts.get(at + 1).map_or(calls, |next| next.call) - cuts[at].call
}

/// What the recording says of a compaction.
fn compaction(session: &Session, cuts: &[Cut<'_>], at: usize) -> Compaction {
    let cut = &cuts[at];
    let boundary = cut.boundary;
    let (before, behind) = session.messages.split_at(boundary.before.min(session.messages.len()));
    let time = behind.iter().find_map(|message| message.at);
    let ended = |message: &Arc<Message>| {
        message.answer.as_ref().and_then(|answer| answer.ended).max(message.at)
    };
    let last = before.iter().rev().find_map(ended);
    let size = |mut messages: std::slice::Iter<'_, Arc<Message>>, first: bool| {
        let sized = |message: &Arc<Message>| {
            let usage = message.answer.as_ref()?.usage.filter(|usage| usage.has_input())?;
            (!message.is_entry()).then(|| usage.input_total())
        };
        if first { messages.find_map(sized) } else { messages.rev().find_map(sized) }
    };
    Compaction {
        call: cut.call,
        followed: followed(cuts, at, session.calls()),
        agent: before.last().and_then(|message| message.agent.clone()),
        at: time,
        trigger: boundary.trigger.clone(),
        kind: boundary.kind.clone(),
        tokens_before: boundary.tokens_before.or_else(|| size(before.iter(), false)),
        tokens_after: boundary.tokens_after.or_else(|| size(behind.iter(), true)),
        pause: time.zip(last).map(|(time, last)| (time - last).max(0)),
        original_kept: boundary.original_kept,
        read_again: ReadAgain::default(),
        folds: Vec::new(),
    }
}

/// Adds what one replay made of each compaction.
fn add(compactions: &mut [Compaction], walk: &Walk, cuts: &[Cut<'_>], folded: &Folded) {
    let track = &folded.track;
    let own = !folded.again.is_empty();
    for (at, (compaction, cut)) in compactions.iter_mut().zip(cuts).enumerate() {
        let window = |calls: usize| {
            missing(walk, track, cut.call, cut.call + calls.min(compaction.followed))
        };
        let fold = AuditedFold {
            by: track.preset.clone(),
            folded: if own { cut.is_known() } else { folded.costs[at].is_some() },
            sealed: if own { cut.is_sealed() } else { track.sealed },
            cost: folded.costs[at],
            tokens: track.tokens.get(cut.call).copied().unwrap_or(0),
            near: window(NEAR),
            missing: window(usize::MAX),
            binding: folded.bindings[at].clone(),
        };
        compaction.folds.push(fold);
        if let Some(again) = folded.again.get(at) {
            compaction.read_again = again.clone();
        }
    }
}

/// What the calls from one number up to another needed and did not have.
fn missing(walk: &Walk, track: &Track, from: usize, until: usize) -> Missing {
    let mut out = Missing::default();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    let mut results: BTreeMap<usize, u64> = BTreeMap::new();
    let lost = track.forgotten.iter().filter_map(|lost| walk.needs.get(lost.need));
    for need in lost.filter(|need| (from..until).contains(&need.call)) {
        match need.kind {
            NeedKind::Reference(_) => *names.entry(&need.text).or_default() += 1,
            NeedKind::Edit => out.old_texts += 1,
            NeedKind::Piece => out.pieces += 1,
        }
        if let (false, Some(source)) = (matches!(need.kind, NeedKind::Reference(_)), need.source) {
            results.insert(source.message, source.tokens);
        }
    }
    (out.results, out.tokens) = (results.len(), results.values().sum());
    let mut named: Vec<(&str, usize)> = names.into_iter().collect();
    named.sort_by_key(|(name, times)| (std::cmp::Reverse(*times), *name));
    out.names = named.into_iter().map(|(name, _)| name.to_owned()).collect();
    out
}
