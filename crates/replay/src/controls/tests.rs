use super::choice::{Choice, Greedy, Price, Random};
use super::holdings::Holdings;
use super::*;
use crate::availability::{Availability, Index};
use crate::stats::SplitMix64;
use crate::{Replay, ReplayOptions, replay_with};
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::stage::Estimator;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_formats::session::{Shape, Source};
use foldback_stages::estimator::CharsConfig;
use foldback_stages::pruner::EvictConfig;
use std::sync::Arc;

/// One call of a planted session: characters of its result, and the facts of earlier results that it
/// names.
type Planted = (usize, Vec<usize>);

/// A session in which the result of each call holds a fact of its own, `planted_fact_N`, which stands
/// nowhere else until a later call names it. What is needed when is known exactly.
fn planted(calls: &[Planted]) -> Session {
    let mut messages = vec![Message::user("u", "Do what is to be done")];
    for (call, (size, named)) in calls.iter().enumerate() {
        let named: Vec<String> = named.iter().map(|n| format!("planted_fact_{n}")).collect();
        let arguments = serde_json::json!({ "of": named }).to_string();
        messages.push(answer(call, "look", &arguments));
        let text = format!("planted_fact_{call} {}", "so on ".repeat(*size / 6));
        messages.push(result(call, &text));
    }
    session(messages)
}

fn session(messages: Vec<Message>) -> Session {
    let source = Source {
        text: Arc::from(""),
        shape: Shape::Lines,
        records: Vec::new(),
    };
    let mut session = Session::new("planted", foldback_formats::FORMATS[0].id, source);
    session.messages = messages.into_iter().map(Arc::new).collect();
    session
}

fn answer(call: usize, tool: &str, arguments: &str) -> Message {
    let part = Part::call(format!("c{call}"), tool, arguments);
    Message::assistant(format!("a{call}"), vec![part])
}

fn result(call: usize, text: &str) -> Message {
    Message::tool(format!("t{call}"), format!("c{call}"), "look", text)
}

/// Sixty calls with results of 200 to 3,000 characters; each names two facts of earlier ones.
fn random_session(seed: u64) -> Session {
    let mut rng = SplitMix64::new(seed);
    let calls: Vec<Planted> = (0..60)
        .map(|call| {
            let size = 200 + rng.below(2_800);
            let named = (0..2).filter(|_| call > 0).map(|_| rng.below(call));
            (size, named.collect())
        })
        .collect();
    planted(&calls)
}

fn counting(per_token: u64) -> Arc<dyn Estimator> {
    let config = CharsConfig {
        per_token,
        ..CharsConfig::default()
    };
    Arc::new(config.estimator().unwrap())
}

fn placebo(session: &Session, per_token: u64, stub: u64) -> Placebo {
    let index = Index::of(session);
    let foresight = Arc::new(Hindsight::of(&index));
    Placebo::with_stub(&index, foresight, &*counting(per_token), stub)
}

/// What the calls of a session need all told.
fn due(session: &Session) -> usize {
    let hindsight = Hindsight::of(&Index::of(session));
    (0..session.messages.len())
        .map(|call| hindsight.due(call).len())
        .sum()
}

fn share(kept: &[bool]) -> f64 {
    kept.iter().filter(|kept| **kept).count() as f64 / kept.len() as f64
}

/// A replay, and what stood in its views of what its calls needed.
fn measured(session: &Session, strategy: Strategy, limits: Limits) -> (Replay, Kept) {
    let measure = counting(4);
    let options = ReplayOptions {
        limits,
        model: None,
        measure: Arc::clone(&measure),
        validate: true,
    };
    let mut probe = Availability::new(Arc::new(Index::of(session)), measure);
    let replay = replay_with(session, &Arc::new(strategy), &options, &mut [&mut probe]);
    let findings = probe.finish(&replay.conversation);
    let kept = Kept {
        references: findings.references.iter().map(|row| row.kept).collect(),
        edits: findings.edits.iter().map(|row| row.kept).collect(),
    };
    (replay, kept)
}

fn preset(name: &str) -> Strategy {
    foldback::preset(&foldback::registry().unwrap(), name).unwrap()
}

fn seer(session: &Session) -> Strategy {
    seer_down_to(session, EvictConfig::default().target)
}

fn seer_down_to(session: &Session, target: f64) -> Strategy {
    let config = EvictConfig {
        target,
        ..EvictConfig::default()
    };
    clairvoyant(Arc::new(Hindsight::of(&Index::of(session))), config).unwrap()
}

