//! What a recording's usage says about an estimator: tokens per estimated token, and the overhead
//! of what the recorder sent but did not write down.

use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_stages::estimator::{Calibration, Observation, fit};

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
        sum += message
            .counts
            .get_or_count(id, || estimator.count(message))
            .total();
    }
    pairs
}

/// The calibration of an estimator on a session; the identity where nothing usable was recorded.
pub fn calibrate(session: &Session, estimator: &dyn Estimator) -> Calibration {
    fit(&observations(session, estimator)).unwrap_or_default()
}

/// The log's messages, and whether what the recorder sent at that point was the whole log.
pub fn with_faith(session: &Session) -> impl Iterator<Item = (&Message, bool)> {
    let first = session
        .boundaries
        .iter()
        .map(|boundary| boundary.before)
        .min();
    session
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !message.is_entry())
        .map(move |(index, message)| (&**message, first.is_none_or(|first| index < first)))
}

fn usage_of(message: &Message) -> Option<foldback_core::log::Usage> {
    message
        .answer
        .as_ref()?
        .usage
        .filter(|usage| !usage.is_zero())
}
