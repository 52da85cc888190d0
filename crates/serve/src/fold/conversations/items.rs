//! Items of answers, for clients that send a reference to an item and not the item (`item_reference` of the Responses
//! API).
//!
//! An item is kept as long as its conversation. It is found by its id alone: forks refer to items of the conversation
//! that they left.

use crate::fold::Id;
use std::collections::HashMap;
use std::sync::Arc;

/// Beside the texts of an item: its places in the maps.
const BESIDE: usize = 250;

/// The items of answers by their ids, and by their conversations.
#[derive(Debug, Default)]
pub(super) struct Items {
    by_id: HashMap<Arc<str>, Vec<(Id, Arc<str>)>>,
    by_conversation: HashMap<Id, (Vec<Arc<str>>, usize)>,
}

impl Items {
    pub(super) fn keep(&mut self, conversation: Id, id: String, text: String) {
        let (ids, bytes) = self.by_conversation.entry(conversation).or_default();
        let id: Arc<str> = id.into();
        let same = self.by_id.entry(Arc::clone(&id)).or_default();
        if !same.iter().any(|(other, item)| *other == conversation && **item == *text) {
            *bytes += BESIDE + id.len() + text.len();
            same.push((conversation, text.into()));
            ids.push(id);
        }
    }

    /// The item with an id. Servers that number the items of each answer anew give one id to many: then it is nobody's.
    pub(super) fn get(&self, id: &str) -> Option<Arc<str>> {
        let (first, others) = self.by_id.get(id)?.split_first()?;
        others.iter().all(|other| other.1 == first.1).then(|| Arc::clone(&first.1))
    }

    pub(super) fn bytes(&self, conversation: Id) -> usize {
        self.by_conversation.get(&conversation).map_or(0, |(_, bytes)| *bytes)
    }

    pub(super) fn forget(&mut self, conversation: Id) {
        for id in self.by_conversation.remove(&conversation).map(|(ids, _)| ids).unwrap_or_default()
        {
            if let Some(same) = self.by_id.get_mut(&id) {
                same.retain(|(other, _)| *other != conversation);
                if same.is_empty() {
                    self.by_id.remove(&id);
                }
            }
        }
    }
}
