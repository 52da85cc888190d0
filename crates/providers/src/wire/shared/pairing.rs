//! Calls and their results.

use super::layered::Layered;
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

/// The tools of calls, by the id of the call.
#[derive(Clone, Debug, Default)]
pub struct Tools(Layered<String>);

impl Tools {
    /// Notes the calls of a message, and gives its first result the name of the tool that its call named. Returns the id of
    /// the call if that call is unknown.
    pub fn name<'m>(&mut self, message: &'m mut Arc<Message>) -> Option<&'m str> {
        for call in message.parts.iter().filter_map(Part::as_call) {
            self.0.insert(&call.call_id, call.tool.clone());
        }
        let index = message.parts.iter().position(|part| part.as_result().is_some())?;
        let PartKind::Result(result) = &mut Arc::make_mut(message).parts[index].kind else {
            return None;
        };
        match self.0.get(&result.call_id) {
            Some(tool) if result.tool.is_empty() => result.tool.clone_from(tool),
            Some(_) => {}
            None => return Some(&result.call_id),
        }
        None
    }

    /// Shares the known calls with copies that are made from here on.
    pub fn settle(&mut self) {
        self.0.settle();
    }
}

/// Gives every result the name of the tool that its call named. Returns calls without results and results without calls.
pub fn pair(messages: &mut [Arc<Message>]) -> Unpaired {
    let mut tools = Tools::default();
    // Calls in order, those that were answered taken out.
    let mut open: Vec<Option<(String, String)>> = Vec::new();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut orphans: Vec<(String, String)> = Vec::new();
    for message in messages {
        for call in message.parts.iter().filter_map(Part::as_call) {
            places.entry(call.call_id.clone()).or_default().push(open.len());
            open.push(Some((call.call_id.clone(), message.id.clone())));
        }
        if let Some(call) = tools.name(message).map(str::to_owned) {
            orphans.push((call, message.id.clone()));
        }
        let Some(result) = message.parts.iter().find_map(Part::as_result) else { continue };
        if result.status.is_settled() {
            for place in places.remove(&result.call_id).unwrap_or_default() {
                open[place] = None;
            }
        }
    }
    Unpaired { orphans, unanswered: open.into_iter().flatten().collect() }
}
