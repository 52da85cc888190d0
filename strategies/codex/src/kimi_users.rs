//! `kimi.users`: what the person said, its beginning and its end up to a budget each, and behind it a summary of everything.

use crate::users::said_by_person;
use foldback_core::Role;
use foldback_core::log::{EntryKind, Message, PartKind};
use foldback_core::outcome::Why;
use foldback_core::registry::{Invalid, StageConfig};
use foldback_core::stage::{Filter, Proposal, StageContext, SummaryRequest};
use foldback_core::view::{Place, Pos};
use foldback_stages::filter::{Spoken, arranged, check_open_calls, entry, shown};
use schemars::JsonSchema;
use serde::Deserialize;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Line above the summary.
pub const PREFIX: &str = "The conversation was compacted. These are your own notes of the work up to here; go on from them, and check what \
                          they call done before you rely on it. What the user wrote stands above word for word, but for what a note \
                          there leaves out:";

/// Stands where what the person said was left out; `{tokens}` is how much.
pub const OMITTED: &str = "<system-reminder>\nSome of what the user wrote is left out here, about {tokens} tokens. What stands above is the oldest of it, \
                           what stands below the newest. The summary at the end covers the rest.\n</system-reminder>";

/// Stands behind the summary.
pub const GO_ON: &str = "<system-reminder>\nThe context was compacted. Go on with the work where it stopped.\n</system-reminder>";

/// Tokens of a character are quarters: one outside ASCII is a token.
const QUARTERS: usize = 4;

/// Configuration of [`Ends`].
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndsConfig {
    /// Tokens of the person's messages that are kept.
    pub keep_tokens: u64,
    /// How many of them are for the oldest messages, where not all are kept.
    pub head_tokens: u64,
    /// Largest acceptable summary in tokens.
    pub summary_tokens: NonZeroU64,
}

impl StageConfig<dyn Filter> for EndsConfig {
    fn build(self) -> Result<Arc<dyn Filter>, Invalid> {
        if self.head_tokens > self.keep_tokens {
            return Err(Invalid::new(
                "head_tokens",
                format!("must be `keep_tokens` ({}) or less", self.keep_tokens),
            ));
        }
        Ok(Arc::new(Ends(self)))
    }
}

/// Keeps both ends of what the person said, and puts a summary behind them.
#[derive(Clone, Debug)]
pub struct Ends(EndsConfig);

/// A message of the person, or what is left of one.
#[derive(Clone, Debug)]
enum PersonMessage {
    Whole(Pos),
    Cut(String),
}

impl PersonMessage {
    /// What is left, if anything: providers refuse a blank message.
    fn cut(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self::Cut(text.to_owned()))
    }
}

/// What a fold keeps, oldest first.
#[derive(Default)]
struct KeptEnds {
    head: Vec<PersonMessage>,
    /// Tokens that were left out between the two; none where everything is kept.
    omitted: Option<u64>,
    tail: Vec<PersonMessage>,
}

impl KeptEnds {
    fn whole(&self) -> impl Iterator<Item = Pos> {
        self.head.iter().chain(&self.tail).filter_map(|said| match said {
            PersonMessage::Whole(pos) => Some(*pos),
            PersonMessage::Cut(_) => None,
        })
    }
}

/// Whether a person wrote the message, or it is what an earlier fold left of one.
fn is_of_person(message: &Message) -> bool {
    said_by_person(message) || message.role == Role::User && message.is_entry_of(EntryKind::Carried)
}

/// Where a text begins or ends that has so many tokens, counted from the end or the beginning.
fn within(chars: impl Iterator<Item = (usize, char)>, tokens: u64) -> Option<(usize, char)> {
    let mut left = usize::try_from(tokens).unwrap_or(usize::MAX).saturating_mul(QUARTERS);
    let mut last = None;
    for (at, c) in chars {
        let Some(less) = left.checked_sub(if c.is_ascii() { 1 } else { QUARTERS }) else { break };
        (left, last) = (less, Some((at, c)));
    }
    last
}

/// The beginning of a text, of so many tokens.
fn beginning(text: &str, tokens: u64) -> &str {
    let end = within(text.char_indices(), tokens).map_or(0, |(at, c)| at + c.len_utf8());
    &text[..end]
}

/// The end of a text, of so many tokens.
fn ending(text: &str, tokens: u64) -> &str {
    let start = within(text.char_indices().rev(), tokens).map_or(text.len(), |(at, _)| at);
    &text[start..]
}

/// The texts of a message as it is shown, one behind the other.
fn texts(context: &StageContext<'_>, pos: Pos) -> String {
    let shown = context.view.show_item(context.history, pos).to_shared();
    let texts = shown.parts.iter().filter(|part| matches!(part.kind, PartKind::Text { .. }));
    texts.map(|part| part.shown()).collect()
}

