//! `tiered.residual`: residuals stay, the newest messages stay, everything else is summarised, the
//! harder the older.
//!
//! The layout is: system messages that open the history, one user message with the summaries of tiers
//! 3, 2 and 1 under headings, then residuals and tier 0 in original order.

use crate::budget::TokenBudget;
use crate::cache::{self, CacheStatistics, SummaryCache};
use crate::config::TieredConfig;
use crate::cut::{Budget, Cut};
use crate::reference::ContextReferences;
use crate::render::{self, Section};
use crate::share::Share;
use crate::tiers::TIERS;
use crate::truncate;
use foldback_core::log::{EntryKind, Message, Role};
use foldback_core::moment::Trigger;
use foldback_core::outcome::Why;
use foldback_core::plan::{Edit, Insert, Layout, Slot, push_kept};
use foldback_core::stage::{Arrangement, Filter, Proposal, Scene, Summary, SummaryRequest};
use foldback_core::view::{Place, Pos};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;

/// Name of the stage.
pub const NAME: &str = "tiered.residual";

/// Tiers that are summarised, in the order in which their summaries stand.
const SUMMARISED: [usize; TIERS - 1] = [3, 2, 1];

/// The filter.
#[derive(Clone, Debug)]
pub struct TieredResidual {
    config: TieredConfig,
    cache: Arc<SummaryCache>,
    references: Arc<ContextReferences>,
}

impl TieredResidual {
    /// A filter with a cache and a store of its own. Use [`TieredConfig::filter`], which checks the
    /// configuration.
    pub(crate) fn new(config: TieredConfig, cache: NonZeroUsize, references: NonZeroUsize) -> Self {
        Self {
            cache: Arc::new(SummaryCache::new(cache)),
            references: Arc::new(ContextReferences::new(
                references,
                config.reference_eviction,
            )),
            config,
        }
    }

    /// The same filter with a cache that others use as well.
    #[must_use]
    pub fn with_cache(mut self, cache: Arc<SummaryCache>) -> Self {
        self.cache = cache;
        self
    }

    /// The same filter with a store that others use as well, e.g. the agent's look-up tool.
    #[must_use]
    pub fn with_references(mut self, references: Arc<ContextReferences>) -> Self {
        self.references = references;
        self
    }

    /// Hits and misses of the summary cache.
    pub fn cache_statistics(&self) -> CacheStatistics {
        self.cache.statistics()
    }

    /// The stored originals of what was summarised.
    pub fn references(&self) -> &Arc<ContextReferences> {
        &self.references
    }

    /// What a summary of a tier may take, and whether it is worth asking a summarizer for.
    fn allowance(&self, cut: &Cut<'_>, tier: usize) -> Allowance {
        let wanted = Share::percent(self.config.preserve[tier - 1]).floor_of(cut.sizes[tier]);
        let floor = self.config.min_summary_tokens;
        if wanted < floor {
            return Allowance::Sentences(wanted);
        }
        let dealt = cut.budget.map_or(u64::MAX, |budget| budget.tier(tier));
        match wanted.min(dealt).max(floor) {
            0 => Allowance::Nothing,
            tokens => Allowance::Summary(tokens),
        }
    }

    fn by_sentence(&self, scene: &Scene<'_>, text: &str, tokens: u64) -> String {
        let estimator = scene.estimator();
        let cut = |text: &str, target| {
            if self.config.doc_exact {
                truncate::by_sentence_exact(text, target, &self.config.keywords)
            } else {
                truncate::by_sentence(text, target, &self.config.keywords)
            }
        };
        let whole = estimator.text(text);
        truncate::to_tokens(text, whole, tokens, |text| estimator.text(text), cut)
    }

