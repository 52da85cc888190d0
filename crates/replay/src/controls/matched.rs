//! Matched controls: what chance and foresight would have kept at the sizes that a strategy's views
//! really had.
//!
//! A strategy that keeps more forgets less. To judge a strategy by what it chose and not by how much
//! it kept, a shadow replays the same session and is reduced, before each call, to at most the size of the
//! strategy's view of that call. It clears tool results to a stub of [`STUB_TOKENS`], and where
//! that is not enough it leaves out calls together with their results, and other messages.
//!
//! The head (system messages in front, the first user message) always stays, and a shadow is never
//! smaller than it. The newest call is left out only where nothing else is left. By chance, messages
//! only go when there is no result left to clear; by foresight, messages that are not needed go before
//! results that are.
//!
//! A shadow is arithmetic over sizes and facts, no conversation: its cost is that of the session's
//! references and some logarithms.

use super::choice::{Choice, Greedy, Random, Worth};
use super::foresight::{FactId, Foresight};
use super::holders::{FactHolders, UnitId};
use crate::index::Index;
use crate::totals::CallRow;
use foldback_core::history::{GroupId, History};
use foldback_core::log::{Message, Role};
use foldback_core::stage::Estimator;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tokens of the stub that stands for a cleared result.
pub const STUB_TOKENS: u64 = 14;

/// What was still there when it was needed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// By reference, in the order of [`Findings::references`](crate::availability::Findings::references).
    pub references: Vec<bool>,
    /// By edit, in the order of [`Findings::edits`](crate::availability::Findings::edits).
    pub edits: Vec<bool>,
}

/// The two shadows of one replay.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// Chosen by chance.
    pub random: Kept,
    /// Chosen by foresight.
    pub clairvoyant: Kept,
}

impl Matched {
    /// Counts what both kept with the rows of the calls.
    pub(crate) fn count(&self, index: &Index, rows: &mut [CallRow]) {
        let needs = index.calls.iter().enumerate();
        let needs = needs.flat_map(|(call, of)| of.references.iter().map(move |need| (call, need)));
        let kept = self.random.references.iter().zip(&self.clairvoyant.references);
        for ((call, need), (random, clairvoyant)) in needs.zip(kept) {
            if let (true, Some(row)) = (need.obs, rows.get_mut(call)) {
                row.retention.random += u64::from(*random);
                row.retention.clairvoyant += u64::from(*clairvoyant);
            }
        }
    }
}

/// The sizes of the views of a replay, call by call, by the measuring estimator; `frame_tokens` is what
/// every request holds besides its view.
pub fn view_sizes(rows: &[CallRow], frame_tokens: u64) -> Vec<u64> {
    rows.iter().map(|row| row.input_tokens.saturating_sub(frame_tokens)).collect()
}

/// Something that a message brings.
#[derive(Clone, Debug)]
struct Arrival {
    unit: UnitId,
    tokens: u64,
    /// Facts that the unit did not hold before.
    facts: Vec<FactId>,
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A message of the head.
    Head,
    /// The content of a tool result, of so many tokens.
    Result(u64),
    /// Everything else of a call with its results, or a message alone.
    Rest,
}

#[derive(Clone, Copy, Debug)]
struct Unit {
    kind: Kind,
    group: GroupId,
}

/// A message of the log.
#[derive(Clone, Debug)]
struct Line {
    is_answer: bool,
    group: GroupId,
    arrivals: Vec<Arrival>,
}

/// A session, ready for its shadows. Made once a session, for all strategies.
#[derive(Clone, Debug)]
pub struct MatchedControls {
    foresight: Arc<Foresight>,
    /// Facts below this number are references, the others old texts of edits.
    references: usize,
    stub: u64,
    /// Differs from session to session, so that they do not all draw alike.
    salt: u64,
    units: Vec<Unit>,
    /// By group, its unit that is no result.
    rests: Vec<UnitId>,
    log: Vec<Line>,
}

impl MatchedControls {
    /// A session, as its index has it. `measure` is the estimator that reports: the one that the sizes
    /// of views are counted with.
    pub fn new(index: &Index, foresight: Arc<Foresight>, measure: &dyn Estimator) -> Self {
        Self::with_stub(index, foresight, measure, STUB_TOKENS)
    }

