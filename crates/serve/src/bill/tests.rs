use super::*;
use foldback_core::log::{Answer, Part};
use foldback_providers::prices::{CacheRules, Rates, Terms};

/// Dollars for a million tokens.
const TERMS: Terms = Terms {
    rules: CacheRules { minimum: 0, granularity: 1, ttl_ms: Some(300_000) },
    rates: Rates {
        input: 3.0,
        read: 0.3,
        write: 3.75,
        write_1h: 3.75,
        hour: 0.0,
        output: 15.0,
        web_search: 10.0,
        tier: None,
    },
};

/// Tokens of an answer.
const OUTPUT: u64 = 10_000;

/// In thousands of tokens.
fn weight(total: u64, shared: u64, appends: bool) -> Weight {
    let (total, shared) = (total * 1000, shared * 1000);
    Weight { total, shared, appends, cache: CacheUse::holding(total, shared, TERMS.rules) }
}

/// An answer of ten thousand tokens, of whose request so many thousands were read and written.
fn answer(read: u64, write: u64) -> Message {
    let usage = Usage {
        cache_read: read * 1000,
        cache_write: write * 1000,
        output: OUTPUT,
        ..Usage::default()
    };
    let answer = Answer { usage: Some(usage), ..Answer::default() };
    Message::assistant("a", vec![Part::text("Done.")]).with_answer(answer)
}

fn pair(number: usize, received: Weight, view: Weight) -> Pair {
    Pair { terms: TERMS, number, received, view, outgrown: false }
}

/// A request that nothing is folded in, one that is folded to less than half, and one that goes on from it. What each
/// costs as it came and as the view has it was worked out by hand.
#[test]
fn both_requests_of_a_pair_are_priced() {
    // The conversation as it came has 10, 12 and 13 thousand tokens, that of the view 10, 5 and 6.
    let pairs = [
        (weight(10, 0, true), weight(10, 0, true)),
        (weight(12, 10, true), weight(5, 1, false)),
        (weight(13, 12, true), weight(6, 5, true)),
    ];
    let warm = [[37.5, 37.5], [3.0 + 7.5, 0.3 + 15.0], [3.6 + 3.75, 1.5 + 3.75]];
    let cold = [warm[0], warm[1], [13.0 * 3.75, 6.0 * 3.75]];
    type Row<'a> = (&'a str, Dispatch, [(u64, u64); 3], [[f64; 2]; 3]);
    let rows: [Row<'_>; 5] = [
        ("the view is sent", Dispatch::View, [(0, 10), (1, 4), (5, 1)], warm),
        ("in shadow", Dispatch::Shadow, [(0, 10), (10, 2), (12, 1)], warm),
        ("after a long pause", Dispatch::View, [(0, 10), (1, 4), (0, 6)], cold),
        ("after a long pause in shadow", Dispatch::Shadow, [(0, 10), (10, 2), (0, 13)], cold),
        (
            "the view could not be sent",
            Dispatch::Own,
            [(0, 10), (10, 2), (12, 1)],
            warm.map(|[received, _]| [received; 2]),
        ),
    ];
    for (name, sent, reported, expected) in rows {
        let mut bill = Bill::default();
        for (number, (received, view)) in pairs.iter().enumerate() {
            let pair = pair(number, *received, *view);
            let (read, write) = reported[number];
            let added = bill.add(Some(&pair), sent, &answer(read, write), OUTPUT, 0.0);
            for (ours, usd) in [added.received, added.sent].iter().zip(expected[number]) {
                // A thousand times a million, and ten thousand tokens of the answer.
                let usd = usd / 1e3 + 0.15;
                assert!((ours - usd).abs() < 1e-9, "{name}, request {number}: {ours}, not {usd}");
            }
        }
        assert_eq!((bill.sums.reported, bill.sums.priced(), bill.sums.unpriced), (3, 3, 0));
    }
}

/// A provider that reads nothing of what it could is taken to read nothing of the other request, either.
#[test]
fn a_fold_is_priced_by_what_the_provider_kept_before() {
    // It could have read ten thousand tokens of the second request, and fifteen of the third.
    for (read, expected) in [(0, 16.0 * 3.75), (6, 9.0 * 0.3 + 7.0 * 3.75), (10, 15.0 * 0.3 + 3.75)]
    {
        let mut bill = Bill::default();
        let whole = weight(10, 0, true);
        bill.add(Some(&pair(0, whole, whole)), Dispatch::View, &answer(0, 10), OUTPUT, 0.0);
        let whole = weight(15, 10, true);
        bill.add(
            Some(&pair(1, whole, whole)),
            Dispatch::View,
            &answer(read, 15 - read),
            OUTPUT,
            0.0,
        );
        let folded = pair(2, weight(16, 15, true), weight(4, 1, false));
        let added = bill.add(Some(&folded), Dispatch::View, &answer(1, 3), OUTPUT, 0.0);
        assert!((added.received - expected / 1e3 - 0.15).abs() < 1e-9, "{read}: {added:?}");
    }
}

