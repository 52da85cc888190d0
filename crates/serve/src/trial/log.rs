//! The trial while it runs: the places of conversations in it, and what is recorded of them.

use super::unit::{self, UnitHints};
use super::{Trial, file, tally};
use crate::bill::Sums;
use crate::error::ServeError;
use crate::settings::Say;
use foldback_core::log::Message;
use foldback_core::services::Clock;
use foldback_live::follow::identity::Key;
use foldback_live::trial::record::{
    self, ConversationLine, FORMAT, StopLine, TrialHead, TrialSums, UnitLine,
};
use foldback_live::trial::{assign, guard};
use foldback_providers::wire::Request;
use lru::LruCache;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Prompts of subagents that are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(19_999);

/// Most letters of a model's name.
const MODEL: usize = 60;

/// The trial while it runs.
pub(crate) struct TrialLog {
    path: PathBuf,
    pub(crate) head: TrialHead,
    guard: bool,
    clock: Arc<dyn Clock>,
    say: Say,
    /// Units by the prompts that their agents gave subagents.
    parents: Mutex<LruCache<Key, String>>,
    /// Whether it was said that the file can't be written.
    unwritten: AtomicBool,
}

/// The place of a conversation in a trial.
#[derive(Clone, Debug)]
pub(crate) struct TrialPlace {
    log: Arc<TrialLog>,
    /// Its name.
    pub(crate) conversation: String,
    unit: String,
    pub(super) arm: usize,
    /// What its messages show.
    shown: TrialSums,
}

impl TrialLog {
    /// Opens the file of a trial, or begins it.
    pub(crate) fn new(trial: Trial, clock: Arc<dyn Clock>, say: Say) -> Result<Self, ServeError> {
        let Trial { seed, file: path, guard, arms } = trial;
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let head = TrialHead { foldback_trial: FORMAT, version, seed, arms };
        file::open(&path, &head).map_err(ServeError::Trial)?;
        let (parents, unwritten) = (Mutex::new(LruCache::new(REMEMBERED)), AtomicBool::default());
        Ok(Self { path, head, guard, clock, say, parents, unwritten })
    }

    /// The trial by its file, its units, and what the guard says. `None` if it can't be read.
    pub(crate) fn now(
        &self,
    ) -> Option<(record::Trial, Vec<UnitLine>, BTreeMap<String, guard::Evidence>)> {
        let trial = file::read(&self.path).ok()?;
        let units = trial.units();
        let evidence = guard::evidence(&trial, &units, self.clock.now());
        Some((trial, units, evidence))
    }

    /// The place of a request, whose conversation begins in the trial if no proxy has seen it.
    pub(super) fn place(
        self: &Arc<Self>,
        hints: &UnitHints,
        request: &Request,
        keys: &[Key],
    ) -> TrialPlace {
        let (seed, arms, messages) = (self.head.seed, &self.head.arms, request.messages());
        let start = unit::opening(messages);
        let opening = &*keys[start].to_hex();
        let named = hints.name(request.body());
        let own = named.as_deref().unwrap_or(opening);
        let mut prompts = unit::prompts(&messages[..start]).filter(|_| hints.named.is_none());
        let parent = prompts.find_map(|prompt| self.parents().get(&prompt).cloned());
        let unit = parent.unwrap_or_else(|| assign::unit_name(seed, own));
        let now = self.clock.now();
        let line = ConversationLine {
            // By what each of its requests says, also where nobody knows its parent any more.
            conversation: assign::conversation_name(seed, own, opening),
            unit: UnitLine {
                arm: arms[assign::arm_of(seed, &unit, arms, |_| true)].name.clone(),
                unit,
                model: request.model().unwrap_or_default().chars().take(MODEL).collect(),
                first_ms: now,
                last_ms: now,
                ..UnitLine::default()
            },
        };
        let found = file::change(&self.path, |text| self.find_or_begin(text, line.clone()));
        let found = found.unwrap_or_else(|error| {
            self.unwritten(&error);
            line
        });
        let arm = arms.iter().position(|arm| arm.name == found.unit.arm).unwrap_or_default();
        let (conversation, unit) = (found.conversation, found.unit.unit);
        TrialPlace { log: Arc::clone(self), conversation, unit, arm, shown: tally::shown(messages) }
    }

