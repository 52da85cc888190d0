use super::*;
use foldback_testkit::stand_in::Doubled;

#[test]
fn what_is_held_twice_can_be_lost_once() {
    // Facts 0 to 2 in units 0 to 2; only the wanted ones count.
    let mut holders = FactHolders::new(3, 3);
    for (unit, facts) in [(0, &[0, 1][..]), (1, &[1]), (2, &[2])] {
        holders.add(unit, facts);
    }
    let mut uses = |step: &mut dyn FnMut(&mut FactHolders)| {
        step(&mut holders);
        [0, 1, 2].map(|unit| holders.uses(unit))
    };
    assert_eq!(uses(&mut |_| ()), [0, 0, 0], "nothing wanted");
    assert_eq!(uses(&mut |h| h.want(&[0, 1])), [1, 0, 0], "1 is held twice");
    assert_eq!(uses(&mut |h| h.remove(0, &[0, 1])), [0, 1, 0], "now once");
    assert_eq!(uses(&mut |h| h.release(&[1])), [0, 0, 0], "used");
    assert_eq!(uses(&mut |h| h.want(&[2])), [0, 0, 1], "2 is wanted");
    assert!(!holders.has(0) && holders.has(1));
}

#[test]
fn the_cheapest_goes_first() {
    let price = |uses, gain, messages| Worth { uses, gain, messages };
    let prices = [
        price(1, 10, false),
        price(0, 5, true),
        price(0, 5, false),
        price(0, 50, false),
        price(3, 100, false),
        price(3, 31, false),
    ];
    let mut choice = Greedy::default();
    for (unit, price) in prices.into_iter().enumerate() {
        choice.put(unit, price);
    }
    // The first has become dearer since, and was not offered again.
    let now = |unit: usize| (unit != 0).then(|| prices[unit]);
    let order: Vec<usize> = std::iter::from_fn(|| choice.take(&now)).collect();
    assert_eq!(order, [3, 2, 1, 4, 5]);
}

#[test]
fn without_a_limit_nothing_is_lost() {
    let session = random_session(1);
    let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
    let (none, real) = measured(&session, strategy("none"), Limits::new(1_000_000, 0));
    let views = view_sizes(&none.rows, 0);
    assert_eq!(real.references.len(), due(&session));
    for bounds in [&views[..], &[]] {
        let matched = matched_controls.matched(bounds, 1);
        assert_eq!(matched.random, real);
        assert_eq!(matched.clairvoyant, real);
    }
    let run = matched_controls.shadow(&[], &mut Greedy::default());
    assert_eq!(run.sizes, views);
}

#[test]
fn a_shadow_is_never_larger_than_its_limit() {
    for seed in 0..15 {
        let session = random_session(seed);
        let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
        let full = matched_controls.shadow(&[], &mut Greedy::default()).sizes;
        let head = full[0];
        let mut rng = SplitMix64::new(seed);
        let most = 1 + rng.below(20_000) as u64;
        let limits: Vec<u64> = full.iter().map(|_| rng.below(most as usize) as u64).collect();
        let mut random = Random::new(seed, 1_000);
        let choices: [&mut dyn Choice; 2] = [&mut random, &mut Greedy::default()];
        for choice in choices {
            let run = matched_controls.shadow(&limits, choice);
            assert_eq!(run.kept.references.len(), due(&session));
            for (call, size) in run.sizes.iter().enumerate() {
                let limit = limits[call].max(head);
                assert!(*size <= limit && *size <= full[call], "{seed}: call {call}");
            }
        }
    }
}

#[test]
fn nothing_that_fits_goes() {
    // Two results, one of them needed. What fits beside the head decides.
    let session = planted(&[(4_000, vec![]), (2_000, vec![]), (60, vec![]), (60, vec![1])]);
    let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
    let full = matched_controls.shadow(&[], &mut Greedy::default()).sizes;
    // Tokens that the last view must be smaller than everything, and those that go. No call needs the
    // first result (1,003 tokens) and the third (19).
    let table = [
        (0, 0),
        (1, 1_003 - STUB_TOKENS),
        (1_003 - STUB_TOKENS, 1_003 - STUB_TOKENS),
        (1_003 - STUB_TOKENS + 1, 1_003 + 19 - 2 * STUB_TOKENS),
    ];
    for (less, freed) in table {
        let limits = [u64::MAX, u64::MAX, u64::MAX, full[3] - less];
        let run = matched_controls.shadow(&limits, &mut Greedy::default());
        assert_eq!(run.kept.references, [true], "{less} less");
        assert_eq!(full[3] - run.sizes[3], freed, "{less} less");
    }
    let head_alone = matched_controls.shadow(&[0; 4], &mut Greedy::default());
    assert_eq!(head_alone.sizes, [full[0]; 4]);
    assert_eq!(head_alone.kept.references, [false]);
}

