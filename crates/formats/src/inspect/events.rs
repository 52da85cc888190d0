//! The events of a sample: what the provider said about its calls, and compactions between them.

use crate::prelude::*;

/// A compaction, after the answer with this id.
pub(super) struct Compaction {
    pub(super) after: Option<String>,
    pub(super) kind: String,
    pub(super) tokens_before: Option<u64>,
    pub(super) tokens_after: Option<u64>,
}

/// What the events of a sample tell.
#[derive(Default)]
pub(super) struct Events {
    /// Calls by the id of the message that answers them.
    pub(super) answers: HashMap<String, Answer>,
    pub(super) compactions: Vec<Compaction>,
}

/// Reads the events of a sample.
pub(super) fn events(sample: &Value) -> Events {
    let mut out = Events::default();
    let mut latest = None;
    for event in value::list(sample, "events") {
        match value::text(event, "event") {
            Some("model") => {
                let Some(choice) = event.pointer("/output/choices/0") else {
                    continue;
                };
                if let Some(id) = value::text_at(choice, "/message/id") {
                    out.answers.insert(id.to_owned(), answer(event, choice));
                    latest = Some(id.to_owned());
                }
            }
            Some("compaction") => out.compactions.push(Compaction {
                after: latest.clone(),
                kind: match value::text(event, "type") {
                    Some("edit") => "clear",
                    Some("summary") => "summary",
                    _ => "replace",
                }
                .to_owned(),
                tokens_before: event.get("tokens_before").and_then(Value::as_u64),
                tokens_after: event.get("tokens_after").and_then(Value::as_u64),
            }),
            _ => {}
        }
    }
    out
}

fn answer(event: &Value, choice: &Value) -> Answer {
    let time = |key: &str| value::time(event, key);
    let started = time("timestamp");
    Answer {
        usage: event.pointer("/output/usage").and_then(usage),
        finish: value::text(choice, "stop_reason").map(finish),
        model: value::string(event, "model"),
        started,
        ended: time("completed"),
        error: value::string(event, "error"),
        ..Answer::default()
    }
}

/// Whether `input_tokens` holds what the cache did differs by provider and version; the total tells.
pub(super) fn usage(raw: &Value) -> Option<Usage> {
    let input = value::tokens(raw.get("input_tokens")?)?;
    let cache_read = value::count(raw, "/input_tokens_cache_read");
    let cache_write = value::count(raw, "/input_tokens_cache_write");
    let output = value::count(raw, "/output_tokens");
    let reasoning = value::count(raw, "/reasoning_tokens").min(output);
    let total = raw.get("total_tokens").and_then(value::tokens);
    let cached = cache_read + cache_write;
    let inclusive = total == Some(input + output) && input >= cached;
    Some(Usage {
        uncached: if inclusive { input - cached } else { input },
        cache_read,
        cache_write,
        output: output - reasoning,
        reasoning,
        total,
        ..Usage::default()
    })
}