    pub(super) fn with_stub(
        index: &Index,
        foresight: Arc<Foresight>,
        measure: &dyn Estimator,
        stub: u64,
    ) -> Self {
        let mut history = History::default();
        for message in &index.log {
            history.append(Arc::clone(message));
        }
        let head = head(&index.log);
        let mut out = Self {
            foresight,
            references: index.asked.len(),
            stub,
            salt: salt(&index.log),
            units: Vec::new(),
            rests: Vec::new(),
            log: Vec::with_capacity(index.log.len()),
        };
        for (group, members) in history.groups().iter().enumerate() {
            let in_head = members.items.first().is_some_and(|at| head.contains(at));
            let kind = if in_head { Kind::Head } else { Kind::Rest };
            out.rests.push(out.units.len());
            out.units.push(Unit { kind, group });
        }
        let mut known: Vec<BTreeSet<FactId>> = vec![BTreeSet::new(); out.rests.len()];
        for (ordinal, message) in index.log.iter().enumerate() {
            let group = history.group_of(ordinal);
            let arrivals = out.arrivals(ordinal, message, group, &mut known[group], measure);
            out.log.push(Line { is_answer: message.is_answer(), group, arrivals });
        }
        out
    }

    /// What a message brings: each result that is larger than its stub, and everything else together.
    fn arrivals(
        &mut self,
        ordinal: usize,
        message: &Message,
        group: GroupId,
        known: &mut BTreeSet<FactId>,
        measure: &dyn Estimator,
    ) -> Vec<Arrival> {
        let counts = measure.counts(message);
        let rest = self.rests[group];
        let mut arrivals = vec![Arrival { unit: rest, tokens: counts.overhead, facts: Vec::new() }];
        for (index, part) in message.parts.iter().enumerate() {
            let tokens = counts.parts.get(index).copied().unwrap_or(0);
            let facts = self.foresight.held(ordinal, index);
            let clearable = part.as_result().is_some() && tokens > self.stub;
            if clearable && self.units[rest].kind == Kind::Rest {
                arrivals.push(Arrival { unit: self.units.len(), tokens, facts: facts.to_vec() });
                self.units.push(Unit { kind: Kind::Result(tokens), group });
            } else {
                arrivals[0].tokens += tokens;
                let new = facts.iter().filter(|fact| known.insert(**fact));
                arrivals[0].facts.extend(new);
            }
        }
        arrivals
    }

    /// The shadows of a replay whose views had these sizes, call by call, the frame not counted
    /// ([`view_sizes`]). Calls beyond the end of `views` are not bounded.
    pub fn matched(&self, views: &[u64], seed: u64) -> Matched {
        let mut random = Random::new(seed ^ self.salt, self.units.len());
        Matched {
            random: self.shadow(views, &mut random).kept,
            clairvoyant: self.shadow(views, &mut Greedy::default()).kept,
        }
    }

    pub(super) fn shadow(&self, views: &[u64], choice: &mut dyn Choice) -> ShadowRun {
        let mut shadow = Shadow::new(self);
        let mut run = ShadowRun::default();
        for (ordinal, line) in self.log.iter().enumerate() {
            if line.is_answer {
                let call = run.sizes.len();
                if let Some(limit) = views.get(call) {
                    shadow.fit(*limit, choice);
                }
                run.sizes.push(shadow.size);
                let due = self.foresight.due(call);
                for fact in due {
                    let kept = shadow.holders.has(*fact);
                    if (*fact as usize) < self.references {
                        run.kept.references.push(kept);
                    } else {
                        run.kept.edits.push(kept);
                    }
                }
                shadow.holders.release(due);
            }
            shadow.arrive(line, choice);
            shadow.holders.want(self.foresight.relied_on(ordinal));
            shadow.reprice(choice);
        }
        run
    }
}

/// The messages that are never left out: the first user message, and system messages in front of it.
fn head(log: &[Arc<Message>]) -> BTreeSet<usize> {
    let user = log.iter().position(|message| message.role == Role::User);
    let front = log.iter().take(user.map_or(0, |at| at + 1)).enumerate();
    front
        .filter(|(_, message)| matches!(message.role, Role::System | Role::User))
        .map(|(ordinal, _)| ordinal)
        .collect()
}

