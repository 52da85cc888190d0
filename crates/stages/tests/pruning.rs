//! `evict`, `keep-last` and `drop-oldest`: what goes, in which order, and what stays, as tables.

use foldback_core::conversation::Conversation;
use foldback_core::frame::{Frame, SegmentKind};
use foldback_core::limits::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_core::registry::Registry;
use foldback_core::services::Services;
use foldback_core::strategy::Strategy;
use foldback_stages::pruner::{DEFAULT_PLACEHOLDER, boundary};
use foldback_testkit::talk;
use proptest::prelude::*;
use std::sync::Arc;

/// One character a token, so that sizes can be read off the texts.
const ESTIMATOR: &str = "[estimator]\nuse = \"chars\"\nper_token = 1\n";

fn registry() -> Registry {
    talk::registry([&foldback_stages::REGISTRATION])
}

fn strategy(stages: &str) -> Arc<Strategy> {
    strategy_counting(ESTIMATOR, stages)
}

fn strategy_counting(estimator: &str, stages: &str) -> Arc<Strategy> {
    let toml = format!("name = \"test\"\n{estimator}\n{stages}");
    Arc::new(talk::compiled(&registry(), &toml))
}

fn conversation(strategy: &Arc<Strategy>, context: u64, frame: usize) -> Conversation {
    let mut around = Frame::default();
    around.push_text(SegmentKind::System, "s".repeat(frame));
    let limits = Limits::new(context, 0);
    Conversation::new(Arc::clone(strategy), limits, around, Services::fixed())
}

/// A call of one character whose result has so many.
fn step(conversation: &mut Conversation, number: usize, size: usize) {
    called(conversation, "c", number, "x", "r".repeat(size));
}

/// A call with these arguments, and its result.
fn called(conversation: &mut Conversation, calls: &str, number: usize, with: &str, text: String) {
    let id = format!("{calls}{number}");
    let call = Part::call(id.clone(), "", with);
    conversation.append(Message::assistant(format!("a{number}"), vec![call]));
    conversation.append(Message::tool(format!("t{number}"), id, "read", text));
}

/// What the conversation does before a request; how its stages ended.
fn call(conversation: &mut Conversation) -> Vec<String> {
    let reports = talk::at(conversation, Moment::CallStart);
    let code = |report: foldback_core::conversation::Report| {
        report.outcome.why().map_or("changed".to_owned(), |why| why.code.to_string())
    };
    reports.into_iter().map(code).collect()
}

/// Numbers of the results that show a placeholder.
fn cleared(conversation: &Conversation) -> Vec<usize> {
    let edits = conversation.view().edits().keys();
    edits
        .map(|at| {
            let id = &conversation.history().message(at.item).id;
            id[1..].parse().unwrap()
        })
        .collect()
}

/// Ids of what is sent.
fn sent(conversation: &Conversation) -> String {
    talk::sent_ids(conversation).join(" ")
}

#[test]
fn evict_clears_in_its_order_down_to_the_target() {
    // The head is 100 tokens, each call 1. A placeholder is 21.
    assert_eq!(DEFAULT_PLACEHOLDER.len(), 21);
    let sizes = [200, 100, 300, 20, 150];
    // 100 + 5 + 770 = 875 tokens
    let table = [
        // name, window, order, trigger, target, cleared, outcome
        ("at the trigger", 875, "oldest", 1.0, 0.5, vec![], "below-threshold"),
        ("above it", 874, "oldest", 1.0, 0.9, vec![0], "changed"),
        ("target met exactly", 1000, "oldest", 0.8, 0.696, vec![0], "changed"),
        ("one token more", 1000, "oldest", 0.8, 0.695, vec![0, 1], "changed"),
        ("newest", 1000, "newest", 0.8, 0.7, vec![2, 4], "changed"),
        ("largest", 1000, "largest", 0.8, 0.6, vec![2], "changed"),
        ("largest two", 1000, "largest", 0.8, 0.59, vec![0, 2], "changed"),
        // What is smaller than the placeholder stays.
        ("all that helps", 1000, "oldest", 0.1, 0.0, vec![0, 1, 2, 4], "changed"),
    ];
    for (name, window, order, trigger, target, expected, outcome) in table {
        let strategy = strategy(&format!(
            "[[pruner]]\nuse = \"evict\"\norder = \"{order}\"\ntrigger = {trigger:?}\ntarget = {target:?}"
        ));
        let mut conversation = conversation(&strategy, window, 60);
        conversation.append(Message::user("u", "u".repeat(40)));
        for (number, size) in sizes.into_iter().enumerate() {
            step(&mut conversation, number, size);
        }
        assert_eq!(call(&mut conversation), [outcome], "{name}");
        assert_eq!(cleared(&conversation), expected, "{name}");
        // What was cleared is not touched again.
        if target == 0.0 {
            assert_eq!(call(&mut conversation), ["nothing-to-clear"], "{name}");
        }
    }
}

