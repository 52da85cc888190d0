//! What the steps of a trajectory cannot say about a session of another format, so that it comes back as it
//! was: ids, signatures of reasoning, who wrote a text, when a tool ran, the order of parts.
//!
//! It is in `extra.foldback` of the document, where RFC 0001 lets producers store anything, as the
//! difference between the session and what a reader gets from the steps alone. Other readers lose nothing by
//! leaving it aside. Once steps were added or taken away it no longer fits, and is left aside here too.

use crate::pairing::{PAIRING, pair};
use crate::prelude::*;
use crate::session::SentRequest;
use serde::{Deserialize, Serialize};

/// Member of `extra`.
pub(super) const KEY: &str = "foldback";

/// The difference.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Restore {
    /// Number of steps that it belongs to.
    steps: usize,
    /// Changes of the [`Rest`].
    session: Vec<Change>,
    /// Every message, in order.
    messages: Vec<MessageSource>,
}

/// The message read from the steps that a message is made from, and its changes.
#[derive(Debug, Serialize, Deserialize)]
struct MessageSource {
    /// Number of the message read; absent for one that no step holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<Change>,
}

/// JSON pointer and its value; a missing value means that it is removed.
type Change = Vec<Value>;

/// The content of a session besides its messages.
#[derive(Debug, Serialize, Deserialize)]
struct Rest {
    id: String,
    model: Option<String>,
    cluster: Option<String>,
    #[serde(default)]
    folder: Option<String>,
    limits: Limits,
    frame: Frame,
    boundaries: Vec<Boundary>,
    cleared: Vec<Cleared>,
    #[serde(default)]
    unlogged: Vec<Answer>,
    #[serde(default)]
    sent: Vec<SentRequest>,
}

impl Rest {
    fn new(session: &Session, frame: &Frame, cleared: Vec<Cleared>) -> Self {
        Self {
            id: session.id.clone(),
            model: session.model.clone(),
            cluster: session.cluster.clone(),
            folder: session.folder.clone(),
            limits: session.limits,
            frame: frame.clone(),
            boundaries: session.boundaries.clone(),
            cleared,
            unlogged: session.unlogged.clone(),
            sent: session.sent.clone(),
        }
    }
}

/// What to add to a document that `plain` was read from; `home` tells which step and place holds a message
/// of the session. `None` if a strategy changed the view: then the steps tell what it made.
pub(super) fn difference(
    view: &View<'_>,
    plain: &Session,
    steps: usize,
    home: impl Fn(usize) -> Option<(u32, Vec<String>)>,
) -> Option<Restore> {
    let session = view.session;
    let recorded = view.stored.len() == session.messages.len()
        && view.sent.len() == view.stored.len()
        && (view.stored.iter().zip(&session.messages))
            .all(|(stored, message)| Arc::ptr_eq(stored.shown.message, message));
    if !recorded {
        return None;
    }
    let cleared = view.stored.iter().enumerate().flat_map(|(item, stored)| {
        let edits = stored.shown.edits.iter();
        edits
            .filter(|(_, edit)| edit.kind == EditKind::Clear)
            .map(move |(part, edit)| Cleared { at: PartPos { item, part: *part }, time: edit.at })
    });
    let after = Rest::new(session, view.frame, cleared.collect());
    let before = Rest::new(plain, &plain.frame, plain.cleared.clone());
    let mut taken = vec![false; plain.messages.len()];
    let mut messages = Vec::with_capacity(session.messages.len());
    for (item, message) in session.messages.iter().enumerate() {
        let from = home(item).and_then(|(record, places)| {
            let holds = |plain: &Message| {
                let mut parts = plain.parts.iter().filter_map(|part| part.pointer.as_ref());
                parts.any(|pointer| places.contains(pointer))
            };
            let of_step = |index: &usize| {
                let plain = &plain.messages[*index];
                plain.record == Some(record) && plain.role == message.role && !taken[*index]
            };
            let all = 0..plain.messages.len();
            let mut found = all.clone().filter(of_step);
            all.clone()
                .filter(of_step)
                .find(|index| holds(&plain.messages[*index]))
                .or_else(|| found.next())
        });
        let base = match from {
            Some(index) => {
                taken[index] = true;
                json(&plain.messages[index])?
            }
            None => Value::Null,
        };
        let mut set = Vec::new();
        compare(&base, &json(message)?, &mut String::new(), &mut set);
        messages.push(MessageSource { from, set });
    }
    let mut rest = Vec::new();
    let (before, after) = (serde_json::to_value(before).ok()?, serde_json::to_value(after).ok()?);
    compare(&before, &after, &mut String::new(), &mut rest);
    Some(Restore { steps, session: rest, messages })
}

