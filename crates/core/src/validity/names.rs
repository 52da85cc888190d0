//! Numbers for the ids of messages and calls, so that an id is hashed once and not by every checker.

use crate::log::{Message, Part, PartKind};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::sync::Arc;

/// Number of an id.
pub(super) type Name = u32;

/// The ids of a request and of its log.
#[derive(Clone, Debug, Default)]
pub(super) struct Names {
    numbers: FxHashMap<Arc<str>, Name>,
    ids: Vec<Arc<str>>,
}

/// The ids of one message.
#[derive(Clone, Debug)]
pub(super) struct MessageNames {
    pub(super) message: Name,
    /// By part, that of the call which it makes or answers.
    pub(super) calls: SmallVec<[Option<Name>; 4]>,
}

impl Names {
    pub(super) fn number_message(&mut self, message: &Message) -> MessageNames {
        let call = |part: &Part| match &part.kind {
            PartKind::Call(call) => Some(self.number(&call.call_id)),
            PartKind::Result(result) => Some(self.number(&result.call_id)),
            _ => None,
        };
        let calls = message.parts.iter().map(call).collect();
        MessageNames { message: self.number(&message.id), calls }
    }

    pub(super) fn id(&self, name: Name) -> &str {
        &self.ids[name as usize]
    }

    fn number(&mut self, id: &str) -> Name {
        if let Some(number) = self.numbers.get(id) {
            return *number;
        }
        let number = Name::try_from(self.ids.len()).unwrap_or(Name::MAX);
        let id: Arc<str> = Arc::from(id);
        self.ids.push(Arc::clone(&id));
        self.numbers.insert(id, number);
        number
    }
}