#[test]
fn foresight_keeps_more_than_chance() {
    let sessions = 8;
    for percent in [75, 50, 25, 10] {
        let (mut by_chance, mut by_foresight) = (0.0, 0.0);
        for seed in 0..sessions {
            let session = random_session(seed);
            let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
            let full = matched_controls.shadow(&[], &mut Greedy::default()).sizes;
            let views: Vec<u64> = full.iter().map(|size| size * percent / 100).collect();
            let matched = matched_controls.matched(&views, seed);
            let random = share(&matched.random.references);
            let clairvoyant = share(&matched.clairvoyant.references);
            assert!(
                clairvoyant >= random,
                "{seed}, {percent} %: {clairvoyant} by foresight, {random} by chance"
            );
            by_chance += random / sessions as f64;
            by_foresight += clairvoyant / sessions as f64;
        }
        println!("{percent} %: {by_foresight:.3} by foresight, {by_chance:.3} by chance");
        assert!(by_foresight > by_chance + 0.03, "{percent} %");
        assert_eq!(nfr(by_chance, by_chance, by_foresight), Ok(0.0));
    }
}

#[test]
fn the_same_session_and_seed_give_the_same() {
    let run = |session: u64, seed| {
        let session = random_session(session);
        let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
        matched_controls.matched(&[5_000; 60], seed)
    };
    let one = run(1, 1);
    assert_eq!(one, run(1, 1));
    let other = run(1, 2);
    assert_ne!(one.random, other.random);
    assert_eq!(one.clairvoyant, other.clairvoyant);
}

#[test]
fn only_proportions_count() {
    for seed in 0..4 {
        let session = random_session(seed);
        // Characters of the session come in fours of none in particular, so count them one by one.
        let (one, two) = (matched_controls(&session, 1, 50), Doubled::of(&counting(1)));
        let index = Index::of(&session);
        let foresight = Arc::new(Foresight::of(&index));
        let twice = MatchedControls::with_stub(&index, foresight, &*two, 100);
        let views: Vec<u64> = (0..60).map(|call| 20_000 - 200 * call).collect();
        let doubled: Vec<u64> = views.iter().map(|size| 2 * size).collect();
        assert_eq!(one.matched(&views, seed), twice.matched(&doubled, seed));
    }
}

#[test]
fn the_newest_call_goes_last() {
    // The second call is larger than the first, and neither is needed. A result of as many tokens as
    // the stub has is not cleared, and goes with its call.
    let session = planted(&[(42, vec![]), (42, vec![70, 71, 72]), (42, vec![])]);
    let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
    let full = matched_controls.shadow(&[], &mut Greedy::default()).sizes;
    let first = full[1] - full[0];
    assert_eq!(first, 2 + 1 + STUB_TOKENS);
    assert!(full[2] - full[1] > first);
    for choice in [&mut Greedy::default() as &mut dyn Choice, &mut Random::new(1, 100)] {
        let run = matched_controls.shadow(&[u64::MAX, u64::MAX, full[2] - 1], choice);
        assert_eq!(run.sizes[2], full[2] - first);
    }
}

#[test]
fn a_result_that_comes_late_goes_with_its_call() {
    let session = session(vec![
        Message::user("u", "Do what is to be done"),
        answer(0, "look", "{}"),
        Message::user("u2", "Go on"),
        answer(1, "look", "{}"),
        result(0, &"so on ".repeat(100)),
        result(1, "nothing"),
        answer(2, "look", "{}"),
    ]);
    let matched_controls = matched_controls(&session, 4, STUB_TOKENS);
    let full = matched_controls.shadow(&[], &mut Greedy::default()).sizes;
    let run = matched_controls.shadow(&[u64::MAX, full[1] - 1], &mut Greedy::default());
    let first_call = full[1] - run.sizes[1];
    assert!(first_call > 0);
    assert_eq!(run.sizes[2], full[2] - first_call - 150);
}
