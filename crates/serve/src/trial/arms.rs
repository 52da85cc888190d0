//! The conversations of each arm, and which arm a request belongs to. Without a trial there is one arm.

use super::Trial;
use super::file::{TrialFile, line};
use super::unit::{self, UnitHints};
use crate::bill::Sums;
use crate::error::ServeError;
use crate::fold::conversations::Conversations;
use crate::fold::prefix::PrefixMatch;
use crate::fold::threads::Threads;
use crate::folding::Folding;
use crate::settings::Say;
use foldback_core::log::Message;
use foldback_core::services::Clock;
use foldback_live::Metrics;
use foldback_live::follow::identity::Key;
use foldback_live::trial::record::{
    self, ConversationLine, FORMAT, StopLine, TrialArm, TrialHead, TrialSums,
};
use foldback_live::trial::tally::Setbacks;
use foldback_live::trial::{assign, guard};
use foldback_providers::wire::Request;
use lru::LruCache;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Conversations and prompts of subagents that are remembered without a look into the file.
const REMEMBERED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(19_999);

/// Most letters of a model's name.
const MODEL: usize = 60;

/// What is followed: the conversations of each arm.
#[derive(Debug)]
pub(crate) struct Arms {
    pub(crate) all: Vec<Arc<Conversations>>,
    pub(crate) trial: Option<Arc<TrialLog>>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) threads: Arc<Threads>,
}

/// The place of a conversation in a trial.
#[derive(Clone, Debug)]
pub(crate) struct TrialPlace {
    log: Arc<TrialLog>,
    /// Its name.
    pub(crate) conversation: Arc<str>,
    unit: Arc<str>,
    arm: usize,
}

impl Arms {
    /// One arm.
    pub(crate) fn one(folding: Folding, say: Say) -> Result<Self, ServeError> {
        Self::new(vec![folding], None, say)
    }

    /// The arms of a trial.
    pub(crate) fn of_trial(trial: Trial, say: Say) -> Result<Self, ServeError> {
        let (arms, foldings): (Vec<TrialArm>, Vec<Folding>) = trial.arms.into_iter().unzip();
        let clock = foldings.first().map(|folding| Arc::clone(&folding.clock));
        let Some(clock) = clock else { return Err(ServeError::NoArms) };
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let head = TrialHead { foldback_trial: FORMAT, version, seed: trial.seed, arms };
        let file = TrialFile::open(&trial.file, &head)?;
        let log = TrialLog {
            file,
            head,
            guard: trial.guard,
            clock,
            say: Arc::clone(&say),
            known: Mutex::new(LruCache::new(REMEMBERED)),
            prompts: Mutex::new(LruCache::new(REMEMBERED)),
            unwritten: AtomicU64::default(),
        };
        let count = foldings.len();
        let shared = foldings.into_iter().enumerate().map(|(at, mut folding)| {
            folding.max_conversations = folding.max_conversations.div_ceil(count);
            folding.max_bytes /= count;
            folding.max_journals = folding.max_journals.div_ceil(count);
            folding.journal = folding.journal.map(|folder| folder.join(format!("arm-{}", at + 1)));
            folding
        });
        Self::new(shared.collect(), Some(Arc::new(log)), say)
    }

    fn new(
        foldings: Vec<Folding>,
        trial: Option<Arc<TrialLog>>,
        say: Say,
    ) -> Result<Self, ServeError> {
        let (metrics, threads) = (Arc::<Metrics>::default(), Arc::new(Threads::new()?));
        let arm = |folding| {
            let (say, threads) = (Arc::clone(&say), Arc::clone(&threads));
            Ok(Arc::new(Conversations::new(folding, say, threads, Arc::clone(&metrics))?))
        };
        let all = foldings.into_iter().map(arm).collect::<Result<_, ServeError>>()?;
        Ok(Self { all, trial, metrics, threads })
    }

    /// The first of the arms: what all have in common is the same in each.
    pub(crate) fn first(&self) -> &Arc<Conversations> {
        &self.all[0]
    }

