//! `gemini.snapshot`: cuts old results to a budget, and puts a summary in the place of everything before the newest part.

use crate::count::{Count, CountUnit, content};
use crate::cut::{Content, cut, possible};
use crate::preview::preview;
use crate::starts::Starts;
use crate::verify::Verified;
use foldback_core::Role;
use foldback_core::config::Share;
use foldback_core::log::{EntryKind, Message, Origin, PartKind};
use foldback_core::moment::Trigger;
use foldback_core::outcome::Why;
use foldback_core::plan::Edit;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{
    Arrangement, Estimator, Filter, Proposal, StageContext, Summarizer, SummaryRequest,
};
use foldback_core::view::{EditKind, PartPos, Place, Pos};
use foldback_stages::filter::{Spoken, arranged, entry, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Units of a content as JSON besides its parts, each of which counts a comma.
const USER: u64 = r#"{"role":"user","parts":[]}"#.len() as u64 - 1;
const MODEL: u64 = r#"{"role":"model","parts":[]}"#.len() as u64 - 1;

/// Why a summary is refused with which the history has more tokens than the last request.
const INFLATED: &str = "inflated";

/// Units of a token, for what is left of the window.
const UNITS: u64 = 4;

/// Line above a result that was cut; `{first}` and `{last}` stand for how much of it is shown.
const NOTE: &str = "Too long to be shown whole: its first {first} and its last {last} characters.";

/// What the model is made to say below a summary.
const REPLY: &str = "Thank you, I go on from this snapshot now.";

/// Configuration of [`Snapshot`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SnapshotConfig {
    /// Share of the history that stays, by the stage's estimator.
    pub keep: Share,
    /// Tokens of the newest results that stay whole; older ones are cut.
    pub result_tokens: u64,
    /// Units of UTF-16 to which they are cut; no more than what is left of the window.
    pub result_units: u64,
    /// Whether a model is asked a second time, to hold its summary against the record.
    pub verify: bool,
    /// Whether nothing is folded that would not get smaller, a summary alone among it.
    pub only_smaller: bool,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for SnapshotConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        if self.keep == Share::WHOLE {
            return Err(Invalid::new("keep", "must be below 1: nothing would go"));
        }
        let [results, quarters] = [CountUnit::Results, CountUnit::Quarters].map(Count::new);
        let tokens = Arc::new(Count::new(CountUnit::Tokens));
        Ok(Arc::new(Snapshot { results, quarters, tokens, config: self }))
    }
}

/// A summary of everything before the newest part, which loses long results.
#[derive(Debug)]
pub struct Snapshot {
    results: Count,
    quarters: Count,
    tokens: Arc<Count>,
    config: SnapshotConfig,
}

/// What a fold does.
struct Selection {
    /// The messages of the view.
    spoken: Spoken,
    /// How many of them are in the history: what came after the last answer is part of the next request.
    history: usize,
    /// The first of them that stays; 0 where results are cut and nothing else.
    cut: usize,
    /// The results that are cut.
    edits: Vec<Edit>,
}

impl Snapshot {
    fn select(&self, context: &StageContext<'_>) -> Result<Selection, Why> {
        let inflated = |why: &&Why| why.code == INFLATED && context.trigger == Trigger::Auto;
        let only_cuts = context.refused.filter(inflated);
        if only_cuts.is_none() && !Starts::may_fold(context) {
            return Err(no_start());
        }
        let spoken = Spoken::in_view(context);
        let is_answer = |pos: &Pos| context.history.kind(*pos).role == Role::Assistant;
        let history = spoken.messages.iter().rposition(is_answer).map_or(0, |last| last + 1);
        let mut contents = self.contents(context, &spoken.messages[..history]);
        if only_cuts.is_none() && !possible(&contents) {
            return Err(no_start());
        }
        let edits = self.over_budget(context, &spoken.messages[..history]);
        if let Some(why) = only_cuts {
            let after = || self.estimate(context, &spoken.messages[..history], &edits);
            let helps = !edits.is_empty() && self.reported(context).is_none_or(|now| after() < now);
            let why = || Why::new("refused-before", format!("{why}; no result is left to be cut"));
            return helps.then_some(Selection { spoken, history, cut: 0, edits }).ok_or_else(why);
        }
        shorten(&mut contents, &spoken.messages, &edits);
        let at = cut(&contents, *self.config.keep);
        let at = contents.get(at).map_or(history, |content| content.first);
        let cut = spoken.whole(context, at);
        let said = |pos: &Pos| context.history.kind(*pos).origin == Origin::Log;
        if self.config.only_smaller && cut > 0 && !spoken.messages[..cut].iter().any(said) {
            let why = "the last summary alone would be summarized";
            return Err(Why::new("already-compacted", why));
        }
        if cut == 0 {
            return Err(Why::new("all-fits", "all messages are within the share that is kept"));
        }
        Ok(Selection { spoken, history, cut, edits })
    }