#[test]
fn evict_needs_a_window() {
    let strategy = strategy("[[pruner]]\nuse = \"evict\"");
    let mut conversation = conversation(&strategy, 0, 10);
    step(&mut conversation, 0, 1000);
    assert_eq!(call(&mut conversation), ["window-unknown"]);
}

/// Results cleared by a random eviction: of twenty alike, about half.
fn drawn(seed: u64, calls: &str) -> Vec<usize> {
    let strategy = strategy(&format!(
        "[[pruner]]\nuse = \"evict\"\norder = \"random\"\nseed = {seed}\ntarget = 0.5"
    ));
    let mut conversation = conversation(&strategy, 1000, 0);
    for number in 0..20 {
        called(&mut conversation, calls, number, "", "r".repeat(50));
    }
    assert_eq!(call(&mut conversation), ["changed"]);
    cleared(&conversation)
}

#[test]
fn random_depends_on_the_seed_and_the_session_alone() {
    assert_eq!(drawn(1, "c"), drawn(1, "c"));
    assert_ne!(drawn(1, "c"), drawn(2, "c"));
    assert_ne!(drawn(1, "c"), drawn(1, "d"));
    // All alike: over many seeds each of the twenty goes as often as any other.
    let mut often = [0; 20];
    for seed in 0..200 {
        for number in drawn(seed, "c") {
            often[number] += 1;
        }
    }
    let per_seed = drawn(1, "c").len();
    let expected = 200 * per_seed / 20;
    assert!(
        often.iter().all(|n: &usize| n.abs_diff(expected) < 40),
        "{often:?}, {expected} each expected"
    );
}

#[test]
fn the_boundary_of_keep_last_moves_in_batches() {
    let table = [
        // results, keep, batch, cleared
        (0, 1, 1, 0),
        (1, 1, 1, 0),
        (2, 1, 1, 1),
        (12, 10, 1, 2),
        (12, 10, 10, 0),
        (19, 10, 10, 0),
        (20, 10, 10, 10),
        (29, 10, 10, 10),
        (30, 10, 10, 20),
        (10, 1, 10, 9),
        (5, 0, 1, 5),
    ];
    for (results, keep, batch, cleared) in table {
        let is = boundary(results, keep, batch);
        assert_eq!(is, cleared, "{results} results, keep {keep}, batch {batch}");
    }
}

#[test]
fn keep_last_clears_the_older_results() {
    // keep, batch, the results that are cleared after each of six
    let table: [(usize, usize, [Vec<usize>; 6]); 3] = [
        // The third is shorter than the placeholder.
        (1, 1, [vec![], vec![0], vec![0, 1], vec![0, 1], vec![0, 1, 3], vec![0, 1, 3, 4]]),
        (2, 3, [vec![], vec![], vec![0], vec![0], vec![0], vec![0, 1, 3]]),
        (6, 1, std::array::from_fn(|_| vec![])),
    ];
    for (keep, batch, expected) in table {
        let strategy =
            strategy(&format!("[[pruner]]\nuse = \"keep-last\"\nkeep = {keep}\nbatch = {batch}"));
        let mut conversation = conversation(&strategy, 0, 0);
        for (number, expected) in expected.into_iter().enumerate() {
            step(&mut conversation, number, if number == 2 { 5 } else { 50 });
            call(&mut conversation);
            let is = cleared(&conversation);
            assert_eq!(is, expected, "keep {keep}, batch {batch}, after {number}");
        }
    }
}