/// Makes the session of the steps into the one that was written. Says whether it could.
pub(super) fn apply(session: &mut Session, found: &Value, steps: usize) -> bool {
    let Ok(restore) = Restore::deserialize(found) else {
        return false;
    };
    let made = || -> Option<(Rest, Vec<Arc<Message>>)> {
        let rest = Rest::new(session, &session.frame, session.cleared.clone());
        let mut rest = serde_json::to_value(rest).ok()?;
        change(&mut rest, &restore.session)?;
        let messages = restore.messages.iter().map(|made| {
            let plain = match made.from {
                Some(index) => Some(session.messages.get(index)?),
                None => None,
            };
            let mut value = plain.map_or(Some(Value::Null), |plain| json(plain))?;
            change(&mut value, &made.set)?;
            let mut message: Message = serde_json::from_value(value).ok()?;
            if let Some(plain) = plain {
                place(&mut message, plain);
            }
            Some(Arc::new(message))
        });
        Some((serde_json::from_value(rest).ok()?, messages.collect::<Option<_>>()?))
    };
    if restore.steps != steps {
        return false;
    }
    let Some((rest, messages)) = made() else {
        return false;
    };
    session.id = rest.id;
    session.model = rest.model;
    session.cluster = rest.cluster;
    session.folder = rest.folder;
    session.limits = rest.limits;
    session.frame = rest.frame;
    session.boundaries = rest.boundaries;
    session.cleared = rest.cleared;
    session.unlogged = rest.unlogged;
    session.sent = rest.sent;
    session.messages = messages;
    session.warnings.retain(|warning| !PAIRING.contains(&&*warning.code));
    pair(session);
    true
}

/// A message without the place that it was read from, which is the file's and not the session's.
fn json(message: &Message) -> Option<Value> {
    let mut message = message.clone();
    message.record = None;
    for part in &mut message.parts {
        part.pointer = None;
        part.source_record = None;
    }
    serde_json::to_value(message).ok()
}

/// Gives a message the places of the message that it was made from: by number if the parts are equal, else by what
/// they show.
fn place(message: &mut Message, plain: &Message) {
    message.record = plain.record;
    let same = message.parts.len() == plain.parts.len();
    for (index, part) in message.parts.iter_mut().enumerate() {
        let alike = |other: &&foldback_core::Part| {
            other.kind_name() == part.kind_name() && (same || other.shown() == part.shown())
        };
        let by_number = plain.parts.get(index).filter(|_| same).filter(alike);
        let found = by_number.or_else(|| plain.parts.iter().find(alike));
        part.pointer = found.and_then(|found| found.pointer.clone());
    }
}

/// Lists what makes `before` into `after`.
fn compare(before: &Value, after: &Value, at: &mut String, out: &mut Vec<Change>) {
    let length = at.len();
    let inside = |key: &str, at: &mut String| {
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
    };
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for key in old.keys().filter(|key| !new.contains_key(*key)) {
                inside(key, at);
                out.push(vec![at.as_str().into()]);
                at.truncate(length);
            }
            for (key, value) in new {
                inside(key, at);
                match old.get(key) {
                    Some(old) => compare(old, value, at, out),
                    None => out.push(vec![at.as_str().into(), value.clone()]),
                }
                at.truncate(length);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (index, (old, new)) in old.iter().zip(new).enumerate() {
                inside(&index.to_string(), at);
                compare(old, new, at, out);
                at.truncate(length);
            }
        }
        (old, new) if old == new => {}
        _ => out.push(vec![at.as_str().into(), after.clone()]),
    }
}

/// Makes the changes that [`compare`] listed; `None` if they do not fit.
fn change(value: &mut Value, changes: &[Change]) -> Option<()> {
    for change in changes {
        let pointer = change.first()?.as_str()?;
        if let (Some(new), Some(old)) = (change.get(1), value.pointer_mut(pointer)) {
            *old = new.clone();
            continue;
        }
        let (parent, key) = pointer.rsplit_once('/')?;
        let key = key.replace("~1", "/").replace("~0", "~");
        let parent = value.pointer_mut(parent)?.as_object_mut()?;
        match change.get(1) {
            Some(new) => parent.insert(key, new.clone()),
            None => parent.remove(&key),
        };
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_compared_can_be_changed_back() {
        let table = [
            (json!({"a": 1}), json!({"a": 1}), 0),
            (json!({"a": 1, "b": 2}), json!({"b": null}), 2),
            (json!({"a": [1, {"b~/c": 2}]}), json!({"a": [1, {"b~/c": 3}]}), 1),
            (json!({"a": [1]}), json!({"a": [1, 2]}), 1),
            (json!(null), json!({"a": {"x/y": []}}), 1),
            (json!({"a": {}}), json!({"a": {"": {"/": 1}}}), 1),
        ];
        for (before, after, count) in table {
            let mut changes = Vec::new();
            compare(&before, &after, &mut String::new(), &mut changes);
            assert_eq!(changes.len(), count, "{changes:?}");
            let mut value = before;
            assert!(change(&mut value, &changes).is_some());
            assert_eq!(value, after, "{changes:?}");
        }
    }

    #[test]
    fn changes_that_do_not_fit_are_refused() {
        for changes in [json!([["/x/y", 1]]), json!([["x", 1]]), json!([[1]]), json!([[]])] {
            let changes: Vec<Change> = serde_json::from_value(changes).unwrap();
            assert!(change(&mut json!({"a": 1}), &changes).is_none(), "{changes:?}");
        }
    }
}