#[test]
fn what_is_held_twice_can_be_lost_once() {
    // Facts 0 to 2 in units 0 to 2; only the wanted ones count.
    let mut holdings = Holdings::new(3, 3);
    for (unit, facts) in [(0, &[0, 1][..]), (1, &[1]), (2, &[2])] {
        holdings.add(unit, facts);
    }
    let mut uses = |step: &mut dyn FnMut(&mut Holdings)| {
        step(&mut holdings);
        [0, 1, 2].map(|unit| holdings.uses(unit))
    };
    assert_eq!(uses(&mut |_| ()), [0, 0, 0], "nothing wanted");
    assert_eq!(uses(&mut |h| h.want(&[0, 1])), [1, 0, 0], "1 is held twice");
    assert_eq!(uses(&mut |h| h.remove(0, &[0, 1])), [0, 1, 0], "now once");
    assert_eq!(uses(&mut |h| h.release(&[1])), [0, 0, 0], "used");
    assert_eq!(uses(&mut |h| h.want(&[2])), [0, 0, 1], "2 is wanted");
    assert!(!holdings.has(0) && holdings.has(1));
}

#[test]
fn the_cheapest_goes_first() {
    let price = |uses, gain, messages| Price {
        uses,
        gain,
        messages,
    };
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
    let placebo = placebo(&session, 4, STUB_TOKENS);
    let (none, real) = measured(&session, preset("none"), Limits::new(1_000_000, 0));
    let views = view_sizes(&none.rows, 0);
    assert_eq!(real.references.len(), due(&session));
    for bounds in [&views[..], &[]] {
        let matched = placebo.matched(bounds, 1);
        assert_eq!(matched.random, real);
        assert_eq!(matched.clairvoyant, real);
    }
    let course = placebo.shadow(&[], &mut Greedy::default());
    assert_eq!(course.sizes, views);
}

#[test]
fn a_shadow_is_never_larger_than_its_limit() {
    for seed in 0..15 {
        let session = random_session(seed);
        let placebo = placebo(&session, 4, STUB_TOKENS);
        let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
        let head = full[0];
        let mut rng = SplitMix64::new(seed);
        let most = 1 + rng.below(20_000) as u64;
        let limits: Vec<u64> = full
            .iter()
            .map(|_| rng.below(most as usize) as u64)
            .collect();
        let mut random = Random::new(seed, 1_000);
        let choices: [&mut dyn Choice; 2] = [&mut random, &mut Greedy::default()];
        for choice in choices {
            let course = placebo.shadow(&limits, choice);
            assert_eq!(course.kept.references.len(), due(&session));
            for (call, size) in course.sizes.iter().enumerate() {
                let limit = limits[call].max(head);
                assert!(*size <= limit && *size <= full[call], "{seed}: call {call}");
            }
        }
    }
}

#[test]
fn nothing_that_fits_goes() {
    // Two results, one of them needed. What fits beside the head decides.
    let session = planted(&[
        (4_000, vec![]),
        (2_000, vec![]),
        (60, vec![]),
        (60, vec![1]),
    ]);
    let placebo = placebo(&session, 4, STUB_TOKENS);
    let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
    // Tokens that the last view must be smaller than everything, and those that go. Nobody needs the
    // first result (1,003 tokens) and the third (19).
    let table = [
        (0, 0),
        (1, 1_003 - STUB_TOKENS),
        (1_003 - STUB_TOKENS, 1_003 - STUB_TOKENS),
        (1_003 - STUB_TOKENS + 1, 1_003 + 19 - 2 * STUB_TOKENS),
    ];
    for (less, freed) in table {
        let limits = [u64::MAX, u64::MAX, u64::MAX, full[3] - less];
        let course = placebo.shadow(&limits, &mut Greedy::default());
        assert_eq!(course.kept.references, [true], "{less} less");
        assert_eq!(full[3] - course.sizes[3], freed, "{less} less");
    }
    let head_alone = placebo.shadow(&[0; 4], &mut Greedy::default());
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
            let placebo = placebo(&session, 4, STUB_TOKENS);
            let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
            let views: Vec<u64> = full.iter().map(|size| size * percent / 100).collect();
            let matched = placebo.matched(&views, seed);
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
        let placebo = placebo(&session, 4, STUB_TOKENS);
        placebo.matched(&[5_000; 60], seed)
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
        let (one, two) = (placebo(&session, 1, 50), Doubled(counting(1)));
        let index = Index::of(&session);
        let foresight = Arc::new(Hindsight::of(&index));
        let twice = Placebo::with_stub(&index, foresight, &two, 100);
        let views: Vec<u64> = (0..60).map(|call| 20_000 - 200 * call).collect();
        let doubled: Vec<u64> = views.iter().map(|size| 2 * size).collect();
        assert_eq!(one.matched(&views, seed), twice.matched(&doubled, seed));
    }
}

