//! From lines back to sessions.

use super::{Header, ID, Line, VERSION};
use crate::prelude::*;
use std::borrow::Cow;

/// Reads sessions. `known` gives the id of a format as it is listed.
pub(crate) fn read(
    text: &str,
    known: fn(&str) -> Option<FormatId>,
) -> Result<Vec<Session>, ReadError> {
    let mut builders: Vec<Builder> = Vec::new();
    let mut current = None;
    let mut early: Vec<Warning> = Vec::new();
    for (line, range) in raw::numbered_lines(text) {
        let place = format!("line {line}");
        let json = &text[range];
        let builder = current.and_then(|index: usize| builders.get_mut(index));
        let error = match (serde_json::from_str::<Line<'_>>(json), builder) {
            (Ok(line), Some(builder)) => {
                builder.line(line, &place);
                continue;
            }
            (Ok(_), None) => "it stands before any header".to_owned(),
            (Err(error), _) => error.to_string(),
        };
        // No kind of line is called `foldback`, so a header always arrives here.
        if let Ok(header) = serde_json::from_str::<Header<'_>>(json) {
            if header.foldback > VERSION {
                let version = header.foldback;
                return Err(value::malformed(
                    &place,
                    format!("version {version} of these lines; this program reads up to {VERSION}"),
                ));
            }
            let earlier = builders.iter().position(|builder| builder.session.id == header.id);
            current = Some(earlier.unwrap_or(builders.len()));
            if earlier.is_none() {
                let format = known(&header.format);
                builders.push(Builder::new(header, format, &place));
            }
            continue;
        }
        let warnings = match current.and_then(|index| builders.get_mut(index)) {
            Some(builder) => &mut builder.session.warnings,
            None => &mut early,
        };
        warnings.push(Warning::new("damaged-line", place, format!("{error}; left out")));
    }
    let mut sessions: Vec<Session> = builders.into_iter().map(Builder::finish).collect();
    match sessions.first_mut() {
        Some(first) => first.warnings.extend(early),
        None => {
            return Err(value::malformed("line 1", "a header {\"foldback\": 1, …} is needed here"));
        }
    }
    Ok(sessions)
}

#[derive(Default)]
struct Builder {
    session: Session,
    /// Shape of the source, number of its records, text after the last.
    source: Option<(Shape, usize, String)>,
    /// Lead and text of the records.
    records: BTreeMap<u32, (String, String)>,
    /// Index of each message by id.
    messages: HashMap<String, usize>,
    boundaries: Vec<Boundary>,
    /// Answers of which the request was read.
    requested: HashSet<String>,
    /// By their number.
    unlogged: BTreeMap<u32, Answer>,
}

impl Builder {
    fn new(header: Header<'_>, format: Option<FormatId>, place: &str) -> Self {
        let empty = Source { shape: Shape::Document, ..Source::default() };
        let mut session = Session::new(header.id, format.unwrap_or(ID), empty);
        session.model = header.model.map(Cow::into_owned);
        session.cluster = header.cluster.map(Cow::into_owned);
        session.folder = header.folder.map(Cow::into_owned);
        session.limits = header.limits;
        session.recorded = header.recorded;
        session.frame = header.frame.into_owned();
        if format.is_none() {
            session.warn(
                "unknown-format",
                place,
                format!("there is no format `{}` here; its records are not used", header.format),
            );
        }
        Self {
            session,
            source: header
                .source
                .filter(|_| format.is_some())
                .map(|source| (source.shape, source.records, source.tail.into_owned())),
            ..Self::default()
        }
    }

    /// Takes a line in; one that was seen before changes nothing.
    fn line(&mut self, line: Line<'_>, place: &str) {
        match line {
            Line::Record { index, lead, raw } => {
                self.records.entry(index).or_insert_with(|| (lead.into_owned(), raw.into_owned()));
            }
            Line::Message(message) => {
                if !self.messages.contains_key(&message.id) {
                    self.messages.insert(message.id.clone(), self.session.messages.len());
                    self.session.messages.push(Arc::new(message.into_owned()));
                }
            }
            Line::Unlogged { index, answer } => {
                self.unlogged.entry(index).or_insert_with(|| answer.into_owned());
            }
            Line::Request(request) => {
                if self.requested.insert(request.answer.clone()) {
                    self.session.sent.push(request.into_owned());
                }
            }
            Line::Cleared { message, part, time } => {
                let Some(item) = self.messages.get(&*message).copied() else {
                    self.session.warn(
                        "damaged-line",
                        place,
                        format!("there is no message `{message}` before it; left out"),
                    );
                    return;
                };
                let cleared = Cleared { at: PartPos { item, part }, time };
                if !self.session.cleared.contains(&cleared) {
                    self.session.cleared.push(cleared);
                }
            }
            Line::Boundary(boundary) => {
                if !self.boundaries.contains(&boundary) {
                    self.boundaries.push(boundary.into_owned());
                }
            }
            Line::Warning(warning) => {
                if !self.session.warnings.contains(&warning) {
                    self.session.warnings.push(warning.into_owned());
                }
            }
            Line::Truncated { .. } | Line::View(_) => {}
        }
    }

    fn finish(mut self) -> Session {
        let messages = self.session.messages.len();
        self.session.boundaries = self.boundaries;
        self.session.unlogged = self.unlogged.into_values().collect();
        for boundary in &mut self.session.boundaries {
            boundary.before = boundary.before.min(messages);
        }
        match &self.source {
            Some((shape, count, tail)) if self.records.len() == *count => {
                self.session.source = source(*shape, &self.records, tail);
            }
            Some((_, count, _)) => {
                let found = self.records.len();
                self.session.format = ID;
                self.session.warn(
                    "damaged-source",
                    "header",
                    format!("{found} of {count} records of the original file are here; it cannot be restored"),
                );
            }
            None => self.session.format = ID,
        }
        self.session
    }
}

/// The text of the original file, with its records.
fn source(shape: Shape, records: &BTreeMap<u32, (String, String)>, tail: &str) -> Source {
    let mut text = String::new();
    let mut ranges = Vec::with_capacity(records.len());
    for (lead, raw) in records.values() {
        text.push_str(lead);
        ranges.push(text.len()..text.len() + raw.len());
        text.push_str(raw);
    }
    text.push_str(tail);
    Source { text: text.into(), shape, records: ranges.into() }
}
