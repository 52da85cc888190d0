//! A comparison, and what is read from it.

use super::contrast::Contrast;
use super::line::PresetLine;
use super::outcomes::Outcomes;
use super::provenance::Provenance;
use super::redact;
use super::saving::Base;
use super::sessions::CorpusSummary;
use super::table::{self, Reporting};
use crate::fault::FailedReplay;
use crate::outcomes::OutcomeRow;
use crate::read::corpus::{ContentHash, Corpus};
use crate::rows::store::Store;
use crate::rows::study::{Bill, Facts, Keys, Record, Score};
use crate::run::walk::{Detail, Walk};
use foldback_formats::Session;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A comparison.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The inputs and the program behind it.
    pub provenance: Provenance,
    /// What was compared.
    pub corpus: CorpusSummary,
    /// Prices, seed and primary metric.
    pub reporting: Reporting,
    /// Assumptions behind the numbers, one sentence each.
    pub assumptions: Vec<String>,
    /// Reasons to doubt the comparison, one sentence each.
    pub cautions: Vec<String>,
    /// Replays that failed; all else is said of the others.
    pub failed: Vec<FailedReplay>,
    /// The prices in short; the assumptions have the full text.
    pub prices: String,
    /// Bills are compared with what was missed read again: it is known of every strategy.
    pub netted: bool,
    /// The bill that savings are measured against; `None` where no session has one.
    pub base: Option<Base>,
    /// The repository, or the session where these are the unit, with the most money: one of its sessions, and its share of the base.
    pub heaviest: Option<(usize, f64)>,
    /// One line per preset, in the order that they were given.
    pub presets: Vec<PresetLine>,
    /// Pairs of strategies.
    pub contrasts: Vec<Contrast>,
    /// What the sessions came to, where a file says so.
    pub outcomes: Option<Outcomes>,
    /// By session, one per preset in their order.
    pub scores: Vec<Box<[Score]>>,
    /// Index of the preset that never changes anything.
    pub baseline: usize,
    /// By session, whether its bills count; see [`Base`].
    pub(super) counted: Vec<bool>,
    pub(super) keys: Vec<Keys>,
    /// By session, its source in the corpus.
    pub(super) sources: Vec<usize>,
    /// Models of sessions that the model table does not list.
    pub(super) unlisted: Vec<String>,
    pub(super) redacted: bool,
}

impl Comparison {
    /// What the presets did with a session, in their order.
    pub fn scores_of(&self, session: usize) -> &[Score] {
        self.scores.get(session).map_or(&[], |scores| scores)
    }

    /// The facts of a session; `None` when the store has lost them.
    pub fn facts(&self, store: &Store, session: usize) -> Option<Facts> {
        self.keys.get(session)?.facts(store)
    }

    /// Joins outcomes to the sessions, and compares the arms that they were recorded under.
    ///
    /// # Errors
    ///
    /// A row that can't be told from another, or no row with a session that is compared.
    pub fn join_outcomes(&mut self, store: &Store, rows: &[OutcomeRow]) -> Result<(), String> {
        let id = |at| Some(self.facts(store, at)?.session.id);
        self.outcomes = Some(Outcomes::join(&self.corpus.sessions, id, rows, &self.reporting)?);
        Ok(())
    }

    /// Everything that was measured on a session under a preset.
    pub fn record(&self, store: &Store, session: usize, preset: usize) -> Option<Record> {
        let keys = self.keys.get(session)?;
        let mut record = keys.record(store, preset)?;
        if self.redacted {
            let broken = record.rows.iter_mut().flat_map(|row| &mut row.broken);
            broken.for_each(|broken| redact::rule(broken, &keys.content()));
            record.fault.as_mut().map(redact::fault);
        }
        Some(record)
    }

    /// Reads a session again; `None` where its file is gone or holds something else by now.
    pub fn session(&self, corpus: &Corpus, session: usize) -> Option<Session> {
        let keys = self.keys.get(session)?;
        let content = corpus.sources.get(*self.sources.get(session)?)?.read().ok()?;
        let found = content.sessions.into_iter().nth(keys.number())?;
        (content.hash == keys.content()).then_some(found)
    }