    /// Refuses a fold that nobody asked for and that frees too little: each one costs a prompt cache,
    /// and where tier 0 alone is too large the next call would ask for another.
    fn worthwhile(&self, scene: &Scene<'_>, after: u64) -> Result<(), Why> {
        let before = scene.view_tokens();
        let gain = before.saturating_sub(after);
        let least = Share::percent(self.config.min_gain_percent).ceil_of(before);
        if scene.trigger == Trigger::Manual || gain >= least {
            return Ok(());
        }
        Err(Why::new(
            "not-worthwhile",
            format!(
                "a fold would free {gain} of {before} tokens, less than {} %",
                self.config.min_gain_percent
            ),
        ))
    }

    /// The text of a tier that nobody summarises.
    fn sentences(&self, scene: &Scene<'_>, messages: &[Arc<Message>], tokens: u64) -> String {
        self.by_sentence(scene, &render::transcript(messages), tokens)
    }
}

/// What a tier's summary may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowance {
    /// A summary of so many tokens.
    Summary(u64),
    /// The tier is so small that its sentences are cut to so many tokens.
    Sentences(u64),
    /// No room at all.
    Nothing,
}

fn request_name(tier: usize) -> String {
    format!("tier-{tier}")
}

impl Filter for TieredResidual {
    fn propose(&self, scene: &Scene<'_>) -> Result<Proposal, Why> {
        if !self.config.tiered {
            return Err(Why::new("off", "tiered compression is switched off"));
        }
        let cut = Cut::new(&self.config, scene);
        // Before anybody is asked: what if the summaries took nothing at all?
        let mut least = cut.kept_tokens(scene);
        if self.config.budget && self.config.cut_tool_results {
            let raw = cut.positions(&cut.tiers[0]);
            let floor = self.config.min_result_tokens;
            least = least.saturating_sub(render::cuttable_tokens(scene, &raw, floor));
        }
        self.worthwhile(scene, least)?;
        let requests = SUMMARISED
            .into_iter()
            .filter(|tier| !cut.tiers[*tier].is_empty())
            .filter_map(|tier| match self.allowance(&cut, tier) {
                Allowance::Summary(budget) => Some(SummaryRequest {
                    name: request_name(tier),
                    style: format!("tiered.{tier}"),
                    messages: cut.messages(tier),
                    previous: None,
                    instructions: scene.instructions.to_vec(),
                    budget,
                    estimator: Arc::clone(scene.estimator()),
                    ready: None,
                }),
                Allowance::Sentences(_) | Allowance::Nothing => None,
            })
            .collect();
        Ok(Proposal {
            requests,
            reasons: cut.reasons(),
        })
    }

    fn arrange(
        &self,
        scene: &Scene<'_>,
        proposal: &Proposal,
        summaries: &[Option<Summary>],
    ) -> Result<Arrangement, Why> {
        let cut = Cut::new(&self.config, scene);
        let mut fold = Fold::new(self, scene, &cut);
        for tier in SUMMARISED {
            if cut.tiers[tier].is_empty() {
                continue;
            }
            let name = request_name(tier);
            let answer = proposal
                .requests
                .iter()
                .position(|request| request.name == name)
                .and_then(|index| summaries.get(index));
            fold.add_tier(tier, answer);
        }
        fold.finish()
    }

    fn recall(&self, request: &SummaryRequest, summarizer: &str) -> Option<Summary> {
        self.cache.get(&cache::key(request, summarizer))
    }

    fn remember(&self, request: &SummaryRequest, summarizer: &str, summary: &Summary) {
        self.cache
            .put(cache::key(request, summarizer), summary.clone());
    }

    fn statistics(&self) -> BTreeMap<String, Value> {
        let cache = self.cache.statistics();
        let mut table = json!(cache);
        table["hit_rate"] = json!(cache.hit_rate());
        BTreeMap::from([("summary-cache".to_owned(), table)])
    }
}

/// An arrangement in the making.
struct Fold<'a, 's> {
    filter: &'a TieredResidual,
    scene: &'a Scene<'s>,
    cut: &'a Cut<'s>,
    sections: Vec<Section>,
    /// Tokens of each summary; index 0 is tier 1.
    used: [u64; TIERS - 1],
    reasons: Vec<String>,
    rows: Vec<Value>,
    stored: Vec<Value>,
}

