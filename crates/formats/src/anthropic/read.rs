//! From message lists to the canonical form.

use super::FORMAT;
use crate::bodies::{Body, read_all};
use crate::prelude::*;
use foldback_providers::wire::anthropic;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    read_all(text, conversation)
}

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let read = anthropic::read(&body.root, body.list);
    let mut out = SessionBuilder::read(body.session(FORMAT.id)?, read);
    // What the provider itself compacted: its block stands for all that came before.
    let is_compaction = |part: &Part| matches!(&part.kind, PartKind::Unknown { name, .. } if name == anthropic::COMPACTION);
    for index in 0..out.messages.len() {
        for _ in 0..out.messages[index].parts.iter().filter(|part| is_compaction(part)).count() {
            out.boundary("summary", "provider").before = index + 1;
        }
    }
    Ok(out.finish())
}
