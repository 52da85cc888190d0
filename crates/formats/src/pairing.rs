//! Calls and their results, once a session is read.

use crate::prelude::*;

/// Codes of the warnings of [`pair`].
pub(crate) const PAIRING: [&str; 2] = ["orphan-result", "call-without-result"];

/// Names the tool of every result after its call, and warns about calls without a result and results
/// without a call. Both are kept: the recorder had them.
pub(crate) fn pair(session: &mut Session) {
    let found = foldback_providers::wire::shared::pairing::pair(&mut session.messages);
    let [orphan, unanswered] = PAIRING;
    for (call, message) in found.orphans {
        let detail =
            format!("the result of `{call}` has no call before it; kept as it was recorded");
        session.warn(orphan, format!("message {message}"), detail);
    }
    for (call, message) in found.unanswered {
        let detail = format!("the call `{call}` was never answered; kept as it was recorded");
        session.warn(unanswered, format!("message {message}"), detail);
    }
}
