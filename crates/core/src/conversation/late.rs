//! Results that come after a fold has hidden their calls.

use super::Conversation;
use crate::log::Role;
use crate::position::{Place, Pos};

impl Conversation {
    /// Brings back calls that a fold hid before their results came, for the results from a position on: both are shown
    /// together or not at all. Which calls are still answered is not known when a fold is made, and a call that never
    /// is must not stay for ever.
    pub(super) fn reunite(&mut self, from: Pos) {
        for pos in from..self.history.len() {
            let group = &self.history.group(self.history.group_of(pos)).items;
            let parted = self.view.is_visible(pos) && !self.view.is_visible(group[0]);
            if !parted || !self.strategy.guards.pairs {
                continue;
            }
            let hidden = |at: &Pos| !self.view.is_visible(*at) && !self.history.is_withdrawn(*at);
            let mut layout = self.view.layout().clone();
            let mut before = None;
            for hidden in group.iter().copied().filter(hidden) {
                let head = self.head().filter(|head| *head != pos);
                layout.bring_back(&self.history, hidden, head, before);
                before = Some(hidden);
            }
            self.lay_out(Some(layout));
            self.usage = None;
        }
    }

    /// The message that comes first in the view, the harness apart, if it is one of the history.
    fn head(&self) -> Option<Pos> {
        let system = |place: &Place| {
            place.item().is_some_and(|pos| self.history.kind(pos).role == Role::System)
        };
        self.view.places().iter().find(|place| !system(place))?.item()
    }
}