    /// The messages as contents. What counts nothing is in none.
    fn contents(&self, context: &StageContext<'_>, messages: &[Pos]) -> Vec<Content> {
        let mut contents: Vec<Content> = Vec::new();
        for (first, pos) in messages.iter().enumerate() {
            let units = context.tokens(Place::Item(*pos));
            let kind = context.history.kind(*pos);
            let (model, tools) =
                (kind.role == Role::Assistant, kind.calls || kind.role == Role::Tool);
            match contents.last_mut() {
                _ if units == 0 => {}
                Some(last) if last.model == model => {
                    last.units += units;
                    last.tools |= tools;
                }
                _ => {
                    let around = if model { MODEL } else { USER };
                    contents.push(Content { first, units: units + around, model, tools });
                }
            }
        }
        contents
    }

    /// The results that are over the budget, from the newest on: cut to a length, which counts then.
    fn over_budget(&self, context: &StageContext<'_>, messages: &[Pos]) -> Vec<Edit> {
        let left = context.limits.context.saturating_sub(self.reported(context).unwrap_or(0));
        let units = left.saturating_mul(UNITS).min(self.config.result_units);
        let limit = usize::try_from(units).unwrap_or(usize::MAX);
        // A result is no longer than its message as JSON.
        let is_long = |pos: &Pos| context.tokens(Place::Item(*pos)) > units;
        let is_result = |pos: &Pos| context.history.kind(*pos).role == Role::Tool;
        let oldest = messages.iter().position(|pos| is_result(pos) && is_long(pos));
        let from = oldest.filter(|_| limit > 0).unwrap_or(messages.len());
        let (mut sum, mut edits) = (0, Vec::new());
        for pos in messages[from..].iter().rev().filter(|pos| is_result(pos)) {
            let message = context.history.message(*pos);
            let counts = self.results.counts(message);
            for (index, part) in message.parts.iter().enumerate().rev() {
                let PartKind::Result(result) = &part.kind else { continue };
                let edit = context.view.edit(PartPos { item: *pos, part: index });
                let mut size = match edit {
                    Some(edit) => self.results.text(&edit.text),
                    None => counts.parts[index],
                };
                let over = sum + size > self.config.result_tokens;
                let shown =
                    || edit.map_or(Cow::Borrowed(&*result.text), |edit| Cow::Borrowed(&*edit.text));
                let shorter = over.then(|| preview(&content(result, &shown()), limit, NOTE));
                if let Some(text) = shorter.flatten() {
                    size = self.results.text(&text);
                    let reason = "over the budget of tool results";
                    edits.push(context.edit(*pos, index, EditKind::Truncate, text.into(), reason));
                }
                sum += size;
            }
        }
        edits
    }

    /// The tokens that the provider counted for the last request, if anybody knows.
    fn reported(&self, context: &StageContext<'_>) -> Option<u64> {
        context.decision.map(|decision| decision.count).filter(|count| *count > 0)
    }

    /// Tokens of messages as they will be shown.
    fn estimate(&self, context: &StageContext<'_>, messages: &[Pos], edits: &[Edit]) -> u64 {
        let edits: BTreeMap<PartPos, &str> =
            edits.iter().map(|edit| (edit.at, &*edit.text)).collect();
        let quarters = |pos: &Pos| {
            let message = context.history.message(*pos);
            let counts = self.quarters.counts(message);
            let part = |(index, part): (usize, &foldback_core::Part)| {
                let at = PartPos { item: *pos, part: index };
                let edited = context.view.edit(at).map(|edit| &*edit.text);
                let shown = edits.get(&at).copied().or(edited);
                shown.map_or(counts.parts[index], |text| self.quarters.part(part, text))
            };
            message.parts.iter().enumerate().map(part).sum::<u64>()
        };
        Count::tokens(messages.iter().map(quarters).sum())
    }

