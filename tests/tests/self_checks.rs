//! Self-checks of the laboratory: what must hold whatever the sessions are, or its numbers mean nothing.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test")]

use foldback_core::conversation::Conversation;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::stage::{Estimator, Pruner, Pruning, Scene};
use foldback_core::strategy::{Bound, Strategy};
use foldback_formats::Session;
use foldback_replay::availability::Index;
use foldback_replay::controls::{Hindsight, clairvoyant};
use foldback_replay::{CallRow, Comparison, Corpus, Preset, Probe, Source, Store, replay_with};
use foldback_report::json;
use foldback_stages::pruner::EvictConfig;
use foldback_tests::lab::{self, compare_in, compared, everything, preset, reporting, setup};
use foldback_tests::planted::{Needs, Planted};
use foldback_tests::{Script, file, options};
use rayon::ThreadPoolBuilder;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The recorded sessions that ship.
fn examples() -> Corpus {
    let folder = lab::root().join("examples/sessions");
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end != "md"));
    paths.sort();
    Corpus {
        sources: paths.into_iter().map(Source::File).collect(),
    }
}

/// A few planted sessions.
fn few(needs: Needs) -> Vec<Session> {
    let planted = Planted {
        needs,
        sessions: 3,
        ..Planted::default()
    };
    planted.sessions()
}

/// Four turns of reading, mending and testing, with edits and failures; some 17,000 tokens.
fn mending() -> Session {
    mending_files_of(2_600)
}

fn mending_files_of(characters: usize) -> Session {
    let mut script = Script::default();
    for turn in 0..4 {
        script.user(&format!(
            "turn {turn}: mend src/m{turn}.rs and run its tests"
        ));
        let mut read: Option<(String, String)> = None;
        for step in 0..6 {
            let name = format!("src/m{turn}_{step}.rs");
            let path = format!("{{\"path\":\"{name}\"}}");
            let text = file(&name, characters);
            script.call("reading on", &[("read", &path, &text)]);
            // What is mended was read one step before.
            if let Some((name, text)) = read.replace((name, text)) {
                let change = serde_json::json!({
                    "path": name,
                    "old_string": text.lines().nth(7).unwrap(),
                    "new_string": "value_7 = 1",
                });
                script.call("", &[("edit", &change.to_string(), "done")]);
            }
        }
        let failure = format!("error[E0308]: mismatched types in src/m{turn}.rs:12");
        script.call("", &[("bash", "{\"command\":\"cargo test\"}", &failure)]);
        script.call("We decided to leave the interface as it is.", &[]);
    }
    let mut session = script.session();
    session.id = "mending".to_owned();
    session
}

#[test]
fn without_compaction_nothing_is_lost_and_nothing_rewritten() {
    // keep-last-1 is there to open the exam: before anything has fired, nothing is asked.
    let presets = [preset("none"), preset("keep-last-1")];
    let made = Corpus::of([mending(), few(Needs::Recent).remove(0)]);
    for (name, corpus) in [("made", made), ("examples", examples())] {
        let comparison = compared(&corpus, &presets, &setup(0, 0));
        let [none, other] = &comparison.presets[..] else {
            panic!("two lines");
        };
        // What is compared, and what none must have; the other must differ, or nothing was tested.
        let (m, o) = (&none.metrics, &other.metrics);
        let table = [
            ("frr", &m.frr, &o.frr, 1.0),
            ("frr_obs", &m.frr_obs, &o.frr_obs, 1.0),
            ("frr_far", &m.frr_far, &o.frr_far, 1.0),
            ("epr", &m.epr, &o.epr, 1.0),
            ("cost_ratio", &m.cost_ratio, &o.cost_ratio, 1.0),
            ("cost_ratio_geo", &m.cost_ratio_geo, &o.cost_ratio_geo, 1.0),
            ("token_ratio", &m.token_ratio, &o.token_ratio, 1.0),
            ("churn_tokens", &m.churn_tokens, &o.churn_tokens, 0.0),
            (
                "rereads_per_100_calls",
                &m.rereads_per_100_calls,
                &o.rereads_per_100_calls,
                0.0,
            ),
        ];
        for (metric, is, differs, expected) in table {
            println!(
                "{name}: {metric}: none {:?}, keep-last-1 {:?}",
                is.value, differs.value
            );
            assert_eq!(is.value, Some(expected), "{name}: {metric}");
            assert_ne!(
                differs.value,
                Some(expected),
                "{name}: {metric} of keep-last-1"
            );
        }
        assert_eq!((none.churn_tokens, none.compactions), (0, 0), "{name}");
    }
}

