//! `drop-pairs`: whole calls go with their results, and everything that was said stays word for word.
//!
//! What goes at once is an answer's calls with all their results and the reasoning that led to them: of parallel calls only the first
//! may be signed, and reasoning is bound to its calls. The text of such an answer stays in its place, as an entry. What a
//! [`Scorer`] finds worth the least goes first.
//!
//! Whatever stands before the first message of the user stays, and so do the newest messages, the newest two answers while tools run,
//! calls that wait for a result, and answers with parts that are neither text nor reasoning nor calls.

use super::arranged;
use super::first_units;
use crate::usable::{Usable, check_shares, unknown};
use foldback_core::log::{EntryKind, Message, Part, PartKind, Role, ToolCall};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext};
use foldback_core::view::{Place, Pos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Stands for the tool of a call in a note.
const TOOL: &str = "{tool}";
/// Stands for its arguments.
const INPUT: &str = "{input}";
/// UTF-16 units of arguments in a note.
const INPUT_UNITS: usize = 160;

/// Says what pairs are worth.
pub trait Scorer: Send + Sync + fmt::Debug {
    /// The worth of each pair, in their order. The least worth go first, of equal ones the oldest.
    ///
    /// # Errors
    ///
    /// Why nothing can be said, and so nothing goes.
    fn worth(&self, context: &StageContext<'_>, pairs: &[Pair]) -> Result<Vec<f64>, Why>;
}

/// An answer that calls, with its results.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its messages, the answer first.
    pub positions: Vec<Pos>,
    /// Tokens that the view loses with it.
    pub tokens: u64,
    /// What is shown in its place; without an id.
    stays: Option<Message>,
}

/// Which pairs go first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum By {
    /// The oldest.
    #[default]
    Recency,
    /// The largest, of equals the oldest.
    Size,
}

impl Scorer for By {
    fn worth(&self, _: &StageContext<'_>, pairs: &[Pair]) -> Result<Vec<f64>, Why> {
        Ok(match self {
            Self::Recency => vec![0.0; pairs.len()],
            Self::Size => pairs.iter().map(|pair| -(pair.tokens as f64)).collect(),
        })
    }
}

/// Which pairs may go, and how many do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PairsConfig {
    /// Newest messages that stay, with the pairs that they belong to.
    pub keep: usize,
    /// Share of the usable window that the request is brought down to where no policy says how far (0 to 1). Without it every pair goes
    /// that may.
    pub target: Option<f64>,
    /// Share of the messages that must go, or none does (0 to 1). After a refusal by the provider anything counts.
    pub min_gain: f64,
    /// A line in place of each call that went; `{tool}` and `{input}` stand for its tool and the beginning of its arguments. Empty for
    /// none.
    pub note: String,
}

impl Default for PairsConfig {
    fn default() -> Self {
        Self { keep: 6, target: None, min_gain: 0.0, note: String::new() }
    }
}

/// Configuration of [`DropPairs`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DropPairsConfig {
    /// Which pairs go first: by `recency` the oldest, by `size` the largest.
    pub by: By,
    /// Which may go, and how many do.
    pub pairs: PairsConfig,
}

impl StageConfig<dyn Filter> for DropPairsConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        Ok(Arc::new(DropPairs::new(self.pairs, Arc::new(self.by))?))
    }
}

/// Leaves out calls with their results.
#[derive(Clone, Debug)]
pub struct DropPairs {
    config: PairsConfig,
    scorer: Arc<dyn Scorer>,
}

/// What goes.
struct Cut {
    /// By position of a message that goes, what is shown in its place.
    gone: BTreeMap<Pos, Option<Message>>,
    reason: String,
}

impl DropPairs {
    /// Checks the values.
    ///
    /// # Errors
    ///
    /// A share that is none.
    pub fn new(config: PairsConfig, scorer: Arc<dyn Scorer>) -> Result<Self, Invalid> {
        for (name, share) in
            [("target", config.target.unwrap_or(0.0)), ("min_gain", config.min_gain)]
        {
            check_shares(1.0, share).map_err(|_| {
                Invalid::new(format!("pairs.{name}"), "must be a share from 0 to 1")
            })?;
        }
        Ok(Self { config, scorer })
    }

    /// Tokens that should go; all where nothing says how far down.
    fn excess(&self, context: &StageContext<'_>) -> Result<u64, Why> {
        let decided = context.decision.and_then(|decision| decision.target);
        let target = match (decided, self.config.target) {
            (Some(target), _) => target,
            (None, None) => return Ok(u64::MAX),
            (None, Some(share)) => {
                Usable::new(context.limits, true).ok_or_else(unknown)?.share(share)
            }
        };
        let request = context.frame_tokens() + context.view_tokens();
        if request <= target {
            let detail = format!("{request} <= {target}: the request is already at the target");
            return Err(Why::new("below-target", detail));
        }
        Ok(request - target)
    }