    /// The line of a conversation: as the file has it, else the new one in the arm of its unit.
    fn find_or_begin(
        &self,
        text: &mut String,
        mut line: ConversationLine,
    ) -> io::Result<ConversationLine> {
        if let Some((_, known)) = file::find(text, &line.conversation) {
            return Ok(known);
        }
        line.unit.arm = match file::find(text, &format!("\"unit\":\"{}\"", line.unit.unit)) {
            Some((_, other)) => other.unit.arm,
            None => self.drawn(text, &line.unit.unit)?,
        };
        text.push_str(&file::line(&line)?);
        Ok(line)
    }

    /// The arm of a new unit. Arms that do harm are stopped before.
    fn drawn(&self, text: &mut String, unit: &str) -> io::Result<String> {
        let mut trial = record::Trial::parse(text).map_err(io::Error::other)?;
        let at_ms = self.clock.now();
        for (stopped, it) in guard::evidence(&trial, &trial.units(), at_ms) {
            if !self.guard || !it.harm || !trial.is_open(&stopped) {
                continue;
            }
            (self.say)(&format!(
                "the trial gives {stopped} no new units: {}, measured against {} after {} units (--no-guard goes on)",
                it.measure.harm(),
                trial.head.control(),
                it.pairs
            ));
            let stop = StopLine { stopped, measure: it.measure, units: it.pairs, at_ms };
            text.push_str(&file::line(&stop)?);
            trial.stops.push(stop);
        }
        let arms = &self.head.arms;
        Ok(arms[assign::arm_of(self.head.seed, unit, arms, |arm| trial.is_open(arm))].name.clone())
    }

    fn unwritten(&self, error: &io::Error) {
        if !self.unwritten.swap(true, Ordering::Relaxed) {
            (self.say)(&format!(
                "the file of the trial can't be written, so answers are missing in it: {error}"
            ));
        }
    }

    /// A panic elsewhere leaves nothing half written behind the lock.
    fn parents(&self) -> MutexGuard<'_, LruCache<Key, String>> {
        self.parents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TrialPlace {
    /// An answer to a request of the conversation.
    pub(crate) fn answered(&self, answer: &Message, bill: &Sums, folds: u64, refused: bool) {
        for prompt in unit::given(answer) {
            self.log.parents().put(prompt, self.unit.clone());
        }
        let said = answer.answer.as_ref();
        self.change(|UnitLine { sums, stop, .. }| {
            sums.calls += 1;
            sums.usd += bill.billed;
            sums.unpriced += bill.unpriced;
            sums.refusals += u64::from(refused);
            sums.folds = sums.folds.max(folds);
            for usage in said.into_iter().flat_map(|said| [said.usage, said.compaction]).flatten() {
                sums.uncached += usage.uncached;
                sums.cache_read += usage.cache_read;
                sums.cache_write += usage.cache_write;
                sums.output += usage.output_total();
            }
            sums.show(&self.shown);
            *stop = said.and_then(|said| said.finish).or(*stop);
        });
    }

    /// The provider gave no answer; it refused the request, or could not serve it.
    pub(crate) fn failed(&self, refused: bool) {
        self.change(|line| match refused {
            true => line.sums.refusals += 1,
            false => line.sums.failures += 1,
        });
    }

    /// Dollars for a summary that a model wrote for the conversation.
    pub(crate) fn paid(&self, usd: f64) {
        self.change(|line| line.sums.usd += usd);
    }

    fn change(&self, change: impl FnOnce(&mut UnitLine)) {
        let now = self.log.clock.now();
        let changed = file::change(&self.log.path, |text| {
            let gone = || io::Error::other("the line of a conversation is gone");
            let (place, mut line) = file::find(text, &self.conversation).ok_or_else(gone)?;
            change(&mut line.unit);
            line.unit.last_ms = line.unit.last_ms.max(now);
            text.replace_range(place, &file::line(&line)?);
            Ok(())
        });
        if let Err(error) = changed {
            self.log.unwritten(&error);
        }
    }
}

impl fmt::Debug for TrialLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialLog").field("head", &self.head).finish_non_exhaustive()
    }
}
