//! The facts of a session that no strategy can change.

use super::common::Common;
use crate::judge::cost::{HitShare, RequestLog, SentRequest, recorded_output};
use crate::read::calibrate::Thin;
use crate::read::recorder::RecorderPolicy;
use crate::read::scale::Scale;
use crate::run::setup::Setup;
use crate::run::totals::CallRow;
use foldback_core::log::{EntryKind, Usage};
use foldback_core::stage::Estimator;
use foldback_core::{Frame, Limits};
use foldback_formats::Session;
use foldback_formats::session::SEALED;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Usage is believed where this share of the calls has it; a call without counts like the one before it.
pub(super) const LEAST_SHARE: f64 = 0.9;

/// One recorded call. Tokens are by the measuring estimator, those of the provider said to be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallFacts {
    /// Size of the request if nothing had ever been compacted: frame and log.
    pub uncompacted: u64,
    /// Tokens of the answer, by the provider's count where recorded.
    pub output: u64,
    /// Searches of the web that the provider made for it.
    pub web_searches: u64,
    /// When the request was sent, in milliseconds since the Unix epoch, where recorded.
    pub start_ms: Option<i64>,
    /// Size of the request by the provider's count.
    pub recorded_input: Option<u64>,
    /// What the provider read from its cache.
    pub recorded_read: Option<u64>,
    /// What the provider's cache still had, where the recording tells.
    #[serde(default)]
    pub held: Option<HitShare>,
    /// Size of the request as it was sent, where the recorder wrote it down.
    #[serde(default)]
    pub sent: Option<u64>,
}

/// What is known of a session as a whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionFacts {
    /// The recorder's id.
    pub id: String,
    /// Id of the format.
    pub format: String,
    /// The model of most calls, where recorded.
    pub model: Option<String>,
    /// Limits that the recording states.
    pub limits: Limits,
    /// Task or repository, where recorded: sessions of one depend on each other.
    pub cluster: Option<String>,
    /// The folder that the agent worked in, where recorded.
    #[serde(default)]
    pub folder: Option<String>,
    /// Messages as the format counts them.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// User turns.
    pub turns: usize,
    /// Compactions that the recorder made.
    pub boundaries: usize,
    /// What could not be read.
    pub warnings: usize,
    /// The first of the warnings, in words.
    pub first_warning: Option<String>,
    /// More than one call records usage up to the recorder's first own compaction.
    pub records_usage: bool,
    /// From measured tokens to those of the recording's provider, where its usage tells.
    pub scale: Option<Scale>,
    /// Its text is a small part of what was sent; see [`Thin`].
    #[serde(default)]
    pub thin: Option<Thin>,
    /// The recording begins in the middle of a conversation; see [`crate::read::calibrate::is_headless`].
    pub headless: bool,
    /// Answers whose recorded tokens can't be right, and that are counted by what they show.
    pub outputs_estimated: usize,
    /// What the recorder did to its own context.
    pub recorder: RecorderPolicy,
    /// Model calls.
    pub calls: usize,
    /// Calls that another session holds as well and that count there.
    pub copied: usize,
    /// Every call says when it was sent.
    pub timed: bool,
    /// The share of what the recorder wrote to the cache that was to live for an hour; see [`Session::hour_share`].
    pub hour: f64,
    /// When it began; see [`Session::began`].
    pub began: Option<i64>,
    /// The largest request by its provider's count.
    pub largest_request: u64,
    /// It is known what was paid for it, and what was sent for that.
    #[serde(default)]
    pub billed: bool,
}

/// What the assumptions of a comparison say of a session besides its line; kept in memory for every session.
#[derive(Clone, Debug)]
pub(crate) struct Recording {
    pub(crate) model: Option<Arc<str>>,
    pub(crate) scale: Option<Scale>,
    /// Its text is a small part of what was sent.
    pub(crate) thin: Option<Thin>,
    pub(crate) recorder: Arc<RecorderPolicy>,
    pub(crate) outputs_estimated: usize,
    pub(crate) records_usage: bool,
    pub(crate) headless: bool,
    pub(crate) timed: bool,
    /// The recording states a window.
    pub(crate) windowed: bool,
    /// The recorder asked for a cache of one hour for most of what it wrote.
    pub(crate) hour: bool,
    /// It is known what was paid for it.
    pub(crate) billed: bool,
    /// The largest request by its provider's count.
    pub(crate) largest_request: u64,
}

impl Recording {
    pub(crate) fn new(facts: SessionFacts, common: &Common) -> Self {
        Self {
            model: facts.model.map(|model| common.names.one(&model.into())),
            scale: facts.scale,
            thin: facts.thin,
            recorder: match facts.recorder == *common.no_recorder {
                true => Arc::clone(&common.no_recorder),
                false => Arc::new(facts.recorder),
            },
            outputs_estimated: facts.outputs_estimated,
            records_usage: facts.records_usage,
            headless: facts.headless,
            timed: facts.timed,
            windowed: facts.limits.context > 0,
            hour: facts.hour > 0.5,
            billed: facts.billed,
            largest_request: facts.largest_request,
        }
    }
}

/// A summary that the recorder wrote of its own context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedSummary {
    /// Number of the call that came next.
    pub call: usize,
    /// Its size by the measuring estimator; `None` if only the provider can read it.
    pub tokens: Option<u64>,
    /// Input and output tokens that writing it used, by its provider's count, where recorded.
    pub used: Option<(u64, u64)>,
}

/// A session as the laboratory keeps it when the session itself is gone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The session as a whole.
    pub session: SessionFacts,
    /// The calls.
    pub calls: Vec<CallFacts>,
    /// The recorder's own summaries.
    pub summaries: Vec<RecordedSummary>,
    /// Tokens of what is sent around the messages.
    pub frame: u64,
    /// What it cost its recorder by its usage, in dollars by regime; empty where too few calls have usage.
    pub spent: Vec<(Arc<str>, f64)>,
}