/// A comparison as the program writes it.
fn written(comparison: &Comparison) -> serde_json::Value {
    serde_json::from_str(&json::comparison(comparison).unwrap()).unwrap()
}

#[test]
fn a_file_that_is_there_twice_counts_once() {
    let presets = [preset("none"), preset("keep-last-1"), preset("random")];
    let paths: Vec<PathBuf> = examples()
        .sources
        .iter()
        .map(|source| PathBuf::from(source.name()))
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.jsonl");
    std::fs::copy(&paths[1], &copy).unwrap();
    let corpus = |paths: &[&Path]| Corpus {
        sources: paths
            .iter()
            .map(|path| Source::File(path.to_path_buf()))
            .collect(),
    };
    let once = corpus(&[&paths[1], &paths[2]]);
    let twice = corpus(&[&paths[1], &paths[2], &copy, &paths[2]]);
    let once = written(&compared(&once, &presets, &setup(32_000, 4_000)));
    let mut twice = written(&compared(&twice, &presets, &setup(32_000, 4_000)));
    let said = &mut twice["corpus"];
    assert_eq!(said["files"], 4);
    assert_eq!(said["skipped"].as_array().unwrap().len(), 2);
    let why = said["skipped"].to_string();
    assert!(
        why.contains("copy.jsonl") && why.contains("the same bytes as"),
        "{why}"
    );
    said["files"] = once["corpus"]["files"].clone();
    said["skipped"] = once["corpus"]["skipped"].clone();
    assert_eq!(once.to_string(), twice.to_string());
}

/// What a replay sent, request by request, and what it measured.
#[derive(Debug, Default, PartialEq)]
struct Sent {
    views: Vec<Vec<String>>,
    rows: Vec<CallRow>,
}

impl Probe for Sent {
    fn call(&mut self, conversation: &Conversation, _: usize, _: &Message) {
        let shown = conversation.sent();
        let texts = shown.iter().map(|shown| {
            // Usage is what the provider said, and no part of a request.
            let message = Message {
                answer: None,
                ..shown.to_message()
            };
            serde_json::to_string(&message).unwrap()
        });
        self.views.push(texts.collect());
    }
}

/// A strategy that may be made for one session.
type Maker = Box<dyn Fn(&Session) -> Arc<Strategy>>;

fn makers() -> Vec<(String, Maker)> {
    let presets = everything().into_iter().map(|preset| preset.strategy);
    let examples = lab::examples();
    let examples = examples.iter().map(|name| lab::example(name).strategy);
    presets
        .filter(|strategy| strategy.name != "clairvoyant")
        .chain(examples)
        .map(|strategy| {
            let name = strategy.name.clone();
            (name, Box::new(move |_: &_| Arc::clone(&strategy)) as Maker)
        })
        .collect()
}

/// The clairvoyant of the session that is replayed.
fn seer(session: &Session) -> Arc<Strategy> {
    let foresight = Hindsight::of(&Index::of(session));
    Arc::new(clairvoyant(Arc::new(foresight), EvictConfig::default()).unwrap())
}

