//! Running token totals over a history and its view, under one estimator.
//!
//! A part is counted once, when it is appended; afterwards only what an edit or a layout touches is
//! counted again, so that the cost of a call does not grow with the history.

use crate::frame::Frame;
use crate::history::History;
use crate::log::{Message, Origin, PartKind, ResultStatus, Role};
use crate::stage::Estimator;
use crate::view::{EditKind, PartPos, Place, Pos, View};
use std::ops::Range;
use std::sync::Arc;

/// A message: where its parts and results begin, and its total.
#[derive(Clone, Copy, Debug)]
struct Metered {
    part: usize,
    result: usize,
    /// Tokens as it is shown: the counts with the edits taken into account.
    shown: u64,
}

/// A part: its tokens as it was appended and as it is shown now.
#[derive(Clone, Copy, Debug)]
struct MeteredPart {
    appended: u64,
    shown: u64,
    /// Where it is in [`Meter::results`], if it is a tool result.
    result: Option<u32>,
}

/// A tool result as a pruner looks at it: enough to choose by, in a row of all of them, so that a walk
/// over thousands reads no message.
#[derive(Clone, Copy, Debug)]
pub struct MeteredResult {
    /// Which part.
    pub at: PartPos,
    /// Tokens as it is shown now.
    pub tokens: u64,
    /// How the tool run ended.
    pub status: ResultStatus,
    /// The kind of the edit that changed the result.
    pub edit: Option<EditKind>,
    /// Its content is not a string.
    pub structured: bool,
    /// It holds files or images.
    pub media: bool,
    /// Its tool, as an index into [`Meter::tools`].
    pub tool: u32,
}

impl MeteredResult {
    /// Whether it was cleared.
    pub fn is_cleared(&self) -> bool {
        self.edit == Some(EditKind::Clear)
    }
}

/// The text that was last counted in the place of a part: a placeholder goes into thousands of places
/// and is counted once.
#[derive(Clone, Copy, Debug, Default)]
#[doc(hidden)]
pub struct LastText<'t>(Option<(&'t str, u64)>);

/// Names a meter of a conversation. Conversations and configurations give it out, so that nobody has to
/// know in which order the meters of a strategy come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeterId(pub(crate) usize);

impl MeterId {
    /// The meter of the strategy's own estimator.
    pub const OWN: Self = Self(0);
}

/// Token counts under one estimator.
#[derive(Clone, Debug)]
pub struct Meter {
    estimator: Arc<dyn Estimator>,
    items: Vec<Metered>,
    parts: Vec<MeteredPart>,
    results: Vec<MeteredResult>,
    /// A bit for each result that was not cleared.
    standing: Vec<u64>,
    tools: Vec<String>,
    inserts: Vec<u64>,
    view: u64,
    /// The same when the step of the newest answer began, and that answer.
    view_at_step: u64,
    /// The same when the messages of the user came that begin the next step, where some did.
    step: Option<u64>,
    /// What edits save, over all parts.
    saved: u64,
    frame: u64,
}

impl Meter {
    /// A meter over an empty history.
    #[doc(hidden)]
    pub fn new(estimator: Arc<dyn Estimator>) -> Self {
        Self {
            estimator,
            items: Vec::new(),
            parts: Vec::new(),
            results: Vec::new(),
            standing: Vec::new(),
            tools: Vec::new(),
            inserts: Vec::new(),
            view: 0,
            view_at_step: 0,
            step: None,
            saved: 0,
            frame: 0,
        }
    }

    /// The estimator that counts.
    pub fn estimator(&self) -> &Arc<dyn Estimator> {
        &self.estimator
    }

    /// Tokens of everything that is shown.
    pub fn view_tokens(&self) -> u64 {
        self.view
    }

    /// Tokens of everything that was shown when the step of the newest answer began, before what the user said at its beginning, and
    /// of that answer; 0 before the first.
    pub fn view_at_step(&self) -> u64 {
        self.view_at_step
    }

