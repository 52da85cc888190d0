//! Numbers come from outside: whatever stands in a file, no sum of them wraps.
use crate::common::{fixtures, rewritten};
use foldback_formats::session::Source;
use foldback_formats::{FORMATS, Session, read};
use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Counts and times that nothing in a recording is.
const EXTREMES: [&str; 5] =
    ["18446744073709551615", "9223372036854775807", "-9223372036854775808", "1e308", "-1e308"];

/// Where the numbers of a JSON text are.
fn numbers(text: &str) -> Vec<Range<usize>> {
    let (mut found, mut quoted, mut escaped) = (Vec::<Range<usize>>::new(), false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'0'..=b'9' | b'.' if !quoted => match found.last_mut() {
                Some(last) if last.end == at => last.end += 1,
                _ => found.push(at..at + 1),
            },
            _ => {}
        }
    }
    found
}

/// What is written of a session in another format, where the texts it was read from stay behind. The id is that of the
/// text in some formats.
fn content(session: &Session) -> String {
    let session = Session { id: String::new(), source: Source::lines(""), ..session.clone() };
    format!("{session:?}")
}

/// Reads, writes as it was and in every format. What is refused is refused. A session with nothing in it that was not
/// `written` before is not written in other formats again, but for foldback's own, which holds the text.
fn go_through(text: &str, id: &str, written: &mut BTreeSet<String>) {
    let Ok(sessions) = read(text.as_bytes(), Some(id)) else { return };
    for session in &sessions {
        for message in session.log() {
            let usage = message.answer.as_ref().and_then(|answer| answer.usage);
            let most = usage.map_or(0, |usage| usage.total_tokens().max(usage.total.unwrap_or(0)));
            assert!(most < 1 << 45, "{most} tokens");
        }
        let is_new = written.insert(content(session));
        for format in FORMATS.iter().filter(|format| format.writer.is_some()) {
            if format.id == id {
                rewritten(session, format.id);
            } else if is_new || format.id == "foldback" {
                let _ = foldback_formats::convert::convert(std::slice::from_ref(session), format);
            }
        }
    }
}

#[test]
fn no_number_of_a_file_is_too_large() {
    for (id, name, text) in fixtures() {
        let (places, mut written) = (numbers(&text), BTreeSet::new());
        // Reading anew for each number of a long file takes long, and tells nothing new.
        for place in places.iter().step_by(places.len() / 6 + 1) {
            for extreme in EXTREMES {
                let text = [&text[..place.start], extreme, &text[place.end..]].concat();
                let gone = catch_unwind(AssertUnwindSafe(|| go_through(&text, &id, &mut written)));
                assert!(gone.is_ok(), "{id} {name}: {extreme} at byte {}", place.start);
            }
        }
        for extreme in EXTREMES {
            let mut all = text.clone();
            places.iter().rev().for_each(|place| all.replace_range(place.clone(), extreme));
            let gone = catch_unwind(AssertUnwindSafe(|| go_through(&all, &id, &mut written)));
            assert!(gone.is_ok(), "{id} {name}: {extreme} everywhere");
        }
    }
}
