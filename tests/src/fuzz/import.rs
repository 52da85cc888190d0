//! Importers: any bytes are read as any format, and what was read is written back byte for byte.

use foldback_formats::{FORMATS, View, format, read};

/// The first byte says which format; the last value is left to the importers themselves.
pub(crate) fn import(data: &[u8]) {
    let Some((first, bytes)) = data.split_first() else { return };
    let id = FORMATS.get(usize::from(*first) % (FORMATS.len() + 1)).map(|format| format.id);
    let sessions = match read(bytes, id) {
        Ok(sessions) => sessions,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(!sessions.is_empty());
    for session in &sessions {
        let _ = (session.calls(), session.turns(), session.tool_calls());
        // A trajectory without its history (SWE-agent) is written as one with it.
        if session.messages.iter().all(|message| message.record.is_none()) {
            continue;
        }
        let edits = session.recorded_edits();
        let written = format(session.format).unwrap().write(&View::recorded(session, &edits));
        if let Some(Ok(written)) = written {
            assert_eq!(written.text, *session.source.text, "{}", session.format);
        }
    }
}
