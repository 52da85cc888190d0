//! The control `as-recorded`: what the recorder really sent, its own compactions included.
//!
//! If the recorder never compacted, its requests are those of no compaction, and so is everything that is
//! measured on them. If it did, usage says how large its requests were and what was read from the cache.
//! Those are tokens of the provider; the inverted [`Scale`](crate::read::scale::Scale) of the session converts them
//! to the measuring estimator. Where the recorder wrote its requests down, their sizes are those of what they held.
//!
//! They go through the same model of the cache as the requests of every preset: what a larger request begins with is the one before
//! it, and of a smaller one, which the recorder had cut, as much is taken to be as it was as the provider read of it, at least
//! what is sent around the messages. What those requests held is not recorded: retention is unknown there. What the recorder paid
//! for its summaries is estimated: a request as recorded, else as large as the one before with its answer, none of it cached, and
//! the text of the summary. Where the provider compacted, and only it can read the summary, that is the request before once more.

use super::bill::{Items, bills, count_summaries};
use super::facts::{CallFacts, Facts, LEAST_SHARE, RecordedSummary};
use super::record::{Knowledge, Record};
use crate::judge::cost::{Block, NamedTerms, RequestLog, SummaryCall};
use crate::judge::retention::Retention;
use crate::number::share;
use crate::read::recorder::Policy;
use crate::run::totals::{CallRow, SessionMetrics};
use foldback_providers::prices::Call;

/// The record of the recorder, from that of no compaction.
pub(super) fn record(facts: &Facts, plain: Record, terms: &[NamedTerms]) -> Record {
    if !compacted(facts) {
        return plain;
    }
    let Some(inputs) = inputs(facts) else {
        return Record { known: Knowledge::Nothing, limits: plain.limits, ..Record::default() };
    };
    let mut rows: Vec<CallRow> = plain.rows.into_iter().zip(inputs).map(row).collect();
    let summaries = summaries(facts, &rows);
    let held: Vec<_> = facts.calls.iter().map(|call| call.held).collect();
    let items = Items {
        log: &requests(facts, &rows),
        held: &held,
        rows: &rows,
        timed: facts.session.timed,
        summaries: &summaries,
    };
    let bills = bills(&items, terms);
    count_summaries(&mut rows, &summaries);
    let marks = facts.session.boundaries.max(facts.session.recorder.unmarked.len());
    Record {
        known: Knowledge::Sizes,
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
            last = (input, share(input, call.recorded_read.unwrap_or(0), used));
        }
        last
    };
    Some(calls.iter().map(size).collect())
}

/// The requests as their cache sees them, a block for what each call added.
fn requests(facts: &Facts, rows: &[CallRow]) -> RequestLog {
    let mut log = RequestLog::default();
    // Where the blocks of the latest request end.
    let mut ends: Vec<u64> = Vec::new();
    for (number, (row, call)) in rows.iter().zip(&facts.calls).enumerate() {
        let size = row.input_tokens;
        let frame = facts.frame.min(size);
        if ends.last().is_some_and(|end| size < *end) {
            let kept = row.cache_read.max(frame);
            ends.retain(|end| *end <= kept.min(size));
        }
        let same = ends.len();
        let mut added = Vec::new();
        for end in [frame, size] {
            let from = ends.last().copied().unwrap_or(0);
            if end > from {
                added.push(Block { key: (2 * number + added.len()) as u64, tokens: end - from });
                ends.push(end);
            }
        }
        let call = Call {
            start_ms: call.start_ms,
            output_tokens: call.output,
            web_searches: call.web_searches,
        };
        log.push(same, added, call);
    }
    log
}

