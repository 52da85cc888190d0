//! What a recording's usage says about an estimator: tokens per estimated token, and the overhead
//! of what the recorder sent but did not record.

use crate::number::{grouped, share};
use crate::read::recorder::drops;
use foldback_core::frame::Segment;
use foldback_core::log::{Message, Usage};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_stages::estimator::Observation;
use serde::{Deserialize, Serialize};

/// Estimate of the un-compacted log and recorded request size, call by call, up to the recorder's
/// first own compaction, marked or told by a fall of its input: after it the recorder sent something else than the log.
pub fn observations(session: &Session, estimator: &dyn Estimator) -> Vec<Observation> {
    let mut sum = session.frame.tokens(estimator);
    let mut pairs = Vec::new();
    for (message, faithful) in with_faith(session) {
        if let Some(sent) = sent(message) {
            if !faithful {
                break;
            }
            pairs.push(Observation::new(sum, sent));
        }
        sum += estimator.counts(message).total();
    }
    // An agent behind a proxy that folds marks nothing.
    let sizes: Vec<_> = pairs.iter().map(|pair| pair.usage).enumerate().collect();
    pairs.truncate(drops(&sizes).first().copied().unwrap_or(pairs.len()));
    pairs
}

/// Text that a recording lacks: redacted or left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thin {
    /// Tokens of the text up to the largest request.
    pub text: u64,
    /// Tokens of that request, by its provider's count.
    pub recorded: u64,
}

/// Recorded tokens by which requests must have grown to say anything of what is missing.
const LEAST_GROWTH: u64 = 20_000;

/// How many times as much as its text the requests of a whole recording grow at most.
const MOST_GROWTH: u64 = 4;

impl Thin {
    /// Whether the requests of a session grew by far more than its text did; see [`observations`].
    pub fn detect(calls: &[Observation]) -> Option<Self> {
        let (first, largest) = (calls.first()?, calls.iter().max_by_key(|call| call.usage)?);
        let recorded = largest.usage.saturating_sub(first.usage);
        let text = largest.estimate.saturating_sub(first.estimate);
        let thin = recorded >= LEAST_GROWTH && text.saturating_mul(MOST_GROWTH) < recorded;
        thin.then_some(Self { text: largest.estimate, recorded: largest.usage })
    }

    /// What it means, for a session.
    pub fn told(self) -> String {
        format!(
            "{} tokens of text stand for {} recorded: results were redacted or left out, and what a strategy keeps of them says \
             nothing",
            grouped(self.text),
            grouped(self.recorded)
        )
    }
}

/// What the first request weighed beyond its estimate: system prompt and tools that were sent and not
/// written down. Nothing later than the first call enters, but where a [headless] recording lost its
/// beginning; there it is the least that a request behind a compaction of the recorder leaves unexplained, and
/// nothing if there is none. Where foldback left messages out of the file, it is what the file says, until a request
/// after that says better.
///
/// [headless]: is_headless
pub fn unrecorded(session: &Session, estimator: &dyn Estimator) -> u64 {
    let count = |message: &Message| estimator.counts(message).total();
    let frame = session.frame.tokens(estimator);
    let mut sum = frame;
    if !is_headless(session) {
        for (message, faithful) in with_faith(session) {
            if let (true, Some(sent)) = (faithful, sent(message)) {
                return sent.saturating_sub(sum);
            }
            sum += count(message);
        }
        return 0;
    }
    let until = session.folded.map_or(0, |folded| folded.until);
    let mut least = None;
    let mut behind = session.folded.is_some();
    for (index, message) in session.messages.iter().enumerate() {
        if session.boundaries.iter().any(|boundary| boundary.before == index) {
            (sum, behind) = (frame, true);
        }
        if let (true, Some(sent)) = (behind && index >= until, sent(message)) {
            least = Some(least.unwrap_or(u64::MAX).min(sent.saturating_sub(sum)));
        }
        sum += count(message);
    }
    least.unwrap_or(session.folded.map_or(0, |folded| folded.unrecorded))
}

