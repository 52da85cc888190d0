//! The control `as-recorded`: what the recorder really sent, its own compactions included.
//!
//! If the recorder never compacted, its requests are those of no compaction, and so is everything that is
//! measured on them. If it did, usage says how large its requests were and what was read from the cache.
//! Those are tokens of the provider; the inverted [`Scale`](crate::scale::Scale) of the session converts them
//! to the measuring estimator. Where the recorder wrote its requests down, their sizes are those of what they held.
//!
//! The same share of a request counts as read from the cache as was recorded. What those requests held is not
//! recorded: retention is unknown there. What the recorder paid for its summaries is estimated: a request as recorded, else as
//! large as the one before with its answer, none of it cached, and the text of the summary. Where the provider compacted, and
//! only it can read the summary, that is the request before once more, cached as it was.

use super::bill::{Bill, Billed, Compaction, Pauses, count_summaries};
use super::facts::{CallFacts, Facts, RecordedSummary};
use super::record::{Known, Record};
use crate::cost::{CacheUse, NamedTerms, SummaryCall, Terms};
use crate::recorder::Policy;
use crate::retention::Retention;
use crate::totals::{CallRow, SessionMetrics};
use std::sync::Arc;

/// Usage is believed where this share of the calls has it; a call without counts like the one before it.
const LEAST_SHARE: f64 = 0.9;

/// The record of the recorder, from that of no compaction.
pub(super) fn record(facts: &Facts, plain: Record, terms: &[NamedTerms]) -> Record {
    if !compacted(facts) {
        return plain;
    }
    let Some(inputs) = inputs(facts) else {
        return Record { known: Known::Nothing, limits: plain.limits, ..Record::default() };
    };
    let mut rows: Vec<CallRow> = plain.rows.into_iter().zip(inputs).map(row).collect();
    // What was read from the cache is recorded, whatever the pauses were.
    let pauses = if facts.session.timed { Pauses::Recorded } else { Pauses::Any };
    let summaries = summaries(facts, &rows);
    let bills = terms.iter().map(|named| {
        let by = Billed { regime: Arc::clone(&named.name), pauses };
        (by, bill(&rows, &facts.calls, &summaries, &named.terms))
    });
    let bills = bills.collect();
    count_summaries(&mut rows, summaries.iter().map(|asked| &asked.call));
    let marks = facts.session.boundaries.max(facts.session.recorder.unmarked.len());
    Record {
        known: Known::Sizes,
        limits: plain.limits,
        metrics: SessionMetrics { compactions: marks as u64, ..SessionMetrics::of_rows(&rows) },
        bills,
        rows,
        ..Record::default()
    }
}

/// Whether what the recorder sent was something else than the whole log, by its marks or by its usage.
fn compacted(facts: &Facts) -> bool {
    let recorder = &facts.session.recorder;
    facts.session.headless
        || facts.session.boundaries > 0
        || !recorder.unmarked.is_empty()
        || matches!(recorder.policy, Some(Policy::LastObservations(_)))
}

/// Size of every request and what was read of it, by the measuring estimator; `None` where neither the requests themselves nor
/// usage say it, or where the recording lost its beginning.
fn inputs(facts: &Facts) -> Option<Vec<(u64, u64)>> {
    let (calls, scale) = (&facts.calls, facts.session.scale);
    let of = |call: &CallFacts| {
        call.sent
            .or_else(|| scale.zip(call.recorded_input).map(|(scale, used)| scale.measured(used)))
    };
    let known = calls.iter().filter(|call| of(call).is_some()).count();
    if facts.session.headless || (known as f64) < LEAST_SHARE * calls.len() as f64 {
        return None;
    }
    let mut last = (calls.first()?.uncompacted, 0);
    let size = |call: &CallFacts| {
        if let Some(input) = of(call) {
            let used = call.recorded_input.unwrap_or(input);
            let read = call.recorded_read.unwrap_or(0).min(used);
            let read = u128::from(input) * u128::from(read) / u128::from(used.max(1));
            last = (input, u64::try_from(read).unwrap_or(input));
        }
        last
    };
    Some(calls.iter().map(size).collect())
}

/// A request for a summary of the recorder's own.
struct Asked {
    call: SummaryCall,
    /// What was read from the cache, if the provider compacts what it has there.
    cache_read: Option<u64>,
}

