//! What a session cost its recorder, by the usage that it wrote down: each answer at its model's own prices of its day.
//!
//! `sessions`, `inspect` and the base of a comparison are this figure.

use foldback_core::log::Answer;
use foldback_formats::Session;
use foldback_providers::prices::{ModelTable, Rates, RegimeTable, ServiceTerms, used_usd};

/// Models and the rules by which their providers cache.
#[derive(Debug)]
pub struct Prices {
    models: ModelTable,
    regimes: RegimeTable,
}

/// What a session cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Dollars.
    pub usd: f64,
    /// Some of them are at the prices of the stand-in: the table has none of the model.
    pub stood_in: bool,
}

impl Prices {
    /// The tables that ship.
    pub fn embedded() -> Self {
        Self { models: ModelTable::embedded(), regimes: RegimeTable::embedded() }
    }

    /// The model whose prices answers of models that are not listed have.
    pub fn stand_in(&self) -> &str {
        &self.regimes.stand_in
    }

    /// Dollars for all answers with usage, the recorder's own summaries, the provider's compactions and what was paid for beside
    /// the log included. `None` if none has any.
    pub fn spent(&self, session: &Session) -> Option<Spent> {
        own(session, &self.models, &self.regimes, None)
    }
}

/// The same by these tables; at the prices of one model if it is given.
pub(crate) fn own(
    session: &Session,
    models: &ModelTable,
    regimes: &RegimeTable,
    model: Option<&str>,
) -> Option<Spent> {
    let mut sum: Option<Spent> = None;
    for answer in used(session) {
        let named = match model {
            Some(_) => &Answer { model: None, ..answer.clone() },
            None => answer,
        };
        let own = regimes.spent_usd(models, named, model.or(session.model.as_deref()));
        let usd = own.or_else(|| {
            let asked = ServiceTerms { service: answer.service, ..ServiceTerms::default() };
            let stand_in = models.find(&regimes.stand_in)?;
            Some(used_usd(&Rates::new(stand_in.price_of(asked.service, None)?), answer))
        })?;
        let sum = sum.get_or_insert_default();
        sum.usd += usd;
        sum.stood_in |= own.is_none();
    }
    sum
}

/// Dollars for all answers with usage at the same prices.
pub(crate) fn alike(session: &Session, rates: &Rates) -> Option<f64> {
    used(session).map(|answer| used_usd(rates, answer)).reduce(|sum, usd| sum + usd)
}

/// All answers that have usage, in the log and beside it.
fn used(session: &Session) -> impl Iterator<Item = &Answer> {
    let logged = session.messages.iter().filter_map(|message| message.answer.as_ref());
    logged.chain(&session.unlogged).filter(|answer| {
        let used = [answer.usage, answer.compaction];
        used.iter().flatten().any(|usage| !usage.is_zero())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::{EntryKind, Message, Role, Service, Usage};
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
        let known = |usd| Some(Spent { usd, stood_in: false });
        let table = [
            (
                "input, cache and output",
                vec![(sonnet, usage(100_000, 50_000, 10_000))],
                known(0.465),
            ),
            ("two", vec![(sonnet, usage(1_000, 0, 0)), (sonnet, usage(0, 0, 1_000))], known(0.018)),
            (
                "a model without a price",
                vec![(sonnet, usage(1_000, 0, 0)), ("owl-1", usage(1_000, 0, 0))],
                Some(Spent { usd: 0.005, stood_in: true }),
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
            assert_eq!(
                spent.map(|spent| spent.stood_in),
                expected.map(|spent| spent.stood_in),
                "{name}"
            );
            let close = |(a, b): (Spent, Spent)| (a.usd - b.usd).abs() < 1e-9;
            assert!(spent.zip(expected).is_none_or(close), "{name}: {spent:?}");
        }
    }

    /// What the recorder's own summaries, the provider's compactions and what stands beside the log used is in it, each as it
    /// was served.
    #[test]
    fn all_that_was_paid_for_is_in_it() {
        let usage = Some(Usage { uncached: 100_000, output: 10_000, ..Usage::default() });
        let mut session = Session::new("s", "anthropic", Source::lines(""));
        session.model = Some("claude-sonnet-4-5".to_owned());
        let summary = Message::new("m0", Role::Assistant, Vec::new()).as_entry(EntryKind::Summary);
        let summary = summary.with_answer(Answer { usage, ..Answer::default() });
        let answer = Message::assistant("m1", Vec::new());
        let answer = answer.with_answer(Answer { compaction: usage, ..Answer::default() });
        session.messages = vec![Arc::new(summary), Arc::new(answer)];
        let model = Some("claude-opus-4-8".to_owned());
        let advisor = Answer { usage, model, service: Service::Fast, ..Answer::default() };
        session.unlogged = vec![advisor];
        let spent = Prices::embedded().spent(&session).unwrap();
        assert!((spent.usd - (0.9 + 1.5)).abs() < 1e-9, "{spent:?}");
    }
}