    /// What answers cost, by protocol.
    pub(crate) fn sums(&self) -> BTreeMap<&'static str, Sums> {
        let mut all = BTreeMap::<_, Sums>::new();
        for (protocol, sums) in self.all.iter().flat_map(|arm| arm.sums()) {
            all.entry(protocol).or_default().add(&sums);
        }
        all
    }

    /// Number of kept conversations, their bytes, and the number of forgotten ones.
    pub(crate) fn count(&self) -> (u64, u64, u64) {
        let add = |a: (u64, u64, u64), b: (u64, u64, u64)| (a.0 + b.0, a.1 + b.1, a.2 + b.2);
        self.all.iter().map(|arm| arm.count()).fold((0, 0, 0), add)
    }

    /// The text of an item of an answer.
    pub(crate) fn item(&self, id: &str) -> Option<Arc<str>> {
        self.all.iter().find_map(|arm| arm.item(id))
    }

    /// The latest request of an arm that a body begins with.
    pub(crate) fn take_prefix(&self, body: &[u8]) -> Option<PrefixMatch> {
        self.all.iter().find_map(|arm| arm.take_prefix(body))
    }

    /// The arm of a request, and its place in the trial.
    pub(crate) fn choose(
        &self,
        hints: &UnitHints,
        request: &Request,
        keys: &[Key],
    ) -> (Arc<Conversations>, Option<TrialPlace>) {
        let place = self.trial.as_ref().map(|log| log.place(hints, request, keys));
        let arm = place.as_ref().map_or(0, |place| place.arm);
        (Arc::clone(&self.all[arm.min(self.all.len() - 1)]), place)
    }
}

/// The name of a conversation, that of its unit, and the number of its arm.
type Place = (Arc<str>, Arc<str>, usize);

/// The trial while it runs.
pub(crate) struct TrialLog {
    file: TrialFile,
    pub(crate) head: TrialHead,
    guard: bool,
    clock: Arc<dyn Clock>,
    say: Say,
    /// The places of conversations, by how they begin and what names their unit.
    known: Mutex<LruCache<(String, Option<String>), Place>>,
    /// Units by the prompts that their agents gave subagents.
    prompts: Mutex<LruCache<Key, Arc<str>>>,
    unwritten: AtomicU64,
}

impl TrialLog {
    /// The trial by its file. `None` if it can't be read.
    pub(crate) fn now(&self) -> Option<(record::Trial, i64)> {
        Some((self.file.read().ok()?, self.clock.now()))
    }

