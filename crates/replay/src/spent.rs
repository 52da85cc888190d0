//! What a session cost its recorder, by the usage that it wrote down: each answer at its model's own prices.

use foldback_formats::Session;
use foldback_providers::prices::{ModelTable, RegimeTable};

/// Models and the rules by which their providers cache.
#[derive(Debug)]
pub struct Prices {
    models: ModelTable,
    regimes: RegimeTable,
}

impl Prices {
    /// The tables that ship.
    pub fn embedded() -> Self {
        Self { models: ModelTable::embedded(), regimes: RegimeTable::embedded() }
    }

    /// Dollars for all answers with usage, the recorder's own summaries and the provider's compactions included. `None` if none
    /// has any, or if a model of theirs has no price: a sum that leaves some out would look like the whole.
    pub fn spent(&self, session: &Session) -> Option<f64> {
        let hour = session.caches_for_an_hour();
        let mut sum = None;
        for answer in session.messages.iter().filter_map(|message| message.answer.as_ref()) {
            let used = [(answer.usage, answer.web_searches), (answer.compaction, 0)];
            for (usage, searches) in used {
                let Some(usage) = usage.filter(|usage| !usage.is_zero()) else { continue };
                let model = answer.model.as_deref().or(session.model.as_deref())?;
                let terms = self.regimes.own(self.models.find(model)?, hour)?;
                sum = Some(sum.unwrap_or(0.0) + terms.rates.used_usd(&usage, searches));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::{Answer, EntryKind, Message, Role, Usage};
    use foldback_formats::session::Source;
    use std::sync::Arc;

    #[test]
    fn each_answer_is_priced_by_its_model() {
        let usage = |uncached, cache_read, output| Usage {
            uncached,
            cache_read,
            output,
            ..Usage::default()
        };
        let sonnet = "claude-sonnet-4-5";
        let table = [
            (
                "input, cache and output",
                vec![(sonnet, usage(100_000, 50_000, 10_000))],
                Some(0.465),
            ),
            ("two", vec![(sonnet, usage(1_000, 0, 0)), (sonnet, usage(0, 0, 1_000))], Some(0.018)),
            (
                "a model without a price",
                vec![(sonnet, usage(1, 0, 0)), ("owl-1", usage(1, 0, 0))],
                None,
            ),
            ("no usage", vec![(sonnet, Usage::default())], None),
        ];
        for (name, answers, expected) in table {
            let mut session = Session::new("s", "codex", Source::lines(""));
            for (number, (model, usage)) in answers.iter().enumerate() {
                let mut message = Message::new(format!("m{number}"), Role::Assistant, Vec::new());
                let (model, usage) = (Some((*model).to_owned()), Some(*usage));
                message.answer = Some(Answer { model, usage, ..Answer::default() });
                session.messages.push(Arc::new(message));
            }
            let spent = Prices::embedded().spent(&session);
            let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
            assert!(spent.is_some() == expected.is_some(), "{name}: {spent:?}");
            assert!(spent.zip(expected).is_none_or(|(a, b)| close(a, b)), "{name}: {spent:?}");
        }
    }

    /// What the recorder's own summaries and the provider's compactions used is in it.
    #[test]
    fn what_compactions_used_is_in_it() {
        let usage = Some(Usage { uncached: 100_000, output: 10_000, ..Usage::default() });
        let mut session = Session::new("s", "anthropic", Source::lines(""));
        session.model = Some("claude-sonnet-4-5".to_owned());
        let summary = Message::new("m0", Role::Assistant, Vec::new()).as_entry(EntryKind::Summary);
        let summary = summary.with_answer(Answer { usage, ..Answer::default() });
        let answer = Message::assistant("m1", Vec::new());
        let answer = answer.with_answer(Answer { compaction: usage, ..Answer::default() });
        session.messages = vec![Arc::new(summary), Arc::new(answer)];
        let spent = Prices::embedded().spent(&session).unwrap();
        assert!((spent - 0.9).abs() < 1e-9, "{spent}");
    }
}
