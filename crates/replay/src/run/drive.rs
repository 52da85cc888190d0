//! Drives a conversation through a recorded session and measures every request.

use crate::judge::cost::{RequestLog, SummaryCall, call_of, start_of};
use crate::judge::measures::{Firing, Firings};
use crate::judge::request::{Probe, Request, show};
use crate::judge::reread::{Reader, Readers};
use crate::read::calibrate::{self, RecordedCache, faithful_until, unrecorded};
use crate::read::index::{Index, RepeatedRead, Tracker};
use crate::read::recorder::{Recorded, RecordedSummaries};
use crate::read::scale::Scale;
use crate::run::asked::{AskedInputs, WORDING};
use crate::run::forced::ForcedFold;
use crate::run::totals::{BrokenRule, CallRow, Fired, SessionMetrics};
use foldback_core::conversation::{Conversation, Report, Signals, StageRole};
use foldback_core::counters::Counters;
use foldback_core::delta::{Cursor, ViewDelta};
use foldback_core::log::{Message, Usage};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::provider::Model;
use foldback_core::services::{Clock as _, CountingIds, FixedClock, Services};
use foldback_core::stage::{CachePrices, Estimator, UsageReading, UsageSource};
use foldback_core::step::{Step, steps};
use foldback_core::strategy::Strategy;
use foldback_core::validity::{Dialect, Monitor, Violation};
use foldback_core::{Frame, Limits, SegmentKind};
use foldback_formats::Session;
use foldback_stages::estimator::{Fit, Observation};
use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a replay needs besides session and strategy.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Limits that the strategy decides by.
    pub limits: Limits,
    /// Largest request that the session's provider takes, whatever the strategy believes; that of `limits`
    /// where not given.
    pub ceiling: Option<u64>,
    /// Model in force.
    pub model: Option<String>,
    /// What the prompt cache costs, for strategies that decide by it.
    pub prices: Option<CachePrices>,
    /// The estimator that reports, the same for every strategy.
    pub measure: Arc<dyn Estimator>,
    /// Whether to check every dialect's rules.
    pub validate: bool,
    /// The model that stages may ask; `None` if there is none.
    pub completions: Option<Arc<dyn Model>>,
}

/// What a replay gave.
#[derive(Clone, Debug)]
pub struct Replay {
    /// One row per recorded call.
    pub rows: Vec<CallRow>,
    /// Totals.
    pub metrics: SessionMetrics,
    /// Every change of the view, where a replay reads what is in view.
    pub(crate) firings: Vec<Firing>,
    /// Every report of every stage, in order, with the number of the call that came next.
    pub reports: Vec<(usize, Report)>,
    /// The requests, for their bill.
    pub requests: RequestLog,
    /// The requests for summaries, taken or not, as they are billed: for what was asked (see [`crate::run::asked`]). Where a replay
    /// reads what is in view, what was written is with the first of those before a call.
    pub summary_calls: Vec<SummaryCall>,
    /// The conversation as the last message left it.
    pub conversation: Conversation,
    /// Its meter of the measuring estimator.
    pub meter: MeterId,
}

/// Makes the conversation that replays a session: its frame filled up with what the recorder sent
/// but did not write down, its clock standing at the first recorded time.
pub(crate) fn conversation_for(
    session: &Session,
    strategy: Arc<Strategy>,
    options: &ReplayOptions,
) -> (Conversation, Arc<FixedClock>) {
    let start = session.messages.iter().find_map(|message| message.at).unwrap_or(0);
    let clock = Arc::new(FixedClock::at(start));
    let mut services = Services::with_clock(Arc::clone(&clock) as _);
    services.model = options.completions.clone();
    if strategy.summarizer.as_ref().is_some_and(|summarizer| summarizer.id() == Recorded::ID) {
        services.extensions.insert(RecordedSummaries::read(session));
    }
    let frame = frame_for(session, &*options.measure);
    let conversation = Conversation::new(strategy, options.limits, frame, services);
    let mut conversation = conversation.with_model(options.model.clone());
    conversation.set_prices(options.prices);
    (conversation, clock)
}

/// Runs what a conversation does on this thread, on a runtime of its own. Only where a model may be
/// asked has it drivers for time and network.
///
/// # Panics
///
/// Where the system has no more of what the drivers need, such as file descriptors.
pub(crate) fn block_on<F: Future>(options: &ReplayOptions, future: F) -> F::Output {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    if options.completions.is_some() {
        builder.enable_all();
    }
    match builder.build() {
        Ok(runtime) => runtime.block_on(future),
        Err(error) => panic!("can't create a runtime for model requests: {error}"),
    }
}