impl Facts {
    /// Reads a session. `rows` and `log` are of a replay of it, no matter under which
    /// strategy: what is taken from them is the same under all.
    pub(super) fn new(
        session: &Session,
        setup: &Setup,
        rows: &[CallRow],
        log: &RequestLog,
        held: &[Option<HitShare>],
        recorder: &RecorderPolicy,
    ) -> Self {
        let measure = &*setup.measure;
        let warning = session.warnings.first();
        let observed = crate::read::calibrate::observations(session, measure);
        let calls = calls(session, measure, rows, log, held);
        let whole = SessionFacts {
            id: session.id.clone(),
            format: session.format.to_owned(),
            model: session.model.clone(),
            limits: session.limits,
            cluster: session.cluster.clone(),
            folder: session.folder.clone(),
            messages: session.recorded_messages(),
            tool_calls: session.recorded_tool_calls(),
            turns: session.turns(),
            boundaries: session.boundaries.len(),
            warnings: session.warnings.len(),
            first_warning: warning
                .map(|warning| format!("{}: {} ({})", warning.place, warning.detail, warning.code)),
            records_usage: observed.len() > 1,
            scale: Scale::fit(&observed),
            thin: Thin::detect(&observed),
            outputs_estimated: outputs_estimated(session, log),
            headless: crate::read::calibrate::is_headless(session),
            recorder: recorder.clone(),
            calls: calls.len(),
            copied: session.copied,
            timed: !calls.is_empty() && calls.iter().all(|call| call.start_ms.is_some()),
            hour: session.hour_share(),
            began: session.began(),
            largest_request: session.largest_request(),
            billed: false,
        };
        let with_usage = calls.iter().filter(|call| call.recorded_input.is_some()).count();
        let known = with_usage > 0 && with_usage as f64 >= LEAST_SHARE * calls.len() as f64;
        Self {
            summaries: summaries(session, measure),
            frame: crate::run::drive::frame_for(session, measure).tokens(measure),
            spent: if known { setup.spent(session) } else { Vec::new() },
            session: whole,
            calls,
        }
    }
}

fn summaries(session: &Session, measure: &dyn Estimator) -> Vec<RecordedSummary> {
    let mut call = 0;
    let mut out = Vec::new();
    for message in &session.messages {
        call += usize::from(message.is_answer());
        if message.is_entry_of(EntryKind::Summary) {
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            let used = usage.filter(Usage::has_input);
            let used = used.map(|usage| (usage.input_total(), usage.output_total()));
            out.push(RecordedSummary { call, tokens: Some(measure.counts(message).total()), used });
        }
    }
    let answers = |before: usize| {
        session.messages.iter().take(before).filter(|message| message.is_answer()).count()
    };
    let sealed = session.boundaries.iter().filter(|boundary| boundary.kind == SEALED);
    out.extend(sealed.map(|boundary| RecordedSummary {
        call: answers(boundary.before),
        tokens: None,
        used: None,
    }));
    out.sort_by_key(|summary| summary.call);
    out
}

fn outputs_estimated(session: &Session, log: &RequestLog) -> usize {
    let answers = session.log().filter(|message| message.is_answer());
    let differs = |(answer, request): &(&Arc<_>, &SentRequest)| {
        recorded_output(answer).is_some_and(|recorded| recorded != request.output_tokens)
    };
    answers.zip(log.requests()).filter(differs).count()
}

fn calls(
    session: &Session,
    measure: &dyn Estimator,
    rows: &[CallRow],
    log: &RequestLog,
    held: &[Option<HitShare>],
) -> Vec<CallFacts> {
    let frame = crate::run::drive::frame_for(session, measure);
    let mut uncompacted = frame.tokens(measure);
    let mut calls = Vec::with_capacity(rows.len());
    let sent = sent(session, measure);
    for message in session.log() {
        if message.is_answer()
            && let Some(row) = rows.get(calls.len())
        {
            let request = log.requests().get(calls.len());
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            calls.push(CallFacts {
                uncompacted,
                output: request.map_or(0, |request| request.output_tokens),
                web_searches: request.map_or(0, |request| request.web_searches),
                start_ms: request.and_then(|request| request.start_ms),
                recorded_input: row.recorded_input,
                recorded_read: row.recorded_input.and(usage).map(|usage| usage.cache_read),
                held: held.get(calls.len()).copied().flatten(),
                sent: sent.get(&*message.id).copied(),
            });
        }
        uncompacted += measure.counts(message).total();
    }
    calls
}

/// Tokens of the requests that the recorder wrote down, by the id of the answer.
fn sent<'a>(session: &'a Session, measure: &dyn Estimator) -> HashMap<&'a str, u64> {
    let mut out = HashMap::with_capacity(session.sent.len());
    // By message of the latest request, the tokens up to its end.
    let mut ends: Vec<u64> = Vec::new();
    let mut frame: Option<(&Arc<Frame>, u64)> = None;
    for request in &session.sent {
        ends.truncate(request.keep);
        for message in &request.tail {
            let tokens: u64 = message.iter().map(|part| measure.counts(part).total()).sum();
            ends.push(ends.last().copied().unwrap_or(0) + tokens);
        }
        let around = match frame {
            Some((known, tokens)) if Arc::ptr_eq(known, &request.frame) => tokens,
            _ => frame.insert((&request.frame, request.frame.tokens(measure))).1,
        };
        out.insert(&*request.answer, around + ends.last().copied().unwrap_or(0));
    }
    out
}