/// Counts twice what another estimator counts.
#[derive(Debug)]
struct Doubled(Arc<dyn Estimator>);

impl Estimator for Doubled {
    fn id(&self) -> &Arc<str> {
        static ID: std::sync::OnceLock<Arc<str>> = std::sync::OnceLock::new();
        ID.get_or_init(|| Arc::from("doubled"))
    }

    fn text(&self, text: &str) -> u64 {
        2 * self.0.text(text)
    }
}

#[test]
fn the_clairvoyant_keeps_what_is_needed_later() {
    // Forty results of 1,000 tokens; of the first twenty, five are needed at the end.
    let needed = [2, 5, 9, 14, 17];
    let mut calls: Vec<Planted> = vec![(4_000, vec![]); 40];
    calls.push((60, needed.to_vec()));
    let session = planted(&calls);
    let limits = Limits::new(20_000, 0);
    // preset, references kept of five
    let table = [
        (preset("none"), 5..=5),
        (seer(&session), 5..=5),
        (preset("random"), 0..=4),
        (preset("keep-last-1"), 0..=0),
        (preset("drop-oldest"), 0..=0),
    ];
    let mut firings = Vec::new();
    for (strategy, expected) in table {
        let name = strategy.name.clone();
        let (replay, kept) = measured(&session, strategy, limits);
        let count = kept.references.iter().filter(|kept| **kept).count();
        assert_eq!(kept.references.len(), 5, "{name}");
        assert!(expected.contains(&count), "{name} kept {count}");
        assert_eq!(replay.metrics.strategy_violations, 0, "{name}");
        firings.push((name, replay.metrics.compactions));
    }
    // Same trigger, same target, results all alike: they fire together.
    assert_eq!(firings[1].1, firings[2].1, "{firings:?}");
    assert!(firings[1].1 > 3, "{firings:?}");
}

