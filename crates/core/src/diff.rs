//! What a fold changes for the model, message by message: for people who decide whether to keep it.
//!
//! A [`Plan`] says what stages did; a [`Diff`] says what the view lost and gained by it, regardless of what was
//! folded before. It is made of a fold that was committed, or of a plan that only might be.

use crate::conversation::{Conversation, FoldId};
use crate::history::History;
use crate::plan::{Edit, Layout, Plan, Slot};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt;

/// Characters of a message that a line of a diff shows.
const EXCERPT: usize = 72;

/// One message in a diff.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffLine {
    /// Id of the message.
    pub id: String,
    /// `user`, `assistant`, …
    pub role: &'static str,
    /// Beginning of the message, on one line.
    pub excerpt: String,
}

/// One part whose content is replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DiffEdit {
    /// Id of the message.
    pub id: String,
    /// Index of the part in it.
    pub part: usize,
    /// What is shown instead, on one line.
    pub excerpt: String,
    /// Tokens before and after, by the strategy's estimator.
    pub tokens: (u64, u64),
}

/// What the view loses and gains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// Messages that are no longer shown.
    pub hidden: Vec<DiffLine>,
    /// Messages that are shown again.
    pub shown: Vec<DiffLine>,
    /// Texts of earlier folds that are no longer in the view.
    pub removed: Vec<DiffLine>,
    /// Texts that are in the view from now on.
    pub added: Vec<DiffLine>,
    /// Parts whose content is replaced, in messages that are shown.
    pub edited: Vec<DiffEdit>,
    /// Tokens of the view before and after, by the strategy's estimator.
    pub tokens: (u64, u64),
}

impl Conversation {
    /// What a fold changed when it was committed. `None` if it was undone.
    pub fn diff(&self, fold: FoldId) -> Option<Diff> {
        let index = self.folds().iter().position(|other| other.id == fold)?;
        // The first fold from this one on that moved something knows what was in force until then.
        let mut later = self.folds()[index..].iter();
        let before = later.find_map(|fold| fold.layout_before());
        let before = before.unwrap_or_else(|| self.view().layout());
        Some(self.diff_of(&self.folds()[index].plan, before))
    }

    /// What a plan, of a [preview](Conversation::preview) say, would change now.
    pub fn diff_plan(&self, plan: &Plan) -> Diff {
        self.diff_of(plan, self.view().layout())
    }

    fn diff_of(&self, plan: &Plan, before: &Layout) -> Diff {
        let history = self.history();
        let mut diff = Diff { tokens: (plan.tokens_before, plan.tokens_after), ..Diff::default() };
        let after = plan.layout.as_ref();
        if let Some(after) = after {
            let (was, is) = (before.visible(history), after.visible(history));
            let entries: BTreeSet<&str> = plan.entries.iter().map(|e| e.id.as_str()).collect();
            for (pos, message) in history.iter() {
                let line = || line(&message.id, message.role.as_str(), &message.shown_text());
                match (was[pos], is[pos]) {
                    // Entries come with the fold, though the layout before would have shown them too.
                    (_, true) if entries.contains(message.id.as_str()) => diff.added.push(line()),
                    (true, false) => diff.hidden.push(line()),
                    (false, true) => diff.shown.push(line()),
                    _ => {}
                }
            }
            let (had, has) = (inserts(before), inserts(after));
            for (id, line) in &had {
                if !has.iter().any(|(other, _)| other == id) {
                    diff.removed.push(line.clone());
                }
            }
            for (id, line) in has {
                if !had.iter().any(|(other, _)| *other == id) {
                    diff.added.push(line);
                }
            }
        }
        // A preview's entries are in no history yet.
        for entry in &plan.entries {
            if history.position(&entry.id).is_none() {
                let text = entry.shown_text();
                diff.added.push(line(&entry.id, entry.role.as_str(), &text));
            }
        }
        let visible = after.unwrap_or(before).visible(history);
        let edits = plan.edits.iter().filter(|edit| visible[edit.at.item]);
        diff.edited = edits.map(|edit| edited(history, edit)).collect();
        diff
    }
}

fn line(id: &str, role: &'static str, text: &str) -> DiffLine {
    DiffLine { id: id.to_owned(), role, excerpt: excerpt(text) }
}

fn inserts(layout: &Layout) -> Vec<(&str, DiffLine)> {
    let slots = layout.slots.iter();
    slots
        .filter_map(|slot| match slot {
            Slot::Insert(insert) => {
                Some((insert.id(), line(insert.id(), insert.role().as_str(), insert.text())))
            }
            Slot::Keep(_) => None,
        })
        .collect()
}

fn edited(history: &History, edit: &Edit) -> DiffEdit {
    DiffEdit {
        id: history.message(edit.at.item).id.clone(),
        part: edit.at.part,
        excerpt: excerpt(&edit.text),
        tokens: (edit.before, edit.after),
    }
}

/// The beginning of a text on one line.
fn excerpt(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(EXCERPT).collect();
    let line = words.join(" ");
    match line.char_indices().nth(EXCERPT) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

impl fmt::Display for Diff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} → {} tokens", self.tokens.0, self.tokens.1)?;
        let groups =
            [('-', &self.hidden), ('-', &self.removed), ('+', &self.shown), ('+', &self.added)];
        for (sign, lines) in groups {
            for DiffLine { id, role, excerpt } in lines {
                writeln!(f, "{sign} {id} {role}: {excerpt}")?;
            }
        }
        for edit in &self.edited {
            let DiffEdit { id, part, excerpt, tokens: (before, after) } = edit;
            writeln!(f, "~ {id} part {part}, {before} → {after} tokens: {excerpt}")?;
        }
        Ok(())
    }
}