fn sent(session: &Session, strategy: &Arc<Strategy>, calls: usize) -> Sent {
    let mut sent = Sent::default();
    let replay = replay_with(session, strategy, &options(10_000, 1_000), &mut [&mut sent]);
    sent.views.truncate(calls);
    sent.rows = replay.rows;
    sent.rows.truncate(calls);
    sent
}

/// The session with another future behind its first `cut` messages.
type Future = fn(&mut Vec<Arc<Message>>, usize);

const FUTURES: [(&str, Future); 3] = [
    ("cut off", |messages, cut| messages.truncate(cut)),
    ("turned round", |messages, cut| {
        // By calls with their results, so that it stays a conversation.
        let future = messages.split_off(cut);
        let mut groups: Vec<Vec<Arc<Message>>> = Vec::new();
        for message in future {
            match groups.last_mut() {
                Some(group) if message.role == foldback_core::Role::Tool => group.push(message),
                _ => groups.push(vec![message]),
            }
        }
        messages.extend(groups.into_iter().rev().flatten());
    }),
    ("another", |messages, cut| {
        messages.truncate(cut);
        messages.push(Arc::new(Message::assistant(
            "stop",
            vec![Part::text("Done.")],
        )));
        messages.push(Arc::new(Message::user("other", "Now mend src/other.rs")));
        messages.push(Arc::new(Message::assistant("end", vec![Part::text("No.")])));
    }),
];

/// Whether a strategy sends the same up to the cut, whatever comes behind it.
fn blind(session: &Session, cut: usize, make: &Maker) -> Result<(), String> {
    let past = session.messages[..cut].iter();
    let calls = past.filter(|message| message.is_answer()).count();
    let recorded = sent(session, &make(session), calls);
    assert_eq!(recorded.rows.len(), calls);
    for (name, future) in FUTURES {
        let mut other = session.clone();
        future(&mut other.messages, cut);
        let other = sent(&other, &make(&other), calls);
        if other.views != recorded.views {
            return Err(format!("future {name}: other views"));
        }
        if other.rows != recorded.rows {
            return Err(format!("future {name}: other rows"));
        }
    }
    Ok(())
}

/// The first message behind the `share` of the session that is an answer: everything before it is whole.
fn cut(session: &Session, share: f64) -> usize {
    let at = (session.messages.len() as f64 * share) as usize;
    let behind = session.messages[at..].iter();
    at + behind.take_while(|message| !message.is_answer()).count()
}

#[test]
fn what_is_to_come_changes_nothing_that_was_sent() {
    let sessions = [mending(), few(Needs::Old).remove(0)];
    for session in &sessions {
        for share in [0.5, 0.9] {
            let cut = cut(session, share);
            for (name, make) in makers() {
                let is = blind(session, cut, &make);
                assert_eq!(is, Ok(()), "{name} on {} at {share}", session.id);
            }
        }
    }
    // The one that does see it must be found out, or nothing would be.
    let session = &sessions[1];
    let found = blind(session, cut(session, 0.9), &(Box::new(seer) as Maker));
    assert!(found.is_err(), "foresight was not noticed");
    println!("clairvoyant: {found:?}");
}

#[test]
fn what_an_extractive_summary_says_was_said() {
    let corpus = || {
        let mut corpus = examples();
        corpus.sources.drain(..2);
        corpus.sources.extend(Corpus::of([mending()]).sources);
        corpus
    };
    let summarising = everything()
        .into_iter()
        .filter(|preset| lab::is_extractive(&preset.strategy));
    let presets: Vec<Preset> = std::iter::once(preset("none")).chain(summarising).collect();
    assert!(presets.len() > 3, "{presets:?}");
    let store = Store::temporary().unwrap();
    let setup = setup(24_000, 2_000);
    let comparison = compare_in(&store, &corpus(), &presets, &setup, reporting("openai"));
    for (at, line) in comparison.presets.iter().enumerate().skip(1) {
        for (session, path) in comparison.corpus.sessions.iter().enumerate() {
            let record = comparison.record(&store, session, at).unwrap();
            for row in &record.measures.summaries.rows {
                if !row.unsupported.is_empty() {
                    println!(
                        "{}, call {}: made up: {:?}",
                        path.path, row.call, row.unsupported
                    );
                }
            }
        }
        let quality = &line.summary_quality;
        println!(
            "{}: {} summaries, faithfulness {:?}",
            line.preset, quality.n, quality.faithfulness
        );
        assert!(quality.n > 0, "{} never summarised", line.preset);
        assert_eq!(quality.faithfulness, Some(1.0), "{}", line.preset);
    }
}

