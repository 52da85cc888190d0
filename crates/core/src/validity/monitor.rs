//! Checks a conversation at every call and pays only for what changed since the last.

use super::checker::Checker;
use super::ledger::{Broken, Rank};
use super::names::{MessageNames, Names};
use super::{Dialect, Violation, caused_by_strategy, worse_rule};
use crate::conversation::Conversation;
use crate::delta::{Cursor, ViewDelta};
use crate::log::PartKind;
use crate::view::{PartPos, Pos, ShownMessage};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// What is wrong with the requests of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// What the log does not break on its own.
    pub caused: Vec<Violation>,
    /// What the log breaks on its own, folded or not.
    pub inherited: Vec<Violation>,
}

/// How often something is broken in the view and in the log.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    view: usize,
    log: usize,
}

/// Follows one conversation through a run. Knows what [`super::validate`] gives for its view and for
/// its log, in every dialect.
///
/// Messages that were appended are fed to the checkers, edited ones are looked at again, and only a
/// new layout starts the check of the view from the beginning. Until the first fold the view is the log, and
/// only the log is checked.
#[derive(Clone, Debug)]
pub struct Monitor {
    names: Names,
    view: Vec<Checker>,
    log: Vec<Checker>,
    /// By dialect, what is broken now in view or log.
    tallies: Vec<FxHashMap<Broken, Tally>>,
    cursor: Cursor,
    /// Whether the view was ever another than the log.
    folded: bool,
    /// How many places of the view its checkers were fed.
    places_seen: usize,
}

impl Default for Monitor {
    fn default() -> Self {
        Self {
            names: Names::default(),
            view: checkers(),
            log: checkers(),
            tallies: vec![FxHashMap::default(); Dialect::ALL.len()],
            cursor: Cursor::default(),
            folded: false,
            places_seen: 0,
        }
    }
}

fn checkers() -> Vec<Checker> {
    Dialect::ALL.map(Checker::new).to_vec()
}

impl Monitor {
    /// Checks what the conversation would send now; it must be the same conversation every time. Returns the
    /// violations in what changed since the last check, at a cost in proportion to the change. An old violation is
    /// returned once more if a new layout shows it again, or if an open call can no longer be answered.
    pub fn check(&mut self, conversation: &Conversation) -> Findings {
        let delta = conversation.delta(&mut self.cursor);
        let fresh = self.feed_log(conversation, &delta);
        self.folded |= conversation.view().is_folded();
        if self.folded {
            self.feed_view(conversation, &delta, &fresh);
        }
        let mut findings = Findings::default();
        let names = &self.names;
        let checkers = self.view.iter_mut().zip(&mut self.log).zip(&mut self.tallies);
        for (((view, log), tallies), dialect) in checkers.zip(Dialect::ALL) {
            // What changed, each with where it came first in the view.
            let mut changed: FxHashMap<Broken, Rank> = FxHashMap::default();
            for (changes, in_view) in [(view.take_changes(), true), (log.take_changes(), false)] {
                for change in changes {
                    let tally = tallies.entry(change.broken).or_default();
                    let count = if in_view { &mut tally.view } else { &mut tally.log };
                    *count = if change.came { *count + 1 } else { count.saturating_sub(1) };
                    let rank = if in_view && change.came { change.rank } else { Rank::Last };
                    let first = changed.entry(change.broken).or_insert(rank);
                    *first = rank.min(*first);
                }
            }
            let mut changed: Vec<(Broken, Rank)> = changed.into_iter().collect();
            changed.sort_by_key(|(broken, _)| broken.words(names));
            let mut caused = Vec::new();
            for (broken, rank) in changed {
                let tally = tallies.get(&broken).copied().unwrap_or_default();
                let worse = worse_rule(broken.rule).map(|rule| Broken { rule, ..broken });
                let worse = worse.and_then(|worse| tallies.get(&worse));
                if tally.view > tally.log && worse.is_none_or(|worse| worse.log == 0) {
                    caused.push((rank, broken.violation(dialect, names)));
                }
                if tally.log > 0 {
                    findings.inherited.push(broken.violation(dialect, names));
                }
                if tally.view + tally.log == 0 {
                    tallies.remove(&broken);
                }
            }
            caused.sort_by_key(|(rank, _)| *rank);
            findings.caused.extend(caused.into_iter().map(|(_, violation)| violation));
        }
        findings
    }

    /// All that was wrong at the last check.
    pub fn findings(&self) -> Findings {
        let mut findings = Findings::default();
        for (view, log) in self.view.iter().zip(&self.log) {
            let own = view.violations(&self.names);
            let mut inherited = log.violations(&self.names);
            findings.caused.extend(caused_by_strategy(&own, &inherited));
            findings.inherited.append(&mut inherited);
        }
        findings
    }

    /// Returns the ids of the messages that it fed, by position, so that the view need not look them up.
    fn feed_log(
        &mut self,
        conversation: &Conversation,
        delta: &ViewDelta,
    ) -> Vec<(Pos, MessageNames)> {
        let mut fresh = Vec::new();
        for (pos, message) in conversation.history().range(delta.appended.clone()) {
            if !message.is_entry() {
                let (shown, named) =
                    (ShownMessage::plain(message), self.names.number_message(message));
                self.log.iter_mut().for_each(|checker| checker.push(&shown, &named));
                fresh.push((pos, named));
            }
        }
        fresh
    }

    fn feed_view(
        &mut self,
        conversation: &Conversation,
        delta: &ViewDelta,
        fresh: &[(Pos, MessageNames)],
    ) {
        let (view, history) = (conversation.view(), conversation.history());
        // Calls and results are sent whatever they say; other parts may come or go by an edit.
        let content = |at: &PartPos| {
            let part = history.message(at.item).parts.get(at.part);
            part.is_some_and(|part| matches!(part.kind, PartKind::Call(_) | PartKind::Result(_)))
        };
        let again = match !delta.moved && delta.edited.iter().all(content) {
            true => &delta.edited[..],
            false => {
                self.view.iter_mut().for_each(Checker::restart);
                self.places_seen = 0;
                &[]
            }
        };
        for place in &view.places()[self.places_seen..] {
            let shown = view.show(history, *place);
            let known = place.item().and_then(|item| {
                let at = fresh.binary_search_by_key(&item, |(pos, _)| *pos).ok()?;
                Some(&fresh[at].1)
            });
            let named = known.map_or_else(
                || Cow::Owned(self.names.number_message(shown.message)),
                Cow::Borrowed,
            );
            self.view.iter_mut().for_each(|checker| checker.push(&shown, &named));
        }
        self.places_seen = view.places().len();
        let items: BTreeSet<Pos> = again.iter().map(|at| at.item).collect();
        for pos in items.into_iter().filter(|pos| view.is_visible(*pos)) {
            let shown = view.show_item(history, pos);
            let named = self.names.number_message(shown.message);
            self.view.iter_mut().for_each(|checker| checker.recheck(&shown, &named));
        }
    }
}