/// FNV-1a (Fowler, Noll and Vo) over the ids of the messages.
fn salt(log: &[Arc<Message>]) -> u64 {
    let bytes = log.iter().flat_map(|message| message.id.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How a shadow went.
#[derive(Clone, Debug, Default)]
pub(super) struct ShadowRun {
    pub(super) kept: Kept,
    /// By call, its size.
    pub(super) sizes: Vec<u64>,
}

/// What a shadow has of the session now.
#[derive(Debug)]
struct Shadow<'a> {
    session: &'a MatchedControls,
    holders: FactHolders,
    size: u64,
    /// By unit, the facts that it holds.
    facts: Vec<Vec<FactId>>,
    /// By unit, whether it went.
    gone: Vec<bool>,
    /// By group, its tokens as they stand now, stubs included.
    tokens: Vec<u64>,
    /// By group, its results that were not cleared.
    standing: Vec<usize>,
    /// The group of the latest message.
    newest: Option<GroupId>,
}

impl<'a> Shadow<'a> {
    fn new(session: &'a MatchedControls) -> Self {
        let (units, groups) = (session.units.len(), session.rests.len());
        Self {
            session,
            holders: FactHolders::new(session.foresight.facts(), units),
            size: 0,
            facts: vec![Vec::new(); units],
            gone: vec![false; units],
            tokens: vec![0; groups],
            standing: vec![0; groups],
            newest: None,
        }
    }

    /// What a unit is worth, if it can go now.
    fn price(&self, unit: UnitId) -> Option<Worth> {
        let Unit { kind, group } = self.session.units[unit];
        let gain = match kind {
            _ if self.gone[unit] => 0,
            Kind::Head => 0,
            Kind::Result(tokens) => tokens - self.session.stub,
            Kind::Rest if self.standing[group] > 0 => 0,
            Kind::Rest => self.tokens[group],
        };
        (gain > 0).then(|| Worth {
            uses: self.holders.uses(unit),
            gain,
            messages: kind == Kind::Rest,
        })
    }

    fn offer(&self, unit: UnitId, choice: &mut dyn Choice) {
        if let Some(price) = self.price(unit) {
            choice.put(unit, price);
        }
    }

    fn reprice(&mut self, choice: &mut dyn Choice) {
        for unit in self.holders.changed() {
            self.offer(unit, choice);
        }
    }

    /// A message comes. The results of a call that was left out are left out with it.
    fn arrive(&mut self, line: &Line, choice: &mut dyn Choice) {
        let rest = self.session.rests[line.group];
        if self.gone[rest] {
            return;
        }
        self.newest = Some(line.group);
        for arrival in &line.arrivals {
            self.size += arrival.tokens;
            self.tokens[line.group] += arrival.tokens;
            self.holders.add(arrival.unit, &arrival.facts);
            self.facts[arrival.unit].extend(&arrival.facts);
            if arrival.unit != rest {
                self.standing[line.group] += 1;
                self.offer(arrival.unit, choice);
            }
        }
        self.offer(rest, choice);
    }

    /// Makes the shadow no larger than `limit`, as far as the head allows.
    fn fit(&mut self, limit: u64, choice: &mut dyn Choice) {
        while self.size > limit {
            let Some(unit) = self.next(choice) else {
                return;
            };
            self.go(unit);
            let group = self.session.units[unit].group;
            self.offer(self.session.rests[group], choice);
            self.reprice(choice);
        }
    }

    /// The next unit to go; the newest call only where there is nothing else.
    fn next(&self, choice: &mut dyn Choice) -> Option<UnitId> {
        let newest = self.newest.map(|group| self.session.rests[group]);
        let known = |unit| self.price(unit);
        let mut aside = None;
        // One unit may be taken more than once: offers at an earlier moment are not withdrawn.
        while let Some(unit) = choice.take(&known) {
            if newest != Some(unit) {
                if let Some(newest) = aside {
                    self.offer(newest, choice);
                }
                return Some(unit);
            }
            aside = newest;
        }
        aside
    }

    fn go(&mut self, unit: UnitId) {
        let Unit { kind, group } = self.session.units[unit];
        self.gone[unit] = true;
        let facts = std::mem::take(&mut self.facts[unit]);
        self.holders.remove(unit, &facts);
        let freed = match kind {
            Kind::Head => 0,
            Kind::Result(tokens) => {
                self.standing[group] -= 1;
                tokens - self.session.stub
            }
            Kind::Rest => self.tokens[group],
        };
        self.tokens[group] -= freed;
        self.size -= freed;
    }
}
