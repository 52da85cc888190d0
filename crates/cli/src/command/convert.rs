//! `foldback convert`

use crate::args::Convert;
use crate::error::Error;
use crate::{input, output};
use foldback_core::config::nearest;
use foldback_formats::convert::{convert, writable};
use foldback_formats::{Format, Session, WriteError};

pub(crate) fn run(args: &Convert) -> Result<(), Error> {
    let to = target(&args.to)?;
    let (from, id) = (args.from.as_deref(), args.session.as_deref());
    let sessions = input::some(&args.input, from, id, to.many)?;
    let path = args.input.display().to_string();
    for session in &sessions {
        input::strict(&path, &session.warnings, args.strict)?;
    }
    let converted = convert(&sessions, to)?;
    output::write(Some(&args.output), &converted.text)?;
    let warnings: usize = sessions.iter().map(|s| s.warnings.len()).sum();
    if warnings > 0 {
        output::note(format_args!(
            "note: {path}: {warnings} warning(s) of the importer; `foldback inspect` lists them"
        ));
    }
    for loss in &converted.losses {
        let them = if loss.lost == 1 { "it" } else { "them" };
        output::note(format_args!("{loss}: {} has no place for {them}", to.id));
    }
    output::refused(to.id, &converted.breaks).iter().for_each(output::note);
    output::note(summary(&sessions, to, converted.losses.is_empty()));
    Ok(())
}

/// A format that can be written.
pub(crate) fn target(id: &str) -> Result<&'static Format, Error> {
    match foldback_formats::format(id) {
        Ok(format) if format.writer.is_some() => Ok(format),
        Ok(format) => Err(read_only(format)),
        Err(_) => {
            let near = nearest(id, writable().map(|format| format.id));
            Err(Error::Usage(format!(
                "no format `{id}` can be written; known are {}{near}",
                known()
            )))
        }
    }
}

/// The ids of the formats that can be written.
fn known() -> String {
    writable().map(|format| format.id).collect::<Vec<_>>().join(", ")
}

/// The error that a format can't be written.
pub(crate) fn read_only(format: &Format) -> Error {
    Error::Write(WriteError::ReadOnly { format: format.id, known: known() })
}

fn summary(sessions: &[Session], to: &Format, lossless: bool) -> String {
    let messages: usize = sessions.iter().map(|session| session.messages.len()).sum();
    let calls: usize = sessions.iter().map(Session::tool_calls).sum();
    let count = match sessions.len() {
        1 => String::new(),
        count => format!("{count} sessions, "),
    };
    let nothing = if lossless { ", nothing lost" } else { "" };
    format!(
        "{} → {}: {count}{messages} messages, {calls} tool calls{nothing}",
        sessions.first().map_or("", |session| session.format),
        to.id
    )
}
