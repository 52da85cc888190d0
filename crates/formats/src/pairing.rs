//! Calls and results, joined after a session was read.

use crate::Session;
use foldback_core::log::{PartKind, ResultStatus};
use std::collections::HashMap;
use std::sync::Arc;

/// Codes of the warnings of [`join`].
pub(crate) const CODES: [&str; 2] = ["orphan-result", "call-without-result"];

/// Names the tool of every result after its call, and warns about calls without a result and results
/// without a call. Both are kept: the recorder had them.
pub(crate) fn join(session: &mut Session) {
    let mut tools: HashMap<String, String> = HashMap::new();
    let mut open: Vec<(String, String)> = Vec::new();
    let mut orphans: Vec<(String, String)> = Vec::new();
    for message in &mut session.messages {
        for call in message.parts.iter().filter_map(|part| part.as_call()) {
            tools.insert(call.call_id.clone(), call.tool.clone());
            open.push((call.call_id.clone(), message.id.clone()));
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
        if matches!(
            result.status,
            ResultStatus::Completed | ResultStatus::Error | ResultStatus::Retry
        ) {
            open.retain(|(id, _)| *id != result.call_id);
        }
    }
    for (call, message) in orphans {
        session.warn(
            "orphan-result",
            format!("message {message}"),
            format!("the result of `{call}` has no call before it; kept as it was recorded"),
        );
    }
    for (call, message) in open {
        session.warn(
            "call-without-result",
            format!("message {message}"),
            format!("the call `{call}` was never answered; kept as it was recorded"),
        );
    }
}