    /// What a summarizer is given: the messages as they were, unless they are too many; then with their results cut.
    fn given(&self, context: &StageContext<'_>, selection: &Selection) -> Vec<Arc<Message>> {
        let Selection { spoken, cut, edits, .. } = selection;
        let whole = self.estimate(context, &spoken.messages[..*cut], &[]);
        let whole = whole < context.limits.context || context.limits.context == 0;
        let mut shown = shown(context, &spoken.messages[..*cut]);
        for edit in edits.iter().filter(|_| !whole) {
            let at = spoken.messages[..*cut].iter().position(|pos| *pos == edit.at.item);
            let part = at.and_then(|at| Arc::make_mut(&mut shown[at]).parts.get_mut(edit.at.part));
            if let Some(PartKind::Result(result)) = part.map(|part| &mut part.kind) {
                result.text = edit.text.to_string();
                result.structured = None;
            }
        }
        shown.retain(|message| !message.is_entry());
        shown
    }
}

fn no_start() -> Why {
    let why = "the user said nothing in between that the kept part could begin with";
    Why::new("nothing-to-fold", why)
}

/// Subtracts what was cut out of results from the sizes of the contents.
fn shorten(contents: &mut [Content], messages: &[Pos], edits: &[Edit]) {
    let index = |pos: Pos| messages.iter().position(|other| *other == pos);
    for edit in edits {
        let at = index(edit.at.item).unwrap_or(0);
        let of = contents.partition_point(|content| content.first <= at);
        if let Some(content) = of.checked_sub(1).map(|of| &mut contents[of]) {
            content.units = content.units + edit.after - edit.before;
        }
    }
}

impl Filter for Snapshot {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        let mut selection = self.select(context)?;
        if selection.cut == 0 {
            let edits = std::mem::take(&mut selection.edits);
            let reason =
                format!("a summary was refused before: cuts {} results alone", edits.len());
            let shown = arranged(context, Vec::new(), context.items());
            return Ok(Proposal::Layout(Arrangement { edits, reasons: vec![reason], ..shown }));
        }
        let Selection { spoken, cut, history, edits } = &selection;
        let earlier = spoken.messages[..*cut].iter().map(|pos| context.history.message(*pos));
        let earlier = earlier.into_iter().rfind(|message| message.is_entry_of(EntryKind::Summary));
        let messages = || self.given(context, &selection);
        let request = SummaryRequest {
            previous: earlier.map(|message| message.said()),
            estimator: Arc::clone(&self.tokens) as _,
            ..context.summary(
                "snapshot",
                "gemini.snapshot",
                messages,
                self.config.summary_tokens.get(),
            )
        };
        let reason = format!(
            "keeps the last {} of {history} messages, {} of their size at most; {} results are over their budget",
            history - cut,
            self.config.keep.number(),
            edits.len()
        );
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("", |summary| &summary.text).to_owned();
            let Selection { spoken, history, cut, mut edits } = selection;
            let (gone, kept) = spoken.messages.split_at(cut);
            edits.retain(|edit| kept.contains(&edit.at.item));
            let gone = shown(context, gone);
            let gone: u64 = gone.iter().map(|message| self.tokens.counts(message).total()).sum();
            let written = self.tokens.text(&text) + self.tokens.text(REPLY);
            if self.config.only_smaller && written >= gone {
                let why = format!("{written} tokens would take the place of {gone}");
                return Err(Why::new("no-gain", why));
            }
            let around = self.quarters.text(&text) + self.quarters.text(REPLY);
            let before = self.estimate(context, &spoken.messages[cut..history], &edits);
            let after = before + Count::tokens(around);
            if let Some(reported) = self.reported(context).filter(|reported| after > *reported) {
                let why = format!("{after} tokens would take the place of {reported}");
                return Err(Why::new(INFLATED, why));
            }
            let entries = vec![
                entry(context, Role::User, EntryKind::Summary, text),
                entry(context, Role::Assistant, EntryKind::Boundary, REPLY.to_owned()),
            ];
            let written = [context.history.len(), context.history.len() + 1];
            let order = spoken.system.iter().chain(&written).chain(kept).copied();
            Ok(Arrangement { edits, ..arranged(context, entries, order) })
        }))
    }

    fn summarizer(&self, own: Arc<dyn Summarizer>) -> Arc<dyn Summarizer> {
        match self.config.verify {
            true => Arc::new(Verified { own, style: "gemini.verify".to_owned() }),
            false => own,
        }
    }
}
