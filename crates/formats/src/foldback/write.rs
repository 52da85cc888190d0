//! A session and what a strategy made of it, as lines.

use super::{Header, Line, SourceLine, VERSION, ViewMessage};
use crate::prelude::*;
use serde::Serialize;
use std::borrow::Cow;

pub(super) fn write(view: &View<'_>, losses: &mut Vec<String>) -> Result<String, WriteError> {
    let session = view.session;
    let source = &session.source;
    let mut out = String::new();
    let end = source.records.last().map_or(0, |last| last.end);
    push(
        &mut out,
        &Header {
            foldback: VERSION,
            id: Cow::Borrowed(&session.id),
            format: Cow::Borrowed(session.format),
            model: session.model.as_deref().map(Cow::Borrowed),
            cluster: session.cluster.as_deref().map(Cow::Borrowed),
            folder: session.folder.as_deref().map(Cow::Borrowed),
            limits: session.limits,
            frame: Cow::Borrowed(view.frame),
            recorded: session.recorded,
            source: (!source.text.is_empty()).then(|| SourceLine {
                shape: source.shape,
                records: source.records.len(),
                tail: Cow::Borrowed(source.text.get(end..).unwrap_or("")),
            }),
        },
    )?;
    let mut from = 0;
    for (index, range) in source.records.iter().enumerate() {
        push(
            &mut out,
            &Line::Record {
                index: index as u32,
                lead: Cow::Borrowed(source.text.get(from..range.start).unwrap_or("")),
                raw: Cow::Borrowed(source.text.get(range.clone()).unwrap_or("")),
            },
        )?;
        from = range.end;
    }
    for item in &view.stored {
        push(&mut out, &Line::Message(Cow::Borrowed(item.shown.message)))?;
    }
    for (index, answer) in (0u32..).zip(&session.unlogged) {
        push(&mut out, &Line::Unlogged { index, answer: Cow::Borrowed(answer) })?;
    }
    for request in &session.sent {
        push(&mut out, &Line::Request(Cow::Borrowed(request)))?;
    }
    for item in &view.stored {
        let message = Cow::Borrowed(&*item.shown.message.id);
        for (part, edit) in &item.shown.edits {
            match edit.kind {
                EditKind::Clear => push(
                    &mut out,
                    &Line::Cleared { message: message.clone(), part: *part, time: edit.at },
                )?,
                EditKind::Truncate => {
                    losses.push(format!(
                        "the cut in message {message}: written, but reading gives the whole text"
                    ));
                    push(
                        &mut out,
                        &Line::Truncated {
                            message: message.clone(),
                            part: *part,
                            time: edit.at,
                            text: Cow::Borrowed(&edit.text),
                        },
                    )?;
                }
            }
        }
    }
    for boundary in &session.boundaries {
        push(&mut out, &Line::Boundary(Cow::Owned(moved(view, boundary))))?;
    }
    for warning in &session.warnings {
        push(&mut out, &Line::Warning(Cow::Borrowed(warning)))?;
    }
    if !view.shows_all() {
        losses.push("the view: written, but reading gives the whole history".to_owned());
        push(
            &mut out,
            &Line::View(
                view.sent
                    .iter()
                    .map(|shown| match shown.pos {
                        Some(_) => ViewMessage::Message(Cow::Borrowed(&*shown.message.id)),
                        None => ViewMessage::Insert(Cow::Borrowed(&**shown.message)),
                    })
                    .collect(),
            ),
        )?;
    }
    Ok(out)
}

/// Adds a line.
fn push(out: &mut String, line: &impl Serialize) -> Result<(), WriteError> {
    let json = serde_json::to_string(line).map_err(|error| WriteError::Unsupported {
        format: super::ID,
        detail: error.to_string(),
    })?;
    out.push_str(&json);
    out.push('\n');
    Ok(())
}

/// A boundary with its place among the messages that are written: a strategy may have left out entries
/// of the recorder, or added its own.
fn moved(view: &View<'_>, boundary: &Boundary) -> Boundary {
    let next = view.session.messages.get(boundary.before..);
    let before = next
        .into_iter()
        .flatten()
        .find_map(|message| view.stored.iter().position(|item| item.shown.message.id == message.id))
        .unwrap_or(view.stored.len());
    Boundary { before, ..boundary.clone() }
}