#[test]
fn the_clairvoyant_lets_one_of_two_copies_go() {
    // The first two results have the same fact; both are of no use as long as the other is there.
    let text = format!("planted_fact_0 {}", "so on ".repeat(666));
    let mut messages = vec![Message::user("u", "Do what is to be done")];
    for call in 0..8 {
        messages.push(answer(call, "look", "{}"));
        messages.push(result(call, if call < 2 { &text } else { &text[15..] }));
    }
    messages.push(answer(8, "look", r#"{"of":"planted_fact_0"}"#));
    let session = session(messages);
    let (replay, kept) = measured(&session, seer(&session), Limits::new(10_000, 0));
    assert_eq!(replay.metrics.compactions, 1);
    assert_eq!(replay.conversation.view().edits().len(), 2);
    assert_eq!(kept.references, [true]);
}

#[test]
fn the_clairvoyant_lets_go_what_was_used() {
    // The first result is smaller than the others, so dearer as long as somebody needs it: until the
    // second call, which edits what stands there. Each of the others is needed at the end.
    let old = "the line that is there before";
    let mut messages = vec![
        Message::user("u", "Do what is to be done"),
        answer(0, "look", "{}"),
        result(0, &format!("{old}\n{}", "so on ".repeat(400))),
        answer(
            1,
            "edit",
            &serde_json::json!({ "old_string": old }).to_string(),
        ),
        result(1, "done"),
    ];
    for call in 2..10 {
        messages.push(answer(call, "look", "{}"));
        let text = format!("planted_fact_{call} {}", "so on ".repeat(666));
        messages.push(result(call, &text));
    }
    let named: Vec<String> = (2..10).map(|n| format!("planted_fact_{n}")).collect();
    let arguments = serde_json::json!({ "of": named }).to_string();
    messages.push(answer(10, "look", &arguments));
    let session = session(messages);
    // All told 8,650 tokens; what must go is less than the first result has.
    let strategy = seer_down_to(&session, 0.8);
    let (replay, kept) = measured(&session, strategy, Limits::new(10_300, 0));
    assert_eq!(replay.metrics.compactions, 1);
    assert_eq!(kept.references, [true; 8]);
    assert_eq!(kept.edits, [true]);
    // By size alone the shadow does the same.
    let placebo = placebo(&session, 4, STUB_TOKENS);
    let course = placebo.shadow(&[8_240; 11], &mut Greedy::default());
    assert_eq!(course.kept, kept);
    let course = placebo.shadow(&[0; 11], &mut Greedy::default());
    assert_eq!(course.kept.edits, [false]);
}

#[test]
fn the_newest_call_goes_last() {
    // The second call is larger than the first, and nobody needs either. A result of as many tokens as
    // the stub has is not cleared, and goes with its call.
    let session = planted(&[(42, vec![]), (42, vec![70, 71, 72]), (42, vec![])]);
    let placebo = placebo(&session, 4, STUB_TOKENS);
    let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
    let first = full[1] - full[0];
    assert_eq!(first, 2 + 1 + STUB_TOKENS);
    assert!(full[2] - full[1] > first);
    for choice in [
        &mut Greedy::default() as &mut dyn Choice,
        &mut Random::new(1, 100),
    ] {
        let course = placebo.shadow(&[u64::MAX, u64::MAX, full[2] - 1], choice);
        assert_eq!(course.sizes[2], full[2] - first);
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
    let placebo = placebo(&session, 4, STUB_TOKENS);
    let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
    let course = placebo.shadow(&[u64::MAX, full[1] - 1], &mut Greedy::default());
    let first_call = full[1] - course.sizes[1];
    assert!(first_call > 0);
    assert_eq!(course.sizes[2], full[2] - first_call - 150);
}

#[test]
fn foresight_sees_from_the_last_copy_to_the_call() {
    // Fact 0 stands in two results and is needed twice: the second time the call before it has it.
    let session = planted(&[(60, vec![]), (60, vec![]), (60, vec![0]), (60, vec![0, 1])]);
    let index = Index::of(&session);
    let hindsight = Hindsight::of(&index);
    assert_eq!(hindsight.facts(), index.references.len());
    let due: Vec<usize> = (0..4).map(|call| hindsight.due(call).len()).collect();
    assert_eq!(due, [0, 0, 1, 2]);
    let ordinals = 0..session.messages.len();
    let relied: Vec<usize> = ordinals.map(|n| hindsight.relied_on(n).len()).collect();
    // user, (answer, result) four times: results 0 and 1, and the third answer
    assert_eq!(relied, [0, 0, 1, 0, 1, 1, 0, 0, 0]);
}

#[test]
fn real_sessions_come_out_in_order() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/sessions/claude-code"
    );
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: no sessions at {folder}");
        return;
    };
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| std::fs::metadata(path).is_ok_and(|file| file.len() < 2_100_000));
    paths.sort();
    let presets = ["none", "random", "keep-last-1", "drop-oldest", "window"];
    // By preset: kept by it, by chance and by foresight, of needed.
    let mut sums = [[0; 4]; 6];
    for path in paths.iter().take(4) {
        let bytes = std::fs::read(path).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let placebo = placebo(&session, 4, STUB_TOKENS);
        let full = placebo.shadow(&[], &mut Greedy::default()).sizes;
        let (none, _) = measured(&session, preset("none"), Limits::new(1_000_000, 0));
        let frame = none.rows[0].input_tokens - full[0];
        // Room for the frame and for half of the log.
        let half = full.last().copied().unwrap_or(0) / 2;
        let limits = Limits::new(frame + half, 0);
        let strategies = presets.map(preset).into_iter().chain([seer(&session)]);
        for (strategy, sums) in strategies.zip(&mut sums) {
            let (replay, kept) = measured(&session, strategy, limits);
            let matched = placebo.matched(&view_sizes(&replay.rows, frame), 1);
            let courses = [kept, matched.random, matched.clairvoyant];
            sums[3] += courses[0].references.len();
            for (sum, course) in sums.iter_mut().zip(&courses) {
                assert_eq!(course.edits.len(), courses[0].edits.len());
                assert_eq!(course.references.len(), courses[0].references.len());
                *sum += course.references.iter().filter(|kept| **kept).count();
            }
        }
    }
    for (name, sums) in presets.into_iter().chain(["clairvoyant"]).zip(sums) {
        println!("{name}: kept, by chance, by foresight, needed: {sums:?}");
    }
    let [none, random, keep_last, drop_oldest, window, clairvoyant] = sums;
    assert_eq!(none, [none[3]; 4]);
    for sums in [random, keep_last, drop_oldest, window, clairvoyant] {
        assert!(sums[3] == 0 || sums[1] < sums[2]);
    }
    assert!(clairvoyant[0] >= random[0]);
}
