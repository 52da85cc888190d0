//! Checks a conversation at every call and pays only for what changed since the last.

use super::{Checker, Dialect, Violation, caused_by_strategy};
use crate::conversation::{Conversation, FoldId};
use crate::log::PartKind;
use crate::plan::Layout;
use crate::view::{Pos, Shown};

/// What is wrong with the request that a conversation would send now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What the log does not break by itself.
    pub caused: Vec<Violation>,
    /// What the log breaks by itself, folded or not.
    pub inherited: Vec<Violation>,
}

/// Follows one conversation through a run. Gives what [`super::validate`] gives for its view and for
/// its log, in every dialect.
///
/// Messages that were appended are fed to the checkers, edited ones are looked at again, and only a
/// new layout starts the check of the view from the beginning.
#[derive(Clone, Debug)]
pub struct Monitor {
    view: Vec<Checker>,
    log: Vec<Checker>,
    /// How much of the history the checkers of the log were fed.
    log_seen: Pos,
    /// How many places of the view its checkers were fed, and under which layout and folds.
    places_seen: usize,
    layout: Layout,
    folds: Vec<FoldId>,
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            view: checkers(),
            log: checkers(),
            log_seen: 0,
            places_seen: 0,
            layout: Layout::default(),
            folds: Vec::new(),
        }
    }
}

fn checkers() -> Vec<Checker> {
    Dialect::ALL.map(Checker::new).to_vec()
}

impl Monitor {
    /// Checks what the conversation would send now. It must be the same conversation every time.
    pub fn check(&mut self, conversation: &Conversation) -> Findings {
        self.feed_log(conversation);
        self.feed_view(conversation);
        let mut findings = Findings::default();
        for (view, log) in self.view.iter().zip(&self.log) {
            let (own, mut inherited) = (view.violations(), log.violations());
            findings.caused.extend(caused_by_strategy(&own, &inherited));
            findings.inherited.append(&mut inherited);
        }
        findings
    }

    fn feed_log(&mut self, conversation: &Conversation) {
        let history = conversation.history();
        for (_, message) in history.range(self.log_seen..history.len()) {
            if !message.is_entry() {
                let shown = Shown::plain(message);
                self.log.iter_mut().for_each(|checker| checker.push(&shown));
            }
        }
        self.log_seen = history.len();
    }

    fn feed_view(&mut self, conversation: &Conversation) {
        let (view, history) = (conversation.view(), conversation.history());
        let Some(edited) = self.edited_since(conversation) else {
            *self = Self {
                log: std::mem::take(&mut self.log),
                log_seen: self.log_seen,
                layout: view.layout().clone(),
                folds: conversation.folds().iter().map(|fold| fold.id).collect(),
                ..Self::default()
            };
            return self.feed_places(conversation);
        };
        self.feed_places(conversation);
        for pos in edited {
            let shown = view.show_item(history, pos);
            for checker in &mut self.view {
                checker.recheck(&shown);
            }
        }
        let folds = &conversation.folds()[self.folds.len()..];
        self.folds.extend(folds.iter().map(|fold| fold.id));
    }

    /// The visible messages that were edited since the last check; `None` where more changed than the
    /// content of calls and results, which alone never decides whether a message is sent.
    fn edited_since(&self, conversation: &Conversation) -> Option<Vec<Pos>> {
        let (view, history) = (conversation.view(), conversation.history());
        let folds = conversation.folds();
        let follows = self.layout == *view.layout()
            && self.folds.len() <= folds.len()
            && self.folds.iter().zip(folds).all(|(id, fold)| *id == fold.id);
        if !follows {
            return None;
        }
        let mut edited = Vec::new();
        for edit in folds[self.folds.len()..].iter().flat_map(|fold| &fold.plan.edits) {
            match history.message(edit.at.item).parts.get(edit.at.part)?.kind {
                PartKind::Call(_) | PartKind::Result(_) if view.is_visible(edit.at.item) => {
                    edited.push(edit.at.item);
                }
                PartKind::Call(_) | PartKind::Result(_) => {}
                _ => return None,
            }
        }
        Some(edited)
    }

    fn feed_places(&mut self, conversation: &Conversation) {
        let (view, history) = (conversation.view(), conversation.history());
        for place in &view.places()[self.places_seen..] {
            let shown = view.show(history, *place);
            for checker in &mut self.view {
                checker.push(&shown);
            }
        }
        self.places_seen = view.places().len();
    }
}
