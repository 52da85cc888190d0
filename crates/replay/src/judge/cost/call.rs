//! What is recorded of a call beside its request: when it was made, and what its answer weighs.

use foldback_core::conversation::Conversation;
use foldback_core::log::Message;
use foldback_core::stage::Estimator;
use foldback_providers::prices::Call;

/// The call that an answer ends, sent at a time.
pub(crate) fn call_of(start_ms: Option<i64>, measure: &dyn Estimator, answer: &Message) -> Call {
    Call {
        start_ms,
        output_tokens: output_of(measure, answer),
        web_searches: answer.answer.as_ref().map_or(0, |answer| answer.web_searches),
    }
}

/// Tokens of an answer: by its provider's count, else by the measure. A count of less than half of what the
/// answer shows can't be right; recorders that write an answer down while it still streams keep a placeholder.
pub(crate) fn output_of(measure: &dyn Estimator, answer: &Message) -> u64 {
    let shown = measure.counts(answer).total();
    recorded_output(answer).filter(|recorded| recorded * 2 >= shown).unwrap_or(shown)
}

/// Tokens of an answer by its provider's count, where recorded.
pub(crate) fn recorded_output(answer: &Message) -> Option<u64> {
    let usage = answer.answer.as_ref()?.usage?;
    Some(usage.output_total())
}

/// When a request was sent: as recorded, else when the latest message before it was stored.
pub(crate) fn start_of(conversation: &Conversation, answer: &Message) -> Option<i64> {
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

    #[test]
    fn a_placeholder_is_no_count() {
        let measure = CharsConfig::default().estimator().unwrap();
        // recorded output, tokens of the answer; it shows 100
        for (recorded, tokens) in
            [(None, 100), (Some(1), 100), (Some(49), 100), (Some(50), 50), (Some(300), 300)]
        {
            let usage = recorded.map(|output| Usage { output, ..Usage::default() });
            let answer = Message::assistant("a", vec![Part::text("x".repeat(400))])
                .with_answer(Answer { usage, ..Answer::default() });
            assert_eq!(output_of(&measure, &answer), tokens, "{recorded:?}");
        }
    }
}
