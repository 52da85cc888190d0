//! What holds for the answers of a session in every format.

use foldback_core::log::{Finish, Message};

/// Where the recorder wrote no reason, the content tells why the model stopped.
pub(crate) fn infer_finish(messages: &mut [Message]) {
    for message in messages {
        let has_calls = message.call_ids().next().is_some();
        if let Some(answer) = &mut message.answer
            && answer.finish.is_none()
        {
            answer.finish = Some(if has_calls {
                Finish::ToolCalls
            } else {
                Finish::Stop
            });
        }
    }
}

/// The model of most answers; the earlier one of two with the same number.
pub(crate) fn main_model(messages: &[Message]) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    let models = messages
        .iter()
        .filter_map(|message| message.answer.as_ref()?.model.as_deref());
    for model in models {
        match counts.iter_mut().find(|(name, _)| *name == model) {
            Some((_, count)) => *count += 1,
            None => counts.push((model, 1)),
        }
    }
    let most = counts.iter().map(|(_, count)| *count).max()?;
    counts
        .iter()
        .find(|(_, count)| *count == most)
        .map(|(name, _)| (*name).to_owned())
}
