//! `mini-swe-agent`: the `.traj.json` files of mini-swe-agent, v1 and v2.
//!
//! The messages are those of a chat API with an `extra` member that holds the raw response. In v2
//! tools are called; in v1 the model writes one command in a fenced block and the harness answers in
//! the user's name, which is read as call and result. A file is a document, or only its list of
//! messages. The page `docs/mini-swe-agent.md` lists what is mapped to what.

mod message;
mod write;

use crate::chat::Run;
use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("mini-swe-agent", "mini-swe-agent trajectory (.traj.json)", SIGNS, read)
        .written(write::patch, write::generate)
        .sent_to(Dialect::OpenAiChat);

/// What only this format keeps beside a message.
const OWN_EXTRA: Member =
    Any(&[Has("/*/extra/response"), Has("/*/extra/actions"), Has("/*/extra/cost")]);

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Begins("/trajectory_format", &["mini-swe-agent"])]),
    Sign::new(100, &[Has("/info/mini_version")]),
    Sign::new(95, &[Has("/info/model_stats"), Has("/messages/*/role")]),
    Sign::new(80, &[Has("/*/role"), OWN_EXTRA]).below(&["/messages"]),
    Sign::new(75, &[Has("/*/role"), OWN_EXTRA]),
];

/// Reads a trajectory. It holds one session.
fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let document = value::document(text)?;
    let list = if document.is_array() { "" } else { "/messages" };
    let stored = value::records(&document, list, "not a list of messages")?;
    let instance = value::text(&document, "instance_id");
    let id = instance.map_or_else(|| jsonl::uuid(text), str::to_owned);
    let mut out = SessionBuilder::document(text, list, Some(id), FORMAT.id)?;
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
