//! Where the part that is kept begins: what filters share that leave out the beginning of a view.

use foldback_core::history::Kind;
use foldback_core::log::{EntryKind, Message, Origin, Role};
use foldback_core::plan::{Insert, Slot, push_kept};
use foldback_core::stage::StageContext;
use foldback_core::view::Place;

/// A message, as far as a split looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unit {
    /// It is a tool result.
    pub result: bool,
    /// It calls tools.
    pub calls: bool,
    /// Index of the first message of its group: the call of a result, else itself.
    pub group: usize,
}

/// Moves a split back until no group has messages on both sides and the kept part starts with no
/// result. 0 where only the whole would do.
pub fn move_off_groups(units: &[Unit], split: usize) -> usize {
    if split == 0 || split >= units.len() {
        return split;
    }
    let (mut at, mut checked) = (split, units.len());
    loop {
        // A result may be far after its call, so every kept message counts, not the first alone.
        let first = units[at..checked].iter().map(|unit| unit.group).min();
        checked = at;
        match first {
            Some(first) if first < at => at = first,
            _ if at > 0 && units[at].result => at -= 1,
            _ => return at,
        }
    }
}

/// The messages of the view, as far as a split looks at them.
pub fn units(context: &StageContext<'_>) -> Vec<Unit> {
    let history = context.history;
    let places = context.places();
    let mut index: Vec<Option<usize>> = vec![None; history.len()];
    for (at, place) in places.iter().enumerate() {
        if let Place::Item(pos) = place {
            index[*pos] = Some(at);
        }
    }
    let unit = |(at, place): (usize, &Place)| {
        let (kind, first) = match place {
            Place::Item(pos) => {
                (history.kind(*pos), history.group(history.group_of(*pos)).items.first())
            }
            Place::Insert(_) => (Kind::from_message(context.message(*place)), None),
        };
        Unit {
            result: kind.role == Role::Tool,
            calls: kind.role == Role::Assistant && kind.calls,
            group: first.and_then(|pos| index[*pos]).unwrap_or(at),
        }
    };
    places.iter().enumerate().map(unit).collect()
}

/// The places of the view from an index on, as they are.
pub fn kept(context: &StageContext<'_>, from: usize) -> Vec<Slot> {
    let mut slots = Vec::new();
    for place in &context.places()[from..] {
        match *place {
            Place::Item(pos) => push_kept(&mut slots, pos),
            Place::Insert(_) => slots.push(Slot::Insert(again(context.message(*place)))),
        }
    }
    slots
}

/// An inserted message that stays.
fn again(message: &Message) -> Insert {
    let origin = match message.origin {
        Origin::Entry(kind) => kind,
        Origin::Log => EntryKind::Boundary,
    };
    Insert::new(message.id.clone(), message.role, message.said(), origin)
}
