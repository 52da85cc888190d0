//! A session in another format, and the parts that the format has no place for.
//!
//! Losses are not declared by the writers but detected: the text that was written is read again, and
//! what the session had and the one that came back has not is a loss ([`losses`]). Even an unforeseen
//! loss is therefore reported, and a file that its own reader does not accept is never returned.
//!
//! A log (`Format::log`) is given every message, those that the recorder's compaction wrote included, and
//! the marks of what it had cleared. Any other format holds one conversation, and is given what happened in
//! full, without the compactions.
//!
//! What a provider refuses is repaired where that can be done (`fit`), which is a loss like any other. The
//! rules that are still broken when the file is read again are in [`Converted::breaks`].

mod facts;

use crate::fit;
use crate::format::Format;
use crate::session::Session;
use crate::write::View;
use crate::{FORMATS, WriteError, read};
use foldback_core::validity::Violation;
use foldback_core::view::ShownMessage;
use std::fmt;

/// Something of which a session had more than its new format keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Its name, for one and for several: `timestamp`, `timestamps`.
    pub what: [&'static str; 2],
    /// The number that the file lacks.
    pub lost: usize,
    /// The number in the session.
    pub of: usize,
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, many] = self.what;
        match (self.lost, self.of) {
            (1, 1) => write!(f, "1 {one}"),
            (lost, of) if lost == of => write!(f, "{lost} {many}"),
            (lost, of) => write!(f, "{lost} of {of} {many}"),
        }
    }
}

/// Sessions in another format.
#[derive(Clone, Debug, Default)]
pub struct Converted {
    /// The text of the file.
    pub text: String,
    /// The losses, the weightiest first.
    pub losses: Vec<Loss>,
    /// The provider rules that the written file breaks.
    pub breaks: Vec<Violation>,
}

/// The formats that can be written.
pub fn writable() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().filter(|format| format.writer.is_some())
}

/// Writes sessions in the format `to`. Several fit into one file only where the format keeps them apart
/// ([`Format::many`]). A session of the same format is written as it was read, byte for byte,
/// but for a request that its provider would refuse.
///
/// # Errors
///
/// [`WriteError::ReadOnly`] for a format without a writer, [`WriteError::Several`] for more sessions than a
/// file of it holds, [`WriteError::Unreadable`] if the reader refuses the written file, and whatever
/// the writer says.
pub fn convert(sessions: &[Session], to: &Format) -> Result<Converted, WriteError> {
    if sessions.len() > 1 && !to.many {
        return Err(WriteError::Several { format: to.id, count: sessions.len() });
    }
    let mut converted = Converted::default();
    for session in sessions {
        let text = write(session, to)?;
        let again = reread(session, to, &text)?;
        for loss in losses(session, &again) {
            let known = converted.losses.iter_mut();
            match known.into_iter().find(|known| known.what == loss.what) {
                Some(known) => {
                    known.lost += loss.lost;
                    known.of += loss.of;
                }
                None => converted.losses.push(loss),
            }
        }
        if to.provider.is_some() {
            converted.breaks.extend(to.breaks(again.log().map(ShownMessage::plain)));
        }
        converted.text.push_str(&text);
    }
    Ok(converted)
}

fn write(session: &Session, to: &Format) -> Result<String, WriteError> {
    let edits = session.recorded_edits();
    let view = match to.log || session.format == to.id {
        true => View::recorded(session, &edits),
        false => log(session),
    };
    // A request that would be refused is none that is worth copying.
    let fitted = to.provider.filter(|_| to.request && session.format == to.id);
    let fitted = fitted.filter(|_| !to.breaks(view.sent.iter().cloned()).is_empty());
    let fitted = fitted.map(|provider| fit::fitted(&view, provider, &mut Vec::new()));
    let sent = fitted.as_ref().map(|sent| sent.iter().map(ShownMessage::plain).collect());
    let view = View { sent: sent.unwrap_or_else(|| view.sent.clone()), ..view };
    let written = to.write(&view).unwrap_or_else(|| {
        let known = writable().map(|format| format.id).collect::<Vec<_>>().join(", ");
        Err(WriteError::ReadOnly { format: to.id, known })
    });
    Ok(written?.text)
}

/// What happened, in full: without the recorder's compactions and what they had cleared.
fn log(session: &Session) -> View<'_> {
    let shown =
        |(index, message)| ShownMessage { pos: Some(index), ..ShownMessage::plain(message) };
    View::all_visible(session, session.log().enumerate().map(shown).collect())
}

/// What a reader of the new file gets. Files of some formats hold more than the one session.
fn reread(session: &Session, to: &Format, text: &str) -> Result<Session, WriteError> {
    let mut found = read(text.as_bytes(), Some(to.id))
        .map_err(|error| WriteError::Unreadable { format: to.id, detail: error.to_string() })?;
    let same = found.iter().position(|again| again.id == session.id);
    Ok(found.swap_remove(same.unwrap_or(0)))
}

/// What `before` had and `after` has not, the weightiest first. Where things stand is not compared, only
/// whether they are there.
pub fn losses(before: &Session, after: &Session) -> Vec<Loss> {
    facts::KINDS
        .iter()
        .filter_map(|kind| {
            let lost = kind.lost(before, after);
            let of = (kind.of)(before).len();
            (lost > 0).then_some(Loss { what: kind.what, lost, of })
        })
        .collect()
}