/// The requests for the recorder's own summaries, estimated where their usage is not recorded.
fn summaries(facts: &Facts, rows: &[CallRow]) -> Vec<SummaryCall> {
    let asked = |summary: &RecordedSummary| {
        let before = summary.call.checked_sub(1)?;
        let (row, output) = (rows.get(before)?, facts.calls.get(before)?.output);
        let RecordedSummary { call, tokens, used } = *summary;
        let estimated = SummaryCall::estimated(call, row.input_tokens, output, tokens);
        Some(used.zip(facts.session.scale).map_or(estimated, |((input, output_tokens), scale)| {
            SummaryCall { input_tokens: scale.measured(input), output_tokens, ..estimated }
        }))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::cost::{CacheRules, Rates, Terms};
    use crate::read::scale::Scale;
    use crate::rows::study::SessionFacts;
    use crate::stats::Share;
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
        let scale = Scale::fit(&line.collect::<Vec<_>>());
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
            last_error: Share { kept: 1, needed: 1 },
            ..Record::default()
        }
    }

    fn terms() -> NamedTerms {
        let rules = CacheRules { minimum: 1_000, granularity: 1, ttl_ms: None };
        let (input, read, write, output) = (10.0, 1.0, 20.0, 100.0);
        let rates = Rates { input, read, write, output, ..Rates::default() };
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
            ("never compacted", facts(0, false, grown.clone()), Knowledge::Everything, 21_000, 3),
            // 5,000; 5,000 + 3,000 / 1.5; 5,000 - 1,500 / 1.5
            ("compacted", facts(1, false, grown.clone()), Knowledge::Sizes, 16_000, 3),
            // As large as what was written down of them, whatever usage says.
            ("written down", facts(1, false, written), Knowledge::Sizes, 1_500 + 2_500 + 3_500, 3),
            // The third call is as large as the second.
            (
                "one call was cut off",
                facts(1, false, cut_off),
                Knowledge::Sizes,
                4 * 16_000 + 3_000,
                12,
            ),
            ("too little usage", facts(1, false, unknown), Knowledge::Nothing, 0, 0),
            ("its beginning is lost", facts(0, true, grown), Knowledge::Nothing, 0, 0),
        ];
        for (name, facts, known, input, calls) in table {
            let record = record(&facts, plain(&facts), &[terms()]);
            let sent: u64 = record.rows.iter().map(|row| row.input_tokens).sum();
            assert_eq!((record.known, sent, record.rows.len()), (known, input, calls), "{name}");
            let asked = u64::from(known == Knowledge::Everything);
            assert_eq!(record.last_error.kept, asked, "{name}: what its views held");
            let billed = usize::from(known == Knowledge::Sizes);
            assert_eq!(record.bills.iter().count(), billed, "{name}");
        }
    }

    /// By their own usage, else as large as the request before with its answer; one that only the provider can read as that
    /// request alone, once more.
    #[test]
    fn summaries_are_as_large_as_recorded() {
        let table = [
            (Some(30), Some((8_000, 70)), (7_000, 0, 70)),
            (Some(30), None, (5_100, 0, 30)),
            (None, None, (5_000, 5_000, 0)),
        ];
        for (tokens, used, expected) in table {
            let calls = vec![call(5_000, Some((5_000, 0))), call(9_000, Some((5_000, 0)))];
            let mut facts = facts(1, false, calls);
            facts.summaries = vec![RecordedSummary { call: 1, tokens, used }];
            let rows = plain(&facts).rows;
            let asked = &summaries(&facts, &rows)[0];
            let SummaryCall { input_tokens, shared_tokens, output_tokens, .. } = *asked;
            assert_eq!((input_tokens, shared_tokens, output_tokens), expected);
            let record = record(&facts, plain(&facts), &[terms()]);
            let (_, bill) = record.bills.iter().next().unwrap();
            let plain = input_tokens - shared_tokens;
            let usd = shared_tokens as f64 + 10.0 * plain as f64 + 100.0 * output_tokens as f64;
            let billed = bill.compaction.as_ref().unwrap().summaries_usd;
            assert!((billed - usd / 1e6).abs() < 1e-12, "{billed}");
        }
    }

    /// The recorder's requests go through the model of the cache: of what is larger than the request before the whole of that
    /// is read, and of what was cut as much as the provider read, at least the frame, by whole calls.
    #[test]
    fn the_bill_is_of_the_cache_model() {
        let table = [
            // size, read of the third call; read by the model
            ((9_500, 0), 7_000),
            ((3_500, 3_400), 3_000),
            ((3_500, 0), 3_000),
            ((6_500, 6_400), 5_000),
        ];
        for ((third, read), expected) in table {
            let calls = vec![
                call(5_000, Some((5_000, 0))),
                call(7_000, Some((8_000, 0))),
                call(9_000, Some((third, read))),
            ];
            let mut facts = facts(1, false, calls);
            facts.frame = 3_000;
            let record = record(&facts, plain(&facts), &[terms()]);
            let sizes: Vec<u64> = record.rows.iter().map(|row| row.input_tokens).collect();
            let (_, bill) = record.bills.iter().next().unwrap();
            // 5,000 and 7,000 are sent first; the second reads the first.
            assert_eq!(bill.read_tokens, 5_000 + expected, "{third} {read}: {sizes:?}");
            let written: u64 = sizes.iter().sum::<u64>() - bill.read_tokens;
            let input = (bill.read_tokens + 20 * written) as f64 / 1e6;
            assert!((bill.input_usd - input).abs() < 1e-12, "{}", bill.input_usd);
            assert!((bill.output_usd - 100.0 * 300.0 / 1e6).abs() < 1e-12);
        }
    }
}