/// Input of the request that a message answers, as the provider counted it.
fn sent(message: &Message) -> Option<u64> {
    let usage = message.answer.as_ref()?.usage.filter(|_| message.is_answer())?;
    usage.has_input().then(|| usage.input_total())
}

/// Bytes that a token has at least, in the mean over a prompt.
const LEAST_BYTES: u64 = 2;

/// Whether a recording begins in the middle of a conversation: it or foldback's note in it says so, or a later request was
/// smaller than what the first held besides its messages. What was lost looks like a system prompt that
/// nothing can clear, so no size of it is taken from usage.
pub(crate) fn is_headless(session: &Session) -> bool {
    if session.begins_midway() || session.folded.is_some() {
        return true;
    }
    let size = |segment: &Segment| segment.tokens.unwrap_or(segment.text.len() as u64);
    let mut bytes: u64 = session.frame.segments().iter().map(size).sum();
    let mut requests = Vec::new();
    for message in session.messages.iter().filter(|message| !message.is_entry()) {
        match sent(message) {
            Some(sent) => requests.push(sent),
            None if requests.is_empty() => {
                let parts = message.parts.iter().map(|part| part.shown().len() as u64);
                bytes += parts.sum::<u64>();
            }
            None => {}
        }
    }
    let Some((first, later)) = requests.split_first() else { return false };
    let besides = first.saturating_sub(bytes / LEAST_BYTES);
    later.iter().any(|later| *later < besides)
}

/// What the recorded usage told of the provider's cache so far. Some strategies do not count every class of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RecordedCache {
    reads: bool,
    /// The last tokens that were written, and those of them that the cache keeps for an hour.
    written: Option<(u64, u64)>,
}

impl RecordedCache {
    /// Takes note of what a recorded request was counted as.
    pub(crate) fn look(&mut self, usage: Option<Usage>) {
        self.reads |= usage.is_some_and(|usage| usage.cache_read > 0);
        let written = usage.filter(|usage| usage.cache_write > 0);
        self.written =
            written.map(|usage| (usage.cache_write, usage.cache_write_1h)).or(self.written);
    }

    /// A request of so many tokens by class. `same` of the `sent` tokens of another estimator are as in the request before.
    pub(crate) fn divide(self, input: u64, same: u64, sent: u64) -> Usage {
        let cache_read = if self.reads { share(input, same, sent) } else { 0 };
        let rest = input - cache_read;
        match self.written {
            Some((all, hour)) => Usage {
                cache_read,
                cache_write: rest,
                cache_write_1h: share(rest, hour, all),
                ..Usage::default()
            },
            None => Usage { cache_read, uncached: rest, ..Usage::default() },
        }
    }
}

/// The log's messages, and whether what the recorder sent at that point was the whole log.
pub(crate) fn with_faith(session: &Session) -> impl Iterator<Item = (&Message, bool)> {
    let until = faithful_until(session);
    session
        .messages
        .iter()
        .enumerate()
        .filter(|(_, message)| !message.is_entry())
        .map(move |(index, message)| (&**message, until.is_none_or(|until| index < until)))
}

