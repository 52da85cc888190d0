//! Where pi cuts, over plain numbers.
//!
//! The messages are added up from the newest. Where the sum reaches what is to be kept, the cut is at the next message from there
//! on that may come first: any but a tool result. A cut in the middle of a turn splits it: what the turn has before the cut gets a
//! summary of its own, so that the newest request is not lost among older ones.

use foldback_core::Role;
use foldback_core::stage::StageContext;
use foldback_core::view::{Place, Pos};

/// A message as the cut sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Its size.
    pub tokens: u64,
    /// Whether the kept part may begin with it: anything but a tool result.
    pub may_be_first: bool,
    /// Whether a turn begins with it: anything in the user's name.
    pub begins_turn: bool,
}

impl Unit {
    /// These messages of the view.
    pub fn from_messages(context: &StageContext<'_>, messages: &[Pos]) -> Vec<Self> {
        let unit = |pos: &Pos| {
            let role = context.history.kind(*pos).role;
            Self {
                tokens: context.tokens(Place::Item(*pos)),
                may_be_first: role != Role::Tool,
                begins_turn: role == Role::User,
            }
        };
        messages.iter().map(unit).collect()
    }
}

/// What a fold keeps and what it summarizes, as indices of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first message that is kept.
    pub kept: usize,
    /// Where the turn begins that the cut splits, if it splits one.
    pub turn: Option<usize>,
}

impl Cut {
    /// The cut before a message: it splits the turn that the message is in, unless the turn begins there.
    pub fn before(units: &[Unit], kept: usize) -> Self {
        let inside = units.get(kept).is_some_and(|unit| !unit.begins_turn);
        let turn = || units[..kept].iter().rposition(|unit| unit.begins_turn);
        Self { kept, turn: inside.then(turn).flatten() }
    }

    /// How many messages go into the summary of the older turns.
    pub fn older(&self) -> usize {
        self.turn.unwrap_or(self.kept)
    }
}

/// The first message that is kept, so that about `keep` tokens are. `None` where no message may come first.
pub fn first_kept(units: &[Unit], keep: u64) -> Option<usize> {
    let candidates = || units.iter().enumerate().filter(|(_, unit)| unit.may_be_first);
    let (first, _) = candidates().next()?;
    let mut sum = 0;
    let reached = units.iter().enumerate().rev().find(|(_, unit)| {
        sum += unit.tokens;
        unit.tokens > 0 && sum >= keep
    });
    let Some((at, _)) = reached else {
        return Some(first);
    };
    let next = candidates().find(|(candidate, _)| *candidate >= at);
    next.or_else(|| candidates().next_back()).map(|(candidate, _)| candidate)
}

/// The first message that is kept, so that no more than `keep` tokens are, unless the newest that may come first has more with what
/// stands behind it. `None` where no message may come first.
pub fn last_that_fit(units: &[Unit], keep: u64) -> Option<usize> {
    let mut sum = 0;
    let candidates = units.iter().enumerate().rev().filter_map(|(at, unit)| {
        sum += unit.tokens;
        unit.may_be_first.then_some((at, sum))
    });
    let mut candidates = candidates.peekable();
    let (newest, _) = *candidates.peek()?;
    candidates.take_while(|(_, sum)| *sum <= keep).last().map_or(Some(newest), |(at, _)| Some(at))
}
