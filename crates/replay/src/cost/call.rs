//! What is recorded of a call beside its request: when it was made, and what its answer weighs.

use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::meter::{Meter, MeterId};
use foldback_providers::prices::Call;

/// The call that an answer ends.
pub(crate) fn call_of(conversation: &Conversation, meter: MeterId, answer: &Message) -> Call {
    Call {
        start_ms: start_of(conversation, answer),
        output_tokens: output_tokens(conversation.meter(meter), answer),
        web_searches: answer.answer.as_ref().map_or(0, |answer| answer.web_searches),
    }
}

/// Tokens of an answer: by its provider's count, else by the meter. A count of less than half of what the
/// answer shows can't be right; recorders that write an answer down while it still streams keep a placeholder.
pub(crate) fn output_tokens(meter: &Meter, answer: &Message) -> u64 {
    let shown = meter.measure(answer);
    recorded_output(answer).filter(|recorded| recorded * 2 >= shown).unwrap_or(shown)
}

/// Tokens of an answer by its provider's count, where recorded.
pub(crate) fn recorded_output(answer: &Message) -> Option<u64> {
    let usage = answer.answer.as_ref()?.usage?;
    Some(usage.output_total())
}

/// When a request was sent: as recorded, else when the latest message before it was stored.
fn start_of(conversation: &Conversation, answer: &Message) -> Option<i64> {
    let history = conversation.history();
    let started = answer.answer.as_ref().and_then(|answer| answer.started);
    started
        .or_else(|| {
            let last = history.len().checked_sub(1)?;
            history.message(last).at
        })
        .or(answer.at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::Part;
    use foldback_core::log::{Answer, Usage};
    use foldback_stages::estimator::CharsConfig;
    use std::sync::Arc;

    #[test]
    fn a_placeholder_is_no_count() {
        let meter = Meter::new(Arc::new(CharsConfig::default().estimator().unwrap()));
        // recorded output, tokens of the answer; it shows 100
        for (recorded, tokens) in
            [(None, 100), (Some(1), 100), (Some(49), 100), (Some(50), 50), (Some(300), 300)]
        {
            let usage = recorded.map(|output| Usage { output, ..Usage::default() });
            let answer = Message::assistant("a", vec![Part::text("x".repeat(400))])
                .with_answer(Answer { usage, ..Answer::default() });
            assert_eq!(output_tokens(&meter, &answer), tokens, "{recorded:?}");
        }
    }
}
