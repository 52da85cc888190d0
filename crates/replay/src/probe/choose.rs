//! Chooses among all questions that could be asked of a session.

use super::candidate::Candidate;
use super::score::{plain, stands_in};
use super::{AGES, Kind, LEAST, MOST, Moment, Place, Question, facts, gaps, hash};
use crate::read::identifiers::same_path;
use crate::read::index::text::text_of;
use foldback_core::log::Message;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// At most so many questions about what was before a moment.
pub fn questions(moment: &Moment, most: usize) -> Vec<Question> {
    let log = moment.log();
    let log = Log::new(log, moment.call());
    let mut found = facts::facts(moment.index(), log.messages);
    found.extend(gaps::gaps(moment.index(), log.messages));
    let mut strata: BTreeMap<Kind, BTreeMap<usize, Vec<Candidate>>> = BTreeMap::new();
    for candidate in found {
        let age = log.age(candidate.at.0);
        let band = AGES.iter().take_while(|end| age > **end).count();
        strata.entry(candidate.question.kind).or_default().entry(band).or_default().push(candidate);
    }
    // By a hash, so that no place of a log is favored.
    let in_turn = |list: &mut Vec<Candidate>| -> VecDeque<Candidate> {
        list.sort_by_cached_key(|Candidate { question, .. }| {
            *hash(&question.text, &question.expected).as_bytes()
        });
        std::mem::take(list).into()
    };
    let mut kinds: Vec<Vec<VecDeque<Candidate>>> = strata
        .into_values()
        // Oldest first.
        .map(|mut bands| bands.values_mut().rev().map(in_turn).collect())
        .collect();
    let (mut asked, mut round) = (Vec::new(), 0);
    // Each answer is asked for once.
    let mut expected = BTreeSet::new();
    while asked.len() < most && kinds.iter().flatten().any(|band| !band.is_empty()) {
        for (number, bands) in kinds.iter_mut().enumerate() {
            let first = (round + number) % bands.len();
            let (before, from) = bands.split_at_mut(first);
            let mut left = from.iter_mut().chain(before).filter(|band| !band.is_empty());
            let Some(band) = left.next() else { continue };
            while let Some(candidate) = band.pop_front() {
                let question = log.question(candidate);
                if let Some(question) = question.filter(|one| expected.insert(one.expected.clone()))
                {
                    asked.push(question);
                    break;
                }
            }
        }
        round += 1;
    }
    asked.truncate(most);
    asked
}

/// What was before the questions.
pub(super) struct Log<'m> {
    messages: &'m [Arc<Message>],
    /// By message, its text as answers are looked for in it.
    texts: Vec<String>,
    /// By message, how many calls were answered up to it.
    answered: Vec<usize>,
    calls: usize,
}

impl<'m> Log<'m> {
    pub(super) fn new(messages: &'m [Arc<Message>], calls: usize) -> Self {
        let text = |message: &Arc<Message>| -> String {
            let parts = message.parts.iter().map(|part| text_of(part, &mut |_| ()));
            parts.flat_map(|text| [text, "\n".into()]).collect()
        };
        let mut count = 0;
        let answered = messages.iter().map(|message| {
            count += usize::from(message.is_answer());
            count
        });
        let answered = answered.collect();
        Self { messages, texts: messages.iter().map(text).collect(), answered, calls }
    }

    /// Calls since a string was last there.
    pub(super) fn last(&self, string: &str) -> Option<usize> {
        let at = self.texts.iter().rposition(|text| stands_in(text, string))?;
        Some(self.age(at))
    }

    /// Calls since a message.
    fn age(&self, ordinal: usize) -> usize {
        let answered = self.answered.get(ordinal).copied().unwrap_or(0);
        self.calls.saturating_sub(answered) + 1
    }

    /// The question, unless the log has another answer or too few that are like it.
    fn question(&self, candidate: Candidate) -> Option<Question> {
        if candidate.around.as_ref().is_some_and(|around| self.has_another(around, &candidate)) {
            return None;
        }
        // Questions that contain their answer, and answers of several lines, are skipped.
        let Question { text, expected, .. } = &candidate.question;
        let one_line = expected.trim() == expected && !expected.contains(['\n', '\r']);
        if !one_line || plain(expected).is_empty() || text.contains(expected) {
            return None;
        }
        let distractors = distractors(&candidate);
        if distractors.len() < LEAST {
            return None;
        }
        let Candidate { question, at, .. } = candidate;
        let age = self.last(&question.expected).or(Some(self.age(at.0)));
        let place = Some(Place { message: self.messages[at.0].id.clone(), part: at.1 });
        Some(Question { age, distractors, place, ..question })
    }

    /// Whether a line of the log has something else in the gap.
    fn has_another(&self, (before, behind): &(String, String), candidate: &Candidate) -> bool {
        let mut lines = self.texts.iter().flat_map(|text| text.lines());
        lines.any(|line| {
            let rest = line.trim().strip_prefix(before.as_str());
            let inner = rest.and_then(|rest| rest.strip_suffix(behind.as_str()));
            inner.is_some_and(|inner| inner != candidate.question.expected)
        })
    }
}

/// Those of the pool that are most like the answer by their length; which of several alike, a hash decides.
fn distractors(candidate: &Candidate) -> Vec<String> {
    let question = &candidate.question;
    let expected = plain(&question.expected);
    let length = expected.chars().count();
    let mut seen = BTreeSet::new();
    let mut pool: Vec<&String> = candidate
        .pool
        .iter()
        .filter(|one| {
            let other = plain(one);
            let alike = other.contains(&expected)
                || expected.contains(&other)
                || (question.path && same_path(&other, &expected));
            !alike && !stands_in(&question.text, one) && seen.insert(other)
        })
        .collect();
    pool.sort_by_cached_key(|one| {
        (one.chars().count().abs_diff(length), *hash(&question.text, one).as_bytes())
    });
    pool.into_iter().take(MOST).cloned().collect()
}
