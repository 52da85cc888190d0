//! References to items that the provider keeps (`item_reference`), with the items in their places.

use super::is_reference;
use crate::wire::shared::raw::{self, Item};
use crate::wire::shared::source::list_of;
use crate::wire::shared::value;
use foldback_core::validity::Dialect;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A request whose references were replaced by what they stand for.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The body with the items.
    pub body: String,
    /// The references as they came, by their places in the list of items.
    references: BTreeMap<u32, String>,
}

/// What a reference looks like, for bodies that have none.
const NAME: &str = "item_reference";

/// Replaces the references of a request by the items with their ids. `None` where it has none of an item that is known; others
/// stay. What is no request stays, too: reading it says what is wrong.
pub fn resolved(body: &str, item: impl Fn(&str) -> Option<Arc<str>>) -> Option<Resolved> {
    if !body.contains(NAME) {
        return None;
    }
    let list = list_of(Dialect::OpenAiResponses);
    let (mut whole, mut written, mut references) = (String::new(), 0, BTreeMap::new());
    for (record, range) in (0u32..).zip(raw::elements(body, list).ok()?) {
        let text = &body[range.clone()];
        if !text.contains(NAME) {
            continue;
        }
        let read = raw::parse(text).ok()?;
        let known = value::text(&read, "id").filter(|_| is_reference(&read)).and_then(&item);
        if let Some(known) = known {
            whole.push_str(&body[written..range.start]);
            whole.push_str(&known);
            written = range.end;
            references.insert(record, text.to_owned());
        }
    }
    if references.is_empty() {
        return None;
    }
    whole.push_str(&body[written..]);
    Some(Resolved { body: whole, references })
}

impl Resolved {
    /// Writes the references again, in a list of the request's items, for every item that is sent as it is. Reasoning always is:
    /// the provider takes no other than its own.
    pub fn refer(&self, items: &mut [Item]) {
        for item in items {
            let (Item::Keep(record) | Item::Changed(record, _)) = &*item else { continue };
            let record = *record;
            let Some(reference) = self.references.get(&record) else { continue };
            let is_own = match item {
                Item::Changed(_, text) => raw::parse(text)
                    .is_ok_and(|read| value::text(&read, "type") == Some("reasoning")),
                _ => true,
            };
            if is_own {
                *item = Item::Changed(record, reference.clone());
            }
        }
    }
}

/// The items of a response that a later request may refer to: their ids, and their JSON text.
pub fn referable(body: &serde_json::Value) -> impl Iterator<Item = (&str, String)> {
    let items = value::list(body, "output").iter();
    items.filter_map(|item| Some((value::filled(item, "id")?, item.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_takes_the_place_of_its_reference_and_all_else_stays() {
        let item = |id: &str| (id == "rs_1").then(|| Arc::from(r#"{"type":"reasoning"}"#));
        let rows = [
            // Another one of that name is none, and neither is a text that speaks of one.
            (r#"{"input": "item_reference rs_1"}"#, None),
            (r#"{"input":[{"role":"user","content":"item_reference rs_1"}]}"#, None),
            (r#"{"input":[{"type":"item_reference","id":"rs_2"}]}"#, None),
            (r#"{"input":[{"type":"item_reference"}]}"#, None),
            (
                r#"{ "input" : [ {"type" : "item_reference","id":"rs_1"} , {"type":"item_reference","id":"rs_2"},1.50 ] ,"store" :true}"#,
                Some(
                    r#"{ "input" : [ {"type":"reasoning"} , {"type":"item_reference","id":"rs_2"},1.50 ] ,"store" :true}"#,
                ),
            ),
        ];
        for (body, expected) in rows {
            let resolved = resolved(body, item);
            assert_eq!(resolved.map(|resolved| resolved.body).as_deref(), expected, "{body}");
        }
    }

    #[test]
    fn what_is_sent_as_it_is_and_all_reasoning_is_referred_to() {
        let body = r#"{"input":[{"type":"item_reference","id":"a"}, {"id":"b","type":"item_reference"}, {"role":"user","content":"c"}]}"#;
        let resolved = resolved(body, |_| Some(Arc::from("{}"))).unwrap();
        let changed = |record, text: &str| Item::Changed(record, text.to_owned());
        let reference = r#"{"id":"b","type":"item_reference"}"#;
        for (item, expected) in [
            (Item::Keep(1), changed(1, reference)),
            (changed(1, r#"{"type":"reasoning"}"#), changed(1, reference)),
            (changed(1, r#"{"type":"message"}"#), changed(1, r#"{"type":"message"}"#)),
            (Item::Keep(2), Item::Keep(2)),
        ] {
            let mut items = [item];
            resolved.refer(&mut items);
            assert_eq!(items[0], expected);
        }
    }
}
