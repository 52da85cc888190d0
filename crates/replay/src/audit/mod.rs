//! What the compactions that recorders made themselves did: when each came, what it cost, what it took from the calls that came next; and
//! beside it, what strategies would have made of the same places.
//!
//! A session is replayed once with the views that its recorder had after its compactions, and once under each strategy, which folds at
//! those places and nowhere else. All calls are the recorded ones, so what they need is the same for all.
//!
//! - *Missing*: what a call needs that had been in the log and is not in its view ([`crate::availability`]): names, old texts of edits, pieces
//!   of results that are repeated word for word. Counted are the calls from a compaction up to the next, and the first [`NEAR`] of them.
//! - *Read again*: see [`ReadAgain`]. *Cost*: see [`FoldCost`]. *Rules and tasks*: see [`Binding`].

mod again;
mod binding;
mod cost;
mod cuts;
#[cfg(test)]
mod tests;

pub use again::ReadAgain;
pub use binding::Binding;
pub use cost::FoldCost;

use crate::fault::FailedReplay;
use crate::judge::cost::held;
use crate::judge::request::Probe;
use crate::judge::spent;
use crate::parallel::in_parallel;
use crate::read::index::Index;
use crate::run::drive::{ReplayOptions, replay_forced};
use crate::run::forced::ForcedFold;
use crate::run::setup::{Preset, Setup, service_terms};
use crate::run::walk::{Detail, NeedKind, Tracer, Track, Walk};
use again::Results;
use binding::BindingProbe;
use cost::Bill;
use cuts::{Cut, cuts};
use foldback_core::carry::invented;
use foldback_core::log::Message;
use foldback_formats::Session;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Calls after a compaction that are looked at by themselves.
pub const NEAR: usize = 20;

/// A session, and the compactions that its recorder made.
#[derive(Clone, Debug, Serialize)]
pub struct Audit {
    /// Path of the file, `#id` after it where the file holds several sessions.
    pub path: String,
    /// Id of the format.
    pub format: &'static str,
    /// Task or repository.
    pub project: Option<String>,
    /// The model of most calls.
    pub model: Option<String>,
    /// Whether it is of a subagent, or was forked from another session.
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
    /// The session under the recorder and the strategies, with their folds at the recorder's places; `None` without any, and
    /// where it is not to be shown.
    #[serde(skip)]
    pub walk: Option<Walk>,
}

/// A compaction that a recorder made.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Compaction {
    /// Number of the call that came next, from 0; the number of calls where none did.
    pub call: usize,
    /// Number of the call before which the next compaction came, or of all calls.
    pub until: usize,
    /// Whether it is a copy: another session holds it with all calls before it, and it counts there.
    pub copied: bool,
    /// When, in milliseconds since the Unix epoch, where recorded.
    pub at_ms: Option<i64>,
    /// `auto`, `manual`, or the recorder's own word.
    pub trigger: String,
    /// What kind: `summary`, `clear`, `replace`, `drop` or `sealed`.
    pub kind: String,
    /// Size of the request before, by the recorder or its provider.
    pub tokens_before: Option<u64>,
    /// Size of the request after.
    pub tokens_after: Option<u64>,
    /// Time since what was recorded last. With recorders that mark a compaction when it is done, the time that it took is part of it.
    pub pause_ms: Option<i64>,
    /// Prohibitions in the summary of which the user named nothing.
    pub invented: Vec<String>,
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
    /// Whether anything was folded. Of a recorder's, whether the recording still holds what was.
    pub folded: bool,
    /// Whether a summary that only the provider can read may hold what is missing.
    pub sealed: bool,
    /// What it cost.
    pub cost: FoldCost,
    /// Size of the next request, by the measuring estimator.
    pub next_tokens: u64,
    /// What the first calls missed.
    pub near: Missing,
    /// What all calls up to the next compaction missed.
    pub missing: Missing,
    /// The user's rules that the next request says.
    pub rules: Binding,
    /// The open tasks.
    pub tasks: Binding,
}

/// What calls needed and did not have in view.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Missing {
    /// Names, each once, those that most calls used first.
    pub names: Vec<String>,
    /// Old texts of edits, and pieces of results that calls repeat: the first line of each.
    pub texts: Vec<String>,
}

impl Setup {
    /// The compactions of a session, and what presets would have made of their places. `shown` are the excerpts of the session
    /// call by call; without, that is not kept.
    ///
    /// # Errors
    ///
    /// No model has a price, which no table that ships allows.
    pub fn audit(
        &self,
        path: &str,
        session: &Session,
        presets: &[&Preset],
        shown: Option<Detail>,
    ) -> Result<Audit, String> {
        let detail = shown.unwrap_or(Detail { excerpt: 0, written: 0 });
        let recorder = Preset::as_recorded().map_err(|invalid| invalid.message)?;
        let replica = presets.last().copied().unwrap_or(&recorder);
        let own = spent::own(session, &self.models, &self.regimes, self.model.as_deref());
        let mut audit = Audit {
            path: path.to_owned(),
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
        };
        let cuts = cuts(session);
        if cuts.is_empty() {
            return Ok(audit);
        }
        let index = Arc::new(Index::new(session));
        let own = self.own(session.model.as_deref(), service_terms(session));
        let terms = own.ok_or("no model has a price")?;
        let held = if self.model.is_some() { Vec::new() } else { held(session) };
        let log = session.log().cloned().enumerate();
        let answers: Vec<_> = log.filter(|(_, message)| message.is_answer()).collect();
        let bill = Bill { setup: self, session, terms: &terms, held: &held, answers: &answers };
        let mut walk = Walk::new(path, session, &index, &self.measure, detail);
        audit.compactions = cuts.iter().map(|cut| compaction(&bill, cut)).collect();
        let all: Vec<&Preset> = [&recorder].into_iter().chain(presets.iter().copied()).collect();
        let folded = in_parallel(&all, |preset| {
            let own = std::ptr::eq(*preset, &recorder);
            let work = || folded(&bill, &index, &walk, preset, &cuts, own, detail);
            FailedReplay::caught(path, &preset.strategy.label(), work)
        });
        for folded in folded {
            match folded {
                Ok((track, folds)) => {
                    walk.tracks.push(track);
                    for (compaction, (fold, again)) in audit.compactions.iter_mut().zip(folds) {
                        compaction.folds.push(fold);
                        if let Some(again) = again {
                            compaction.read_again = again;
                        }
                    }
                }
                Err(failed) => audit.failed.push(failed),
            }
        }
        audit.walk = shown.is_some().then_some(walk);
        Ok(audit)
    }
}

