//! The decisions of one fold: the residuals, the tiers, and their budgets.
//!
//! The tiers are built again from the stored history each time, regardless of earlier folds.

use crate::budget::{self, Fixed, TokenBudget};
use crate::config::{AgeFrom, TieredConfig, Together};
use crate::mentions::{self, MessageFacts};
use crate::score::{Evidence, Score};
use crate::selection::{self, Selection, Unit};
use crate::tiers::{self, TIERS};
use foldback_core::log::{Message, Role};
use foldback_core::stage::StageContext;
use foldback_core::view::{Place, Pos};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Total that is dealt out where neither a budget nor a target nor a window is known: the original's.
const FALLBACK_TOTAL: u64 = 8_000;

/// A budget in the arithmetic that the configuration asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Budget {
    /// Integers, never below zero.
    Integer(TokenBudget<u64>),
    /// The document's doubles.
    Exact(TokenBudget<f64>),
}

impl Budget {
    /// What a tier gets; nothing where the document's arithmetic went below zero.
    pub(crate) fn tier(&self, tier: usize) -> u64 {
        match self {
            Self::Integer(budget) => budget.allocated.tiers[tier],
            Self::Exact(budget) => budget.allocated.tiers[tier].max(0.0) as u64,
        }
    }

    pub(crate) fn table(&self) -> Value {
        match self {
            Self::Integer(budget) => json!(budget),
            Self::Exact(budget) => json!(budget),
        }
    }
}

/// What one fold would do, before any summary exists.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    /// System messages that open the history: they stay where they are.
    pub(crate) pinned: Vec<Pos>,
    /// The conversation: everything else, oldest first.
    pub(crate) conversation: Vec<(Pos, &'a Arc<Message>)>,
    /// Score of each message of the conversation.
    pub(crate) scores: Vec<Score>,
    /// Indices into the conversation that stay as they are.
    pub(crate) residuals: Selection,
    /// Most messages that may be residuals.
    pub(crate) cap: usize,
    /// Indices into the conversation, by tier.
    pub(crate) tiers: [Vec<usize>; TIERS],
    /// Tokens of the originals, by tier.
    pub(crate) sizes: [u64; TIERS],
    /// The budget, where one is kept.
    pub(crate) budget: Option<Budget>,
}

impl<'a> Cut<'a> {
    pub(crate) fn new(config: &TieredConfig, context: &StageContext<'a>) -> Self {
        let mut conversation: Vec<_> = context.history.iter().collect();
        let opening =
            conversation.iter().take_while(|(_, message)| message.role == Role::System).count();
        let pinned: Vec<Pos> = conversation.drain(..opening).map(|(pos, _)| pos).collect();
        let scores = scores(config, context, &conversation);
        let cap = selection::cap(conversation.len(), config.residual_max_percent);
        let fixed = fixed(config, context, &pinned);
        let total = total(config, context);

        let shown = |index: &usize| context.tokens(Place::Item(conversation[*index].0));
        let residuals = if !config.residuals {
            Selection::default()
        } else if config.doc_exact {
            exact_residuals(config, &scores)
        } else {
            let token_cap = if config.budget {
                budget::residual_ceiling(total, &fixed, &config.shares)
            } else {
                u64::MAX
            };
            let units = units(config, context, &conversation, &scores);
            selection::select(&units, config.residual_threshold, cap, token_cap)
        };
        let tiers = tiers_of(config, context, &conversation, &residuals);
        let sizes = std::array::from_fn(|tier| {
            tiers[tier].iter().map(|index| context.meter.appended(conversation[*index].0)).sum()
        });
        let residual_tokens = residuals.kept.iter().map(shown).sum();
        let budget = config.budget.then(|| {
            if config.doc_exact {
                let fixed = fixed.as_documented(config.shares.current_message);
                let dealt = budget::allocate_exact(total, fixed, residual_tokens, &config.shares);
                Budget::Exact(dealt)
            } else {
                let dealt = budget::allocate(total, fixed, residual_tokens, &config.shares);
                Budget::Integer(dealt)
            }
        });
        Self { pinned, conversation, scores, residuals, cap, tiers, sizes, budget }
    }

    /// The messages of a tier, oldest first.
    pub(crate) fn messages(&self, tier: usize) -> Vec<Arc<Message>> {
        self.tiers[tier].iter().map(|index| Arc::clone(self.conversation[*index].1)).collect()
    }

    /// Positions of the messages at these indices.
    pub(crate) fn positions(&self, indices: &[usize]) -> Vec<Pos> {
        indices.iter().map(|i| self.conversation[*i].0).collect()
    }

    /// Tokens of everything that stays, as the view shows it now.
    pub(crate) fn kept_tokens(&self, context: &StageContext<'_>) -> u64 {
        let kept = self.residuals.kept.iter().chain(&self.tiers[0]);
        let kept = kept.map(|index| self.conversation[*index].0);
        self.pinned.iter().copied().chain(kept).map(|pos| context.tokens(Place::Item(pos))).sum()
    }

    /// The messages that reached the threshold, with score, factors and what became of them.
    pub(crate) fn residual_table(&self) -> Value {
        let row = |index: &usize, fate: &str| {
            let (_, message) = self.conversation[*index];
            let score = &self.scores[*index];
            json!({
                "message": message.id,
                "score": score.points,
                "display": score.display(),
                "factors": score.factors(),
                "fate": fate,
            })
        };
        let kept = self.residuals.kept.iter().map(|index| row(index, "kept"));
        let demoted = self.residuals.demoted.iter().map(|i| row(i, "demoted"));
        kept.chain(demoted).collect()
    }