/// The recorded frame, and after it what usage says was sent besides.
pub(crate) fn frame_for(session: &Session, measure: &dyn Estimator) -> Frame {
    let mut frame = session.frame.clone();
    let overhead = unrecorded(session, measure);
    if overhead > 0 {
        frame.push_tokens(SegmentKind::Unrecorded, overhead);
    }
    frame
}

/// Replays a session under a strategy.
pub fn replay(session: &Session, strategy: &Arc<Strategy>, options: &ReplayOptions) -> Replay {
    Driver::new(session, strategy, options, None).replay(&mut [])
}

/// Replays a session, read by its index, under a strategy while probes look on.
pub fn replay_with(
    session: &Session,
    index: &Arc<Index>,
    strategy: &Arc<Strategy>,
    options: &ReplayOptions,
    probes: &mut [&mut dyn Probe],
) -> Replay {
    let tracker = Tracker::new(Arc::clone(index));
    Driver::new(session, strategy, options, Some(tracker)).replay(probes)
}

/// Replays a session that is folded at given places and nowhere else.
pub(crate) fn replay_forced(
    session: &Session,
    index: &Arc<Index>,
    strategy: &Arc<Strategy>,
    options: &ReplayOptions,
    forced: &[ForcedFold],
    probes: &mut [&mut dyn Probe],
) -> Replay {
    let mut driver = Driver::new(session, strategy, options, Some(Tracker::new(Arc::clone(index))));
    driver.conversation.set_automatic(false);
    driver.forced = forced;
    driver.replay(probes)
}

/// A request in the form in which it is sent.
#[derive(Clone, Debug)]
struct Settled {
    /// Whether the provider refused it before.
    refused: bool,
    /// What changed since the request before.
    delta: ViewDelta,
}

/// Drives one replay.
#[derive(Clone)]
pub(crate) struct Driver<'s> {
    options: &'s ReplayOptions,
    /// Number of the step that comes next.
    step: usize,
    /// Its request, where the step was begun before this driver parted from another.
    settled: Option<Settled>,
    conversation: Conversation,
    clock: Arc<FixedClock>,
    ids: Arc<CountingIds>,
    asked: Arc<AskedInputs>,
    summary_calls: Vec<SummaryCall>,
    meter: MeterId,
    session: &'s Session,
    /// What the provider counts of a request, for usage after a fold: the provider counts whatever is sent.
    scale: OnceCell<Option<Scale>>,
    /// The same by the strategy's own estimator, where the recording does not tell: by the calls up to now and no more.
    own: Fit,
    /// The un-compacted log up to now by that estimator, frame included.
    log_tokens: u64,
    cache: RecordedCache,
    /// The same when the latest request was sent.
    sent_log_tokens: u64,
    /// Up to where the requests have followed the conversation.
    sent: Cursor,
    requests: RequestLog,
    pub(crate) tracker: Option<Tracker>,
    firings: Firings,
    /// Reads again what the view lacks.
    pub(crate) reader: Option<Reader>,
    /// For each of these readers another driver parts from this one, before the reader reads something.
    pub(crate) readers: Option<Readers>,
    /// The drivers that parted.
    pub(crate) parted: Vec<Self>,
    /// Folds that are still to be made, whatever the policy says, in the order of their places.
    forced: &'s [ForcedFold],
    /// Messages in the conversation that are no part of the recording.
    added: usize,
    rows: Vec<CallRow>,
    reports: Vec<(usize, Report)>,
    /// What the rows so far have counted.
    counted: Counters,
    fired: Vec<Fired>,
    /// The latest request by the strategy's own estimator: the view and as much of the frame as was
    /// recorded; the rest of the frame is in the calibration's overhead.
    request_tokens: u64,
    recorded_frame: u64,
    faithful_until: usize,
    monitor: Monitor,
    violations: BTreeSet<ViolationKey>,
    /// Violations that no row has yet.
    broken: Vec<BrokenRule>,
    inherited: BTreeSet<ViolationKey>,
    turn: usize,
}