/// Counts twice what another estimator counts.
#[derive(Debug)]
struct Doubled {
    id: Arc<str>,
    of: Arc<dyn Estimator>,
}

impl Doubled {
    fn of(of: &Arc<dyn Estimator>) -> Arc<dyn Estimator> {
        let (id, of) = (format!("2 x {}", of.id()).into(), Arc::clone(of));
        Arc::new(Self { id, of })
    }
}

impl Estimator for Doubled {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        2 * self.of.text(text)
    }

    fn part(&self, part: &Part, shown: &str) -> u64 {
        2 * self.of.part(part, shown)
    }

    fn overhead(&self, message: &Message) -> u64 {
        2 * self.of.overhead(message)
    }

    fn per_request(&self) -> u64 {
        2 * self.of.per_request()
    }
}

/// The session as a provider would have billed it that counts twice.
fn doubled(session: &Session) -> Session {
    let mut twice = session.clone();
    for message in &mut twice.messages {
        let answer = &mut Arc::make_mut(message).answer;
        if let Some(usage) = answer.as_mut().and_then(|answer| answer.usage.as_mut()) {
            for tokens in [
                &mut usage.uncached,
                &mut usage.cache_read,
                &mut usage.cache_write,
                &mut usage.output,
                &mut usage.reasoning,
            ] {
                *tokens *= 2;
            }
        }
    }
    twice
}

/// What a preset with its own unit of tokens does, in the order of the requests.
fn decided(
    session: &Session,
    strategy: &Arc<Strategy>,
    [context, output]: [u64; 2],
    unit: u64,
) -> (Vec<Vec<String>>, usize) {
    let mut options = options(context * unit, output * unit);
    if unit == 2 {
        options.measure = Doubled::of(&options.measure);
    }
    let mut sent = Sent::default();
    let replay = replay_with(session, strategy, &options, &mut [&mut sent]);
    let fired = replay.rows.iter().filter(|row| !row.fired.is_empty());
    (sent.views, fired.count())
}

/// What shows that sizes in tokens matter to a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// The small sessions.
    Small,
    /// The large one.
    Large,
    /// None of them: at these sizes none of its fields decides anything.
    Nowhere,
}

/// Presets that say sizes in tokens, and where: their decisions hang on the unit. All others are relative.
const ABSOLUTE: [(&str, &str, Shown); 9] = [
    (
        "brutus",
        "protect_tokens, minimum_tokens, output_token_max, summary_budget",
        Shown::Nowhere,
    ),
    (
        "opencode",
        "protect_tokens, minimum_tokens, output_token_max, summary_budget",
        Shown::Nowhere,
    ),
    (
        "opencode-1.17",
        "tail_minimum, tail_maximum, output_token_max, summary_budget",
        Shown::Large,
    ),
    (
        "tiered",
        "min_summary_tokens, min_result_tokens, system_prompt_tokens, shares.safety_margin",
        Shown::Nowhere,
    ),
    ("tiered-doc-exact", "budget_tokens", Shown::Nowhere),
    ("tunacode", "protect_tokens, minimum_tokens", Shown::Large),
    (
        "tunacode-local",
        "protect_tokens, minimum_tokens",
        Shown::Small,
    ),
    ("window", "summary_tokens, max_output", Shown::Small),
    (
        "window-faithful",
        "summary_tokens, max_output",
        Shown::Nowhere,
    ),
];

