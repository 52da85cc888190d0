use super::*;

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
        (strategy("none"), 5..=5),
        (seer(&session), 5..=5),
        (strategy("random"), 0..=4),
        (strategy("keep-last-1"), 0..=0),
        (strategy("drop-oldest"), 0..=0),
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
        answer(1, "edit", &serde_json::json!({ "old_string": old }).to_string()),
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
}

#[test]
fn foresight_sees_from_the_last_copy_to_the_call() {
    // Fact 0 stands in two results and is needed twice: the second time the call before it has it.
    let session = planted(&[(60, vec![]), (60, vec![]), (60, vec![0]), (60, vec![0, 1])]);
    let index = Index::new(&session);
    let foresight = Foresight::new(&index);
    assert_eq!(foresight.facts(), index.asked.len());
    let due: Vec<usize> = (0..4).map(|call| foresight.due(call).len()).collect();
    assert_eq!(due, [0, 0, 1, 2]);
    let ordinals = 0..session.messages.len();
    let relied: Vec<usize> = ordinals.map(|n| foresight.relied_on(n).len()).collect();
    // user, (answer, result) four times: results 0 and 1, and the third answer
    assert_eq!(relied, [0, 0, 1, 0, 1, 1, 0, 0, 0]);
}

#[foldback_needs::sessions]
#[test]
fn real_sessions_come_out_in_order() {
    let mut paths = foldback_test_support::sessions_of("claude-code");
    paths.retain(|path| std::fs::metadata(path).is_ok_and(|file| file.len() < 2_100_000));
    let presets = ["none", "random", "keep-last-1", "drop-oldest", "window"];
    // By preset: kept, of needed.
    let mut sums = [[0; 2]; 6];
    for path in paths.iter().take(4) {
        let bytes = std::fs::read(path).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let (none, _) = measured(&session, strategy("none"), Limits::new(1_000_000, 0));
        let sizes = || none.rows.iter().map(|row| row.input_tokens);
        // Room for the frame and for half of the log.
        let (first, last) = (sizes().next().unwrap(), sizes().next_back().unwrap());
        let limits = Limits::new(u64::midpoint(first, last), 0);
        let strategies = presets.map(strategy).into_iter().chain([seer(&session)]);
        for (strategy, [kept, needed]) in strategies.zip(&mut sums) {
            let (_, found) = measured(&session, strategy, limits);
            *needed += found.references.len();
            *kept += found.references.iter().filter(|kept| **kept).count();
        }
    }
    for (name, sums) in presets.into_iter().chain(["clairvoyant"]).zip(sums) {
        println!("{name}: kept, of needed: {sums:?}");
    }
    let [none, random, _, _, _, clairvoyant] = sums;
    assert_eq!(none[0], none[1]);
    assert!(sums.iter().all(|sum| sum[1] == none[1]));
    assert!(clairvoyant[0] >= random[0] && random[0] < none[0], "{sums:?}");
}

#[test]
fn the_lines_that_are_reused_stay_for_next_to_nothing() {
    // Thirty results of 1,000 tokens, each with a name, a line and an old text that later calls reuse, and all
    // three of the first result once they were used.
    let line = |n: usize| format!("the {n}th thing lies at number_{n} on the shelf");
    let old = |n: usize| format!("    let old_{n} =\n        before;");
    let mut messages = vec![Message::user("u", "Do what is to be done")];
    for n in 0..30 {
        messages.push(answer(n, "look", "{}"));
        let rest = "so on and on\n".repeat(330);
        messages.push(result(
            n,
            &format!("{rest}planted_fact_{n} here\n{}\n{}\n{rest}", line(n), old(n)),
        ));
    }
    for n in 0..10 {
        let arguments = serde_json::json!({
            "of": format!("planted_fact_{n}"), "about": line(n), "old_string": old(n),
        });
        messages.push(answer(30 + n, "edit", &arguments.to_string()));
        messages.push(result(30 + n, "done"));
    }
    let session = session(messages);
    let index = Arc::new(Index::new(&session));
    let lines = clairvoyant_lines(Arc::clone(&index), EvictConfig::default()).unwrap();
    let evict = || {
        let mut strategy = strategy("random");
        let stage = foldback_stages::pruner::Evict::new(EvictConfig::default()).unwrap();
        strategy.pruners[0].stage = Arc::new(stage);
        strategy
    };
    let limits = Limits::new(20_000, 0);
    let (plain, lost) = measured(&session, evict(), limits);
    let (replay, kept) = measured(&session, lines, limits);
    assert_eq!(share(&kept.references), 1.0);
    assert_eq!(kept.edits, [true; 10]);
    assert_eq!(share(&lost.references), 0.0);
    assert_eq!(lost.edits, [false; 10]);
    let tokens = |replay: &Replay| replay.metrics.input_tokens as f64;
    let ratio = tokens(&replay) / tokens(&plain);
    assert!((0.95..1.05).contains(&ratio), "{ratio}");
    assert_eq!(replay.metrics.strategy_violations, 0);
    // What is not needed is not kept.
    let texts: Vec<&str> =
        replay.conversation.view().edits().values().map(|edit| &*edit.text).collect();
    assert!(texts.iter().any(|text| !text.contains("planted_fact")), "{texts:?}");
    assert!(texts.iter().all(|text| !text.contains("so on and on")), "{texts:?}");
}