/// Replays a session with folds at the recorder's places: its own, or those of a preset. Of its own, also what was read again.
fn folded(
    bill: &Bill<'_>,
    index: &Arc<Index>,
    walk: &Walk,
    preset: &Preset,
    cuts: &[Cut<'_>],
    own: bool,
    detail: Detail,
) -> (Track, Vec<(AuditedFold, Option<ReadAgain>)>) {
    let Bill { setup, session, .. } = *bill;
    let recorded = |cut: &Cut<'_>| Some((cut.after, Some(cut.view.clone()?)));
    let forced: Vec<ForcedFold> = match own {
        true => cuts.iter().filter_map(recorded).collect(),
        false => cuts.iter().map(|cut| (cut.after, None)).collect(),
    };
    let options = ReplayOptions { validate: false, ..setup.options(session, &preset.strategy) };
    let mut tracer = Tracer::new(Arc::clone(index), detail);
    let mut binding = BindingProbe::new(index, cuts);
    let mut probes: [&mut dyn Probe; 2] = [&mut tracer, &mut binding];
    let replay = replay_forced(session, index, &preset.strategy, &options, &forced, &mut probes);
    let track = tracer.finish(&replay);
    let bill = bill.replay(&replay);
    let costs = bill.folds(cuts);
    let results = own.then(|| Results::new(index));
    let folds = cuts.iter().zip(costs).zip(binding.found).map(|((cut, cost), [rules, tasks])| {
        let modelled = cost.unwrap_or_default();
        let fold = AuditedFold {
            by: track.preset.clone(),
            folded: if own { cut.view.is_some() } else { cost.is_some() },
            sealed: if own { cut.is_sealed() } else { track.sealed },
            cost: if own { bill.recorded(cut, modelled) } else { modelled },
            next_tokens: track.tokens.get(cut.call).copied().unwrap_or(0),
            near: missing(walk, &track, cut.call, cut.until.min(cut.call + NEAR)),
            missing: missing(walk, &track, cut.call, cut.until),
            rules,
            tasks,
        };
        let again = results.as_ref().map(|results| {
            let mut again = results.again(cut, &*setup.measure);
            again.usd = bill.again_usd(cut, again.tokens, &again.calls);
            again
        });
        (fold, again)
    });
    let folds = folds.collect();
    (track, folds)
}

/// What the recording says of a compaction.
fn compaction(bill: &Bill<'_>, cut: &Cut<'_>) -> Compaction {
    let Bill { session, .. } = *bill;
    let boundary = cut.boundary;
    let (before, behind) = session.messages.split_at(boundary.before.min(session.messages.len()));
    let at = behind.iter().find_map(|message| message.at);
    let mut ended = before
        .iter()
        .rev()
        .map(|message| message.answer.as_ref().and_then(|answer| answer.ended).max(message.at));
    let last = ended.find_map(|time| time);
    let summary = cut.summary.and_then(|summary| session.messages.get(summary));
    let log = before.iter().map(|message| &**message);
    let invented = |summary: &Arc<Message>| invented(&summary.shown_text(), &session.frame, log);
    let size = |call: usize| bill.usage(call).map(|usage| usage.input_total());
    Compaction {
        call: cut.call,
        until: cut.until,
        copied: session.copied > 0 && cut.call == 0,
        at_ms: at,
        trigger: boundary.trigger.clone(),
        kind: boundary.kind.clone(),
        tokens_before: boundary.tokens_before.or_else(|| (0..cut.call).rev().find_map(size)),
        tokens_after: boundary.tokens_after.or_else(|| (cut.call..cut.until).find_map(size)),
        invented: summary.map_or_else(Vec::new, invented),
        pause_ms: at.zip(last).map(|(at, last)| (at - last).max(0)),
        ..Compaction::default()
    }
}

/// What the calls from one number up to another needed and did not have.
fn missing(walk: &Walk, track: &Track, from: usize, until: usize) -> Missing {
    let (mut names, mut texts): (BTreeMap<&str, usize>, _) = (BTreeMap::new(), Vec::new());
    let lost = track.forgotten.iter().filter_map(|lost| walk.needs.get(lost.need));
    for need in lost.filter(|need| (from..until).contains(&need.call)) {
        match need.kind {
            NeedKind::Reference(_) => *names.entry(&need.text).or_default() += 1,
            NeedKind::Edit | NeedKind::Piece => texts.push(need.text.clone()),
        }
    }
    let mut names: Vec<(&str, usize)> = names.into_iter().collect();
    names.sort_by_key(|(name, times)| (Reverse(*times), *name));
    Missing { names: names.into_iter().map(|(name, _)| name.to_owned()).collect(), texts }
}