#[test]
fn drop_oldest_leaves_the_head_and_whole_groups() {
    let table = [
        // name, target of the window of 1000, what is sent
        ("the oldest group", 0.75, "s u a1 t1 u2 a2 t2 a3 t3"),
        ("two groups", 0.55, "s u u2 a2 t2 a3 t3"),
        ("what users said later too", 0.52, "s u a2 t2 a3 t3"),
        ("never the newest", 0.0, "s u a3 t3"),
    ];
    for (name, target, expected) in table {
        let strategy = strategy(&format!(
            "[overflow]\nuse = \"window-fraction\"\ntarget = {target:?}\n[filter]\nuse = \"drop-oldest\""
        ));
        let mut conversation = conversation(&strategy, 1000, 20);
        let system = vec![Part::text("s".repeat(30))];
        conversation.append(Message::new("s", foldback_core::log::Role::System, system));
        conversation.append(Message::user("u", "u".repeat(50)));
        for number in 0..2 {
            step(&mut conversation, number, 199);
        }
        conversation.append(Message::user("u2", "u".repeat(25)));
        for number in 2..4 {
            step(&mut conversation, number, 199);
        }
        // 20 + 30 + 50 + 25 + 4 * 200
        assert_eq!(conversation.tokens(), 925, "{name}");
        assert_eq!(call(&mut conversation), ["changed"], "{name}");
        assert_eq!(sent(&conversation), expected, "{name}");
        // What comes later stands behind it.
        step(&mut conversation, 4, 1);
        assert_eq!(sent(&conversation), format!("{expected} a4 t4"), "{name}");
    }
}

#[test]
fn values_that_make_no_sense_are_refused() {
    let table = [
        ("pruner", "use = \"evict\"\ntrigger = 1.5", "trigger"),
        ("pruner", "use = \"evict\"\ntarget = 0.9", "target"),
        ("pruner", "use = \"evict\"\nplaceholder = \" \"", "placeholder"),
        ("pruner", "use = \"evict\"\norder = \"oldst\"", "order"),
        ("pruner", "use = \"keep-last\"\nbatch = 0", "batch"),
        ("filter", "use = \"drop-oldest\"\ntarget = -1.0", "target"),
    ];
    for (section, values, path) in table {
        let section = match section {
            "pruner" => "[[pruner]]",
            _ => "[filter]",
        };
        let toml = format!("name = \"test\"\n{ESTIMATOR}\n{section}\n{values}");
        let errors = talk::try_compile(&registry(), &toml).unwrap_err();
        assert!(errors.0[0].path.ends_with(path), "{values}: {errors}");
    }
}

proptest! {
    /// With every size and the window doubled, the same goes.
    #[test]
    fn only_proportions_count(
        sizes in prop::collection::vec(1usize..400, 1..40),
        stage in prop_oneof![
            Just("[[pruner]]\nuse = \"evict\"\norder = \"random\""),
            Just("[[pruner]]\nuse = \"evict\"\norder = \"largest\""),
            Just("[[pruner]]\nuse = \"keep-last\"\nkeep = 3\nbatch = 2"),
            Just("[overflow]\nuse = \"window-fraction\"\ntarget = 0.65\n[filter]\nuse = \"drop-oldest\""),
        ],
    ) {
        let run = |context: u64, per_token: u64| {
            // Texts are four characters a unit; 4 or 2 characters are a token.
            let estimator = format!("[estimator]\nuse = \"chars\"\nper_token = {per_token}");
            let strategy = strategy_counting(&estimator, &format!(
                "{stage}\n{}",
                if stage.contains("pruner") { "placeholder = \"gone\"" } else { "" }
            ));
            let mut conversation = conversation(&strategy, context, 400);
            conversation.append(Message::user("u", "u".repeat(200)));
            let mut views = Vec::new();
            for (number, size) in sizes.iter().enumerate() {
                called(&mut conversation, "c", number, "argument", "text".repeat(*size));
                call(&mut conversation);
                views.push((cleared(&conversation), sent(&conversation)));
            }
            views
        };
        prop_assert_eq!(run(2_001, 4), run(4_002, 2));
    }
}
