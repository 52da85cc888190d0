//! `opencode.checkpoint`: a marker, the summary that answers it, and a message to go on.
//!
//! All three become messages of the history. What the model sees afterwards is not decided here but
//! read off the stored messages by [`filter_compacted`], the same function that restores the view of a
//! history that was folded before it was loaded.
//!
//! The original stores the marker, then an empty summary, then calls the model; a crash or an error
//! leaves them behind. Here they are written together once the summary is there, and a failure leaves
//! nothing. A stored history may still hold such stubs, and the view filter reads them as each version
//! did.

mod config;
mod entries;

pub use config::{All, CheckpointConfig, Continue, TailTurns};

use crate::boundary::{MessageMarks, filter_compacted};
use crate::render::{Rendering, Version, to_model_messages};
use crate::request::{Cuts, Form};
use crate::stored::{self, StoredMessage};
use crate::tail;
pub(crate) use entries::NO_SUMMARY;
use entries::NewEntries;
use foldback_core::Role;
use foldback_core::log::{Message, PartKind};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::plan::Layout;
use foldback_core::stage::{Arrangement, Filter, Proposal, StageContext, Summary, SummaryRequest};
use foldback_core::view::Pos;
use foldback_stages::policy::{AnswerUsageConfig, InputLimit};
use std::sync::Arc;

/// Tokens that are kept free below a limit of the input, unless the longest answer is smaller.
const RESERVE: u64 = 20_000;

/// The filter.
#[derive(Clone, Debug)]
pub struct Checkpoint(CheckpointConfig);

/// What becomes of the messages of the view.
struct Selection {
    /// What the summary replaces, in order.
    head: Vec<StoredMessage>,
    /// The first message of the kept tail.
    tail_start: Option<Pos>,
    /// The prompt that is repeated after the summary.
    replay: Option<Pos>,
    /// The last summary, if the summarizer gets it apart.
    previous: Option<String>,
}

impl Filter for Checkpoint {
    fn restore(&self, context: &StageContext<'_>) -> Option<Layout> {
        let stored = stored::stored_messages(context.history);
        let seen = stored::seen_all(context.history, &stored);
        let order = filter_compacted(&seen, self.0.completes);
        if order.len() == stored.len() && order.is_sorted() {
            return None;
        }
        Some(layout(Vec::new(), &stored, &order, context.history.len()))
    }

    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let selection = self.select(context);
        let cuts = Cuts {
            form: self.0.request,
            strip_media: self.0.strip_media,
            max_output: (self.0.tool_output_max > 0).then_some(self.0.tool_output_max),
        };
        let messages: Vec<Arc<Message>> = selection
            .head
            .iter()
            .flat_map(|unit| &unit.items)
            .map(|pos| {
                let shown = context.view.show_item(context.history, *pos);
                if cuts == Cuts::default() {
                    return shown.to_shared();
                }
                Arc::new(cuts.shown(&shown))
            })
            .collect();
        if messages.iter().all(|message| message.is_entry()) {
            return Err(Why::new("nothing-to-fold", "the view holds only what compaction wrote"));
        }
        let entries = NewEntries::new(&self.0, context, selection.tail_start, selection.replay);
        let (style, marker) = if self.0.anchored {
            let style = match self.0.request {
                Form::Messages => "opencode.anchored",
                Form::Text => "opencode.objective",
            };
            (style, None)
        } else {
            // January showed the summarizer the marker as well.
            let marker = entries.marker("request-marker".to_owned());
            ("opencode.checkpoint", Some(Arc::new(marker)))
        };
        let mut reasons = vec![format!("{} messages are summarized", messages.len())];
        if let Some(start) = selection.tail_start {
            reasons.push(format!(
                "kept from message {} on, within {} tokens",
                context.history.message(start).id,
                self.tail_budget(context)
            ));
        }
        if let Some(replay) = selection.replay {
            reasons.push(format!(
                "prompt {} is repeated after the summary",
                context.history.message(replay).id
            ));
        }
        let request = SummaryRequest {
            previous: selection.previous,
            ..context.summary(
                "checkpoint",
                style,
                || messages.into_iter().chain(marker).collect(),
                self.0.summary_budget.get(),
            )
        };
        let then = move |summaries: &[Option<Summary>]| {
            let entries = entries.write(summaries.first().and_then(Option::as_ref));
            let mut stored = stored::in_sight(context);
            let mut seen = stored::seen_all(context.history, &stored);
            for (offset, entry) in entries.iter().enumerate() {
                seen.push(stored::seen(&[entry]));
                stored.push(StoredMessage {
                    role: entry.role,
                    items: vec![context.history.len() + offset],
                });
            }
            let order = filter_compacted(&seen, self.0.completes);
            // Instructions of the harness stay in sight.
            let from = stored.first().map_or(0, StoredMessage::first);
            let items = context.places().iter().filter_map(|place| place.item());
            let before = items.filter(|pos| *pos < from).collect();
            let layout = layout(before, &stored, &order, context.history.len() + entries.len());
            Ok(Arrangement { entries, layout, ..Arrangement::default() })
        };
        Ok(Proposal::Then { requests: vec![request], reasons, then: Box::new(then) })
    }
}