    fn cut(&self, context: &StageContext<'_>) -> Result<Cut, Why> {
        let excess = self.excess(context)?;
        let mut pairs = self.pairs(context);
        if pairs.is_empty() {
            return Err(Why::new("nothing-to-drop", "no call is left that may go"));
        }
        let worth = self.scorer.worth(context, &pairs)?;
        if worth.len() != pairs.len() {
            let (given, asked) = (worth.len(), pairs.len());
            return Err(Why::new(
                "failed",
                format!("the scorer gave {given} numbers for {asked} calls"),
            ));
        }
        let mut order: Vec<usize> = (0..pairs.len()).collect();
        // The sort is stable: of equals the oldest stays first.
        order.sort_by(|a, b| worth[*a].total_cmp(&worth[*b]));
        let (mut freed, mut gone, mut calls) = (0, BTreeMap::new(), 0);
        for index in order {
            if freed >= excess {
                break;
            }
            let pair = &mut pairs[index];
            freed += pair.tokens;
            calls += 1;
            gone.extend(pair.positions.iter().map(|pos| (*pos, None)));
            gone.insert(pair.positions[0], pair.stays.take());
        }
        let view = context.view_tokens();
        let least = view as f64 * self.config.min_gain;
        if (freed as f64) < least && context.moment != Moment::ProviderOverflow {
            let detail = format!("{freed} of {view} tokens would go, less than {least:.0}");
            return Err(Why::new("too-little", detail));
        }
        let short = match excess.saturating_sub(freed) {
            0 => String::new(),
            _ if excess == u64::MAX => String::new(),
            short => format!(", {short} short of the target"),
        };
        let of = pairs.len();
        Ok(Cut {
            gone,
            reason: format!("drops {calls} of {of} calls, {freed} of {view} tokens{short}"),
        })
    }

    /// What may go, oldest first.
    fn pairs(&self, context: &StageContext<'_>) -> Vec<Pair> {
        let history = context.history;
        let visible: Vec<Pos> = context.items().collect();
        let index: BTreeMap<Pos, usize> = visible.iter().copied().zip(0..).collect();
        let kind = |pos: &Pos| history.kind(*pos);
        let mut newest = visible.len().saturating_sub(self.config.keep.max(1));
        // While tools run, reasoning must begin the newest turn of the model: no text may come to stand in front of it.
        if visible.last().is_some_and(|last| kind(last).role == Role::Tool) {
            let answers =
                (0..visible.len()).rev().filter(|at| kind(&visible[*at]).role == Role::Assistant);
            newest = newest.min(answers.take(2).last().unwrap_or(0));
        }
        let first = visible.iter().position(|pos| kind(pos).role == Role::User);
        let old = visible[..newest].iter().skip(first.map_or(newest, |at| at + 1));
        old.filter(|pos| kind(pos).role == Role::Assistant && kind(pos).calls)
            .filter_map(|pos| {
                let message = history.message(*pos);
                let positions = history.group(history.group_of(*pos)).items.to_vec();
                let old = |pos: &Pos| index.get(pos).is_some_and(|at| *at < newest);
                let answered = |call: &str| history.results_of(*pos, call).next().is_some();
                if !positions.iter().all(old) || !message.call_ids().all(answered) {
                    return None;
                }
                let stays = self.stays(message)?;
                let shown = positions.iter().map(|pos| context.tokens(Place::Item(*pos)));
                let shows = stays.as_ref().map_or(0, |stays| context.meter.measure(stays));
                let tokens = shown.sum::<u64>().saturating_sub(shows);
                (tokens > 0).then_some(Pair { positions, tokens, stays })
            })
            .collect()
    }

    /// What an answer shows without its calls, which may be nothing; `None` where it has to stay as it is.
    fn stays(&self, answer: &Message) -> Option<Option<Message>> {
        let (mut parts, mut notes) = (Vec::new(), Vec::new());
        for part in &answer.parts {
            match &part.kind {
                PartKind::Text { ignored: true, .. } | PartKind::Reasoning { .. } => {}
                // Providers refuse a blank one.
                PartKind::Text { text, .. } if text.trim().is_empty() => {}
                PartKind::Text { .. } => parts.push(Part::new(part.kind.clone())),
                PartKind::Call(call) => notes.extend(self.note(call)),
                _ => return None,
            }
        }
        if !notes.is_empty() {
            parts.push(Part::synthetic(notes.join("\n")));
        }
        let message = Message::new("", Role::Assistant, parts).as_entry(EntryKind::Carried);
        Some((!message.parts.is_empty()).then_some(message))
    }

    fn note(&self, call: &ToolCall) -> Option<String> {
        if self.config.note.is_empty() {
            return None;
        }
        let input = call.arguments_value().to_string();
        // The last unit of a longer one is for the mark.
        let cut =
            first_units(&input, INPUT_UNITS).and_then(|_| first_units(&input, INPUT_UNITS - 1));
        let shown = cut.map_or(Cow::Borrowed(&*input), |(begin, _)| format!("{begin}…").into());
        Some(self.config.note.replace(TOOL, &call.tool).replace(INPUT, &shown))
    }
}

impl Filter for DropPairs {
    fn propose(&self, context: &StageContext<'_>) -> Result<Proposal<'_>, Why> {
        let mut cut = self.cut(context)?;
        let (mut entries, mut order) = (Vec::new(), Vec::new());
        for pos in context.items() {
            match cut.gone.get_mut(&pos) {
                None => order.push(pos),
                Some(stays) => {
                    if let Some(mut entry) = stays.take() {
                        entry.id = context.services.ids.next("said");
                        order.push(context.history.len() + entries.len());
                        entries.push(entry.with_time(context.now()));
                    }
                }
            }
        }
        let shown = arranged(context, entries, order);
        Ok(Proposal::Layout(Arrangement { reasons: vec![cut.reason], ..shown }))
    }
}
