//! The cache breakpoints of Anthropic's protocol, where their message was folded away.
//!
//! A client marks where the provider is to cache its request (`cache_control`). A message that is shown keeps its
//! marks, because it keeps its bytes. The mark of a folded message goes to the nearest message before it without one,
//! else to the next message after it. So there are as many marks as the client set, each in a message of its own if
//! there are enough, and never more than the provider takes.
//!
//! A mark is a member of a block, of a tool or of the request. Its name in a text or in an argument is no mark.

use foldback_providers::wire::shared::raw::{self, Change, RawError};
use foldback_providers::wire::{Item, Request};
use memchr::memmem;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The member that marks a block.
const MARK: &str = "cache_control";

/// Most marks that the provider takes in a request.
const MOST: usize = 4;

/// A block that is sent: the message in the list, and the block in it.
type Spot = (usize, usize);

/// Moves the marks of messages that are not in the list to send.
///
/// # Errors
///
/// A message has changed since it was read.
pub(crate) fn moved(request: &Request, list: &mut [Item]) -> Result<(), RawError> {
    let before = marked_records(request);
    if before.is_empty() {
        return Ok(());
    }
    let around = Around::new(request);
    let sent = SentList::new(request, list, &before);
    let lost = sent.lost(&before);
    let whole = around.of_request.as_ref().and_then(|mark| sent.automatic(mark));
    let room = MOST.saturating_sub(around.count() + sent.standing.len());
    let lost = &lost[lost.len().saturating_sub(room)..];
    let mut chosen = BTreeSet::new();
    for behind in lost.iter().rev() {
        chosen.extend(sent.spot(*behind, &chosen, whole.as_ref().map(|(spot, _)| *spot)));
    }
    let mut marks: Vec<(Spot, Option<Value>)> = chosen.iter().map(|spot| (*spot, None)).collect();
    let there = sent.standing.into_iter().chain(whole);
    marks.extend(there.map(|(spot, mark)| (spot, Some(mark))));
    marks.sort_by_key(|(spot, _)| *spot);
    let values = values(&marks, &before.values().flatten().collect::<Vec<_>>());
    for (at, item) in list.iter_mut().enumerate() {
        let own = values.range((at, 0)..(at + 1, 0));
        let mut changes = Vec::new();
        let text = text_of(request, item);
        let message = own.clone().next().and_then(|_| raw::parse(&text).ok());
        for ((_, block), mark) in own {
            changes.extend(message.as_ref().and_then(|message| change(message, *block, mark)));
        }
        if changes.is_empty() {
            continue;
        }
        let shown = raw::patch(&text, &changes)?;
        *item = match record_of(item) {
            Some(record) => Item::Changed(record, shown),
            None => Item::New(raw::parse(&shown).unwrap_or_default()),
        };
    }
    Ok(())
}

/// Whether the client asks Anthropic to cache for an hour. The newest mark in a message decides; without one, the last
/// mark before the messages.
pub(crate) fn for_an_hour(request: &Request) -> bool {
    let newest = marked_records(request).pop_last().and_then(|(_, mut marks)| marks.pop());
    newest.or_else(|| Around::new(request).last()).is_some_and(|mark| is_hour(&mark))
}

fn is_hour(mark: &Value) -> bool {
    mark["ttl"] == "1h"
}

/// The marks around the messages.
#[derive(Default)]
struct Around {
    tools: Vec<Value>,
    system: Vec<Value>,
    /// The mark of the request itself, by which the provider marks the last block that it can.
    of_request: Option<Value>,
}

impl Around {
    fn new(request: &Request) -> Self {
        let body = request.body().as_bytes();
        let outside = |at: usize| request.record_at(at).is_none();
        if !memmem::find_iter(body, MARK).any(outside) {
            return Self::default();
        }
        let root = raw::parse(&request.with_list(&[])).unwrap_or_default();
        let marks_in = |list: &str| {
            root[list].as_array().into_iter().flatten().filter_map(mark_of).cloned().collect()
        };
        Self {
            tools: marks_in("tools"),
            system: marks_in("system"),
            of_request: mark_of(&root).cloned(),
        }
    }

    fn count(&self) -> usize {
        self.tools.len() + self.system.len() + usize::from(self.of_request.is_some())
    }

    fn last(mut self) -> Option<Value> {
        self.of_request.or_else(|| self.system.pop()).or_else(|| self.tools.pop())
    }
}

/// The list to send, with the marks in it.
struct SentList<'a> {
    request: &'a Request,
    list: &'a [Item],
    /// Marks of the client in this list.
    standing: Vec<(Spot, Value)>,
}

impl<'a> SentList<'a> {
    fn new(request: &'a Request, list: &'a [Item], before: &BTreeMap<u32, Vec<Value>>) -> Self {
        let mut standing = Vec::new();
        for (at, item) in list.iter().enumerate() {
            // What was written by a fold is not the client's.
            if record_of(item).is_some_and(|record| before.contains_key(&record)) {
                let message = raw::parse(&text_of(request, item)).unwrap_or_default();
                let marks = marks(&message).into_iter();
                standing.extend(marks.map(|(block, mark)| ((at, block), mark.clone())));
            }
        }
        Self { request, list, standing }
    }

    /// For each mark that is no longer in the list, the number of messages before its place.
    fn lost(&self, before: &BTreeMap<u32, Vec<Value>>) -> Vec<usize> {
        let mut lost = Vec::new();
        for (record, marks) in before {
            let of_it = |at: usize| record_of(&self.list[at]) == Some(*record);
            let there = self.standing.iter().filter(|((at, _), _)| of_it(*at)).count();
            let shown = self.list.iter().rposition(|item| record_of(item) == Some(*record));
            let newer = |item: &Item| record_of(item).is_some_and(|other| other > *record);
            let behind = shown.map(|at| at + 1).or_else(|| self.list.iter().position(newer));
            let missing = marks.len().saturating_sub(there);
            lost.extend(std::iter::repeat_n(behind.unwrap_or(self.list.len()), missing));
        }
        lost
    }