    /// The walk of a session under presets by their indices: from the store, else from `make`, and kept.
    /// `make` is given the same presets in the same order and returns `None` if it can't.
    pub fn walk(
        &self,
        store: &Store,
        session: usize,
        presets: &[usize],
        detail: Detail,
        make: impl FnOnce() -> Option<Walk>,
    ) -> Option<Walk> {
        let keys = self.keys.get(session)?;
        let mut walk = keys.walk(store, presets, detail, make)?;
        // The same bytes may stand elsewhere by now.
        walk.path = self.corpus.sessions.get(session)?.path.to_string();
        if self.redacted {
            redact::walk(&mut walk, &keys.content());
        }
        Some(walk)
    }

    /// What a session cost under a preset, by the prices that are reported; `None` where its bills do not count, or where
    /// it has none under them.
    pub fn bill<'a>(&self, score: &'a Score) -> Option<&'a Bill> {
        let counts = self.counted.get(score.session()).copied().unwrap_or(true);
        table::bill(score, &self.reporting.regime).filter(|_| counts)
    }

    /// Whether the bill is known of some session in which a preset acted. Where it is of none, the bill of the preset is that of the
    /// sessions in which it did nothing.
    pub fn is_billed(&self, line: &PresetLine) -> bool {
        let Some(at) = self.presets.iter().position(|other| std::ptr::eq(other, line)) else {
            return false;
        };
        let own = self.scores.iter().filter_map(|scores| scores.get(at));
        own.filter(|score| score.metrics.compactions > 0).any(|score| self.bill(score).is_some())
    }

    /// What a session cost under the base.
    pub fn bill_of_base(&self, session: usize) -> Option<&Bill> {
        let base = self.base.as_ref()?;
        let at = self.presets.iter().position(|line| line.preset == base.preset)?;
        self.bill(self.scores_of(session).get(at)?)
    }

    /// Replaces paths, tasks, repositories, tools, identifiers and models that no table lists by pseudonyms,
    /// and texts by placeholders, in everything that is read from the comparison from now on: its lines and
    /// sentences, [records](Self::record) and [walks](Self::walk).
    pub fn redact(&mut self) {
        self.redacted = true;
        self.provenance.made_by(None);
        // By cluster the least hash of its sessions, so that their order does not matter.
        let mut clusters: BTreeMap<Arc<str>, ContentHash> = BTreeMap::new();
        for (session, keys) in self.corpus.sessions.iter().zip(&self.keys) {
            let (cluster, key) = (Arc::clone(&session.cluster), keys.content());
            let least = clusters.entry(cluster).or_insert(key);
            if key.as_bytes() < least.as_bytes() {
                *least = key;
            }
        }
        let mut paths: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        for (session, keys) in self.corpus.sessions.iter_mut().zip(&self.keys) {
            let path: Arc<str> = match keys.number() {
                0 => redact::named("session", &keys.content()).into(),
                number => format!("{}-{number}", redact::named("session", &keys.content())).into(),
            };
            // Where no task is recorded, the path stands for it.
            session.cluster = match session.cluster == session.path {
                true => Arc::clone(&path),
                false => {
                    redact::pseudonym("task", &clusters[&session.cluster], &session.cluster).into()
                }
            };
            paths.insert(std::mem::replace(&mut session.path, Arc::clone(&path)), path);
        }
        for failed in &mut self.failed {
            let session = paths.get(&failed.session);
            failed.session = session.map_or_else(|| "session".into(), Arc::clone);
            redact::fault(&mut failed.fault);
        }
        if let Some(outcomes) = &mut self.outcomes {
            outcomes.redact(&self.corpus.sessions);
        }
        for (number, skipped) in self.corpus.skipped.iter_mut().enumerate() {
            *skipped = redact::without_names(skipped, number);
        }
        // Sentences name models, and neither sessions nor tasks. The longest first: one may stand within another.
        let models = self.unlisted.iter().enumerate().filter(|(_, model)| !model.is_empty());
        let mut models: Vec<(usize, &String)> = models.collect();
        models.sort_by_key(|(_, model)| std::cmp::Reverse(model.len()));
        for sentence in self.assumptions.iter_mut().chain(&mut self.cautions) {
            for (number, model) in &models {
                *sentence = sentence.replace(model.as_str(), &format!("model-{}", number + 1));
            }
        }
    }
}