    /// The arithmetic in words.
    pub(crate) fn reasons(&self) -> Vec<String> {
        let [raw, light, medium, heavy] = self.tiers.each_ref().map(Vec::len);
        let mut reasons = vec![format!(
            "{} messages: {} residual (at most {}; {} demoted), tiers {raw}/{light}/{medium}/{heavy}",
            self.conversation.len(),
            self.residuals.kept.len(),
            self.cap,
            self.residuals.demoted.len(),
        )];
        match &self.budget {
            Some(Budget::Integer(budget)) => reasons.push(format!(
                "budget {}: fixed {}, residuals {}, tiers {:?}",
                budget.total,
                budget.allocated.fixed.total(),
                budget.allocated.residuals,
                budget.allocated.tiers,
            )),
            Some(Budget::Exact(budget)) => reasons.push(format!(
                "budget {}: fixed {}, residuals {}, tiers {:?}",
                budget.total,
                budget.allocated.fixed.total(),
                budget.allocated.residuals,
                budget.allocated.tiers,
            )),
            None => {}
        }
        reasons
    }
}

/// Tokens of the whole prompt after the fold.
fn total(config: &TieredConfig, context: &StageContext<'_>) -> u64 {
    if config.budget_tokens > 0 {
        return config.budget_tokens;
    }
    if let Some(target) = context.decision.and_then(|decision| decision.target) {
        return target;
    }
    context.limits.request_ceiling().map_or(FALLBACK_TOTAL, |ceiling| {
        foldback_core::fraction::Fraction::from_number(config.budget_fraction).floor_of(ceiling)
    })
}

fn fixed(config: &TieredConfig, context: &StageContext<'_>, pinned: &[Pos]) -> Fixed {
    let reserve = config.shares.current_message;
    let mut fixed = Fixed::new(context.frame, reserve, &**context.estimator());
    let pinned_tokens = pinned.iter().map(|pos| context.tokens(Place::Item(*pos)));
    fixed.system_prompt += pinned_tokens.sum::<u64>();
    fixed
}

fn scores(
    config: &TieredConfig,
    context: &StageContext<'_>,
    conversation: &[(Pos, &Arc<Message>)],
) -> Vec<Score> {
    if !config.residuals {
        return vec![Score::default(); conversation.len()];
    }
    mentions::read(context.history, |seen| {
        let seen = || conversation.iter().map(|(pos, _)| seen[*pos]);
        let now = match config.age_from {
            AgeFrom::Newest => seen().filter_map(|seen| seen.at).max(),
            AgeFrom::Clock => Some(context.now()),
        };
        let score = |MessageFacts { at, evidence }| {
            let age = now.zip(at).map(|(now, at): (i64, i64)| now.saturating_sub(at));
            Evidence { age, ..evidence }.score(&config.weights)
        };
        seen().map(score).collect()
    })
}

/// What is kept or demoted together and reaches the threshold, in the order of the first members.
fn units(
    config: &TieredConfig,
    context: &StageContext<'_>,
    conversation: &[(Pos, &Arc<Message>)],
    scores: &[Score],
) -> Vec<Unit> {
    let unit = |index: usize, pos: Pos| match config.together {
        Together::Message => index,
        Together::Group => context.history.group_of(pos),
    };
    let scored = || conversation.iter().zip(scores).enumerate();
    let mut best = vec![0; conversation.len().max(context.history.groups().len())];
    for (index, ((pos, _), score)) in scored() {
        let best: &mut u32 = &mut best[unit(index, *pos)];
        *best = score.points.max(*best);
    }
    let mut units: BTreeMap<usize, Unit> = BTreeMap::new();
    for (index, ((pos, _), _)) in scored() {
        let unit = unit(index, *pos);
        let score = best[unit];
        if score >= config.residual_threshold {
            let empty = Unit { score, members: Vec::new(), tokens: 0 };
            let unit = units.entry(unit).or_insert(empty);
            unit.members.push(index);
            unit.tokens += context.tokens(Place::Item(*pos));
        }
    }
    units.into_values().collect()
}

/// The document's own residuals. Its main function filters the tiers by score, not by what was
/// extracted, so those that the cap cuts off are in neither.
fn exact_residuals(config: &TieredConfig, scores: &[Score]) -> Selection {
    let points: Vec<u32> = scores.iter().map(|score| score.points).collect();
    let threshold = config.residual_threshold;
    let kept = selection::extract_exact(&points, threshold, config.residual_max_percent);
    let demoted = (0..scores.len())
        .filter(|index| scores[*index].is_residual(threshold) && !kept.contains(index))
        .collect();
    Selection { kept, demoted }
}

fn tiers_of(
    config: &TieredConfig,
    context: &StageContext<'_>,
    conversation: &[(Pos, &Arc<Message>)],
    residuals: &Selection,
) -> [Vec<usize>; TIERS] {
    let mut out = vec![false; conversation.len()];
    let lost: &[usize] = if config.doc_exact { &residuals.demoted } else { &[] };
    for index in residuals.kept.iter().chain(lost) {
        out[*index] = true;
    }
    let rest: Vec<usize> = (0..conversation.len()).filter(|i| !out[*i]).collect();
    if config.doc_exact {
        return tiers::slices_exact(rest.len(), config.edges()).map(|range| rest[range].to_vec());
    }
    let groups: Vec<usize> = match config.together {
        Together::Message => rest.clone(),
        Together::Group => {
            rest.iter().map(|index| context.history.group_of(conversation[*index].0)).collect()
        }
    };
    let mut tiers: [Vec<usize>; TIERS] = Default::default();
    for (index, tier) in rest.iter().zip(tiers::assign(&groups, config.edges())) {
        tiers[tier].push(*index);
    }
    tiers
}