#[test]
fn twice_the_window_and_twice_the_tokens_decide_the_same() {
    // Sessions with a window that is small for them.
    let small = [
        (mending(), [9_000, 1_000]),
        (few(Needs::Recent).remove(0), [9_000, 1_000]),
    ];
    let large = [(mending_files_of(14_000), [60_000, 6_000])];
    // Before how many calls it acted, and whether twice the tokens gave the same requests.
    let twice = |strategy: &Arc<Strategy>, sessions: &[(Session, [u64; 2])]| {
        let mut two = (**strategy).clone();
        two.estimators = two.estimators.iter().map(Doubled::of).collect();
        let two = Arc::new(two);
        let outcomes = sessions.iter().map(|(session, limits)| {
            let (plain, acted) = decided(session, strategy, *limits, 1);
            let (twice, _) = decided(&doubled(session), &two, *limits, 2);
            (acted, plain == twice)
        });
        outcomes.fold((0, true), |(sum, all), (acted, same)| {
            (sum + acted, all && same)
        })
    };
    let presets = everything().into_iter().map(|preset| preset.strategy);
    let examples = lab::examples();
    let examples = examples.iter().map(|name| lab::example(name).strategy);
    let (mut relative, mut absolute) = (0, 0);
    for strategy in presets.chain(examples) {
        // The clairvoyant is made for each session and never the same strategy twice.
        let name = strategy.name.as_str();
        if ["none", "clairvoyant"].contains(&name) {
            continue;
        }
        let listed = ABSOLUTE.iter().find(|(listed, _, _)| *listed == name);
        match listed {
            None => {
                let (acted, same) = twice(&strategy, &small);
                println!("{name}: relative, acted before {acted} calls");
                assert!(acted > 0, "{name} did nothing, so nothing was tested");
                assert!(same, "{name} is not listed as one with sizes in tokens");
                relative += 1;
            }
            Some((_, fields, shown)) => {
                println!("{name}: absolute by {fields}; shown: {shown:?}");
                let sessions = match shown {
                    Shown::Small => &small[..],
                    Shown::Large => &large[..],
                    Shown::Nowhere => &[],
                };
                let (_, same) = twice(&strategy, sessions);
                assert_eq!(same, *shown == Shown::Nowhere, "{name}");
                absolute += 1;
            }
        }
    }
    assert_eq!((relative, absolute), (10, ABSOLUTE.len()));
}

/// Everything that a comparison says, and everything that the store holds for it.
fn everything_said(comparison: &Comparison, store: &Store) -> String {
    let mut text = json::comparison(comparison).unwrap();
    for session in 0..comparison.corpus.sessions.len() {
        let facts = comparison.facts(store, session).unwrap();
        text += &(serde_json::to_string(&facts).unwrap() + "\n");
        for at in 0..comparison.presets.len() {
            let record = comparison.record(store, session, at).unwrap();
            for row in &record.rows {
                text += &(serde_json::to_string(row).unwrap() + "\n");
            }
            text += &(serde_json::to_string(&record).unwrap() + "\n");
        }
    }
    text
}

#[test]
fn store_and_threads_change_no_byte() {
    let corpus = || Corpus::of(few(Needs::Recent).into_iter().chain([mending()]));
    let presets = everything();
    let setup = setup(8_000, 1_000);
    let run = |store: &Store, threads: usize| {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let comparison =
            pool.install(|| compare_in(store, &corpus(), &presets, &setup, reporting("openai")));
        everything_said(&comparison, store)
    };
    let (one, other) = (Store::temporary().unwrap(), Store::temporary().unwrap());
    let cold = run(&one, 2);
    assert!(cold.lines().count() > 1_000);
    for (name, is) in [
        ("warm store", run(&one, 2)),
        ("another cold store, one thread", run(&other, 1)),
        ("warm store, one thread", run(&other, 1)),
    ] {
        assert!(is == cold, "{name}: not the same bytes");
    }
}