    /// Tokens that the edits in force save, whether the view shows the messages or not. An edit that adds tokens saves none.
    #[doc(hidden)]
    pub fn saved_tokens(&self) -> u64 {
        self.saved
    }

    /// Tokens of the frame.
    pub fn frame_tokens(&self) -> u64 {
        self.frame
    }

    /// Tokens of a message as it was appended.
    #[doc(hidden)]
    pub fn appended(&self, pos: Pos) -> u64 {
        let parts = &self.parts[self.span(pos, |item| item.part, self.parts.len())];
        let (appended, shown) = parts
            .iter()
            .fold((0, 0), |(appended, shown), part| (appended + part.appended, shown + part.shown));
        self.items[pos].shown - shown + appended
    }

    /// Tokens of a part as it was appended.
    #[doc(hidden)]
    pub fn part(&self, at: PartPos) -> u64 {
        self.index(at).map_or(0, |index| self.parts[index].appended)
    }

    /// Tokens of a part as it is shown now.
    #[doc(hidden)]
    pub fn part_shown(&self, at: PartPos) -> u64 {
        self.index(at).map_or(0, |index| self.parts[index].shown)
    }

    /// All tool results of the history, oldest first.
    pub fn results(&self) -> &[MeteredResult] {
        &self.results
    }

    /// The tool results in one message.
    #[doc(hidden)]
    pub fn results_in(&self, pos: Pos) -> &[MeteredResult] {
        &self.results[self.span(pos, |item| item.result, self.results.len())]
    }

    /// The tool results that were not cleared, oldest first. Passes over those that were in blocks, so
    /// that asking at every call costs what stands and not what ever came.
    pub fn standing(&self) -> impl Iterator<Item = &MeteredResult> {
        self.standing.iter().enumerate().flat_map(move |(block, bits)| {
            let mut left = *bits;
            std::iter::from_fn(move || {
                let bit = left.trailing_zeros();
                left &= left.checked_sub(1)?;
                Some(&self.results[block * 64 + bit as usize])
            })
        })
    }

    /// The tools that gave results, in the order in which they came.
    pub fn tools(&self) -> &[String] {
        &self.tools
    }

    /// Where a part is in [`Meter::parts`].
    fn index(&self, at: PartPos) -> Option<usize> {
        if at.item >= self.items.len() {
            return None;
        }
        self.span(at.item, |item| item.part, self.parts.len()).nth(at.part)
    }

    fn span(&self, pos: Pos, first: fn(&Metered) -> usize, end: usize) -> Range<usize> {
        first(&self.items[pos])..self.items.get(pos + 1).map_or(end, first)
    }

    /// Tokens of the message at a place as it is shown now.
    #[doc(hidden)]
    pub fn shown(&self, place: Place) -> u64 {
        match place {
            Place::Item(pos) => self.items[pos].shown,
            Place::Insert(index) => self.inserts[index],
        }
    }

    /// Tokens of a message that is not in the history.
    #[doc(hidden)]
    pub fn measure(&self, message: &Message) -> u64 {
        self.estimator.counts(message).total()
    }

    pub(crate) fn set_frame(&mut self, frame: &Frame) {
        self.frame = self.estimator.per_request() + frame.tokens(&*self.estimator);
    }

    pub(crate) fn append(&mut self, message: &Message) {
        let counts = self.estimator.counts(message);
        let shown = counts.total();
        let item = self.items.len();
        if message.origin == Origin::Log {
            match message.role {
                Role::User => _ = self.step.get_or_insert(self.view),
                Role::Assistant => {
                    self.view_at_step = self.step.take().unwrap_or(self.view) + shown;
                }
                _ => self.step = None,
            }
        }
        self.view += shown;
        self.items.push(Metered { part: self.parts.len(), result: self.results.len(), shown });
        for (part, (content, tokens)) in message.parts.iter().zip(&counts.parts).enumerate() {
            let result = match &content.kind {
                PartKind::Result(result) => {
                    let index = self.results.len();
                    let tool = self.tool(&result.tool);
                    self.results.push(MeteredResult {
                        at: PartPos { item, part },
                        tokens: *tokens,
                        status: result.status,
                        edit: None,
                        structured: result.structured.is_some(),
                        media: !result.media.is_empty(),
                        tool,
                    });
                    self.stand(index, true);
                    u32::try_from(index).ok()
                }
                _ => None,
            };
            self.parts.push(MeteredPart { appended: *tokens, shown: *tokens, result });
        }
    }

