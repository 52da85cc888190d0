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
    out.compactions("summary", "provider");
    Ok(out.finish())
}
