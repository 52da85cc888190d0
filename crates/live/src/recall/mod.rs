//! What a fold cleared or hid stays reachable: by reference, or by a search over all of it.
//!
//! A fold never deletes. The history holds every message unchanged; the view merely does not show it. [`Recall`] reads
//! only what the view hides or replaces: what the model already sees is neither found nor returned.
//!
//! References are the ids that the model has seen: of a message, of a tool call, and of whatever else
//! a strategy names in its summaries ([`Recall::with_store`], e.g. the `ctx_…` ids of the tiered
//! strategy). A message whose id is reused by a later one has its position as reference, `#12`.

mod index;
mod page;
mod tokens;

pub use page::Page;

use foldback_core::conversation::Conversation;
use foldback_core::delta::Cursor;
use foldback_core::log::{Part, PartKind};
use foldback_core::view::{PartPos, Pos};
use index::Index;
use std::fmt;
use std::sync::Arc;

/// Bytes that one answer gives out, unless [`Recall::with_limit`] says otherwise: some 2,000 tokens.
const DEFAULT_LIMIT: usize = 8_000;
/// Passages that one page of a search names.
pub(crate) const HITS: usize = 5;

type Store = dyn Fn(&str) -> Option<Arc<str>> + Send + Sync;

/// Finds what a conversation no longer shows.
#[derive(Clone)]
pub struct Recall {
    index: Index<PartPos>,
    cursor: Cursor,
    limit: usize,
    everything: bool,
    /// What stands before this position counts as cleared.
    start: Pos,
    store: Option<Arc<Store>>,
}

/// One passage that a search found.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// What to ask for to read it.
    pub reference: String,
    /// What it is, e.g. `result of read`.
    pub what: String,
    /// Its length in bytes.
    pub bytes: usize,
    /// BM25 score; the larger the better.
    pub score: f64,
    /// Some of the text around a word that was looked for.
    pub excerpt: String,
}

/// Why there is nothing to give out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecallError {
    /// The reference is unknown.
    #[error("nothing is stored under `{0}`")]
    Unknown(String),
    /// It was never cleared.
    #[error("`{0}` was not cleared: the conversation shows it in full")]
    Visible(String),
    /// The text is shorter than that.
    #[error("offset {offset} is past the end: `{reference}` has {bytes} bytes")]
    Offset {
        /// The reference.
        reference: String,
        /// The offset that was asked for.
        offset: usize,
        /// Length of the text.
        bytes: usize,
    },
}

impl Recall {
    /// Nothing is indexed yet; the first search does it.
    pub fn new() -> Self {
        Self {
            index: Index::default(),
            cursor: Cursor::default(),
            limit: DEFAULT_LIMIT,
            everything: false,
            start: 0,
            store: None,
        }
    }

    /// Gives out so many bytes at a time, at least 256.
    #[must_use]
    pub fn with_limit(mut self, bytes: usize) -> Self {
        self.limit = bytes.max(256);
        self
    }

    /// Finds what the view shows as well, for whoever does not see the conversation.
    #[must_use]
    pub fn of_everything(mut self) -> Self {
        self.everything = true;
        self
    }

    /// Takes what stands before a position for cleared: a recorder took it out of sight, and the view does not know
    /// that.
    #[must_use]
    pub fn with_cleared_before(mut self, start: Pos) -> Self {
        self.start = start;
        self
    }

    /// Looks up references here that are not ids of messages or calls.
    #[must_use]
    pub fn with_store(
        mut self,
        store: impl Fn(&str) -> Option<Arc<str>> + Send + Sync + 'static,
    ) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// The original text behind a reference, from `offset` (in bytes) on.
    ///
    /// # Errors
    ///
    /// If the reference is unknown, or the view shows it unchanged.
    pub fn by_reference(
        &self,
        conversation: &Conversation,
        reference: &str,
        offset: usize,
    ) -> Result<Page, RecallError> {
        let is_whole = |pos| self.is_whole(conversation, pos);
        let (what, text) = match find(conversation, reference, &is_whole) {
            Some(pos) if !self.everything && is_whole(pos) => {
                return Err(RecallError::Visible(reference.to_owned()));
            }
            Some(pos) => (describe(conversation, pos), original(conversation, pos)),
            None => match self.store.as_ref().and_then(|store| store(reference)) {
                Some(text) => ("stored context".to_owned(), text.as_ref().to_owned()),
                None => return Err(RecallError::Unknown(reference.to_owned())),
            },
        };
        Page::cut(&text, offset, self.limit).map(|page| Page { what, ..page }).ok_or_else(|| {
            RecallError::Offset { reference: reference.to_owned(), offset, bytes: text.len() }
        })
    }

