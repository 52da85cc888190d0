//! What a recording's usage says about an estimator: tokens per estimated token, and the overhead
//! of what the recorder sent but did not write down.

use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_stages::estimator::{Calibration, Fit, Observation, fit};

/// Estimate of the un-compacted log and recorded request size, call by call, up to the recorder's
/// first own compaction: behind it the recorder sent something else than the log.
pub fn observations(session: &Session, estimator: &dyn Estimator) -> Vec<Observation> {
    let id = estimator.id();
    let mut sum = session.frame.tokens(|text| estimator.text(text));
    let mut pairs = Vec::new();
    for (message, faithful) in with_faith(session) {
        if let (true, Some(usage)) = (message.is_answer(), usage_of(message)) {
            if !faithful {
                break;
            }
            if usage.input_total() > 0 {
                pairs.push(Observation::new(sum, usage.input_total()));
            }
        }
        sum += message.counts.get_or_count(id, || estimator.count(message)).total();
    }
    pairs
}

/// The calibration of an estimator on a whole session; the identity where nothing usable was
/// recorded. For reports: a strategy must not decide on it, since it knows the session's future.
pub fn calibrate(session: &Session, estimator: &dyn Estimator) -> Calibration {
    fit(&observations(session, estimator)).unwrap_or_default()
}

/// What the first request weighed beyond its estimate: system prompt and tools that were sent and not
/// written down. Nothing later than the first call enters.
pub fn unrecorded(session: &Session, estimator: &dyn Estimator) -> u64 {
    let id = estimator.id();
    let mut sum = session.frame.tokens(|text| estimator.text(text));
    for (message, faithful) in with_faith(session) {
        if let (true, true, Some(usage)) = (message.is_answer(), faithful, usage_of(message))
            && usage.input_total() > 0
        {
            return usage.input_total().saturating_sub(sum);
        }
        sum += message.counts.get_or_count(id, || estimator.count(message)).total();
    }
    0
}

/// A calibration that grows with the replay: it knows the calls up to now and no more.
#[derive(Clone, Debug, Default)]
pub struct Running {
    /// Estimate of the un-compacted log up to now, frame included.
    log: u64,
    fit: Fit,
}

impl Running {
    /// A calibration for a session whose recorded frame weighs so much.
    pub fn new(frame: u64) -> Self {
        Self { log: frame, ..Self::default() }
    }

    /// A message of the log was appended, of so many tokens.
    pub fn append(&mut self, tokens: u64) {
        self.log += tokens;
    }

    /// A call's usage became known; `estimate` is what [`Running::log`] was when it was sent.
    pub fn call(&mut self, estimate: u64, usage: u64) {
        if usage > 0 {
            self.fit.add(Observation::new(estimate, usage));
        }
    }

    /// Estimate of the un-compacted log up to now.
    pub fn log(&self) -> u64 {
        self.log
    }

    /// The calibration on what is known now.
    pub fn calibration(&self) -> Calibration {
        self.fit.calibration().unwrap_or_default()
    }
}

/// The log's messages, and whether what the recorder sent at that point was the whole log.
pub fn with_faith(session: &Session) -> impl Iterator<Item = (&Message, bool)> {
    let first = session.boundaries.iter().map(|boundary| boundary.before).min();
    session
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !message.is_entry())
        .map(move |(index, message)| (&**message, first.is_none_or(|first| index < first)))
}

fn usage_of(message: &Message) -> Option<foldback_core::log::Usage> {
    message.answer.as_ref()?.usage.filter(|usage| !usage.is_zero())
}