/// The requests for the recorder's own summaries, estimated where their usage is not recorded.
fn summaries(facts: &Facts, rows: &[CallRow]) -> Vec<Asked> {
    let asked = |summary: &RecordedSummary| {
        let before = summary.call.checked_sub(1)?;
        let (row, output) = (rows.get(before)?, facts.calls.get(before)?.output);
        let (input_tokens, output_tokens) =
            match (summary.used.zip(facts.session.scale), summary.tokens) {
                (Some(((input, output), scale)), _) => (scale.measured(input), output),
                (None, Some(tokens)) => (row.input_tokens + output, tokens),
                (None, None) => (row.input_tokens, 0),
            };
        let cache_read = summary.tokens.is_none().then_some(row.cache_read);
        let call = SummaryCall { call: summary.call, input_tokens, output_tokens };
        Some(Asked { call, cache_read })
    };
    facts.summaries.iter().filter_map(asked).collect()
}

/// A row of no compaction with what the recorder sent.
fn row((row, (input_tokens, cache_read)): (CallRow, (u64, u64))) -> CallRow {
    CallRow {
        input_tokens,
        decision_tokens: input_tokens,
        cache_read,
        churn: 0,
        overflow: false,
        excess: 0,
        unfittable: false,
        retention: Retention::default(),
        ..row
    }
}

