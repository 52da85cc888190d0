//! A conversation as a text that is kept in a repository and read when it changes.
//!
//! Nothing in it differs from run to run or from machine to machine: messages and calls are numbered, and ids, times
//! and home folders in texts have one word each. A line is a fold or a part, so that a change of behavior is a
//! changed line.

use super::names::Names;
use super::{sections, size};
use crate::conversation::Conversation;
use crate::diff::Diff;
use crate::plain;
use std::fmt::Write as _;

/// What was folded and what is shown at the end, with a title.
pub fn review(title: &str, conversation: &Conversation) -> String {
    let names = Names::stable(conversation);
    let mut out = String::new();
    let _ = writeln!(out, "# {}", plain::line(title));
    let limits = conversation.limits();
    if limits.context > 0 {
        let _ =
            writeln!(out, "window of {} tokens, {} for the answer", limits.context, limits.output);
    }
    size(&mut out, conversation);
    out.push_str("\n## Folds\n");
    if conversation.folds().is_empty() {
        out.push_str("none\n");
    }
    for (number, fold) in conversation.folds().iter().enumerate() {
        let plan = &fold.plan;
        let _ = writeln!(
            out,
            "{:03} {} {}: {} → {} tokens; {}",
            number + 1,
            plan.moment,
            plan.stage,
            plan.tokens_before,
            plan.tokens_after,
            conversation.diff(fold.id).map_or_else(String::new, |diff| counts(&diff)),
        );
    }
    sections(&mut out, conversation, &names);
    out
}

/// How many messages a fold hid, showed again and added, and how many parts it edited.
fn counts(diff: &Diff) -> String {
    let hidden = diff.hidden.len() + diff.removed.len();
    let all = [
        (hidden, "hidden"),
        (diff.shown.len(), "shown again"),
        (diff.added.len(), "added"),
        (diff.edited.len(), "edited"),
    ];
    let some = all.into_iter().filter(|(count, _)| *count > 0);
    let words: Vec<String> = some.map(|(count, what)| format!("{count} {what}")).collect();
    if words.is_empty() { "nothing that is shown".to_owned() } else { words.join(", ") }
}