    /// The passages that match a query, best first, after the first `skip`; and how many there are.
    /// Of equally good ones the latest comes first.
    pub fn search(
        &mut self,
        conversation: &Conversation,
        query: &str,
        skip: usize,
    ) -> (Vec<Hit>, usize) {
        self.update(conversation);
        let ranked = self.index.search(query);
        let hits = ranked.iter().skip(skip).take(HITS);
        let hits = hits.filter_map(|(at, score)| {
            let part = conversation.history().message(at.item).parts.get(at.part)?;
            let text = text_of(part);
            Some(Hit {
                reference: reference_of(conversation, at.item),
                what: describe_part(part, conversation.history().message(at.item).role.as_str()),
                bytes: text.len(),
                score: *score,
                excerpt: page::excerpt(&text, &tokens::words(query)),
            })
        });
        (hits.collect(), ranked.len())
    }

    /// Brings the index to the state of the conversation. Reads only the texts of what was hidden or
    /// shown again since; an undo takes out what its fold had brought in. Messages that compactions wrote
    /// are left out: what a summary says is found in what it replaces.
    pub fn update(&mut self, conversation: &Conversation) {
        let (history, view) = (conversation.history(), conversation.view());
        for item in conversation.delta(&mut self.cursor).positions() {
            let message = history.message(item);
            if message.is_entry() {
                continue;
            }
            for (index, part) in message.parts.iter().enumerate() {
                let at = PartPos { item, part: index };
                let gone = self.everything
                    || item < self.start
                    || !view.is_visible(item)
                    || view.edit(at).is_some();
                match (gone, self.index.contains(at)) {
                    (true, false) => self.index.insert(at, &text_of(part)),
                    (false, true) => self.index.remove(at),
                    _ => {}
                }
            }
        }
    }

    /// Whether the view shows all of a message as it came.
    fn is_whole(&self, conversation: &Conversation, pos: Pos) -> bool {
        let view = conversation.view();
        pos >= self.start
            && view.is_visible(pos)
            && view.show_item(conversation.history(), pos).edits.is_empty()
    }

    /// Whether it finds what the view shows as well.
    pub(crate) fn is_of_everything(&self) -> bool {
        self.everything
    }

    /// The parts in the index, ascending.
    pub fn indexed(&self) -> impl ExactSizeIterator<Item = PartPos> {
        self.index.keys()
    }
}

impl Default for Recall {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Recall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recall")
            .field("indexed", &self.index.keys().len())
            .field("limit", &self.limit)
            .field("everything", &self.everything)
            .field("store", &self.store.is_some())
            .finish_non_exhaustive()
    }
}

/// The message behind a reference: by id, by place, or by the id of a call, whose result is meant.
fn find(
    conversation: &Conversation,
    reference: &str,
    is_whole: &dyn Fn(Pos) -> bool,
) -> Option<Pos> {
    let history = conversation.history();
    let place = reference.strip_prefix('#').and_then(|place| place.parse().ok());
    if let Some(pos) = place.filter(|pos| history.get(*pos).is_some()) {
        return Some(pos);
    }
    // Of several the latest that is not shown in full, else the latest.
    let latest = |wanted: &dyn Fn(&Part) -> bool| {
        let mut shown = None;
        for (pos, message) in history.iter().rev() {
            if message.parts.iter().any(wanted) {
                if !is_whole(pos) {
                    return Some(pos);
                }
                shown = shown.or(Some(pos));
            }
        }
        shown
    };
    let result = |part: &Part| part.as_result().is_some_and(|result| result.call_id == reference);
    let call = |part: &Part| part.as_call().is_some_and(|call| call.call_id == reference);
    history
        .position(reference)
        .filter(|pos| history.get(*pos).is_some())
        .or_else(|| latest(&result))
        .or_else(|| latest(&call))
}

fn reference_of(conversation: &Conversation, pos: Pos) -> String {
    let id = &conversation.history().message(pos).id;
    if conversation.history().position(id) == Some(pos) { id.clone() } else { format!("#{pos}") }
}

/// The whole text of a message as it came.
fn original(conversation: &Conversation, pos: Pos) -> String {
    let message = conversation.history().message(pos);
    let texts: Vec<String> =
        message.parts.iter().map(text_of).filter(|text| !text.is_empty()).collect();
    texts.join("\n")
}

/// What a part says; of a call, the tool as well.
fn text_of(part: &Part) -> String {
    match &part.kind {
        PartKind::Call(call) => format!("{} {}", call.tool, call.arguments),
        PartKind::File(media) => {
            format!("{} {}", media.name.as_deref().unwrap_or("file"), media.mime)
        }
        _ => part.shown().into_owned(),
    }
}

fn describe(conversation: &Conversation, pos: Pos) -> String {
    let message = conversation.history().message(pos);
    match message.parts.as_slice() {
        [part] => describe_part(part, message.role.as_str()),
        _ => format!("message of {}", message.role.as_str()),
    }
}

fn describe_part(part: &Part, role: &str) -> String {
    match &part.kind {
        PartKind::Call(call) => format!("call of {}", call.tool),
        PartKind::Result(result) if result.tool.is_empty() => "tool result".to_owned(),
        PartKind::Result(result) => format!("result of {}", result.tool),
        PartKind::Reasoning { .. } => format!("reasoning of {role}"),
        PartKind::File(_) => format!("file of {role}"),
        _ => format!("message of {role}"),
    }
}
