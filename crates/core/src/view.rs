//! The messages to send now: the history as the committed folds show it.
//!
//! A view is an overlay. It holds the order of what is shown and the edits over single parts,
//! never a copy of a message.

use crate::changes::Changes;
use crate::history::History;
use crate::layout::{Insert, Layout, Slot};
use crate::log::{Marker, Message, Part, PartKind, ToolCall, ToolResult};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub use crate::position::{PartPos, Place, Pos};

/// How an edited part differs from the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EditKind {
    /// The content was replaced by a placeholder.
    Clear,
    /// The content was cut.
    Truncate,
}

/// What a part shows instead of its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartEdit {
    /// Cleared or cut.
    pub kind: EditKind,
    /// What is shown instead.
    pub text: Arc<str>,
    /// When it was edited, by the injected clock, in milliseconds since the Unix epoch.
    pub at: i64,
}

/// One message as the model would be sent it.
#[derive(Clone, Debug)]
pub struct ShownMessage<'a> {
    /// The message underneath.
    pub message: &'a Arc<Message>,
    /// Its place in the history; `None` for a message that a layout inserted into the view alone.
    pub pos: Option<Pos>,
    /// The edits over it, by part index, ascending.
    pub edits: Vec<(usize, &'a PartEdit)>,
}

impl<'a> ShownMessage<'a> {
    /// A message shown as it is.
    pub fn plain(message: &'a Arc<Message>) -> Self {
        Self { message, pos: None, edits: Vec::new() }
    }

    /// The edit over a part, if there is one.
    pub fn edit(&self, part: usize) -> Option<&'a PartEdit> {
        self.edits.iter().find(|(index, _)| *index == part).map(|(_, edit)| *edit)
    }

    /// What a part shows: the edit's text, else its own.
    pub fn text_of(&self, part: usize) -> Cow<'a, str> {
        match self.edit(part) {
            Some(edit) => Cow::Borrowed(&*edit.text),
            None => self.message.parts.get(part).map_or(Cow::Borrowed(""), Part::shown),
        }
    }

    /// The message as it would be sent, shared with the history where it is sent as it was recorded.
    #[doc(hidden)]
    pub fn to_shared(&self) -> Arc<Message> {
        let as_recorded = self.edits.is_empty() && !self.message.parts.iter().any(is_ignored);
        if as_recorded { Arc::clone(self.message) } else { Arc::new(self.to_message()) }
    }

    /// The message as it would be sent: edits applied, parts that are never sent left out.
    pub fn to_message(&self) -> Message {
        let parts = self.message.parts.iter().enumerate();
        let sent = parts.filter(|(_, part)| !is_ignored(part));
        let shown = sent.map(|(index, part)| match self.edit(index) {
            Some(edit) => with_text(part, &edit.text),
            None => part.clone(),
        });
        self.message.with_parts(shown.collect())
    }
}

/// Whether a part is stored but never sent.
fn is_ignored(part: &Part) -> bool {
    matches!(part.kind, PartKind::Text { ignored: true, .. })
}

/// A part with another text. The text that goes is not copied: it is most of a large session.
fn with_text(part: &Part, text: &str) -> Part {
    let text = text.to_owned();
    let kind = match &part.kind {
        PartKind::Text { synthetic, ignored, .. } => {
            PartKind::Text { text, synthetic: *synthetic, ignored: *ignored }
        }
        PartKind::Reasoning { opaque, .. } => PartKind::Reasoning { text, opaque: opaque.clone() },
        PartKind::Call(call) => PartKind::Call(ToolCall {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            arguments: text,
        }),
        PartKind::Result(result) => PartKind::Result(ToolResult {
            call_id: result.call_id.clone(),
            tool: result.tool.clone(),
            status: result.status,
            text,
            structured: None,
            media: result.media.clone(),
        }),
        PartKind::Marker(marker) => PartKind::Marker(Marker { text, ..marker.clone() }),
        PartKind::File(_) | PartKind::Unknown { .. } => return part.clone(),
    };
    Part {
        kind,
        pointer: part.pointer.clone(),
        source_record: part.source_record,
        redacted: part.redacted,
    }
}

/// One message of a history with what is laid over it, whether the view shows it or not. This is
/// what a program that keeps its whole history would have in its store.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct Stored<'a> {
    /// The message with its edits.
    pub shown: ShownMessage<'a>,
    /// Whether the view shows it.
    pub visible: bool,
}

/// Where what is not shown stands among the places.
const HIDDEN: usize = usize::MAX;

/// What the model would be sent now, as an overlay over a [`History`].
#[derive(Clone, Debug, Default)]
pub struct View {
    places: Vec<Place>,
    spots: Spots,
    inserts: Vec<Arc<Message>>,
    /// Inserts by their id.
    insert_ids: HashMap<String, Vec<usize>>,
    edits: BTreeMap<PartPos, PartEdit>,
    layout: Layout,
    changes: Changes,
}

impl View {
    /// What is shown, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The layout behind the order.
    #[doc(hidden)]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// All edits, by part. Parts that the view hides may have one.
    #[doc(hidden)]
    pub fn edits(&self) -> &BTreeMap<PartPos, PartEdit> {
        &self.edits
    }

    /// The edit over a part.
    #[doc(hidden)]
    pub fn edit(&self, at: PartPos) -> Option<&PartEdit> {
        self.edits.get(&at)
    }

    /// Whether any part of the message at this position is edited.
    #[doc(hidden)]
    pub fn has_edit(&self, pos: Pos) -> bool {
        let from = PartPos { item: pos, part: 0 };
        let next = self.edits.range(from..).next();
        next.is_some_and(|(at, _)| at.item == pos)
    }

