//! Calls and their results.

use foldback_core::log::{Message, Part, PartKind};
use std::collections::HashMap;
use std::sync::Arc;

/// Calls without a result and results without a call.
#[derive(Debug, Default)]
pub struct Unpaired {
    /// Results without a call: the id of the call, and the message.
    pub orphans: Vec<(String, String)>,
    /// Calls without a result, and the message.
    pub unanswered: Vec<(String, String)>,
}

/// Names the tool of every result after its call, and gives what does not belong together.
pub fn pair(messages: &mut [Arc<Message>]) -> Unpaired {
    let mut tools: HashMap<String, String> = HashMap::new();
    // Calls in order, those that were answered taken out.
    let mut open: Vec<Option<(String, String)>> = Vec::new();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut orphans: Vec<(String, String)> = Vec::new();
    for message in messages {
        for call in message.parts.iter().filter_map(Part::as_call) {
            tools.insert(call.call_id.clone(), call.tool.clone());
            places.entry(call.call_id.clone()).or_default().push(open.len());
            open.push(Some((call.call_id.clone(), message.id.clone())));
        }
        let Some(index) = message.parts.iter().position(|p| p.as_result().is_some()) else {
            continue;
        };
        let message = Arc::make_mut(message);
        let PartKind::Result(result) = &mut message.parts[index].kind else {
            continue;
        };
        match tools.get(&result.call_id) {
            Some(tool) if result.tool.is_empty() => result.tool.clone_from(tool),
            Some(_) => {}
            None => orphans.push((result.call_id.clone(), message.id.clone())),
        }
        if result.status.is_settled() {
            for place in places.remove(&result.call_id).unwrap_or_default() {
                open[place] = None;
            }
        }
    }
    Unpaired { orphans, unanswered: open.into_iter().flatten().collect() }
}
