//! `evict`: above a trigger, clears tool results in a chosen order until a target is reached.
//!
//! Trigger and target are shares of the usable window, and the whole request counts, frame included:
//! with every size and the window doubled it decides the same.

use super::results::{DEFAULT_PLACEHOLDER, check_placeholder, gain, standing};
use crate::usable::{Usable, check_shares, unknown};
use foldback_core::meter::{LastText, MeteredResult};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::view::PartPos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::sync::Arc;

/// Which tool result goes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The oldest one.
    #[default]
    Oldest,
    /// The one that came last, even where the model has not seen it yet.
    Newest,
    /// The largest, of equals the oldest.
    Largest,
    /// Any, with equal chance; drawn again at each eviction.
    Random,
}

impl Order {
    fn as_str(self) -> &'static str {
        match self {
            Self::Oldest => "oldest first",
            Self::Newest => "newest first",
            Self::Largest => "largest first",
            Self::Random => "at random",
        }
    }
}

/// Configuration of [`Evict`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EvictConfig {
    /// Share of the usable window above which it evicts (0 to 1).
    pub trigger: f64,
    /// Share of the usable window that the request is brought down to (0 to `trigger`).
    pub target: f64,
    /// Which tool result goes first.
    pub order: Order,
    /// Start of the random order; of no effect in the others.
    pub seed: u64,
    /// Whether the output limit is subtracted from the window first. A limit of the input alone already leaves it out.
    pub reserve_output: bool,
    /// What replaces a cleared result.
    pub placeholder: String,
}

impl Default for EvictConfig {
    fn default() -> Self {
        Self {
            trigger: 0.8,
            target: 0.65,
            order: Order::default(),
            seed: 1,
            reserve_output: true,
            placeholder: DEFAULT_PLACEHOLDER.to_owned(),
        }
    }
}

impl StageConfig<dyn Pruner> for EvictConfig {
    fn build(self) -> Result<Arc<dyn Pruner>, Invalid> {
        Ok(Arc::new(Evict::new(self)?))
    }
}

/// Above a trigger, clears tool results in a chosen order until a target is reached.
///
/// Where all results together are not enough, all are cleared and the request stays above the target.
#[derive(Clone, Debug)]
pub struct Evict {
    config: EvictConfig,
    placeholder: Arc<str>,
}

/// What an eviction has to give back, and what it may choose from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Demand {
    /// Tokens between the request and the target.
    pub reclaim: u64,
    /// The results that may be cleared, oldest first.
    pub candidates: Vec<Candidate>,
    /// The comparison in words.
    pub reason: String,
}

/// A tool result that may be cleared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Where it stands.
    pub at: PartPos,
    /// Tokens that it shows now.
    pub tokens: u64,
    /// Tokens that clearing it gives back; above 0.
    pub gain: u64,
}

impl Evict {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// Shares outside 0 to 1 or out of order; an empty placeholder.
    pub fn new(config: EvictConfig) -> Result<Self, Invalid> {
        check_shares(config.trigger, config.target)?;
        check_placeholder(&config.placeholder)?;
        Ok(Self { placeholder: config.placeholder.as_str().into(), config })
    }

    /// What has to go now and what can, or why nothing does. Independent of the order.
    ///
    /// # Errors
    ///
    /// The window is not known, the request is not above the trigger, or there is no tool result that
    /// would get smaller.
    pub fn demand(&self, context: &StageContext<'_>) -> Result<Demand, Why> {
        let (reclaim, reason) = self.excess(context)?;
        let mut last = LastText::default();
        let candidates: Vec<Candidate> = standing(context)
            .filter_map(|result| self.candidate(context, result, &mut last))
            .collect();
        if candidates.is_empty() {
            return Err(nothing_left(&reason));
        }
        Ok(Demand { reclaim, candidates, reason })
    }

