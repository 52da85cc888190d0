//! What holds for the answers of a session in every format.

use crate::value;
use foldback_core::log::{Finish, Message};

/// Where the recorder wrote no reason, the content tells why the model stopped.
pub(crate) fn infer_finish(messages: &mut [Message]) {
    for message in messages {
        let has_calls = message.call_ids().next().is_some();
        if let Some(answer) = &mut message.answer
            && answer.finish.is_none()
        {
            answer.finish = Some(if has_calls { Finish::ToolCalls } else { Finish::Stop });
        }
    }
}

/// The model of most answers.
pub(crate) fn main_model(messages: &[Message]) -> Option<String> {
    value::most_common(
        messages.iter().filter_map(|message| message.answer.as_ref()?.model.as_deref()),
    )
}
