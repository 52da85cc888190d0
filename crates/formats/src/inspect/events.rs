//! The events of a sample: what the provider said about its calls, and compactions between them.

use crate::prelude::*;

/// What the events of a sample tell.
#[derive(Default)]
pub(super) struct Events {
    /// Calls by the id of the message that answers them, in order where several have it.
    pub(super) answers: BTreeMap<String, VecDeque<Answer>>,
    /// Compactions by the id of the answer that they came after; before the first, by none.
    pub(super) compactions: HashMap<String, Vec<Boundary>>,
}

/// Reads the events of a sample.
pub(super) fn events(sample: &Value) -> Events {
    let mut out = Events::default();
    let mut latest = String::new();
    for event in value::list(sample, "events") {
        match value::text(event, "event") {
            Some("model") => {
                let Some(choice) = event.pointer("/output/choices/0") else {
                    continue;
                };
                if let Some(id) = value::text_at(choice, "/message/id") {
                    let answers = out.answers.entry(id.to_owned()).or_default();
                    answers.push_back(answer(event, choice));
                    id.clone_into(&mut latest);
                }
            }
            Some("compaction") => {
                let kind = match value::text(event, "type") {
                    Some("edit") => "clear",
                    Some("summary") => "summary",
                    _ => "replace",
                };
                let mut boundary = Boundary::new(0, kind, "auto");
                boundary.tokens_before = event["tokens_before"].as_u64();
                boundary.tokens_after = event["tokens_after"].as_u64();
                out.compactions.entry(latest.clone()).or_default().push(boundary);
            }
            _ => {}
        }
    }
    // What was told again counts as it was told last.
    let mut held: HashMap<&str, usize> = HashMap::new();
    for id in value::list(sample, "messages").iter().filter_map(|m| value::text(m, "id")) {
        *held.entry(id).or_default() += 1;
    }
    for (id, answers) in &mut out.answers {
        let again = answers.len().saturating_sub(held.get(&**id).copied().unwrap_or(0));
        answers.drain(..again);
    }
    out
}

fn answer(event: &Value, choice: &Value) -> Answer {
    let time = |key: &str| value::time(event, key);
    let started = time("timestamp");
    Answer {
        usage: event.pointer("/output/usage").and_then(|usage| COUNTS.any(usage)),
        finish: value::text(choice, "stop_reason").map(finish),
        model: value::string(event, "model"),
        started,
        ended: time("completed"),
        error: value::string(event, "error"),
        ..Answer::default()
    }
}

/// Whether `input_tokens` holds what the cache did differs by provider and version; the total tells.
pub(super) const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/input_tokens_cache_read"],
    cache_write: &["/input_tokens_cache_write"],
    output: &["/output_tokens"],
    reasoning: &["/reasoning_tokens"],
    total: "/total_tokens",
    cache_in_input: false,
    ..Counts::NONE
};
