//! `copilot-cli`: the `events.jsonl` of GitHub Copilot CLI, `~/.copilot/session-state/<id>`.
//!
//! A line is an event, `{type, data, id, timestamp, parentId}`; about an eighth of them are messages.
//! Subagents speak in the same stream and are sessions of their own. Input tokens are seldom
//! recorded. The format is only read. `docs/copilot-cli.md` has the mapping.

mod read;

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("copilot-cli", "GitHub Copilot CLI session (events.jsonl)", detect, read::read);

fn detect(text: &str, _: &Peek) -> u8 {
    const FAMILIES: [&str; 4] = ["session.", "assistant.", "user.", "tool."];
    jsonl::surest(text, 20, |line| {
        let opening = peek(line);
        let own = |kind: &str| FAMILIES.iter().any(|family| kind.starts_with(family));
        match opening.has("/data") && opening.has("/parentId") && opening.has("/timestamp") {
            true if opening.is("/type", "session.start") => 100,
            true if opening.values("/type").any(own) => 90,
            _ => 0,
        }
    })
}
