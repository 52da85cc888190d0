//! `claude-code`: the JSON lines that Claude Code keeps in `~/.claude/projects`.
//!
//! The lines are the client's journal, not a conversation: one answer is spread over several lines,
//! lines form a tree, the tool output is stored twice, and most lines are for the screen only. The
//! importer makes four passes: [`line`] parses and drops what was stored twice, [`thread`] divides
//! the tree into sessions, [`read`] turns the lines of one thread into messages, and the pairing of
//! calls with results closes it. What the client prints with `--output-format stream-json` are the same
//! lines under a few other names, and is read alike. The page `docs/claude-code.md` lists what is mapped to what.

mod attachment;
mod block;
mod generate;
mod line;
mod read;
mod request;
mod thread;
mod write;

use crate::prelude::*;

pub(crate) const FORMAT: Format = Format::new(
    "claude-code",
    "Claude Code session (JSON lines of ~/.claude/projects)",
    SIGNS,
    read::read,
)
.written(write::patch, write::generate)
.sent_to(Dialect::Anthropic);

/// Several of the first lines are looked at: the very first may be a title or a snapshot.
const SIGNS: &[Sign] = &[
    Sign::new(100, &[Has("/parentUuid"), Has("/sessionId")]).lines(20),
    Sign::new(
        90,
        &[Has("/session_id"), Any(&[Has("/parent_tool_use_id"), Is("/subtype", &["init"])])],
    )
    .lines(20),
    Sign::new(60, &[Is("/type", &["file-history-snapshot"])]).lines(20),
    Sign::new(60, &[Is("/type", &["summary"]), Has("/leafUuid")]).lines(20),
];
