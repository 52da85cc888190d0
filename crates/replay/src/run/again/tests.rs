use super::*;
use crate::acted::{call, options, session, strategy};
use crate::judge::reread::Reader;
use crate::read::index::Index;
use crate::run::drive::replay_with;
use foldback_core::Limits;
use foldback_core::log::{Answer, Message, Part, Usage};
use proptest::prelude::{ProptestConfig, prop, prop_assert, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as _;
use serde_json::json;

/// A session, and all that its replays need.
struct Bench {
    session: Session,
    index: Arc<Index>,
    sources: Arc<Sources>,
    options: ReplayOptions,
}

impl Bench {
    fn new(id: &str, messages: Vec<Message>, limits: Limits) -> Self {
        let mut session = session(messages);
        id.clone_into(&mut session.id);
        let measure = Arc::clone(strategy("none").estimator());
        let index = Arc::new(Index::new(&session));
        let sources = Arc::new(Sources::new(id, &index, &measure));
        Self { session, index, sources, options: options(limits, measure) }
    }

    fn first(&self, preset: &str) -> Replay {
        let strategy = Arc::new(strategy(preset));
        replay_with(&self.session, &self.index, &strategy, &self.options, &mut [])
    }

    /// Replays that part from the first one, with those of the chances with which anything is read.
    fn parted(&self, preset: &str, chances: &[f64]) -> Vec<ReplayAgain> {
        let (strategy, sources) = (Arc::new(strategy(preset)), &self.sources);
        let options = &self.options;
        let replayed =
            replay_and_read_again(&self.session, sources, chances, &strategy, options, &mut []);
        replayed.1.collect()
    }

    /// A replay with a chance from the beginning of the session.
    fn again(&self, preset: &str, chance: f64) -> ReplayAgain {
        let tracker = Tracker::new(Arc::clone(&self.index));
        let strategy = Arc::new(strategy(preset));
        let mut driver = Driver::new(&self.session, &strategy, &self.options, Some(tracker));
        driver.reader = Some(Reader::new(&self.sources, chance));
        block_on(&self.options, driver.run(&mut []));
        ReplayAgain::new(driver)
    }

    fn tokens(&self, message: &Message) -> u64 {
        self.options.measure.counts(message).total()
    }
}

fn sizes(replay: &Replay) -> Vec<u64> {
    replay.rows.iter().map(|row| row.input_tokens).collect()
}

fn outputs(replay: &Replay) -> Vec<u64> {
    replay.requests.requests().iter().map(|request| request.output_tokens).collect()
}

const WIDE: Limits = Limits { context: 1_000_000, input: 0, output: 1_000 };

/// A file is read, a command is run, and the file is edited: by then `keep-last-1` has cleared it.
fn edited(lines: usize) -> Vec<Message> {
    let filler = |from: usize| (from..from + lines).map(|line| format!("line number {line}\n"));
    let file: String =
        filler(0).chain(["fn token() { refresh() }\n".to_owned()]).chain(filler(lines)).collect();
    let read = json!({ "file_path": "src/token.rs" });
    let edit = json!({ "file_path": "src/token.rs", "old_string": "fn token() { refresh() }" });
    let mut messages = vec![Message::user("u", "Fix it")];
    messages.extend(call(0, "read", read, &file));
    messages.extend(call(1, "bash", json!({ "command": "make" }), &"all is well ".repeat(40)));
    messages.extend(call(2, "edit", edit, "done"));
    let usage = Usage { output: 90, ..Usage::default() };
    messages[1].answer = Some(Answer { usage: Some(usage), ..Answer::default() });
    messages
}

#[test]
fn a_read_is_one_more_request_and_what_it_shows() {
    let bench = Bench::new("s", edited(5), WIDE);
    let (first, again) = (bench.first("keep-last-1"), bench.again("keep-last-1", 1.0));
    let [before, made] = [sizes(&first), sizes(&again.replay)];
    assert_eq!((before.len(), made.len()), (3, 4));
    // The request without the file is sent. Its answer reads, and puts out what the recorded read did.
    assert_eq!(made[..3], before[..3]);
    assert_eq!(outputs(&again.replay)[2], 90);
    // Then the file is the newest result, and the one before it is cleared.
    let log = &bench.session.messages;
    let read = bench.tokens(&log[2]);
    assert_eq!(again.reads, [(2, read)]);
    let asked =
        Message::assistant("x", vec![Part::call("y", "read", r#"{"file_path":"src/token.rs"}"#)]);
    let history = again.replay.conversation.history();
    let cleared = again.replay.conversation.view().show_item(history, 4).to_message();
    let grown = made[2] + bench.tokens(&asked) + read + bench.tokens(&cleared);
    assert_eq!(made[3], grown - bench.tokens(&log[4]));
}

#[test]
fn of_a_long_result_the_lines_around_are_read() {
    let bench = Bench::new("s", edited(2_000), WIDE);
    let again = bench.again("keep-last-1", 1.0);
    let history = again.replay.conversation.history();
    let read = history
        .range(0..history.len())
        .find(|(_, one)| one.id.contains("again") && one.role == foldback_core::log::Role::Tool);
    let text = read.unwrap().1.shown_text();
    assert_eq!(text.lines().count(), 401);
    assert!(text.starts_with("line number 1800\n") && text.ends_with("line number 2199"), "{text}");
    // The lines hold what is needed: nothing is read twice.
    assert_eq!(again.reads.len(), 1);
}

/// One read brings back all that a call misses of a result, and what was read may be lost and read again.
#[test]
fn reads_as_a_table() {
    let key = |number: usize| format!("the_key_of_number_{number}");
    let keys: String = (0..9).map(|number| key(number) + "\n").collect();
    let other = "another_secret_value_17\n";
    let looks = |number: usize, names: &[String]| {
        call(number, "grep", json!({ "for": names }), "nothing of interest was found")
    };
    let of = |calls: &[&[String]]| {
        let mut messages = vec![Message::user("u", "Look")];
        messages.extend(call(0, "cat", json!({ "of": "keys" }), &keys));
        messages.extend(call(1, "cat", json!({ "of": "other" }), other));
        messages.extend(call(2, "bash", json!({ "run": "x" }), "nothing"));
        let calls = calls.iter().enumerate().flat_map(|(number, names)| looks(3 + number, names));
        messages.extend(calls);
        messages
    };
    let other = other.trim().to_owned();
    let table: [(&str, Vec<Message>, &[usize]); 5] = [
        ("nothing is needed", of(&[&[]]), &[]),
        ("one piece", of(&[&[key(1)]]), &[3]),
        ("two pieces of one result", of(&[&[key(1), key(5)]]), &[3]),
        // The second takes the first out of the view, which is read once more, and so is the second.
        ("of two results", of(&[&[key(1), other.clone()]]), &[3, 3, 3, 3]),
        // What was read stands at the next call, but for the result of the call itself.
        ("lost again", of(&[&[key(1)], &[key(2)]]), &[3, 4]),
    ];
    for (name, messages, expected) in table {
        let bench = Bench::new("s", messages, WIDE);
        let reads = bench.again("keep-last-1", 1.0).reads;
        let calls: Vec<usize> = reads.iter().map(|(call, _)| *call).collect();
        assert_eq!(calls, expected, "{name}");
        assert!(bench.again("none", 1.0).reads.is_empty(), "{name}: nothing was lost");
    }
}

/// The size of a read tells which of the results was read.
#[test]
fn what_was_asked_for_is_read_again() {
    let file = "fn token() { refresh() }\n".to_owned();
    let read = |number: usize| call(number, "read", json!({ "file_path": "src/token.rs" }), &file);
    let grep = |number: usize, sign: char| {
        let hits = format!("src/token.rs{sign}1{sign}{file}").repeat(3);
        call(number, "grep", json!({ "pattern": "refresh" }), &hits)
    };
    let edit = |number: usize, old: &str| {
        let edit = json!({ "file_path": "src/token.rs", "old_string": old, "new_string": "" });
        call(number, "edit", edit, &file.repeat(9))
    };
    let near = |number: usize| edit(number, "fn another() {}");
    let table = [
        ("the latest", vec![read(0), grep(1, ':')], 1),
        ("not what stood beside a match", vec![read(0), grep(1, '-')], 0),
        ("not the answer to an edit", vec![read(0), near(1)], 0),
        ("rather beside a match than the answer to an edit", vec![grep(0, '-'), near(1)], 0),
        ("where nothing else shows it", vec![near(0)], 0),
    ];
    for (name, shown, expected) in table {
        let results: Vec<Message> = shown.iter().map(|call| call[1].clone()).collect();
        let mut messages = vec![Message::user("u", "Fix it")];
        messages.extend(shown.into_iter().flatten());
        messages.extend(call(8, "bash", json!({ "command": "make" }), "all is well"));
        messages.extend(edit(9, file.trim()));
        let bench = Bench::new("s", messages, WIDE);
        let of_last: Vec<u64> =
            bench.again("keep-last-1", 1.0).reads.iter().map(|(_, tokens)| *tokens).collect();
        let wanted = bench.tokens(&results[expected]);
        assert_eq!(of_last.last(), Some(&wanted), "{name}");
    }
}

/// What is read again depends on the session, the call and the text, whatever preset lost it.
#[test]
fn every_preset_has_the_same_draws() {
    let mut read = 0;
    for number in 0..60 {
        let bench = Bench::new(&format!("session {number}"), edited(5), WIDE);
        let presets = ["keep-last-1", "keep-last-1", "window"];
        let reads = presets.map(|preset| bench.again(preset, 0.5).reads.len());
        // `window` keeps more than one result here; what it does not miss it does not read.
        assert_eq!(reads[0], reads[1]);
        assert!(reads[2] <= reads[0]);
        let all = bench.again("keep-last-1", 1.0).reads.len();
        assert_eq!((all, bench.again("keep-last-1", 0.0).reads.len()), (1, 0));
        read += reads[0];
    }
    assert!((20..=40).contains(&read), "{read} of 60");
}

/// A step of an agent: what it does with which of its files.
#[derive(Clone, Copy, Debug)]
enum Did {
    Read(usize),
    Edit(usize),
    Name(usize),
    Ran(usize),
}

fn did() -> impl proptest::strategy::Strategy<Value = Did> {
    prop_oneof![
        (0..6usize).prop_map(Did::Read),
        (0..6usize).prop_map(Did::Edit),
        (0..6usize).prop_map(Did::Name),
        (1..40usize).prop_map(Did::Ran),
    ]
}

fn talk(steps: &[Did]) -> Vec<Message> {
    let mut messages = vec![Message::user("u", "Do it")];
    for (number, step) in steps.iter().enumerate() {
        let file = |of: &usize| format!("src/module_{of}.rs");
        let lines = |of: &usize| {
            let line = |at: usize| format!("let value_{of}_{at} = compute_it({of}, {at});\n");
            (0..60).map(line).collect::<String>()
        };
        let old = |of: &usize| format!("let value_{of}_7 = compute_it({of}, 7);");
        messages.extend(match step {
            Did::Read(of) => call(number, "read", json!({ "file_path": file(of) }), &lines(of)),
            Did::Edit(of) => {
                let edit =
                    json!({ "file_path": file(of), "old_string": old(of), "new_string": "" });
                call(number, "edit", edit, "done")
            }
            Did::Name(of) => {
                let text = format!("compute_it({of}, {})", number % 60);
                call(number, "grep", json!({ "pattern": text }), "one match")
            }
            Did::Ran(size) => call(
                number,
                "bash",
                json!({ "command": "make" }),
                &"a line of output\n".repeat(40 * size),
            ),
        });
    }
    messages
}

const PRESETS: [&str; 6] = ["keep-last-1", "window", "indexed", "claude-code", "tunacode", "codex"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_holds_of_every_replay(
        steps in prop::collection::vec(did(), 4..40),
        chance in 0.0..1.0f64,
    ) {
        let limits = Limits::new(16_000, 1_000);
        let bench = Bench::new("s", talk(&steps), limits);
        for preset in PRESETS {
            let first = bench.first(preset);
            // Nothing is read with no chance: it is the first replay.
            let without = bench.again(preset, 0.0);
            prop_assert!(without.reads.is_empty());
            prop_assert_eq!(sizes(&first), sizes(&without.replay));
            prop_assert_eq!(&first.rows, &without.replay.rows);
            prop_assert_eq!(&first.summary_calls, &without.replay.summary_calls);
            // The same reads give the same bytes, in whatever order replays share what is read.
            let [one, two] = [bench.again(preset, chance), bench.again(preset, chance)];
            prop_assert_eq!(&one.replay.rows, &two.replay.rows);
            prop_assert_eq!(&one.reads, &two.reads);
            prop_assert_eq!(one.replay.requests.requests(), two.replay.requests.requests());
            // What parts from the first replay is what is replayed from the beginning.
            let all = bench.again(preset, 1.0);
            let whole = [&all, &one].into_iter().filter(|whole| !whole.reads.is_empty());
            for (whole, parted) in whole.zip(bench.parted(preset, &[1.0, chance])) {
                prop_assert_eq!(&whole.replay.rows, &parted.replay.rows);
                prop_assert_eq!(&whole.reads, &parted.reads);
                prop_assert_eq!(&whole.replay.firings, &parted.replay.firings);
                prop_assert_eq!(&whole.replay.summary_calls, &parted.replay.summary_calls);
                prop_assert_eq!(
                    whole.replay.requests.requests(),
                    parted.replay.requests.requests()
                );
            }
            // A request for each read, and each recorded answer once.
            for again in [&one, &all] {
                prop_assert_eq!(again.replay.rows.len(), first.rows.len() + again.reads.len());
            }
            // What never acts misses nothing.
            if first.metrics.compactions == 0 {
                prop_assert!(all.reads.is_empty(), "{}", preset);
            }
            // A view that nothing was taken from has all that it had, and what was read: up to the first read all is the same, and
            // the request behind it is larger by it, unless the read made the preset act.
            if let Some((call, tokens)) = all.reads.first() {
                let [before, made] = [sizes(&first), sizes(&all.replay)];
                prop_assert_eq!(&before[..=*call], &made[..=*call]);
                let acted = all.replay.firings.iter().any(|firing| firing.call == call + 1);
                prop_assert!(acted || made[call + 1] > made[*call] + tokens);
            }
        }
        prop_assert!(bench.again("none", 1.0).reads.is_empty());
    }
}