    /// Tokens between the request and the target, and the comparison in words.
    ///
    /// # Errors
    ///
    /// The window is not known, or the request is not above the trigger.
    pub fn excess(&self, context: &StageContext<'_>) -> Result<(u64, String), Why> {
        let EvictConfig { trigger, target, reserve_output, .. } = self.config;
        let usable = Usable::new(context.limits, reserve_output).ok_or_else(unknown)?;
        let request = context.frame_tokens() + context.view_tokens();
        let (above, down_to) = (usable.share(trigger), usable.share(target));
        let sign = if request > above { ">" } else { "<=" };
        let reason = format!("{request} {sign} {above} ({trigger} of {})", usable.arithmetic);
        if request <= above {
            return Err(Why::new("below-threshold", reason));
        }
        Ok((request - down_to, reason))
    }

    /// A result that stands, if clearing it gives something back.
    pub fn candidate<'t>(
        &'t self,
        context: &StageContext<'_>,
        result: &MeteredResult,
        last: &mut LastText<'t>,
    ) -> Option<Candidate> {
        let gain = gain(context, result, &self.placeholder, last);
        (gain > 0).then_some(Candidate { at: result.at, tokens: result.tokens, gain })
    }

    /// Clears candidates, given by index in the order in which they go, until the demand is met.
    pub fn clear(
        &self,
        context: &StageContext<'_>,
        demand: &Demand,
        order: impl IntoIterator<Item = usize>,
        by: &str,
    ) -> Pruning {
        let (mut going, mut gained, mut prunable) = (Vec::new(), 0, 0);
        for index in order {
            let Candidate { at, tokens, gain } = demand.candidates[index];
            going.push(at);
            gained += gain;
            prunable += tokens;
            if gained >= demand.reclaim {
                break;
            }
        }
        let short = demand.reclaim.saturating_sub(gained);
        let short = match short {
            0 => String::new(),
            short => format!(", {short} short of the target"),
        };
        let reason = format!(
            "clears {} of {} tool results, {by}: {}{short}",
            going.len(),
            demand.candidates.len(),
            demand.reason,
        );
        let edits = context.clear(going, &self.placeholder, "evicted to reach the target");
        Pruning::Edits { edits, prunable, reason }
    }

    /// The candidates in the configured order, by index.
    pub fn order(&self, context: &StageContext<'_>, candidates: &[Candidate]) -> Vec<usize> {
        let mut order: Vec<usize> = (0..candidates.len()).collect();
        match self.config.order {
            Order::Oldest => {}
            Order::Newest => order.reverse(),
            // The sort is stable: of equals the oldest stays first.
            Order::Largest => order.sort_by_key(|index| Reverse(candidates[*index].tokens)),
            Order::Random => order.sort_by_cached_key(|index| {
                let at = candidates[*index].at;
                let part = context.history.message(at.item).parts.get(at.part);
                let call = part.and_then(|part| part.as_result());
                let call = call.map_or("", |result| &result.call_id);
                draw(self.config.seed, context.history.len(), at, call)
            }),
        }
        order
    }
}

/// Why nothing is cleared where nothing can be.
pub fn nothing_left(reason: &str) -> Why {
    Why::new("nothing-to-clear", format!("{reason}, but no tool result is left to clear"))
}

/// A random number for a result at an eviction. It depends on the seed and on what happened, so a
/// replay of the same session draws the same; the length of the history makes each eviction a draw of
/// its own, and the call's id each session.
fn draw(seed: u64, round: usize, at: PartPos, call: &str) -> u64 {
    let numbers = [seed, round as u64, at.item as u64, at.part as u64];
    let state = numbers.into_iter().fold(0, |state, n| scramble(state ^ n));
    call.bytes().fold(state, |state, byte| scramble(state ^ u64::from(byte)))
}

/// One step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
fn scramble(state: u64) -> u64 {
    let z = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Pruner for Evict {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        match self.demand(context) {
            Err(why) => Pruning::Nothing(why),
            Ok(demand) => {
                let order = self.order(context, &demand.candidates);
                self.clear(context, &demand, order, self.config.order.as_str())
            }
        }
    }
}