impl<'s> Driver<'s> {
    pub(crate) fn new(
        session: &'s Session,
        strategy: &Arc<Strategy>,
        options: &'s ReplayOptions,
        tracker: Option<Tracker>,
    ) -> Self {
        let (mut conversation, clock) = conversation_for(session, Arc::clone(strategy), options);
        let meter = conversation.add_meter(Arc::clone(&options.measure));
        let recorded_frame = session.frame.tokens(&**strategy.estimator());
        // Number of log messages up to which the recorder sent its whole log.
        let faithful_until = faithful_until(session).map_or(usize::MAX, |before| {
            session.messages.iter().take(before).filter(|message| !message.is_entry()).count()
        });
        let mut driver = Self {
            options,
            step: 0,
            settled: None,
            conversation,
            clock,
            ids: Arc::default(),
            asked: Arc::new(AskedInputs::new(Arc::clone(&options.measure))),
            summary_calls: Vec::new(),
            meter,
            session,
            scale: OnceCell::new(),
            own: Fit::default(),
            log_tokens: recorded_frame,
            cache: RecordedCache::default(),
            sent_log_tokens: 0,
            sent: Cursor::default(),
            requests: RequestLog::default(),
            tracker,
            firings: Firings::default(),
            reader: None,
            readers: None,
            parted: Vec::new(),
            forced: &[],
            added: 0,
            rows: Vec::new(),
            reports: Vec::new(),
            counted: Counters::default(),
            fired: Vec::new(),
            request_tokens: 0,
            recorded_frame,
            faithful_until,
            monitor: Monitor::default(),
            violations: BTreeSet::new(),
            broken: Vec::new(),
            inherited: BTreeSet::new(),
            turn: 0,
        };
        driver.inject();
        driver
    }

    /// Gives the conversation the clock, the ids and the observer of this driver.
    fn inject(&mut self) {
        let services = self.conversation.services_mut();
        services.clock = Arc::clone(&self.clock) as _;
        services.ids = Arc::clone(&self.ids) as _;
        services.observers = vec![Arc::clone(&self.asked) as _];
    }

    /// Lets other drivers part from this one where a call misses what they read.
    fn part(&mut self, call: usize, settled: &Settled) {
        let (Some(readers), Some(tracker)) = (&mut self.readers, &self.tracker) else { return };
        for reader in readers.due(tracker, call) {
            let driver = self.copy(settled, reader);
            self.parted.push(driver);
        }
    }

    /// A driver that goes on from here by itself and reads again what the view lacks.
    fn copy(&mut self, settled: &Settled, reader: Reader) -> Self {
        let parted = std::mem::take(&mut self.parted);
        let mut tracker = self.tracker.take();
        let mut copy = Self {
            settled: Some(settled.clone()),
            tracker: tracker.as_mut().map(Tracker::without_names),
            reader: Some(reader),
            readers: None,
            clock: Arc::new(FixedClock::at(self.clock.now())),
            ids: Arc::new((*self.ids).clone()),
            asked: Arc::new(AskedInputs::new(Arc::clone(&self.options.measure))),
            ..self.clone()
        };
        copy.inject();
        (self.tracker, self.parted) = (tracker, parted);
        copy
    }

    /// Runs to the end of the session: what that gave.
    fn replay(mut self, probes: &mut [&mut dyn Probe]) -> Replay {
        block_on(self.options, self.run(probes));
        self.finish()
    }

    /// Runs to the end of the session.
    pub(crate) async fn run(&mut self, probes: &mut [&mut dyn Probe]) {
        let all = steps(self.session.log());
        while let Some(step) = all.get(self.step) {
            self.force().await;
            match *step {
                Step::Append(message) => self.append(message),
                Step::At(moment) => {
                    if moment == Moment::TurnStart {
                        self.turn += 1;
                    }
                    self.at(moment, Signals::default()).await;
                    if moment == Moment::TurnEnd {
                        self.wait(&all[self.step + 1..]).await;
                    }
                }
                Step::Call { call, answer } => {
                    let mut settled = match self.settled.take() {
                        Some(settled) => settled,
                        None => self.settle(answer).await,
                    };
                    self.part(call, &settled);
                    let start = start_of(&self.conversation, answer);
                    while let Some(read) = self.missed(call) {
                        self.send(&read.answer, start, settled, probes);
                        self.read(&read).await;
                        settled = self.settle(answer).await;
                    }
                    self.send(answer, start, settled, probes);
                }
                Step::StepEnd { answer } => {
                    let usage = Some(self.usage(answer));
                    self.at(Moment::StepEnd, Signals { usage, instructions: None }).await;
                }
            }
            self.step += 1;
        }
        self.force().await;
        self.check();
        let (detections, pruned) = self.counted_since();
        if let Some(last) = self.rows.last_mut() {
            last.broken.append(&mut self.broken);
            last.overflow_detections += detections;
            last.tokens_pruned += pruned;
        }
        let delta = self.follow();
        self.show(probes, self.rows.len(), None, &delta);
    }