/// The bill at the prices of a regime: what was read from the cache is what the recorder read.
fn bill(rows: &[CallRow], calls: &[CallFacts], summaries: &[Asked], terms: &Terms) -> Bill {
    let Terms { rules, rates } = terms;
    let (mut input_usd, mut output_usd, mut read_tokens) = (0.0, 0.0, 0);
    for (row, call) in rows.iter().zip(calls) {
        let cache = CacheUse::of(row.input_tokens, row.cache_read, *rules);
        let rates = rates.at(row.input_tokens);
        input_usd += rates.input_usd(&cache);
        output_usd += rates.output_usd(call.output, call.web_searches);
        read_tokens += cache.read;
    }
    let asked_usd = |Asked { call, cache_read }: &Asked| match cache_read {
        Some(read) => {
            let cache = CacheUse::of(call.input_tokens, *read, *rules);
            rates.at(call.input_tokens).input_usd(&cache)
        }
        None => call.usd(rates),
    };
    let summaries_usd = summaries.iter().map(asked_usd).sum();
    let requests = Bill::of_requests(input_usd, output_usd);
    let usd = requests.usd + summaries_usd;
    let compaction = Compaction { summaries_usd, pessimistic_usd: usd, ..Compaction::default() };
    Bill { usd, read_tokens, ..requests }.compacted(compaction)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::availability::MustKeep;
    use crate::cost::{CacheRules, Rates};
    use crate::retention::Share;
    use crate::scale::Scale;
    use crate::study::SessionFacts;
    use foldback_stages::estimator::Observation;

    /// A call of a size without compaction, with the input and the cache reads that were recorded.
    fn call(uncompacted: u64, recorded: Option<(u64, u64)>) -> CallFacts {
        CallFacts {
            uncompacted,
            output: 100,
            recorded_input: recorded.map(|(input, _)| input),
            recorded_read: recorded.map(|(_, read)| read),
            ..CallFacts::default()
        }
    }

    /// A session whose provider counts half as much again as the measuring estimator.
    fn facts(boundaries: usize, headless: bool, calls: Vec<CallFacts>) -> Facts {
        let line = (0..6).map(|n| Observation::new(2_000 + 200 * n, 5_000 + 300 * n));
        let scale = Scale::of(&line.collect::<Vec<_>>());
        let session = SessionFacts { boundaries, headless, scale, ..SessionFacts::default() };
        Facts { session, calls, ..Facts::default() }
    }

    fn plain(facts: &Facts) -> Record {
        let row = |(call, facts): (usize, &CallFacts)| CallRow {
            call,
            turn: 1,
            messages: 1,
            input_tokens: facts.uncompacted,
            decision_tokens: facts.uncompacted,
            recorded_input: facts.recorded_input,
            ceiling: Some(10_000),
            ..CallRow::default()
        };
        Record {
            rows: facts.calls.iter().enumerate().map(row).collect(),
            must_keep: MustKeep {
                instructions: Share { kept: 1, needed: 1 },
                ..MustKeep::default()
            },
            ..Record::default()
        }
    }

    fn terms() -> NamedTerms {
        let rules = CacheRules { minimum: 1_000, granularity: 1, ttl_ms: None };
        let rates = Rates {
            input: 10.0,
            read: 1.0,
            write: 20.0,
            output: 100.0,
            web_search: 0.0,
            tier: None,
        };
        NamedTerms { name: "r".into(), terms: Terms { rules, rates } }
    }

    #[test]
    fn what_was_sent_by_what_was_recorded() {
        let grown = vec![
            call(5_000, Some((5_000, 0))),
            call(7_000, Some((8_000, 5_000))),
            call(9_000, Some((3_500, 1_750))),
        ];
        let mut cut_off = grown.repeat(4);
        cut_off[2] = call(9_000, None);
        let mut written = grown.clone();
        for (call, sent) in written.iter_mut().zip([1_500, 2_500, 3_500]) {
            call.sent = Some(sent);
        }
        let unknown = vec![call(5_000, Some((5_000, 0))), call(7_000, None)];
        let table = [
            ("never compacted", facts(0, false, grown.clone()), Known::Everything, 21_000, 3),
            // 5,000; 5,000 + 3,000 / 1.5; 5,000 - 1,500 / 1.5
            ("compacted", facts(1, false, grown.clone()), Known::Sizes, 16_000, 3),
            // As large as what was written down of them, whatever usage says.
            ("written down", facts(1, false, written), Known::Sizes, 1_500 + 2_500 + 3_500, 3),
            // The third call is as large as the second.
            (
                "one call was cut off",
                facts(1, false, cut_off),
                Known::Sizes,
                4 * 16_000 + 3_000,
                12,
            ),
            ("too little usage", facts(1, false, unknown), Known::Nothing, 0, 0),
            ("its beginning is lost", facts(0, true, grown), Known::Nothing, 0, 0),
        ];
        for (name, facts, known, input, calls) in table {
            let record = record(&facts, plain(&facts), &[terms()]);
            let sent: u64 = record.rows.iter().map(|row| row.input_tokens).sum();
            assert_eq!((record.known, sent, record.rows.len()), (known, input, calls), "{name}");
            let asked = u64::from(known == Known::Everything);
            assert_eq!(record.must_keep.instructions.kept, asked, "{name}: what its views held");
            let billed = usize::from(known == Known::Sizes);
            assert_eq!(record.bills.iter().count(), billed, "{name}: warm and cold alike");
        }
    }

    /// By their own usage, else as large as the request before with its answer; one that only the provider can read as that
    /// request alone.
    #[test]
    fn summaries_are_as_large_as_recorded() {
        let table = [
            (Some(30), Some((8_000, 70)), (7_000, 70, None)),
            (Some(30), None, (5_100, 30, None)),
            (None, None, (5_000, 0, Some(4_000))),
        ];
        for (tokens, used, expected) in table {
            let mut facts = facts(1, false, vec![call(5_000, None), call(9_000, None)]);
            facts.summaries = vec![RecordedSummary { call: 1, tokens, used }];
            let mut rows = plain(&facts).rows;
            rows[0].cache_read = 4_000;
            let asked = &summaries(&facts, &rows)[0];
            let SummaryCall { input_tokens, output_tokens, .. } = asked.call;
            assert_eq!((input_tokens, output_tokens, asked.cache_read), expected);
            let bill = bill(&rows, &facts.calls, std::slice::from_ref(asked), &terms().terms);
            let input = match asked.cache_read {
                Some(read) => read as f64 + 20.0 * (input_tokens - read) as f64,
                None => 10.0 * input_tokens as f64,
            };
            let usd = (input + 100.0 * output_tokens as f64) / 1e6;
            let billed = bill.compaction.unwrap().summaries_usd;
            assert!((billed - usd).abs() < 1e-12, "{billed}");
        }
    }

    #[test]
    fn the_bill_is_of_what_was_read_and_written() {
        let calls = vec![call(5_000, Some((5_000, 0))), call(9_000, Some((8_000, 4_000)))];
        let facts = facts(1, false, calls);
        let record = record(&facts, plain(&facts), &[terms()]);
        let (_, bill) = record.bills.iter().next().unwrap();
        // 5,000 and 7,000 are sent; of the second, half is read.
        let input = (20.0 * 5_000.0 + 1.0 * 3_500.0 + 20.0 * 3_500.0) / 1e6;
        assert!((bill.input_usd - input).abs() < 1e-12, "{}", bill.input_usd);
        assert!((bill.output_usd - 100.0 * 200.0 / 1e6).abs() < 1e-12);
        assert_eq!(bill.read_tokens, 3_500);
    }
}
