//! A request that begins as one before: only what is new is read.
//!
//! A client sends all of its conversation with every request, and reading megabytes again takes longer than everything
//! else. What was read of the records before is kept. In the text that is read in their place, their long texts are cut to
//! a letter: roles, ids and calls are read as ever, so that what is new becomes what it would have become.

use crate::request::Request;
use crate::shared::source::Source;
use foldback_core::log::Message;
use foldback_core::validity::Dialect;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Members whose texts say nothing of how a record is read.
const TEXTS: [&str; 13] = [
    "arguments",
    "content",
    "data",
    "encrypted_content",
    "file_data",
    "input",
    "output",
    "reasoning",
    "reasoning_content",
    "signature",
    "text",
    "thinking",
    "url",
];

/// What was read of a request, for reading the next one that begins with the same bytes.
#[derive(Clone, Debug)]
pub struct Outline {
    dialect: Dialect,
    records: Vec<Range<usize>>,
    messages: Vec<Arc<Message>>,
    /// The records with their texts cut, as they stand in a list.
    cut: String,
}

impl Outline {
    /// Bytes that the next request must begin with: up to the end of the last record.
    pub fn end(&self) -> usize {
        self.records.last().map_or(0, |last| last.end)
    }

    /// The messages that were read.
    pub fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// The outline of a request of which `before` is the beginning, and `list` the records as they were read.
    pub(crate) fn of(request: &Request, before: Option<&Self>, list: &[Value]) -> Self {
        let Source { text, records, .. } = request.source();
        let records: Vec<_> = records.to_vec();
        let known = before.map_or(0, |before| before.records.len());
        let mut cut = before.map_or_else(String::new, |before| before.cut.clone());
        // What is all frame must be read in full. New records are in new messages alone (`filled`).
        let new = &request.messages()[before.map_or(0, |before| before.messages.len())..];
        let parts = new.iter().flat_map(|message| &message.parts);
        let parts = parts.filter_map(|part| part.source_record);
        let read: BTreeSet<u32> =
            new.iter().filter_map(|message| message.record).chain(parts).collect();
        for (index, record) in list.iter().enumerate().skip(known) {
            if index > 0 {
                cut.push(',');
            }
            match u32::try_from(index).is_ok_and(|index| read.contains(&index)) {
                true => cut.push_str(&shortened(record).to_string()),
                false => cut.push_str(&text[records[index].clone()]),
            }
        }
        Self { dialect: request.dialect(), records, messages: request.messages().to_vec(), cut }
    }

    /// A body with these records cut, and where they end in it.
    pub(crate) fn cut(&self, dialect: Dialect, body: &str) -> Option<(String, usize)> {
        let begin = self.records.first()?.start;
        let (head, tail) = (body.get(..begin)?, body.get(self.end()..)?);
        (dialect == self.dialect)
            .then(|| ([head, &self.cut, tail].concat(), begin + self.cut.len()))
    }

    /// Puts what is known in the place of what was read of its cut form, which ended at `end`. `None` where that is not
    /// the same but for its texts.
    pub(crate) fn filled(
        &self,
        messages: &mut [Arc<Message>],
        records: &mut [Range<usize>],
        end: usize,
    ) -> Option<()> {
        let known = self.records.len();
        if records.get(known - 1)?.end != end {
            return None;
        }
        for record in &mut records[known..] {
            *record = record.start - end + self.end()..record.end - end + self.end();
        }
        records[..known].clone_from_slice(&self.records);
        let (old, new) = messages.split_at_mut_checked(self.messages.len())?;
        let alike = |(one, other): (&Arc<Message>, &Arc<Message>)| {
            let form = |message: &Message| (message.role, message.record, message.parts.len());
            one.id == other.id && form(one) == form(other)
        };
        let is_new = |message: &Arc<Message>| message.record.is_none_or(|at| at as usize >= known);
        if !old.iter().zip(&self.messages).all(alike) || !new.iter().all(is_new) {
            return None;
        }
        old.clone_from_slice(&self.messages);
        Some(())
    }
}

/// A record without its texts.
fn shortened(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| member(key, value)).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn member(key: &str, value: &Value) -> (String, Value) {
    let short = match value {
        Value::String(text) if TEXTS.contains(&key) && !text.is_empty() => "x".into(),
        // The arguments of a call.
        Value::Object(_) if key == "input" => Value::Object(Map::new()),
        other => shortened(other),
    };
    (key.to_owned(), short)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_without_its_texts_keeps_its_form() {
        let call = json!({"id": "c", "name": "text", "input": {"path": "a"}, "arguments": "{}", "text": ""});
        let record = json!({"role": "user", "content": ["as it is", call]});
        let short = json!({"id": "c", "name": "text", "input": {}, "arguments": "x", "text": ""});
        assert_eq!(shortened(&record), json!({"role": "user", "content": ["as it is", short]}));
        assert_eq!(shortened(&json!({"content": "A text"})), json!({"content": "x"}));
    }
}