    /// The number of a tool.
    fn tool(&mut self, name: &str) -> u32 {
        let known = self.tools.iter().position(|tool| tool == name);
        let index = known.unwrap_or_else(|| {
            self.tools.push(name.to_owned());
            self.tools.len() - 1
        });
        index as u32
    }

    fn stand(&mut self, result: usize, stands: bool) {
        let (block, bit) = (result / 64, 1 << (result % 64));
        if block == self.standing.len() {
            self.standing.push(0);
        }
        if stands {
            self.standing[block] |= bit;
        } else {
            self.standing[block] &= !bit;
        }
    }

    /// Tokens of a part if it showed `text`.
    #[doc(hidden)]
    pub fn part_with<'t>(
        &self,
        history: &History,
        at: PartPos,
        text: &'t str,
        last: &mut LastText<'t>,
    ) -> u64 {
        let Some(index) = self.index(at) else {
            return 0;
        };
        match self.parts[index].result {
            Some(result) => self.result_with(history, &self.results[result as usize], text, last),
            None => self.counted(history, at, text),
        }
    }

    /// The same of a tool result.
    #[doc(hidden)]
    pub fn result_with<'t>(
        &self,
        history: &History,
        result: &MeteredResult,
        text: &'t str,
        last: &mut LastText<'t>,
    ) -> u64 {
        if !result.structured && !result.media {
            if let Some((counted, tokens)) = last.0
                && std::ptr::eq(counted, text)
            {
                return tokens;
            }
            if let Some(tokens) = self.estimator.result(text) {
                last.0 = Some((text, tokens));
                return tokens;
            }
        }
        self.counted(history, result.at, text)
    }

    fn counted(&self, history: &History, at: PartPos, text: &str) -> u64 {
        let part = history.message(at.item).parts.get(at.part);
        part.map_or(0, |part| self.estimator.part(part, text))
    }

    /// Follows an edit, or the end of one.
    pub(crate) fn edit<'t>(
        &mut self,
        history: &History,
        view: &View,
        at: PartPos,
        edit: Option<(EditKind, &'t str)>,
        last: &mut LastText<'t>,
    ) {
        let tokens = match edit {
            Some((_, text)) => self.part_with(history, at, text, last),
            None => self.part(at),
        };
        self.set_part(view, at, edit.map(|(kind, _)| kind), tokens);
    }

    /// Follows an edit, or the end of one, for a caller that knows how many tokens the part shows now.
    pub(crate) fn set_part(
        &mut self,
        view: &View,
        at: PartPos,
        edit: Option<EditKind>,
        tokens: u64,
    ) {
        let Some(index) = self.index(at) else {
            return;
        };
        let part = &mut self.parts[index];
        let before = std::mem::replace(&mut part.shown, tokens);
        let saves = |shown: u64| part.appended.saturating_sub(shown);
        self.saved = self.saved - saves(before) + saves(tokens);
        if let Some(index) = part.result.map(|index| index as usize) {
            let result = &mut self.results[index];
            result.tokens = tokens;
            result.edit = edit;
            self.stand(index, edit != Some(EditKind::Clear));
        }
        let item = &mut self.items[at.item];
        item.shown = item.shown - before + tokens;
        if view.is_visible(at.item) {
            self.view = self.view - before + tokens;
        }
    }

    /// Follows a new layout: counts inserts that it has not met and sums what is shown.
    pub(crate) fn relayout(&mut self, view: &View) {
        for message in view.inserts().iter().skip(self.inserts.len()) {
            let tokens = self.measure(message);
            self.inserts.push(tokens);
        }
        self.view = view.places().iter().map(|place| self.shown(*place)).sum();
    }
}