/// Does nothing, and counts how often.
#[derive(Debug)]
struct Idle(Arc<AtomicUsize>);

impl Pruner for Idle {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, _: &Scene<'_>) -> Pruning {
        self.0.fetch_add(1, Ordering::Relaxed);
        Pruning::Nothing(Why::new("idle", "it never does anything".to_owned()))
    }
}

/// A strategy, and how often it was asked.
fn counted(name: &str) -> (Preset, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let mut strategy = foldback_tests::owned("none");
    strategy.name = name.to_owned();
    strategy.pruners.push(Bound {
        name: name.to_owned(),
        stage: Arc::new(Idle(Arc::clone(&asked))),
        when: vec![Moment::CallStart],
        estimator: 0,
    });
    (Preset::new(strategy, name.to_owned()), asked)
}

#[test]
fn one_preset_more_replays_that_one_alone() {
    let store = Store::temporary().unwrap();
    let corpus = Corpus::of(few(Needs::Recent));
    let run = |presets: &[&Preset]| {
        let presets: Vec<Preset> = presets.iter().map(|preset| (*preset).clone()).collect();
        compare_in(
            &store,
            &corpus,
            &presets,
            &setup(8_000, 1_000),
            reporting("openai"),
        );
    };
    let none = preset("none");
    let [(old, asked_old), (new, asked_new)] = ["old", "new"].map(counted);
    let calls = 3 * Planted::default().calls;
    // Presets of the run, and how often each of the two has been asked after it.
    let table: [(&[&Preset], usize, usize); 4] = [
        (&[&none, &old], calls, 0),
        (&[&none, &old], calls, 0),
        (&[&none, &old, &new], calls, calls),
        (&[&new, &none, &old], calls, calls),
    ];
    for (run_number, (presets, old, new)) in table.into_iter().enumerate() {
        run(presets);
        let asked = [&asked_old, &asked_new].map(|asked| asked.load(Ordering::Relaxed));
        assert_eq!(asked, [old, new], "after run {run_number}");
    }
}

#[test]
fn a_broken_file_is_named_and_the_rest_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let good = examples().sources[1].name();
    // What is wrong with the file, and its bytes.
    let table: [(&str, Vec<u8>); 5] = [
        ("no-json", b"{\"this is\": not JSON".to_vec()),
        ("no-text", vec![0xff, 0xfe, 0x00, 0x9f]),
        ("empty", Vec::new()),
        ("other-json", b"{\"recipe\": [\"flour\"]}".to_vec()),
        ("deep", b"[".repeat(200_000)),
    ];
    let mut corpus = Corpus::default();
    let alone = Corpus {
        sources: vec![Source::File(PathBuf::from(&good))],
    };
    for (name, bytes) in &table {
        let path = folder.path().join(format!("{name}.json"));
        std::fs::write(&path, bytes).unwrap();
        corpus.sources.push(Source::File(path));
    }
    corpus
        .sources
        .push(Source::File(folder.path().join("missing.json")));
    corpus.sources.push(Source::File(PathBuf::from(&good)));
    let presets = [preset("none"), preset("random")];
    let setup = setup(32_000, 4_000);
    let (poisoned, clean) = (
        compared(&corpus, &presets, &setup),
        compared(&alone, &presets, &setup),
    );
    assert_eq!(poisoned.presets, clean.presets);
    let skipped = &poisoned.corpus.skipped;
    let names = table.iter().map(|(name, _)| *name).chain(["missing"]);
    for name in names {
        let file = format!("{name}.json");
        let reason = skipped.iter().find(|one| one.path.ends_with(&file));
        let reason = &reason
            .unwrap_or_else(|| panic!("{name} is not named: {skipped:?}"))
            .reason;
        println!("{name}: {reason}");
        assert!(!reason.is_empty(), "{name}");
    }
}
