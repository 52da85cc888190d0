//! Recorders record, and what foldback reads in their files is what their own readers read there.

mod gemini_cli;
mod pi;

use foldback_core::log::{Part, PartKind, ResultStatus};
use foldback_core::{Message, Role};
use foldback_formats::{ReadError, Session, read};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Numbers that look drawn, the same ones every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// The session of a recorded file; nothing where it says that there are no messages.
fn session(text: &Value, format: &str) -> Option<Session> {
    let text = text.as_str().unwrap();
    match read(text.as_bytes(), Some(format)) {
        Err(ReadError::NoMessages) => None,
        Err(error) => panic!("{error}\n{text}"),
        Ok(mut found) => {
            assert_eq!(found.len(), 1, "{text}");
            found.pop()
        }
    }
}

/// A message as pieces of what the model is told. A prompt is one.
fn told(message: &Message) -> Vec<String> {
    if message.role == Role::System {
        let texts: Vec<_> = message.parts.iter().map(Part::shown).collect();
        return vec![format!("system text:{}", texts.join("\n\n"))];
    }
    message.parts.iter().flat_map(|part| piece(message.role, part)).collect()
}

fn piece(role: Role, part: &Part) -> Vec<String> {
    let role = role.as_str();
    match &part.kind {
        PartKind::Text { ignored: true, .. } | PartKind::Marker(_) => Vec::new(),
        PartKind::Text { text, .. } => vec![format!("{role} text:{text}")],
        PartKind::Reasoning { text, .. } => vec![format!("{role} reasoning:{text}")],
        PartKind::Call(call) => {
            vec![format!("{role} call:{} {} {}", call.call_id, call.tool, call.arguments)]
        }
        PartKind::Result(result) => {
            let failed = matches!(result.status, ResultStatus::Error | ResultStatus::Retry);
            let text = format!(
                "{role} result:{} {} {failed}:{}",
                result.call_id, result.tool, result.text
            );
            let files = result.media.iter().map(|media| format!("{role} file:{}", media.url));
            std::iter::once(text).chain(files).collect()
        }
        PartKind::File(media) => vec![format!("{role} file:{}", media.url)],
        PartKind::Unknown { name, .. } => vec![format!("{role} unknown:{name}")],
    }
}

/// Those of messages that say anything.
fn all_told<'m>(messages: impl Iterator<Item = &'m Message>) -> Vec<Vec<String>> {
    messages.map(told).filter(|told| !told.is_empty()).collect()
}

/// Compares what `ours` reads in every file with what the recorder's own reader said of it, name by name; gives the number of files.
fn compare(format: &str, answers: &[Value], ours: fn(&Session) -> Value) -> usize {
    let mut differing: BTreeMap<&str, (usize, String)> = BTreeMap::new();
    let files: Vec<&Value> = answers.iter().flat_map(|answer| answer.as_array().unwrap()).collect();
    for file in &files {
        let Some(session) = session(&file["text"], format) else {
            assert_eq!(file["read"]["log"], json!([]), "{}", file["text"]);
            continue;
        };
        let read = ours(&session);
        for (name, theirs) in file["read"].as_object().unwrap() {
            if read[name] != *theirs {
                let what = || {
                    format!(
                        "ours:   {}\ntheirs: {theirs}\n{}",
                        read[name],
                        file["text"].as_str().unwrap()
                    )
                };
                differing.entry(name).or_insert_with(|| (0, what())).0 += 1;
            }
        }
    }
    println!("{} recordings, {} files", answers.len(), files.len());
    for (name, (count, first)) in &differing {
        println!("{name} differs in {count} files; the first:\n{first}");
    }
    assert!(differing.is_empty());
    files.len()
}
