//! From message lists to the canonical form.

use super::FORMAT;
use crate::bodies::{Body, read_all};
use crate::prelude::*;
use foldback_providers::wire::openai;

pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    read_all(text, conversation)
}

fn conversation(body: &Body<'_>) -> Result<Session, ReadError> {
    let read = openai::read(&body.root, body.list);
    let mut out = SessionBuilder::read(body.session(FORMAT.id)?, read);
    out.session.model = out.session.model.take().or(out.main_model());
    Ok(out.finish())
}
