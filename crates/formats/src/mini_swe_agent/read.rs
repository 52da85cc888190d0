//! A trajectory as messages.

use super::message;
use crate::chat::Run;
use crate::prelude::*;

/// Reads a trajectory. It holds one session.
pub(super) fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let document = value::document(text)?;
    let list = if document.is_array() { "" } else { "/messages" };
    let stored = value::records(&document, list, "not a list of messages")?;
    let instance = value::text(&document, "instance_id");
    let id = instance.map_or_else(|| jsonl::uuid(text), str::to_owned);
    let mut out = SessionBuilder::document(text, list, Some(id), super::FORMAT.id)?;
    out.session.cluster = instance.and_then(|instance| cluster::task(None, instance));
    let model = value::text_at(&document, "/info/config/model/model_name").map(str::to_owned);
    let mut run = Run::new(out, model);
    for (record, message) in (0u32..).zip(stored) {
        read_message(&mut run, message, record);
    }
    only(run.out.finish_counted(stored.len()))
}

fn read_message(run: &mut Run, raw: &Value, record: u32) {
    let told = match value::text(raw, "role").unwrap_or_default() {
        role @ ("system" | "tool" | "user") => {
            run.told(role, &raw["content"], value::text(raw, "tool_call_id"))
        }
        "assistant" => Some(run.answered(message::answer_parts(raw, record))),
        // What came out of the run, for whoever reads the file.
        "exit" => None,
        role => {
            let detail = format!("a message of the unknown role `{role}`, skipped");
            return run.out.warn("unknown-type", format!("message {record}"), detail);
        }
    };
    let Some((role, parts, mid_turn)) = told else { return };
    let answer = (role == Role::Assistant).then(|| message::answer(raw, run.model.as_deref()));
    let message = run.out.push(record, &format!("message-{record}"), role, parts);
    message.at = value::seconds(raw, message::STORED);
    message.mid_turn = mid_turn;
    message.answer = answer;
}
