//! The second half of a fold: the layout, once the summaries are there.

use crate::budget::TokenBudget;
use crate::cut::{Budget, Cut};
use crate::render::{self, Section};
use crate::scheme::{Allowance, TieredResidual};
use crate::tiers::TIERS;
use foldback_core::log::{EntryKind, Message, Role};
use foldback_core::outcome::Why;
use foldback_core::plan::{Edit, Insert, Layout, Slot, push_kept};
use foldback_core::stage::{Arrangement, StageContext, Summary};
use foldback_core::view::{Place, Pos};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::slice::Iter;
use std::sync::Arc;

/// An arrangement in the making.
pub(crate) struct Fold<'a, 's> {
    filter: &'a TieredResidual,
    context: &'a StageContext<'s>,
    cut: &'a Cut<'s>,
    sections: Vec<Section>,
    /// Tokens of each summary; index 0 is tier 1.
    used: [u64; TIERS - 1],
    reasons: Vec<String>,
    rows: Vec<Value>,
    stored: Vec<Value>,
}

impl<'a, 's> Fold<'a, 's> {
    pub(crate) fn new(
        filter: &'a TieredResidual,
        context: &'a StageContext<'s>,
        cut: &'a Cut<'s>,
    ) -> Self {
        Self {
            filter,
            context,
            cut,
            sections: Vec::new(),
            used: [0; TIERS - 1],
            reasons: Vec::new(),
            rows: Vec::new(),
            stored: Vec::new(),
        }
    }

    /// Adds the text that replaces a tier. Takes the next of the answers if it asked for a summary.
    pub(crate) fn add_tier(&mut self, tier: usize, answers: &mut Iter<'_, Option<Summary>>) {
        let config = &self.filter.config;
        let messages = self.cut.messages(tier);
        let allowance = self.filter.allowance(self.cut, tier);
        let asked = matches!(allowance, Allowance::Summary(_));
        let answer = asked.then(|| answers.next()).flatten().and_then(Option::as_ref);
        let (text, by) = match (allowance, answer) {
            (Allowance::Summary(budget), Some(summary)) if !summary.text.trim().is_empty() => {
                // Only where the guard against long summaries is off can one come this far.
                let text = if summary.tokens > budget {
                    self.reasons.push(format!(
                        "the summary of tier {tier} has {} tokens and is cut to {budget}",
                        summary.tokens
                    ));
                    self.filter.by_sentence(self.context, &summary.text, budget)
                } else {
                    summary.text.clone()
                };
                (text, summary.by.clone())
            }
            (Allowance::Summary(budget), _) => {
                self.reasons.push(format!(
                    "tier {tier} has no summary; its most important sentences stand in"
                ));
                let text = self.filter.sentences(self.context, &messages, budget);
                (text, "sentences".to_owned())
            }
            (Allowance::Sentences(budget), _) => {
                let text = self.filter.sentences(self.context, &messages, budget);
                (text, "sentences".to_owned())
            }
            (Allowance::Nothing, _) => (String::new(), "nothing".to_owned()),
        };
        let tokens = self.context.estimator().text(&text);
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
            .create(agent.unwrap_or("conversation"), messages, self.context.now())
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

    pub(crate) fn finish(mut self) -> Result<Arrangement, Why> {
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
        self.filter.worthwhile(self.context, self.tokens(&layout, &edits))?;
        let tables = self.tables(budget.as_ref());
        Ok(Arrangement { entries: Vec::new(), layout, edits, reasons: self.reasons, tables })
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
        let raw: u64 = positions.iter().map(|pos| self.context.tokens(Place::Item(*pos))).sum();
        let excess = raw.saturating_sub(budget.tier(0));
        let (edits, left) =
            render::cut_results(self.context, &positions, excess, config.min_result_tokens);
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
        Layout { slots, tail_from: self.context.history.len() }
    }

    /// Tokens of the view under this layout.
    fn tokens(&self, layout: &Layout, edits: &[Edit]) -> u64 {
        let inserted = layout.slots.iter().map(|slot| match slot {
            Slot::Insert(insert) => self.context.meter.measure(insert.message()),
            Slot::Keep(_) => 0,
        });
        let cut: u64 = edits.iter().map(|edit| edit.before - edit.after).sum();
        inserted.sum::<u64>() + self.cut.kept_tokens(self.context) - cut
    }

    /// The message with the summaries; the view's own message if its text is equal.
    fn insert(&self) -> Insert {
        let text = render::summary_message(&self.sections);
        let mut shown = self.context.view.layout().slots.iter();
        let known = shown.find_map(|slot| match slot {
            Slot::Insert(insert) if insert.text() == text => Some(insert.clone()),
            _ => None,
        });
        known.unwrap_or_else(|| {
            let id = self.context.services.ids.next("summary");
            Insert::new(id, Role::User, text, EntryKind::Summary)
        })
    }

    /// Whether the view shows just what this layout would.
    fn shows_already(&self, layout: &Layout) -> bool {
        let mut wanted = Vec::new();
        for slot in &layout.slots {
            match slot {
                Slot::Keep(range) => wanted.extend(range.clone().map(Shows::Item)),
                Slot::Insert(insert) => wanted.push(Shows::Insert(insert.id())),
            }
        }
        let shown = self.context.places().iter().map(|place| match place {
            Place::Item(pos) => Shows::Item(*pos),
            Place::Insert(_) => Shows::Insert(&self.context.message(*place).id),
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

/// The message at a position of a view.
#[derive(PartialEq)]
enum Shows<'a> {
    Item(Pos),
    Insert(&'a str),
}
