//! The control `clairvoyant`: evicts what will be needed least for its size.

use super::choice::{Choice, Greedy, Price};
use super::foresight::Foresight;
use super::holdings::{Holdings, UnitId};
use foldback_core::carry::Carry;
use foldback_core::guard::Guards;
use foldback_core::history::History;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::Invalid;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::{Bound, Kind, OnFailure, Strategy};
use foldback_core::view::{EditKind, PartPos};
use foldback_stages::estimator::CharsConfig;
use foldback_stages::pruner::{Demand, Evict, EvictConfig};
use std::sync::Arc;

/// The greedy clairvoyant of one session, as a strategy that can be replayed over **that session
/// alone**. Trigger, target and placeholder are those of `evict` (its order and seed are of no effect),
/// and it counts like the preset `random`, so the two differ in the choice and in nothing else.
///
/// # Errors
///
/// What `evict` refuses.
pub fn clairvoyant(
    foresight: Arc<dyn Foresight>,
    config: EvictConfig,
) -> Result<Strategy, Invalid> {
    let stage = Clairvoyant { evict: Evict::new(config)?, foresight };
    let pruner = Bound {
        name: "clairvoyant".to_owned(),
        when: vec![stage.moment()],
        stage: Arc::new(stage) as Arc<dyn Pruner>,
        estimator: 0,
    };
    Ok(Strategy {
        name: "clairvoyant".to_owned(),
        description: "Like `random`, but clears what later calls need least; it sees the future"
            .to_owned(),
        reproduces: String::new(),
        kind: Kind::Control,
        estimators: vec![Arc::new(CharsConfig::default().estimator()?)],
        overflow: None,
        pruners: vec![pruner],
        filter: None,
        summarizer: None,
        fallback: None,
        on_failure: OnFailure::default(),
        user_limits: Limits::default(),
        preset_limits: Limits::default(),
        model: None,
        guards: Guards::default(),
        carry: Carry::default(),
        deviations: Vec::new(),
    })
}

/// Clears the results that are needed least for their size. Sees the future.
#[derive(Debug)]
struct Clairvoyant {
    evict: Evict,
    foresight: Arc<dyn Foresight>,
}

/// Where the parts of a history are among the units of its [`Holdings`], one unit a part.
#[derive(Debug, Default)]
struct Units {
    /// By position, the unit of the first part, and the ordinal of the message in the log.
    messages: Vec<(UnitId, usize)>,
    count: usize,
}

impl Units {
    fn of(history: &History) -> Self {
        let mut out = Self::default();
        let mut ordinal = 0;
        for pos in 0..history.len() {
            let message = history.message(pos);
            out.messages.push((out.count, ordinal));
            out.count += message.parts.len();
            ordinal += usize::from(!message.is_entry());
        }
        out
    }

    fn unit(&self, at: PartPos) -> UnitId {
        self.messages[at.item].0 + at.part
    }

    fn ordinal(&self, at: PartPos) -> usize {
        self.messages[at.item].1
    }
}

impl Clairvoyant {
    /// What the view holds of what will be needed.
    fn holdings(&self, context: &StageContext<'_>, units: &Units) -> Holdings {
        let mut holdings = Holdings::new(self.foresight.facts(), units.count);
        let mut call = 0;
        let log = context.history.iter();
        for (item, message) in log.filter(|(_, message)| !message.is_entry()) {
            if message.is_answer() {
                holdings.release(self.foresight.due(call));
                call += 1;
            }
            for part in 0..message.parts.len() {
                let at = PartPos { item, part };
                let edit = context.view.edit(at);
                let stands = edit.is_none_or(|edit| edit.kind != EditKind::Clear);
                if stands && context.view.is_visible(item) {
                    let facts = self.foresight.held(units.ordinal(at), part);
                    holdings.add(units.unit(at), facts);
                }
            }
            let ordinal = units.ordinal(PartPos { item, part: 0 });
            holdings.want(self.foresight.relied_on(ordinal));
        }
        holdings
    }

    /// The candidates, least needed for their size first. What goes makes the other holders of its
    /// facts more needed, so the next one is only known when the one before has gone.
    fn order(&self, context: &StageContext<'_>, demand: &Demand) -> impl Iterator<Item = usize> {
        let units = Units::of(context.history);
        let mut holdings = self.holdings(context, &units);
        let mut choice = Greedy::default();
        // By unit, the candidate that it is.
        let mut standing: Vec<Option<usize>> = vec![None; units.count];
        let price = |holdings: &Holdings, unit: UnitId, candidate: usize| Price {
            uses: holdings.uses(unit),
            gain: demand.candidates[candidate].gain,
            messages: false,
        };
        for (index, candidate) in demand.candidates.iter().enumerate() {
            let unit = units.unit(candidate.at);
            standing[unit] = Some(index);
            choice.put(unit, price(&holdings, unit, index));
        }
        holdings.changed();
        std::iter::from_fn(move || {
            let known = |unit: UnitId| Some(price(&holdings, unit, standing[unit]?));
            let unit = choice.take(&known)?;
            let index = standing[unit].take()?;
            let at = demand.candidates[index].at;
            holdings.remove(unit, self.foresight.held(units.ordinal(at), at.part));
            for unit in holdings.changed() {
                if let Some(candidate) = standing[unit] {
                    choice.put(unit, price(&holdings, unit, candidate));
                }
            }
            Some(index)
        })
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
                let order = self.order(context, &demand);
                self.evict.clear(context, &demand, order, "least needed first")
            }
        }
    }
}