#[test]
fn an_answer_without_a_price_is_counted_apart() {
    let mut bill = Bill::default();
    let added = bill.add(None, Dispatch::View, &answer(0, 10), OUTPUT, 0.0);
    assert_eq!(added, Sums { unpriced: 1, ..Sums::default() });
    assert_eq!((bill.sums, bill.sums.priced()), (added, 0));
}

/// No provider would have taken what the client had, so nothing was saved by not sending it. In shadow it was taken.
#[test]
fn what_the_client_could_not_have_sent_is_counted_apart() {
    let outgrown = Pair { outgrown: true, ..pair(0, weight(300, 0, true), weight(10, 0, true)) };
    let mut bill = Bill::default();
    let added = bill.add(Some(&outgrown), Dispatch::View, &answer(0, 10), OUTPUT, 0.0);
    assert_eq!(added, Sums { outgrown: 1, billed: added.billed, ..Sums::default() });
    assert!(added.billed > 0.0, "it was paid for");
    for sent in [Dispatch::Shadow, Dispatch::Own] {
        let added = Bill::default().add(Some(&outgrown), sent, &answer(0, 300), OUTPUT, 0.0);
        assert_eq!((added.outgrown, added.reported), (0, 1));
    }
}

/// A compaction of the provider's own is billed beside the answer, whichever request it was of; alone, it is all that
/// is.
#[test]
fn a_compaction_of_the_providers_own_costs_the_same_on_both_sides() {
    let used = Usage { uncached: 100_000, output: 1_000, ..Usage::default() };
    let compacted = |usage: Option<Usage>| {
        let mut message = answer(0, 3);
        let said = message.answer.as_mut().unwrap();
        said.usage = usage.and(said.usage);
        said.compaction = Some(used);
        message
    };
    let (whole, folded) = (weight(150, 0, true), weight(90, 0, false));
    for sent in [Dispatch::View, Dispatch::Shadow, Dispatch::Own] {
        for (usage, output, answered) in
            [(Some(used), OUTPUT, 3.0 * 3.75 / 1e3 + 0.15), (None, 0, 0.0)]
        {
            let added = Bill::default().add(
                Some(&pair(0, whole, folded)),
                sent,
                &compacted(usage),
                output,
                0.0,
            );
            let expected = 0.3 + 0.015 + answered;
            assert!((added.received - expected).abs() < 1e-9, "{sent:?}: {added:?}");
            assert!((added.sent - expected).abs() < 1e-9, "{sent:?}: {added:?}");
            assert_eq!((added.reported, added.estimated), (1, 0));
        }
    }
}

/// What the provider asked by itself costs the same on both sides: 1,000 tokens to the model of the request, 2,000 and
/// an answer of 500 to an advisor of ten times the price.
#[test]
fn what_the_provider_asked_by_itself_is_priced_by_its_model() {
    let round = |model: Option<&str>, uncached, output| Round {
        model: model.map(str::to_owned),
        usage: Usage { uncached, output, ..Usage::default() },
    };
    let rounds = [
        (vec![], 0.0),
        (vec![round(None, 1_000, 0)], 0.003),
        (vec![round(Some("unknown"), 1_000, 0)], 0.003),
        (vec![round(None, 1_000, 0), round(Some("advisor"), 2_000, 500)], 0.003 + 0.06 + 0.075),
    ];
    for (rounds, expected) in rounds {
        let mut said = answer(0, 10);
        said.answer.as_mut().unwrap().rounds = rounds;
        let whole = weight(10, 0, true);
        let pair = pair(0, whole, whole);
        let rates = |model: &str| {
            let advisor = Rates { input: 30.0, output: 150.0, ..TERMS.rates };
            (model == "advisor").then_some(advisor)
        };
        let usd = rounds_usd(&pair, &said, rates);
        assert!((usd - expected).abs() < 1e-9, "{usd}, not {expected}");
        let without = Bill::default().add(Some(&pair), Dispatch::View, &said, OUTPUT, 0.0);
        let added = Bill::default().add(Some(&pair), Dispatch::View, &said, OUTPUT, usd);
        for (with, without) in [(added.sent, without.sent), (added.received, without.received)] {
            assert!((with - without - expected).abs() < 1e-9, "{with}, {without}");
        }
    }
}