/// Index of the first message before which the recorder sent something else than the log: after its first
/// own compaction, and from the start on where the beginning is lost.
pub(crate) fn faithful_until(session: &Session) -> Option<usize> {
    let compacted = session.boundaries.iter().map(|boundary| boundary.before).min();
    if is_headless(session) { Some(0) } else { compacted }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::EntryKind;
    use foldback_core::log::{Answer, Usage};
    use foldback_formats::session::Warning;
    use foldback_stages::estimator::CharsConfig;

    fn answer(id: &str, input: u64) -> Message {
        let usage = Usage { uncached: input, ..Usage::default() };
        Message::assistant(id, vec![foldback_core::Part::text("x".repeat(400))])
            .with_answer(Answer { usage: Some(usage), ..Answer::default() })
    }

    fn session(messages: Vec<Message>, boundary: Option<usize>, midway: bool) -> Session {
        let mut session = crate::acted::session(messages);
        session.boundaries.extend(boundary.map(|before| crate::acted::boundary(before, "summary")));
        session.warnings.extend(midway.then(|| Warning {
            code: "begins-midway".to_owned(),
            place: "line 1".to_owned(),
            detail: String::new(),
        }));
        session
    }

    #[test]
    fn a_request_by_class() {
        let usage = |uncached, cache_read, cache_write| Usage {
            uncached,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        let hour = |usage: Usage, tokens| Usage { cache_write_1h: tokens, ..usage };
        let table = [
            ("nothing is recorded", None, usage(900, 0, 0)),
            ("no cache", Some(usage(50, 0, 0)), usage(900, 0, 0)),
            ("reads alone, as OpenAI tells them", Some(usage(50, 10, 0)), usage(300, 600, 0)),
            ("reads and writes, as Anthropic does", Some(usage(5, 10, 40)), usage(0, 600, 300)),
            (
                "a half of what is written stays for an hour",
                Some(hour(usage(5, 10, 40), 20)),
                hour(usage(0, 600, 300), 150),
            ),
        ];
        for (name, recorded, expected) in table {
            let mut cache = RecordedCache::default();
            cache.look(recorded);
            // Of 60 tokens 40 are as before.
            assert_eq!(cache.divide(900, 40, 60), expected, "{name}");
            assert_eq!(cache.divide(900, 0, 0).input_total(), 900, "{name}");
        }
    }

    #[test]
    fn a_lost_beginning_is_no_system_prompt() {
        let user = |id: &str| Message::user(id, "y".repeat(400));
        let summary = |id: &str| Message::user(id, "z".repeat(400)).as_entry(EntryKind::Summary);
        let chars = CharsConfig::default().estimator().unwrap();
        let table = [
            (
                "whole",
                vec![user("u"), answer("a", 15_100), answer("b", 15_200)],
                None,
                false,
                false,
                15_000,
            ),
            (
                "compacted later",
                vec![
                    user("u"),
                    answer("a", 15_100),
                    answer("b", 150_000),
                    summary("s"),
                    answer("c", 15_300),
                ],
                Some(3),
                false,
                false,
                15_000,
            ),
            (
                "a later request is smaller than the first's frame would be",
                vec![user("u"), answer("a", 136_163), summary("s"), answer("b", 49_803)],
                Some(2),
                false,
                true,
                49_703,
            ),
            (
                "its first line follows one that is not there",
                vec![user("u"), answer("a", 40_000)],
                None,
                true,
                true,
                0,
            ),
        ];
        for (name, messages, boundary, midway, headless, frame) in table {
            let session = session(messages, boundary, midway);
            assert_eq!(is_headless(&session), headless, "{name}");
            assert_eq!(unrecorded(&session, &chars), frame, "{name}");
            assert_eq!(observations(&session, &chars).is_empty(), headless, "{name}");
        }
    }

    #[test]
    fn what_a_recorder_sent_is_its_log_up_to_a_fall() {
        let chars = CharsConfig::default().estimator().unwrap();
        let table: [(&str, &[u64], usize); 4] = [
            ("growth", &[5_000, 20_000, 30_000], 3),
            ("a fall", &[5_000, 20_000, 30_000, 9_000, 12_000], 3),
            ("too small a fall", &[5_000, 20_000, 30_000, 25_000, 28_000], 5),
            ("a side call", &[5_000, 20_000, 30_000, 9_000, 31_000], 5),
        ];
        for (name, sizes, calls) in table {
            let user = Message::user("u", "y".repeat(400));
            let answers = sizes.iter().map(|size| answer(&format!("a{size}"), *size));
            let session = session(std::iter::once(user).chain(answers).collect(), None, false);
            assert_eq!(observations(&session, &chars).len(), calls, "{name}");
        }
    }
}