    /// Whether the message at this position is shown.
    #[doc(hidden)]
    pub fn is_visible(&self, pos: Pos) -> bool {
        self.shows(Place::Item(pos))
    }

    /// Whether something is shown.
    #[doc(hidden)]
    pub fn shows(&self, place: Place) -> bool {
        self.spots.get(place) != HIDDEN
    }

    /// Whether anything differs from the history as it was appended.
    #[doc(hidden)]
    pub fn is_folded(&self) -> bool {
        !self.edits.is_empty() || self.layout != Layout::default()
    }

    /// The message at a place.
    #[doc(hidden)]
    pub fn message<'a>(&'a self, history: &'a History, place: Place) -> &'a Arc<Message> {
        match place {
            Place::Item(pos) => history.message(pos),
            Place::Insert(index) => &self.inserts[index],
        }
    }

    /// The message at a place with its edits.
    #[doc(hidden)]
    pub fn show<'a>(&'a self, history: &'a History, place: Place) -> ShownMessage<'a> {
        match place {
            Place::Item(pos) => self.show_item(history, pos),
            Place::Insert(index) => ShownMessage::plain(&self.inserts[index]),
        }
    }

    /// The message at a position with its edits, whether it is shown or not.
    #[doc(hidden)]
    pub fn show_item<'a>(&'a self, history: &'a History, pos: Pos) -> ShownMessage<'a> {
        let from = PartPos { item: pos, part: 0 };
        let to = PartPos { item: pos + 1, part: 0 };
        ShownMessage {
            message: history.message(pos),
            pos: Some(pos),
            edits: self.edits.range(from..to).map(|(at, edit)| (at.part, edit)).collect(),
        }
    }

    pub(crate) fn inserts(&self) -> &[Arc<Message>] {
        &self.inserts
    }

    /// Everything that was done to it.
    pub(crate) fn changes(&self) -> &Changes {
        &self.changes
    }

    pub(crate) fn append(&mut self, pos: Pos) {
        self.spots.items.push(self.places.len());
        self.places.push(Place::Item(pos));
    }

    pub(crate) fn set_edit(&mut self, at: PartPos, edit: Option<PartEdit>) -> Option<PartEdit> {
        self.changes.edited(at, self.spots.get(Place::Item(at.item)));
        match edit {
            Some(edit) => self.edits.insert(at, edit),
            None => self.edits.remove(&at),
        }
    }

    /// Puts a layout in force and returns the one before.
    pub(crate) fn set_layout(&mut self, history: &History, layout: Layout) -> Layout {
        let mut places = Vec::with_capacity(self.places.len() + 1);
        for slot in &layout.slots {
            match slot {
                Slot::Keep(range) => {
                    places.extend(history.range(range.clone()).map(|(pos, _)| Place::Item(pos)));
                }
                Slot::Insert(insert) => places.push(Place::Insert(self.insert(insert))),
            }
        }
        let tail = history.range(layout.tail_from..history.len());
        places.extend(tail.map(|(pos, _)| Place::Item(pos)));
        self.set_places(places);
        std::mem::replace(&mut self.layout, layout)
    }

    /// The index of an inserted message. A reused id is still a different message.
    fn insert(&mut self, insert: &Insert) -> usize {
        let same_id = self.insert_ids.entry(insert.id().to_owned()).or_default();
        let same = |index: &&usize| {
            let known = &self.inserts[**index];
            Arc::ptr_eq(known, insert.message()) || known == insert.message()
        };
        let known = same_id.iter().rev().find(same);
        known.copied().unwrap_or_else(|| {
            let index = self.inserts.len();
            same_id.push(index);
            self.inserts.push(Arc::clone(insert.message()));
            self.spots.inserts.push(HIDDEN);
            index
        })
    }

    /// Shows other places, and notes what came and what went. What stands in front and stays there is
    /// compared and not touched.
    fn set_places(&mut self, places: Vec<Place>) {
        /// Stood somewhere before; where it stands now is not known yet.
        const MOVING: usize = HIDDEN - 1;
        let pairs = self.places.iter().zip(&places);
        let same = pairs.take_while(|(before, now)| before == now).count();
        let before = std::mem::replace(&mut self.places, places);
        if before.len() == same && self.places.len() == same {
            return;
        }
        self.changes.moved(same);
        let Self { places, spots, changes, .. } = self;
        for place in &before[same..] {
            let at = spots.at(*place);
            if *at >= same {
                *at = MOVING;
            }
        }
        for (index, place) in places.iter().enumerate().skip(same) {
            let at = spots.at(*place);
            if *at == HIDDEN {
                changes.turned(*place, true, same);
            }
            if *at >= MOVING {
                *at = index;
            }
        }
        for place in &before[same..] {
            let at = spots.at(*place);
            if *at == MOVING {
                *at = HIDDEN;
                changes.turned(*place, false, same);
            }
        }
    }
}

/// For everything that a view knows, the first place that shows it; [`HIDDEN`] where none does.
#[derive(Clone, Debug, Default)]
struct Spots {
    items: Vec<usize>,
    inserts: Vec<usize>,
}

impl Spots {
    fn at(&mut self, place: Place) -> &mut usize {
        match place {
            Place::Item(pos) => &mut self.items[pos],
            Place::Insert(index) => &mut self.inserts[index],
        }
    }

    fn get(&self, place: Place) -> usize {
        let at = match place {
            Place::Item(pos) => self.items.get(pos),
            Place::Insert(index) => self.inserts.get(index),
        };
        at.copied().unwrap_or(HIDDEN)
    }
}