    /// The agent waits for its user: the idle moment, if it comes before the next message. Nobody knows that a session is over, so it
    /// comes behind the last answer, too.
    async fn wait(&mut self, next: &[Step<'_>]) {
        let message = next.iter().find_map(|step| match step {
            Step::Append(message) => Some(message),
            _ => None,
        });
        let until = message.map(|message| message.at);
        let due = self.conversation.idle_at();
        if let Some(due) = due.filter(|due| until.is_none_or(|at| at.is_some_and(|at| at > *due))) {
            self.clock.advance(due);
            self.at(Moment::Idle, Signals::default()).await;
        }
    }

    /// Makes the folds whose place is reached.
    async fn force(&mut self) {
        while let Some(((after, recorded), rest)) = self.forced.split_first() {
            if *after > self.recorded_len() {
                break;
            }
            self.forced = rest;
            match recorded {
                Some(view) => {
                    let report = view.apply(&mut self.conversation);
                    self.note(report.into_iter().collect());
                }
                None => self.at(Moment::Manual, Signals::default()).await,
            }
        }
    }

    /// What changed since this was last asked.
    fn follow(&mut self) -> ViewDelta {
        let delta = self.conversation.delta(&mut self.sent);
        if let Some(tracker) = &mut self.tracker {
            tracker.update(&self.conversation, &delta, self.rows.len());
        }
        delta
    }

    /// Shows probes the latest request, or the end of the session.
    fn show(
        &mut self,
        probes: &mut [&mut dyn Probe],
        call: usize,
        answer: Option<&Message>,
        delta: &ViewDelta,
    ) {
        let Some(tracker) = &self.tracker else { return };
        let (conversation, meter) = (&self.conversation, self.conversation.meter(self.meter));
        let written = &self.firings.look(call, conversation, meter, delta);
        show(probes, &Request { call, answer, conversation, meter, delta, tracker, written });
    }

    /// What a call misses and has read again next.
    fn missed(&mut self, call: usize) -> Option<Arc<RepeatedRead>> {
        self.reader.as_mut()?.next(self.tracker.as_ref()?, self.conversation.view(), call)
    }

    /// The answer to the latest request asks for something to be read again, and gets it.
    async fn read(&mut self, read: &Arc<RepeatedRead>) {
        let answer = self.conversation.append(Arc::clone(&read.answer));
        let result = self.conversation.append(Arc::clone(&read.result));
        self.added += 2;
        if let (Some(reader), Some(tracker)) = (&mut self.reader, &mut self.tracker) {
            reader.placed(read, result);
            tracker.place_read(read, answer, result);
        }
        self.at(Moment::ToolResult, Signals::default()).await;
        let usage = Some(self.usage(&read.answer));
        self.at(Moment::StepEnd, Signals { usage, instructions: None }).await;
        self.at(Moment::CallStart, Signals::default()).await;
    }

    fn append(&mut self, message: &Arc<Message>) {
        if let Some(time) = message.at {
            self.clock.advance(time);
        }
        let pos = self.conversation.append(Arc::clone(message));
        self.log_tokens += self.conversation.meter(MeterId::OWN).appended(pos);
    }

    async fn at(&mut self, moment: Moment, signals: Signals) {
        let (before, call) = (self.measured(), self.rows.len());
        let reports = self.conversation.at(moment, signals).await;
        let shares_prefix = self.conversation.strategy().shares_prefix;
        let sent = self.requests.requests().last().and_then(|request| request.start_ms);
        let idle_ms = sent.filter(|_| moment == Moment::Idle);
        let idle_ms = idle_ms.map(|sent| self.clock.now().saturating_sub(sent));
        let asked = self.asked.take().into_iter().map(|tokens| {
            let (input_tokens, shared_tokens) = match shares_prefix {
                // The request before, with what came since and the wording.
                true => {
                    let sent = self.rows.last().map_or(0, |row| row.input_tokens);
                    (before + WORDING, sent.min(before))
                }
                false => (tokens, 0),
            };
            SummaryCall { call, input_tokens, shared_tokens, output_tokens: 0, idle_ms }
        });
        self.summary_calls.extend(asked);
        self.note(reports);
    }

    fn note(&mut self, reports: Vec<Report>) {
        let call = self.rows.len();
        for report in &reports {
            if report.fold.is_some() {
                self.fired.push(Fired {
                    call,
                    moment: report.moment,
                    stage: report.stage.clone(),
                    role: report.role,
                });
            }
        }
        self.reports.extend(reports.into_iter().map(|report| (call, report)));
    }

    /// The provider refuses the request. Whether only pruners did anything about it.
    async fn refused(&mut self) -> bool {
        let before = self.reports.len();
        self.at(Moment::ProviderOverflow, Signals::default()).await;
        let changed = self.reports[before..].iter().map(|(_, report)| report);
        let mut changed = changed.filter(|report| report.outcome.changed()).peekable();
        changed.peek().is_some() && changed.all(|report| report.role == StageRole::Pruner)
    }

    /// The largest request that the provider takes.
    fn ceiling(&self) -> Option<u64> {
        self.options.ceiling.or(self.options.limits.request_ceiling())
    }

    /// Brings a request into the form in which it is sent.
    async fn settle(&mut self, answer: &Arc<Message>) -> Settled {
        if let Some(started) = answer.answer.as_ref().and_then(|answer| answer.started) {
            self.clock.advance(started);
        }
        let too_long =
            |drive: &Self| drive.ceiling().is_some_and(|ceiling| drive.measured() > ceiling);
        let refused = too_long(self);
        // What pruners leave may be refused again; then the policy is asked once more.
        if refused && self.refused().await && too_long(self) {
            self.refused().await;
        }
        Settled { refused, delta: self.follow() }
    }

    /// Sends a request.
    fn send(
        &mut self,
        answer: &Arc<Message>,
        start: Option<i64>,
        settled: Settled,
        probes: &mut [&mut dyn Probe],
    ) {
        self.check();
        let Settled { refused, delta } = settled;
        let ceiling = self.ceiling();
        let input = self.measured();
        let frame = self.conversation.meter(self.meter).frame_tokens();
        let before = self.requests.requests().last().map(|request| request.input_tokens);
        let call = call_of(start, &*self.options.measure, answer);
        self.requests.send(&self.conversation, &delta, self.meter, call);
        let cached = self.requests.requests().last().map_or(0, |request| request.kept_tokens);
        let decision_tokens = self.conversation.tokens();
        self.sent_log_tokens = self.log_tokens;
        self.request_tokens =
            self.recorded_frame + self.conversation.meter(MeterId::OWN).view_tokens();
        let recorded = answer.answer.as_ref().and_then(|answer| answer.usage);
        let call = self.rows.len();
        let (overflow_detections, tokens_pruned) = self.counted_since();
        self.rows.push(CallRow {
            call,
            turn: self.turn,
            messages: self.conversation.view().places().len(),
            input_tokens: input,
            decision_tokens,
            recorded_input: recorded.map(|usage| usage.input_total()).filter(|total| *total > 0),
            cache_read: cached,
            churn: before.map_or(0, |before| before.min(input).saturating_sub(cached)),
            ceiling,
            overflow: refused,
            excess: ceiling.map_or(0, |ceiling| input.saturating_sub(ceiling)),
            unfittable: ceiling.is_some_and(|ceiling| frame > ceiling),
            fired: std::mem::take(&mut self.fired),
            recorder_compacted: self.recorded_len() >= self.faithful_until,
            broken: std::mem::take(&mut self.broken),
            overflow_detections,
            tokens_pruned,
            ..CallRow::default()
        });
        self.show(probes, call, Some(answer), &delta);
    }

    /// Messages of the recording so far.
    fn recorded_len(&self) -> usize {
        self.conversation.history().log_len() - self.added
    }

    /// Overflow detections and pruned tokens since this was last asked.
    fn counted_since(&mut self) -> (u64, u64) {
        let now = *self.conversation.counters();
        let before = std::mem::replace(&mut self.counted, now);
        (
            now.overflow_detections - before.overflow_detections,
            now.tokens_pruned - before.tokens_pruned,
        )
    }

    fn measured(&self) -> u64 {
        let meter = self.conversation.meter(self.meter);
        meter.frame_tokens() + meter.view_tokens()
    }

    /// The usage that the strategy decides on: the recorded one while its view is what the recorder
    /// sent, else what the recording's provider would have counted of the view, by class, with the recorded output.
    fn usage(&mut self, answer: &Message) -> UsageReading {
        let recorded = answer.answer.as_ref().and_then(|answer| answer.usage);
        let behind_boundary = self.recorded_len() > self.faithful_until;
        let counted = recorded.filter(Usage::has_input);
        self.cache.look(counted);
        if let (Some(usage), false) = (counted, behind_boundary) {
            self.own.add(Observation::new(self.sent_log_tokens, usage.input_total()));
        }
        let folded = self.conversation.view().is_folded() || self.added > 0;
        if let (Some(usage), false, false) = (counted, folded, behind_boundary) {
            return UsageReading { usage, source: UsageSource::Recorded };
        }
        let output = match recorded.map_or(0, |usage| usage.output_total()) {
            0 => self.conversation.meter(self.meter).measure(answer),
            told => told,
        };
        let scale = self.scale.get_or_init(|| {
            Scale::fit(&calibrate::observations(self.session, &*self.options.measure))
        });
        let (sent, same) =
            self.rows.last().map_or((0, 0), |row| (row.input_tokens, row.cache_read));
        let input = match scale {
            Some(scale) => scale.request(sent),
            None => self.own.calibration().unwrap_or_default().request(self.request_tokens),
        };
        let usage = Usage { output, ..self.cache.divide(input, same, sent) };
        UsageReading { usage, source: UsageSource::Synthesised }
    }

    /// Checks the view against the providers' rules. The recording may break some by itself; only
    /// what the un-compacted history does not break counts against the strategy. A replay with a reader is not checked: the replay that
    /// it parted from is.
    fn check(&mut self) {
        if !self.options.validate || self.reader.is_some() {
            return;
        }
        let findings = self.monitor.check(&self.conversation);
        for violation in &findings.caused {
            if self.violations.insert(key(violation)) {
                self.broken.push(violation.into());
            }
        }
        self.inherited.extend(findings.inherited.iter().map(key));
    }

    pub(crate) fn finish(mut self) -> Replay {
        let firings = self.firings.finish();
        for firing in firings.iter().filter(|firing| firing.summaries > 0) {
            let at = self.summary_calls.partition_point(|asked| asked.call < firing.call);
            let asked = self.summary_calls.get_mut(at).filter(|asked| asked.call == firing.call);
            if let Some(asked) = asked {
                asked.output_tokens = firing.summary_tokens;
            }
        }
        let metrics = SessionMetrics::new(
            &self.rows,
            *self.conversation.counters(),
            self.violations.len() as u64,
            self.inherited.len() as u64,
        );
        Replay {
            rows: self.rows,
            metrics,
            firings,
            reports: self.reports,
            requests: self.requests,
            summary_calls: self.summary_calls,
            conversation: self.conversation,
            meter: self.meter,
        }
    }
}

/// What makes a violation the same one at every call.
fn key(violation: &Violation) -> ViolationKey {
    (violation.dialect, violation.rule, violation.message.clone(), violation.call.clone())
}

type ViolationKey = (Dialect, &'static str, String, Option<String>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::{call, options, session, strategy};
    use crate::replay;
    use foldback_core::Limits;
    use foldback_core::config::Share;
    use foldback_core::log::{Answer, Role};
    use foldback_stages::estimator::{Rounding, Unit, chars};
    use std::num::NonZeroU64;

    /// A prompt and so many calls with results of `chars` characters, a minute apart.
    fn calls(number: usize, chars: usize) -> Vec<Message> {
        let mut messages = vec![Message::user("u", "Read it all")];
        for number in 0..number {
            let arguments = serde_json::json!({ "path": format!("{number}.rs") });
            messages.extend(call(
                number,
                "read",
                arguments,
                &"a line that is read\n".repeat(chars / 20),
            ));
        }
        for (minute, message) in messages.iter_mut().enumerate() {
            message.at = Some(60_000 * minute as i64);
            if message.role == Role::Assistant {
                message.answer = Some(Answer::default());
            }
        }
        messages
    }

    fn folds(name: &str, messages: Vec<Message>, limits: Limits) -> usize {
        let measure = Arc::new(chars(Unit::Utf16, Rounding::Ceil));
        let done = replay(&session(messages), &Arc::new(strategy(name)), &options(limits, measure));
        done.reports.iter().filter(|(_, report)| report.fold.is_some()).count()
    }

    /// As a virtual machine's clock that is set anew does: what comes after is not after a pause.
    #[test]
    fn a_clock_that_runs_backwards_stands_still() {
        const HOUR: i64 = 3_600_000;
        let limits = Limits::new(100_000, 8_000);
        let ordered = calls(28, 10_000);
        let answer = ordered.len() - 4;
        assert_eq!(ordered[answer].role, Role::Assistant);
        let mut skewed = ordered.clone();
        skewed[answer].at = skewed[answer].at.map(|at| at - 2 * HOUR);
        let mut paused = ordered.clone();
        for message in &mut paused[answer + 1..] {
            message.at = message.at.map(|at| at + 2 * HOUR);
        }
        let folds = [ordered, skewed, paused].map(|messages| folds("indexed", messages, limits));
        assert_eq!(folds, [0, 0, 1]);
    }

    /// The idle moment comes behind each answer that ends a turn, if the pause is long enough; nobody knows that a session is over.
    #[test]
    fn idle_moments_are_those_of_the_recorded_pauses() {
        // Seconds until the user speaks again; the lifetime of the cache, if set; calls before which an idle moment came.
        let rows: [(i64, Option<u64>, &[usize]); 5] = [
            (240, None, &[6]),
            (241, None, &[3, 6]),
            (100_000, None, &[3, 6]),
            (241, Some(3_600), &[6]),
            (2_881, Some(3_600), &[3, 6]),
        ];
        for (pause, lifetime, expected) in rows {
            let mut messages = Vec::new();
            for turn in 0..2 {
                let mut more = calls(2, 10_000);
                more.push(Message::assistant("done", vec![]).with_answer(Answer::default()));
                for message in &mut more {
                    message.id = format!("{turn}-{}", message.id);
                    message.at =
                        message.at.or(Some(240_000)).map(|at| at + turn * (240 + pause) * 1_000);
                }
                messages.extend(more);
            }
            let mut idle = strategy("codex");
            idle.idle.from = Share::try_from(0.01).unwrap();
            idle.idle.lifetime = lifetime.and_then(NonZeroU64::new);
            let replayed = |listed: bool| {
                let mut strategy = idle.clone();
                let policy = strategy.overflow.as_mut().unwrap();
                policy.when.extend(listed.then_some(Moment::Idle));
                let options = options(Limits::new(100_000, 1_000), Arc::clone(idle.estimator()));
                replay(&session(messages.clone()), &Arc::new(strategy), &options)
            };
            let at_idle = |done: &Replay| -> Vec<usize> {
                let idle = done.reports.iter().filter(|(_, report)| report.moment == Moment::Idle);
                idle.map(|(call, _)| *call).collect()
            };
            let listed = replayed(true);
            assert_eq!(at_idle(&listed), expected, "{pause} s");
            assert!(at_idle(&replayed(false)).is_empty(), "{pause} s");
            let asked: Vec<_> =
                listed.summary_calls.iter().map(|asked| (asked.call, asked.idle_ms)).collect();
            let wait = lifetime.unwrap_or(300) as i64 * 800;
            let expected: Vec<_> = expected.iter().map(|call| (*call, Some(wait))).collect();
            assert_eq!(asked, expected, "{pause} s");
        }
    }

    /// Gateways count the output alone, or nothing: the size of a request is then estimated.
    #[test]
    fn a_usage_without_input_measures_no_request() {
        let limits = Limits::new(60_000, 8_000);
        let with = |usage: Option<Usage>| {
            let mut messages = calls(30, 10_000);
            for answer in messages.iter_mut().filter_map(|message| message.answer.as_mut()) {
                answer.usage = usage;
            }
            messages
        };
        for name in ["claude-code", "opencode-1.18", "pi"] {
            let usages =
                [None, Some(Usage::default()), Some(Usage { output: 40, ..Usage::default() })];
            let folds = usages.map(|usage| folds(name, with(usage), limits));
            assert!(
                folds[0] > 0 && folds.iter().all(|each| *each == folds[0]),
                "{name}: {folds:?}"
            );
        }
    }
}
