//! The control `clairvoyant`: evicts what will be needed least for its size.

use super::foresight::{FactId, Foresight};
use super::holders::{FactHolders, UnitId};
use foldback_core::delta::Cursor;
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::registry::Invalid;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::{Bound, Kind, Strategy};
use foldback_core::view::{EditKind, PartPos};
use foldback_stages::estimator::CharsConfig;
use foldback_stages::pruner::{Demand, Evict, EvictConfig};
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// The greedy clairvoyant of one session, as a strategy that can be replayed over **that session
/// alone, and once**. Trigger, target and placeholder are those of `evict` (its order and seed are of no effect),
/// and it counts like the preset `random`, so the two differ in the choice and in nothing else.
///
/// # Errors
///
/// What `evict` refuses.
pub fn clairvoyant(foresight: Arc<Foresight>, config: EvictConfig) -> Result<Strategy, Invalid> {
    let following = Mutex::new(Following::new(&foresight));
    let stage = Clairvoyant { evict: Evict::new(config)?, foresight, following };
    seeing(
        "clairvoyant",
        "Like `random`, but clears what later calls need least; it sees the future",
        Arc::new(stage),
    )
}

/// A control of one stage that sees the future.
pub(super) fn seeing(
    name: &str,
    description: &str,
    stage: Arc<dyn Pruner>,
) -> Result<Strategy, Invalid> {
    let pruner =
        Bound { name: name.to_owned(), when: vec![stage.moment()], stage, meter: MeterId::OWN };
    control(name, description, vec![pruner])
}

/// A control that is not a preset. It counts like the preset `random`.
pub(crate) fn control(
    name: &str,
    description: &str,
    pruners: Vec<Bound<dyn Pruner>>,
) -> Result<Strategy, Invalid> {
    let mut strategy = Strategy::new(name, Arc::new(CharsConfig::default().estimator()?));
    strategy.description = description.to_owned();
    strategy.kind = Kind::Control;
    strategy.pruners = pruners;
    Ok(strategy)
}

/// Clears the results that are needed least for their size. Sees the future.
#[derive(Debug)]
struct Clairvoyant {
    evict: Evict,
    foresight: Arc<Foresight>,
    /// What the view of the one conversation that it looks at holds of what will be needed.
    following: Mutex<Following>,
}

/// Follows a conversation: which of the parts that will be needed stand in its view. One unit of the
/// [`FactHolders`] is a part.
#[derive(Debug)]
struct Following {
    cursor: Cursor,
    holders: FactHolders,
    /// By position, the unit of the first part, and the ordinal of the message in the log.
    messages: Vec<(UnitId, usize)>,
    /// By unit, whether it is among the holders.
    held: Vec<bool>,
    ordinals: usize,
    calls: usize,
}

impl Following {
    fn new(foresight: &Foresight) -> Self {
        Self {
            cursor: Cursor::default(),
            holders: FactHolders::new(foresight.facts()),
            messages: Vec::new(),
            held: Vec::new(),
            ordinals: 0,
            calls: 0,
        }
    }

    fn unit(&self, at: PartPos) -> UnitId {
        self.messages[at.item].0 + at.part
    }

    fn facts<'f>(&self, foresight: &'f Foresight, at: PartPos) -> &'f [FactId] {
        foresight.held(self.messages[at.item].1, at.part)
    }

    /// Takes over what happened since the last time.
    fn update(&mut self, context: &StageContext<'_>, foresight: &Foresight) {
        if context.history.len() < self.messages.len() {
            // Another conversation.
            *self = Self::new(foresight);
        }
        for pos in context.delta(&mut self.cursor).positions() {
            let message = context.history.message(pos);
            let new = pos == self.messages.len();
            if new {
                self.messages.push((self.held.len(), self.ordinals));
                self.held.resize(self.held.len() + message.parts.len(), false);
                self.holders.grow(self.held.len());
            }
            if message.is_entry() {
                continue;
            }
            if new && message.is_answer() {
                self.holders.release(foresight.due(self.calls));
                self.calls += 1;
            }
            let visible = context.view.is_visible(pos);
            for part in 0..message.parts.len() {
                let at = PartPos { item: pos, part };
                let edit = context.view.edit(at);
                let stands = visible && edit.is_none_or(|edit| edit.kind != EditKind::Clear);
                let (unit, facts) = (self.unit(at), self.facts(foresight, at));
                match (std::mem::replace(&mut self.held[unit], stands), stands) {
                    (false, true) => self.holders.add(unit, facts),
                    (true, false) => self.holders.remove(unit, facts),
                    _ => {}
                }
            }
            if new {
                self.holders.want(foresight.relied_on(self.ordinals));
                self.ordinals += 1;
            }
        }
        self.holders.changed();
    }

    /// The candidates that go, least needed for their size first. What goes makes the other holders of
    /// its facts more needed, so the next one is only known when the one before has gone.
    fn order(&mut self, demand: &Demand, foresight: &Foresight) -> Vec<usize> {
        // The candidates that are left, by unit and in the order in which they would go.
        let mut left: HashMap<UnitId, (usize, Worth)> = HashMap::new();
        let mut next: BTreeSet<(Worth, UnitId)> = BTreeSet::new();
        let price = |holders: &FactHolders, unit: UnitId, candidate: usize| Worth {
            uses: holders.uses(unit),
            gain: demand.candidates[candidate].gain,
        };
        for (index, candidate) in demand.candidates.iter().enumerate() {
            let unit = self.unit(candidate.at);
            let worth = price(&self.holders, unit, index);
            left.insert(unit, (index, worth));
            next.insert((worth, unit));
        }
        let (mut order, mut gained) = (Vec::new(), 0);
        while gained < demand.reclaim {
            let Some((_, unit)) = next.pop_first() else { break };
            let Some((index, _)) = left.remove(&unit) else { continue };
            let candidate = &demand.candidates[index];
            self.holders.remove(unit, self.facts(foresight, candidate.at));
            for unit in self.holders.changed() {
                if let Some((candidate, worth)) = left.get_mut(&unit) {
                    next.remove(&(*worth, unit));
                    *worth = price(&self.holders, unit, *candidate);
                    next.insert((*worth, unit));
                }
            }
            gained += candidate.gain;
            order.push(index);
        }
        // They have not gone yet: the plan may be refused.
        for index in &order {
            let at = demand.candidates[*index].at;
            self.holders.add(self.unit(at), self.facts(foresight, at));
        }
        order
    }
}

/// What a unit is worth, and what it gives back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Worth {
    /// Uses that would be lost.
    uses: u32,
    /// Tokens that would be gained; above 0.
    gain: u64,
}

impl Ord for Worth {
    /// Fewest uses per token first; of equals, the largest.
    fn cmp(&self, other: &Self) -> Ordering {
        let [mine, theirs] =
            [(self, other), (other, self)].map(|(a, b)| u128::from(a.uses) * u128::from(b.gain));
        mine.cmp(&theirs).then(other.gain.cmp(&self.gain))
    }
}

impl PartialOrd for Worth {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Pruner for Clairvoyant {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        match self.evict.demand(context) {
            Err(why) => Pruning::Nothing(why),
            Ok(demand) => {
                let foresight = &*self.foresight;
                let mut following = self.following.lock().unwrap_or_else(PoisonError::into_inner);
                following.update(context, foresight);
                let order = following.order(&demand, foresight);
                self.evict.clear(context, &demand, order, "least needed first")
            }
        }
    }
}