impl<'a, 's> Fold<'a, 's> {
    fn new(filter: &'a TieredResidual, scene: &'a Scene<'s>, cut: &'a Cut<'s>) -> Self {
        Self {
            filter,
            scene,
            cut,
            sections: Vec::new(),
            used: [0; TIERS - 1],
            reasons: Vec::new(),
            rows: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Puts what stands for a tier in its place. `answer` is what came for its request, if it had one.
    fn add_tier(&mut self, tier: usize, answer: Option<&Option<Summary>>) {
        let config = &self.filter.config;
        let messages = self.cut.messages(tier);
        let (text, by) = match (self.filter.allowance(self.cut, tier), answer) {
            (Allowance::Summary(budget), Some(Some(summary)))
                if !summary.text.trim().is_empty() =>
            {
                // Only where the guard against long summaries is off can one come this far.
                let text = if summary.tokens > budget {
                    self.reasons.push(format!(
                        "the summary of tier {tier} has {} tokens and is cut to {budget}",
                        summary.tokens
                    ));
                    self.filter.by_sentence(self.scene, &summary.text, budget)
                } else {
                    summary.text.clone()
                };
                (text, summary.by.clone())
            }
            (Allowance::Summary(budget), _) => {
                self.reasons.push(format!(
                    "tier {tier} has no summary; its most important sentences stand in"
                ));
                let text = self.filter.sentences(self.scene, &messages, budget);
                (text, "sentences".to_owned())
            }
            (Allowance::Sentences(budget), _) => {
                let text = self.filter.sentences(self.scene, &messages, budget);
                (text, "sentences".to_owned())
            }
            (Allowance::Nothing, _) => (String::new(), "nothing".to_owned()),
        };
        let tokens = self.scene.estimator().text(&text);
        self.used[tier - 1] = tokens;
        self.rows.push(json!({
            "tier": tier,
            "messages": messages.len(),
            "tokens_before": self.cut.sizes[tier],
            "tokens_after": tokens,
            "by": by,
        }));
        if text.trim().is_empty() {
            self.reasons.push(format!(
                "tier {tier} ({} messages) is left out: there is no room for a summary",
                messages.len()
            ));
            return;
        }
        let reference = config.references.then(|| self.store(tier, &messages));
        self.sections.push(Section {
            tier,
            messages: messages.len(),
            text,
            reference: reference.flatten(),
        });
    }

    /// Stores the originals of a tier and returns the id that they can be looked up by.
    fn store(&mut self, tier: usize, messages: &[Arc<Message>]) -> Option<String> {
        let agent = messages.iter().find_map(|m| m.agent.as_deref());
        let reference = self
            .filter
            .references
            .create(agent.unwrap_or("conversation"), messages, self.scene.now())
            .ok()?;
        self.stored.push(json!({
            "id": reference.id,
            "tier": tier,
            "messages": messages.len(),
            "size": reference.size,
            "at": reference.at,
        }));
        Some(reference.id)
    }

    fn finish(mut self) -> Result<Arrangement, Why> {
        let budget = self.budget();
        let edits = self.edits(budget.as_ref());
        let layout = self.layout();
        if edits.is_empty() && self.shows_already(&layout) {
            let detail = match self.cut.conversation.len() {
                0 => "there is no conversation yet".to_owned(),
                n => format!("the view is already what {n} messages fold to"),
            };
            return Err(Why::new("nothing-to-fold", detail));
        }
        self.filter
            .worthwhile(self.scene, self.tokens(&layout, &edits))?;
        let tables = self.tables(budget.as_ref());
        Ok(Arrangement {
            entries: Vec::new(),
            layout,
            edits,
            reasons: self.reasons,
            tables,
        })
    }

    /// The budget with what the summaries left over given to tier 0.
    fn budget(&self) -> Option<Budget> {
        match self.cut.budget? {
            Budget::Integer(budget) => {
                let budget: TokenBudget<u64> = budget.redistributed(self.used);
                Some(Budget::Integer(budget))
            }
            exact @ Budget::Exact(_) => Some(exact),
        }
    }

    fn edits(&mut self, budget: Option<&Budget>) -> Vec<Edit> {
        let config = &self.filter.config;
        let (Some(budget), true) = (budget, config.cut_tool_results) else {
            return Vec::new();
        };
        let positions = self.cut.positions(&self.cut.tiers[0]);
        let raw: u64 = positions
            .iter()
            .map(|pos| self.scene.tokens(Place::Item(*pos)))
            .sum();
        let excess = raw.saturating_sub(budget.tier(0));
        let (edits, left) =
            render::cut_results(self.scene, &positions, excess, config.min_result_tokens);
        if excess > 0 {
            self.reasons.push(format!(
                "tier 0 has {raw} tokens, {excess} above its budget: {} tool results cut, {left} tokens \
                 still above",
                edits.len()
            ));
        }
        edits
    }

    fn layout(&self) -> Layout {
        let cut = self.cut;
        let mut slots = Vec::new();
        for pos in &cut.pinned {
            push_kept(&mut slots, *pos);
        }
        if !self.sections.is_empty() {
            slots.push(Slot::Insert(self.insert()));
        }
        let residuals = cut.positions(&cut.residuals.kept);
        let raw = cut.positions(&cut.tiers[0]);
        let mut kept: Vec<Pos> = residuals.into_iter().chain(raw).collect();
        if !self.filter.config.doc_exact {
            kept.sort_unstable();
        }
        for pos in kept {
            push_kept(&mut slots, pos);
        }
        Layout {
            slots,
            tail_from: self.scene.history.len(),
        }
    }

    /// Tokens of the view under this layout.
    fn tokens(&self, layout: &Layout, edits: &[Edit]) -> u64 {
        let inserted = layout.slots.iter().map(|slot| match slot {
            Slot::Insert(insert) => self.scene.meter.measure(&insert.to_message()),
            Slot::Keep(_) => 0,
        });
        let cut: u64 = edits.iter().map(|edit| edit.before - edit.after).sum();
        inserted.sum::<u64>() + self.cut.kept_tokens(self.scene) - cut
    }

    /// The message with the summaries; the one that the view shows already, where the text is the same.
    fn insert(&self) -> Insert {
        let text = render::summary_message(&self.sections);
        let mut shown = self.scene.view.layout().slots.iter();
        let known = shown.find_map(|slot| match slot {
            Slot::Insert(insert) if insert.text == text => Some(insert.clone()),
            _ => None,
        });
        known.unwrap_or_else(|| Insert {
            id: self.scene.services.ids.next("summary"),
            role: Role::User,
            text,
            origin: EntryKind::Summary,
        })
    }

    /// Whether the view shows just what this layout would.
    fn shows_already(&self, layout: &Layout) -> bool {
        let mut wanted = Vec::new();
        for slot in &layout.slots {
            match slot {
                Slot::Keep(range) => wanted.extend(range.clone().map(Shows::Item)),
                Slot::Insert(insert) => wanted.push(Shows::Insert(&insert.id)),
            }
        }
        let shown = self.scene.places().iter().map(|place| match place {
            Place::Item(pos) => Shows::Item(*pos),
            Place::Insert(_) => Shows::Insert(&self.scene.message(*place).id),
        });
        shown.eq(wanted)
    }

    fn tables(&self, budget: Option<&Budget>) -> BTreeMap<String, Value> {
        let mut tables = BTreeMap::new();
        let mut put = |name: &str, table: Value| tables.insert(name.to_owned(), table);
        if let Some(budget) = budget {
            put("budget", budget.table());
        }
        put("residuals", self.cut.residual_table());
        put("tiers", Value::Array(self.rows.clone()));
        if !self.stored.is_empty() {
            put("references", Value::Array(self.stored.clone()));
        }
        tables
    }
}

/// What stands at a place of a view.
#[derive(PartialEq)]
enum Shows<'a> {
    Item(Pos),
    Insert(&'a str),
}