/// Tokens of what is left of a message.
fn tokens(context: &StageContext<'_>, said: &PersonMessage) -> u64 {
    match said {
        PersonMessage::Whole(pos) => context.tokens(Place::Item(*pos)),
        PersonMessage::Cut(text) => {
            context.estimator().count(&Message::user("", text.clone())).total()
        }
    }
}

impl Ends {
    fn kept(&self, context: &StageContext<'_>, spoken: &Spoken) -> KeptEnds {
        let of_person = |pos: &&Pos| is_of_person(context.history.message(**pos));
        let said: Vec<Pos> = spoken.messages.iter().filter(of_person).copied().collect();
        let size =
            |said: &[PersonMessage]| said.iter().map(|one| tokens(context, one)).sum::<u64>();
        let all: Vec<PersonMessage> = said.iter().copied().map(PersonMessage::Whole).collect();
        let total = size(&all);
        if total <= self.0.keep_tokens {
            return KeptEnds { tail: all, ..KeptEnds::default() };
        }
        let (mut tail, mut older) = (Vec::new(), all);
        let mut left = self.0.keep_tokens - self.0.head_tokens;
        while left > 0
            && let Some(newest) = older.pop()
        {
            let size = tokens(context, &newest);
            if let (PersonMessage::Whole(pos), true) = (&newest, size > left) {
                let text = texts(context, *pos);
                let end = ending(&text, left);
                let before = &text[..text.len() - end.len()];
                older.extend(PersonMessage::cut(before));
                tail.extend(PersonMessage::cut(end));
                break;
            }
            left -= size;
            tail.push(newest);
        }
        tail.reverse();
        let mut head = Vec::new();
        let mut left = self.0.head_tokens;
        for oldest in older {
            if left == 0 {
                break;
            }
            let size = tokens(context, &oldest);
            if size > left {
                let text = match oldest {
                    PersonMessage::Whole(pos) => texts(context, pos),
                    PersonMessage::Cut(text) => text,
                };
                head.extend(PersonMessage::cut(beginning(&text, left)));
                break;
            }
            left -= size;
            head.push(oldest);
        }
        let omitted = Some(total.saturating_sub(size(&head) + size(&tail)));
        KeptEnds { head, omitted, tail }
    }
}

impl Filter for Ends {
    fn propose<'a>(&'a self, context: &'a StageContext<'_>) -> Result<Proposal<'a>, Why> {
        check_open_calls(context)?;
        let spoken = Spoken::in_view(context);
        let kept = self.kept(context, &spoken);
        let previous = spoken.last_summary(context, PREFIX);
        let reason = format!(
            "keeps {} of {} messages, what the person said up to {} tokens",
            kept.head.len() + kept.tail.len(),
            spoken.messages.len(),
            self.0.keep_tokens
        );
        // What stays is said already; a message that is cut goes along whole.
        let whole: Vec<Pos> = kept.whole().collect();
        let around = |message: &Message| {
            message.is_entry_of(EntryKind::Boundary) || message.is_entry_of(EntryKind::Continue)
        };
        let Spoken { system, messages: mut goes } = spoken;
        goes.retain(|pos| {
            previous.as_ref().is_none_or(|(summary, _)| summary != pos)
                && !whole.contains(pos)
                && !around(context.history.message(*pos))
        });
        let messages = || shown(context, &goes);
        let request = SummaryRequest {
            previous: previous.map(|(_, text)| text),
            ..context.summary("summary", "kimi.handoff", messages, self.0.summary_tokens.get())
        };
        let KeptEnds { head, omitted, tail } = kept;
        Ok(Proposal::summary(request, reason, move |summary| {
            let text = summary.map_or("", |summary| &summary.text);
            let mut entries = Vec::new();
            let mut write = |kind, text| {
                entries.push(entry(context, Role::User, kind, text));
                context.history.len() + entries.len() - 1
            };
            let note = omitted.map(|omitted| {
                let text = OMITTED.replace("{tokens}", &omitted.to_string());
                write(EntryKind::Boundary, text)
            });
            let mut place = |said| match said {
                PersonMessage::Whole(pos) => pos,
                PersonMessage::Cut(text) => write(EntryKind::Carried, text),
            };
            let head: Vec<Pos> = head.into_iter().map(&mut place).collect();
            let tail: Vec<Pos> = tail.into_iter().map(&mut place).collect();
            let summary = write(EntryKind::Summary, format!("{PREFIX}\n{text}"));
            let go_on = write(EntryKind::Continue, GO_ON.to_owned());
            let order = system.into_iter().chain(head).chain(note).chain(tail);
            Ok(arranged(context, entries, order.chain([summary, go_on])))
        }))
    }
}
