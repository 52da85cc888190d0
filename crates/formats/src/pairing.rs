//! Calls and their results, once a session is read.

use crate::prelude::*;
use std::sync::Arc;

/// Codes of the warnings of [`pair`].
pub(crate) const PAIRING: [&str; 2] = ["orphan-result", "call-without-result"];

/// Names the tool of every result after its call, and warns about calls without a result and results
/// without a call. Both are kept: the recorder had them.
pub(crate) fn pair(session: &mut Session) {
    let mut tools: HashMap<String, String> = HashMap::new();
    // Calls in order, those that were answered taken out.
    let mut open: Vec<Option<(String, String)>> = Vec::new();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    let mut orphans: Vec<(String, String)> = Vec::new();
    for message in &mut session.messages {
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
    let [orphan, unanswered] = PAIRING;
    for (call, message) in orphans {
        let detail =
            format!("the result of `{call}` has no call before it; kept as it was recorded");
        session.warn(orphan, format!("message {message}"), detail);
    }
    for (call, message) in open.into_iter().flatten() {
        let detail = format!("the call `{call}` was never answered; kept as it was recorded");
        session.warn(unanswered, format!("message {message}"), detail);
    }
}