impl Checkpoint {
    fn select(&self, context: &StageContext<'_>) -> Selection {
        let all = stored::in_sight(context);
        let seen = stored::seen_all(context.history, &all);
        let view = stored::in_view(context, &all);
        if !self.0.anchored {
            return Selection {
                head: view.iter().map(|unit| all[*unit].clone()).collect(),
                tail_start: None,
                replay: None,
                previous: None,
            };
        }
        let shown: Vec<MessageMarks<'_>> = view.iter().map(|unit| seen[*unit]).collect();
        let checkpoints = self.0.completes.checkpoints(&shown);
        // The last one in the view. If the kept tail holds an older checkpoint, that is the older one: so the original.
        let previous = checkpoints
            .iter()
            .rev()
            .map(|index| view[*index])
            .find(|unit| seen[*unit].summary)
            .map(|unit| said(context, &all[unit]))
            .filter(|text| !text.is_empty());
        let mut rest: Vec<usize> = view
            .iter()
            .enumerate()
            .filter(|(index, _)| !checkpoints.contains(index))
            .map(|(_, unit)| *unit)
            .collect();
        let is_prompt = |unit: &usize| seen[*unit].user && !seen[*unit].marker;
        let mut replay = None;
        if self.0.replay_on_overflow && context.moment == Moment::ProviderOverflow {
            let last = rest.iter().rposition(is_prompt);
            // Without an earlier prompt there would be nothing to summarize.
            if let Some(at) = last.filter(|at| rest[..*at].iter().any(is_prompt)) {
                replay = Some(all[rest[at]].first());
                rest.truncate(at);
            }
        }
        let begins: Vec<bool> = rest.iter().map(is_prompt).collect();
        let mut units: Vec<StoredMessage> = rest.iter().map(|unit| all[*unit].clone()).collect();
        let start = self.tail(context, &units, &begins);
        let tail_start = start.map(|start| units[start].first());
        units.truncate(start.unwrap_or(units.len()));
        Selection { head: units, tail_start, replay, previous }
    }

    /// Where the kept tail starts, as an index into `units`.
    fn tail(
        &self,
        context: &StageContext<'_>,
        units: &[StoredMessage],
        begins_turn: &[bool],
    ) -> Option<usize> {
        let turns = tail::turns(begins_turn);
        let mut rendered: Vec<Option<String>> = vec![None; units.len()];
        tail::start(&turns, self.0.tail_turns.most(), self.tail_budget(context), |range| {
            let mut json = String::from("[");
            for index in range {
                let unit =
                    rendered[index].get_or_insert_with(|| rendered_json(context, &units[index]));
                if !unit.is_empty() {
                    if json.len() > 1 {
                        json.push(',');
                    }
                    json.push_str(unit);
                }
            }
            json.push(']');
            context.estimator().text(&json)
        })
    }

    fn tail_budget(&self, context: &StageContext<'_>) -> u64 {
        self.0.preserve_recent_tokens.unwrap_or_else(|| {
            let terms = AnswerUsageConfig {
                input_limit: InputLimit::Instead,
                input_reserve: Some(RESERVE),
                input_reserve_at_most_output: true,
                output_token_max: self.0.output_token_max,
                ..AnswerUsageConfig::default()
            };
            let usable = terms.usable(context.limits).map_or(0, |(tokens, _)| tokens);
            let usable = u64::try_from(usable).unwrap_or(0);
            tail::budget(usable, self.0.tail_minimum, self.0.tail_maximum)
        })
    }
}

/// What a stored message says: its texts, trimmed, as paragraphs.
fn said(context: &StageContext<'_>, unit: &StoredMessage) -> String {
    let parts = unit.items.iter().flat_map(|pos| &context.history.message(*pos).parts);
    let texts: Vec<&str> = parts
        .filter_map(|part| match &part.kind {
            PartKind::Text { text, .. } => Some(text.trim()),
            _ => None,
        })
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

/// The rendered messages of a stored message as JSON, separated by commas; empty where it renders to
/// nothing.
fn rendered_json(context: &StageContext<'_>, unit: &StoredMessage) -> String {
    let rendering = Rendering { version: Version::V1_17, ..Rendering::default() };
    let messages =
        to_model_messages(context.history, context.view, std::slice::from_ref(unit), rendering);
    let json: Vec<String> =
        messages.iter().filter_map(|message| serde_json::to_string(message).ok()).collect();
    json.join(",")
}

/// The layout that shows these stored messages in this order. Instructions of the harness stay in
/// front even where the messages around them are hidden: OpenCode keeps them apart from the messages.
/// `before` are those that stand in front of all stored messages, `len` is the number of messages in the
/// history once everything is in it.
fn layout(before: Vec<Pos>, stored: &[StoredMessage], order: &[usize], len: usize) -> Layout {
    let is_hidden_system =
        |index: &usize| stored[*index].role == Role::System && !order.contains(index);
    let mut positions = before;
    let hidden = (0..stored.len()).filter(is_hidden_system);
    positions.extend(hidden.flat_map(|index| stored[index].items.iter().copied()));
    // Within a run that is in stored order the messages stay as they are, even where a late result
    // comes after the next stored message.
    for run in order.chunk_by(|a, b| a < b) {
        let mut items: Vec<Pos> =
            run.iter().flat_map(|index| stored[*index].items.iter().copied()).collect();
        items.sort_unstable();
        positions.extend(items);
    }
    let mut live: Vec<Pos> = stored.iter().flat_map(|unit| unit.items.iter().copied()).collect();
    live.sort_unstable();
    let in_tail = positions
        .iter()
        .rev()
        .zip(live.iter().rev())
        .take_while(|(shown, live)| shown == live)
        .count();
    let (front, tail) = positions.split_at(positions.len() - in_tail);
    let tail_from = tail.first().copied().unwrap_or(len);
    Layout::of_positions(front.iter().copied(), tail_from)
}