    /// The block that the provider marks by itself, unless it has a mark of the client.
    fn automatic(&self, mark: &Value) -> Option<(Spot, Value)> {
        let last = (0..self.list.len()).rev();
        let spot = last.filter_map(|at| Some((at, *self.blocks(at).last()?))).next()?;
        let is_free = !self.standing.iter().any(|(other, _)| *other == spot);
        is_free.then(|| (spot, mark.clone()))
    }

    /// The new place of a mark that had so many messages before it: the nearest message without one, or a further block
    /// if all have one.
    fn spot(&self, behind: usize, chosen: &BTreeSet<Spot>, whole: Option<Spot>) -> Option<Spot> {
        let taken = || self.standing.iter().map(|(spot, _)| spot).chain(chosen).chain(&whole);
        let nearest = || (0..behind).rev().chain(behind..self.list.len());
        let has_none = |at: &usize| !taken().any(|(other, _)| other == at);
        let free = |at: usize| {
            let mut blocks = self.blocks(at).into_iter().rev().map(move |block| (at, block));
            blocks.find(|spot| !taken().any(|other| other == spot))
        };
        nearest().filter(has_none).find_map(free).or_else(|| nearest().find_map(free))
    }

    /// The blocks of a message that may have a mark. A text that is the whole message becomes one.
    fn blocks(&self, at: usize) -> Vec<usize> {
        let message = raw::parse(&text_of(self.request, &self.list[at])).unwrap_or_default();
        match &message["content"] {
            Value::String(text) if !text.trim().is_empty() => vec![0],
            Value::Array(blocks) => {
                let may = |block: &Value| match block["type"].as_str() {
                    Some("thinking" | "redacted_thinking") => false,
                    Some("text") => {
                        block["text"].as_str().is_some_and(|text| !text.trim().is_empty())
                    }
                    _ => block.is_object(),
                };
                (0..blocks.len()).filter(|index| may(&blocks[*index])).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// The values of marks that have none, taken in order from those that the client set. Providers want marks for an hour
/// before those for five minutes, so a mark that has a value limits its neighbours.
fn values(marks: &[(Spot, Option<Value>)], wanted: &[&Value]) -> BTreeMap<Spot, Value> {
    let new = marks.iter().enumerate().filter(|(_, (_, mark))| mark.is_none());
    let value = |at: usize| {
        let (before, behind) = (marks[..at].iter().rev(), marks[at..].iter());
        let hour = behind.filter_map(|(_, mark)| mark.as_ref()).find(|mark| is_hour(mark));
        let short = || before.filter_map(|(_, mark)| mark.as_ref()).find(|mark| !is_hour(mark));
        hour.or_else(short).or_else(|| wanted.get(at).copied()).cloned()
    };
    let ephemeral = || json!({"type": "ephemeral"});
    new.map(|(at, (spot, _))| (*spot, value(at).unwrap_or_else(ephemeral))).collect()
}

/// The records that hold marks, with these in order.
fn marked_records(request: &Request) -> BTreeMap<u32, Vec<Value>> {
    // In one pass over the body: a request has few marks and many messages.
    let places = memmem::find_iter(request.body().as_bytes(), MARK);
    let records: BTreeSet<u32> = places.filter_map(|at| request.record_at(at)).collect();
    let marked = records.into_iter().filter_map(|record| {
        let message = raw::parse(request.record(record)?).ok()?;
        let marks: Vec<_> = marks(&message).into_iter().map(|(_, mark)| mark.clone()).collect();
        (!marks.is_empty()).then_some((record, marks))
    });
    marked.collect()
}

/// The marks in a message, in order, with the block that each is in: on blocks, and on those within them.
fn marks(message: &Value) -> Vec<(usize, &Value)> {
    let blocks = message["content"].as_array().into_iter().flatten().enumerate();
    blocks
        .flat_map(|(at, block)| {
            let lists = [&block["content"], &block["source"]["content"]];
            let inner = lists.into_iter().filter_map(Value::as_array).flatten();
            inner.chain([block]).filter_map(mark_of).map(move |mark| (at, mark))
        })
        .collect()
}

/// The mark of a block.
fn mark_of(block: &Value) -> Option<&Value> {
    block.get(MARK).filter(|mark| mark.is_object())
}

fn record_of(item: &Item) -> Option<u32> {
    match item {
        Item::Keep(record) | Item::Changed(record, _) => Some(*record),
        Item::New(_) => None,
    }
}

/// The text of a message to send.
fn text_of<'a>(request: &'a Request, item: &'a Item) -> Cow<'a, str> {
    match item {
        Item::Keep(record) => Cow::Borrowed(request.record(*record).unwrap_or_default()),
        Item::Changed(_, text) => Cow::Borrowed(text),
        Item::New(value) => Cow::Owned(value.to_string()),
    }
}

/// The change that marks a block of a message.
fn change(message: &Value, block: usize, mark: &Value) -> Option<(String, Change)> {
    match &message["content"] {
        Value::String(text) => {
            let block = json!([{"type": "text", "text": text, MARK: mark}]);
            Some(("/content".to_owned(), Change::Set(block.to_string())))
        }
        Value::Array(_) => {
            Some((format!("/content/{block}/{MARK}"), Change::Set(mark.to_string())))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
