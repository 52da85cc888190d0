//! The control `clairvoyant`: evicts what will be needed least for its size.

use super::choice::{Choice, Greedy, Price};
use super::foresight::Foresight;
use super::holdings::Holdings;
use foldback_core::guard::Guards;
use foldback_core::limits::Limits;
use foldback_core::moment::Moment;
use foldback_core::registry::Invalid;
use foldback_core::stage::{Pruner, Pruning, Scene};
use foldback_core::strategy::{Bound, Kind, OnFailure, Strategy};
use foldback_core::view::{EditKind, PartPos};
use foldback_stages::estimator::CharsConfig;
use foldback_stages::pruner::{Demand, Evict, EvictConfig};
use std::collections::HashMap;
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
    let stage = Clairvoyant {
        evict: Evict::new(config)?,
        foresight,
    };
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
        deviations: Vec::new(),
    })
}

/// Clears the results that are needed least for their size. Sees the future.
#[derive(Debug)]
struct Clairvoyant {
    evict: Evict,
    foresight: Arc<dyn Foresight>,
}

impl Clairvoyant {
    /// What the view holds of what will be needed. A unit is a part of the log; `units` are the
    /// numbers of the parts and the ordinals of their messages.
    fn holdings(&self, scene: &Scene<'_>) -> (Holdings, HashMap<PartPos, (usize, usize)>) {
        let log = || {
            let messages = scene.history.iter();
            messages.filter(|(_, message)| !message.is_entry())
        };
        let parts = log().map(|(_, message)| message.parts.len()).sum();
        let mut holdings = Holdings::new(self.foresight.facts(), parts);
        let mut units = HashMap::with_capacity(parts);
        let mut call = 0;
        for (ordinal, (item, message)) in log().enumerate() {
            if message.is_answer() {
                holdings.release(self.foresight.due(call));
                call += 1;
            }
            for part in 0..message.parts.len() {
                let at = PartPos { item, part };
                let unit = units.len();
                units.insert(at, (unit, ordinal));
                let edit = scene.view.edit(at);
                let stands = edit.is_none_or(|edit| edit.kind != EditKind::Clear);
                if stands && scene.view.is_visible(item) {
                    holdings.add(unit, self.foresight.held(ordinal, part));
                }
            }
            holdings.want(self.foresight.relied_on(ordinal));
        }
        (holdings, units)
    }

    /// The candidates, least needed for their size first. What goes makes the other holders of its
    /// facts more needed, so the next one is only known when the one before has gone.
    fn order(&self, scene: &Scene<'_>, demand: &Demand) -> impl Iterator<Item = usize> {
        let (mut holdings, units) = self.holdings(scene);
        let mut choice = Greedy::default();
        // By unit, the candidate that it is.
        let mut candidates: HashMap<usize, usize> = HashMap::new();
        let price = |holdings: &Holdings, unit: usize, candidate: usize| Price {
            uses: holdings.uses(unit),
            gain: demand.candidates[candidate].gain,
            messages: false,
        };
        for (index, candidate) in demand.candidates.iter().enumerate() {
            let Some((unit, _)) = units.get(&candidate.at) else {
                continue;
            };
            candidates.insert(*unit, index);
            choice.put(*unit, price(&holdings, *unit, index));
        }
        holdings.changed();
        std::iter::from_fn(move || {
            let known = |unit| {
                let candidate = candidates.get(&unit)?;
                Some(price(&holdings, unit, *candidate))
            };
            let unit = choice.take(&known)?;
            let index = candidates.remove(&unit)?;
            let at = demand.candidates[index].at;
            if let Some((_, ordinal)) = units.get(&at) {
                holdings.remove(unit, self.foresight.held(*ordinal, at.part));
            }
            for unit in holdings.changed() {
                if let Some(candidate) = candidates.get(&unit) {
                    choice.put(unit, price(&holdings, unit, *candidate));
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

    fn prune(&self, scene: &Scene<'_>) -> Pruning {
        match self.evict.demand(scene) {
            Err(why) => Pruning::Nothing(why),
            Ok(demand) => {
                let order = self.order(scene, &demand);
                self.evict
                    .clear(scene, &demand, order, "least needed first")
            }
        }
    }
}