    /// Times that the file could not be written.
    pub(crate) fn unwritten_count(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    fn place(self: &Arc<Self>, hints: &UnitHints, request: &Request, keys: &[Key]) -> TrialPlace {
        let (seed, messages) = (self.head.seed, request.messages());
        let opening = unit::opening(messages);
        let start = &messages[..opening];
        let opening = assign::opening_name(seed, keys[opening].as_bytes());
        let named = hints.named.clone().or_else(|| hints.session(request.body()));
        let known = lock(&self.known).get(&(opening.clone(), named.clone())).cloned();
        let (conversation, unit, arm) = known.unwrap_or_else(|| {
            let is_given = hints.named.is_some();
            let mut parents = lock(&self.prompts);
            let parent = unit::prompts(start).find_map(|prompt| parents.get(&prompt).cloned());
            drop(parents);
            let parent = parent.filter(|_| !is_given);
            let model = request.model().unwrap_or_default();
            let found = self.begin(&opening, named.as_deref(), is_given, parent, model);
            lock(&self.known).put((opening, named), found.clone());
            found
        });
        TrialPlace { log: Arc::clone(self), conversation, unit, arm }
    }

    /// The place of a conversation that was not seen by this proxy: as its file has it, else a new one.
    fn begin(
        &self,
        opening: &str,
        named: Option<&str>,
        is_given: bool,
        parent: Option<Arc<str>>,
        model: &str,
    ) -> Place {
        let seed = self.head.seed;
        let own = assign::unit_name(seed, named.unwrap_or(opening));
        let begun = self.file.change(|text| {
            let trial = record::Trial::parse(text).map_err(io::Error::other)?;
            let lines = &trial.conversations;
            // A subagent that was met before a restart.
            let before = || {
                let is_it = |line: &&ConversationLine| line.spawned && line.opening == opening;
                lines.iter().find(is_it).filter(|_| !is_given).map(|line| line.unit.as_str().into())
            };
            let parent = parent.clone().or_else(before);
            let spawned = parent.is_some();
            let unit = parent.unwrap_or_else(|| own.as_str().into());
            let conversation: Arc<str> = assign::conversation_name(seed, &unit, opening).into();
            let arm_named = |name: &str| self.head.arms.iter().position(|arm| arm.name == name);
            let there = lines.iter().find(|line| *line.unit == *unit);
            let arm = match there.and_then(|line| arm_named(&line.arm)) {
                Some(arm) => arm,
                None => {
                    let stops = self.stops(&trial);
                    for stop in &stops {
                        text.push_str(&line(stop)?);
                    }
                    let is_stopped = |arm: &str| stops.iter().any(|stop| stop.stopped == arm);
                    let is_open = |arm: &str| trial.is_open(arm) && !is_stopped(arm);
                    assign::arm_of(seed, &unit, &self.head.arms, is_open)
                }
            };
            if !lines.iter().any(|line| *line.conversation == *conversation) {
                let now = self.clock.now();
                let new = ConversationLine {
                    conversation: conversation.to_string(),
                    unit: unit.to_string(),
                    opening: opening.to_owned(),
                    spawned,
                    arm: self.head.arms[arm].name.clone(),
                    model: model.chars().take(MODEL).collect(),
                    first_ms: now,
                    last_ms: now,
                    ..ConversationLine::default()
                };
                text.push_str(&line(&new)?);
            }
            Ok((conversation, unit, arm))
        });
        begun.unwrap_or_else(|error| {
            self.unwritten(&error);
            let conversation = assign::conversation_name(seed, &own, opening).into();
            let arm = assign::arm_of(seed, &own, &self.head.arms, |_| true);
            (conversation, own.into(), arm)
        })
    }

    /// The arms that do harm and still get new units.
    fn stops(&self, trial: &record::Trial) -> Vec<StopLine> {
        if !self.guard {
            return Vec::new();
        }
        let at_ms = self.clock.now();
        let harmful = guard::evidence(trial, &trial.units(), at_ms).into_iter();
        let harmful = harmful.filter(|(arm, it)| it.harm && trial.is_open(arm));
        let stops = harmful.map(|(stopped, it)| {
            let (control, harm) = (trial.head.control(), it.measure.harm());
            (self.say)(&format!(
                "the trial gives {stopped} no new units: {harm}, measured against {control} after {} units (--no-guard goes on)",
                it.pairs
            ));
            StopLine { stopped, measure: it.measure, units: it.pairs, at_ms }
        });
        stops.collect()
    }

    fn unwritten(&self, error: &io::Error) {
        if self.unwritten.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.say)(&format!(
                "the file of the trial can't be written, so answers are missing in it: {error}"
            ));
        }
    }
}

impl TrialPlace {
    /// An answer to a request of the conversation.
    pub(crate) fn answered(
        &self,
        answer: &Message,
        bill: &Sums,
        setbacks: Setbacks,
        folds: u64,
        refused: bool,
    ) {
        let mut prompts = lock(&self.log.prompts);
        for prompt in unit::given(answer) {
            prompts.put(prompt, Arc::clone(&self.unit));
        }
        drop(prompts);
        let said = answer.answer.as_ref();
        let mut sums = TrialSums {
            calls: 1,
            usd: bill.billed,
            unpriced: bill.unpriced,
            ..TrialSums::default()
        };
        sums.refusals = u64::from(refused);
        for usage in said.into_iter().flat_map(|said| [said.usage, said.compaction]).flatten() {
            sums.add_usage(&usage);
        }
        let finish = said.and_then(|said| said.finish);
        self.change(|line| {
            line.sums.add(&sums);
            line.sums.folds = line.sums.folds.max(folds);
            line.setbacks = setbacks.or_before(line.setbacks);
            if let Some(stop) = finish.and_then(|finish| serde_json::to_value(finish).ok()) {
                line.stop = stop.as_str().unwrap_or_default().to_owned();
            }
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

    fn change(&self, change: impl FnOnce(&mut ConversationLine)) {
        let now = self.log.clock.now();
        let changed = self.log.file.change_line(&self.conversation, |line| {
            change(line);
            line.last_ms = line.last_ms.max(now);
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

/// A panic elsewhere leaves nothing half written behind the lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
