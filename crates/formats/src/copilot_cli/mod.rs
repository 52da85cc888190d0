//! `copilot-cli`: the `events.jsonl` of GitHub Copilot CLI, `~/.copilot/session-state/<id>`.
//!
//! A line is an event, `{type, data, id, timestamp, parentId}`; about an eighth of them are messages.
//! Subagents speak in the same stream and are sessions of their own. Input tokens are seldom
//! recorded. The format is only read. `docs/copilot-cli.md` has the mapping.

mod read;

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("copilot-cli", "GitHub Copilot CLI session (events.jsonl)", detect, read::read);

fn detect(text: &str) -> u8 {
    let mut score = 0;
    for line in text.lines().take(20).filter(|line| line.starts_with('{')) {
        let opening = peek(line);
        let event = opening.has("/data") && opening.has("/parentId") && opening.has("/timestamp");
        if event && opening.is("/type", "session.start") {
            return 100;
        }
        let dotted = opening.values("/type").any(|kind| {
            ["session.", "assistant.", "user.", "tool."]
                .iter()
                .any(|prefix| kind.starts_with(prefix))
        });
        if event && dotted {
            score = 90;
        }
    }
    score
}
