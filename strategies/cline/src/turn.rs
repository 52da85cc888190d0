//! The view as messages of Cline: one for each answer and each result; what the person said with nothing in between is one, once a
//! compaction has joined it.

use crate::json::{block, envelope, tokens};
use foldback_core::log::{Message, Part, PartKind, Role};
use foldback_core::stage::StageContext;
use foldback_core::view::{PartPos, Pos};
use foldback_stages::estimator::{Unit, is_js_whitespace};
use std::borrow::Cow;

/// How it begins that so much of a text was cut; where nothing is left of the text, that is all.
const TRUNCATED: &str = "...[truncated ";

/// What says how much of a text was cut.
pub(crate) fn truncated(units: u64) -> String {
    format!("{TRUNCATED}{units} chars]")
}

/// A block of a message.
#[derive(Clone, Debug)]
pub(crate) struct Block<'a> {
    pub(crate) at: PartPos,
    pub(crate) part: &'a Part,
    pub(crate) shown: Cow<'a, str>,
    /// Whether it was cut for the budget.
    pub(crate) cut: bool,
}

impl Block<'_> {
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.part.kind, PartKind::Text { .. } | PartKind::Marker(_))
    }

    fn units(&self) -> u64 {
        block(self.part, &self.shown)
    }

    /// What is sent of it. An API refuses a blank text, so one that was cut to nothing says how much that was.
    pub(crate) fn sent(&self) -> Cow<'_, str> {
        if !self.is_text() || !trimmed(&self.shown).is_empty() {
            return Cow::Borrowed(&self.shown);
        }
        Cow::Owned(truncated(Unit::Utf16.len(&self.part.shown())))
    }
}

/// A message of Cline.
#[derive(Clone, Debug)]
pub(crate) struct Turn<'a> {
    /// The messages of the view that it consists of.
    pub(crate) members: Vec<Pos>,
    pub(crate) message: &'a Message,
    /// Whether an earlier compaction has seen it.
    pub(crate) old: bool,
    pub(crate) blocks: Vec<Block<'a>>,
}

impl<'a> Turn<'a> {
    pub(crate) fn role(&self) -> Role {
        self.message.role
    }

    /// Whether it is the person's.
    pub(crate) fn is_typed(&self) -> bool {
        self.role() == Role::User
    }

    /// Whether it stays because an earlier compaction kept it.
    pub(crate) fn is_frozen(&self) -> bool {
        self.old && !self.is_typed()
    }

    pub(crate) fn with(&self, blocks: Vec<Block<'a>>) -> Self {
        Self { blocks, members: self.members.clone(), ..*self }
    }

    /// Units of its JSON.
    pub(crate) fn units(&self) -> u64 {
        let blocks = self.blocks.iter().map(Block::units);
        let commas = self.blocks.len().saturating_sub(1) as u64;
        envelope(self.message) + blocks.sum::<u64>() + commas
    }

    pub(crate) fn tokens(&self) -> u64 {
        tokens(self.units())
    }

    /// What an answer says.
    pub(crate) fn said(&self) -> Option<String> {
        let texts = self.blocks.iter().filter(|block| block.is_text());
        let texts: Vec<&str> =
            texts.map(|block| trimmed(&block.shown)).filter(|text| !text.is_empty()).collect();
        (self.role() == Role::Assistant && !texts.is_empty()).then(|| texts.join("\n"))
    }

    /// What the person said, without the white space around it; `None` where that was all.
    pub(crate) fn sanitized(&self) -> Option<Self> {
        let kept = self.blocks.iter().cloned().filter_map(|mut block| {
            if block.is_text() {
                block.shown = match block.shown {
                    Cow::Borrowed(text) => Cow::Borrowed(trimmed(text)),
                    Cow::Owned(text) => Cow::Owned(trimmed(&text).to_owned()),
                };
            }
            (!block.is_text() || !block.shown.is_empty()).then_some(block)
        });
        let blocks: Vec<Block<'_>> = kept.collect();
        (!blocks.is_empty()).then(|| self.with(blocks))
    }
}

/// A text without white space around it, as JavaScript knows it.
pub(crate) fn trimmed(text: &str) -> &str {
    text.trim_matches(is_js_whitespace)
}

/// The view as messages of Cline, and what the harness says, which is not among them.
pub(crate) fn turns<'a>(context: &StageContext<'a>) -> (Vec<Pos>, Vec<Turn<'a>>) {
    let folded = context.view.layout().tail_from;
    let (mut system, mut turns) = (Vec::new(), Vec::<Turn<'a>>::new());
    for pos in context.items() {
        let shown = context.view.show_item(context.history, pos);
        let message: &'a Message = shown.message;
        if message.role == Role::System {
            system.push(pos);
            continue;
        }
        let sent = message.parts.iter().enumerate();
        let sent =
            sent.filter(|(_, part)| !matches!(part.kind, PartKind::Text { ignored: true, .. }));
        let blocks = sent.map(|(index, part)| Block {
            at: PartPos { item: pos, part: index },
            part,
            shown: match shown.edit(index) {
                Some(edit) if edit.text.starts_with(TRUNCATED) => Cow::Borrowed(""),
                _ => shown.text_of(index),
            },
            cut: false,
        });
        let turn =
            Turn { members: vec![pos], message, old: pos < folded, blocks: blocks.collect() };
        // What stood beside each other after a compaction is one message; its texts were trimmed.
        let turn =
            if turn.old && turn.is_typed() { turn.sanitized().unwrap_or(turn) } else { turn };
        match turns.last_mut() {
            Some(last) if last.old && turn.old && last.is_typed() && turn.is_typed() => {
                last.members.push(pos);
                last.blocks.extend(turn.blocks);
            }
            _ => turns.push(turn),
        }
    }
    (system, turns)
}
