use super::*;
use crate::Setup;
use crate::acted::{preset, setup, strategy};
use crate::compare::{Reporting, compare};
use crate::judge::cost::OWN;
use crate::judge::reread::CHANCE;
use crate::read::corpus::Corpus;
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::meter::MeterId;
use foldback_core::moment::Moment;
use foldback_core::outcome::Why;
use foldback_core::stage::{Pruner, Pruning, StageContext};
use foldback_core::strategy::Bound;
use std::fs;

const TALK: &str = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"}"#;
const MORE: &str = r#",{"role":"user","content":"c"},{"role":"assistant","content":"d"}"#;

/// An agent goes on writing while its file is studied. What is studied is what was read, under its own hash.
#[test]
fn a_file_that_grows_is_studied_as_what_was_read() {
    let setup = setup(Limits::new(8_000, 800));
    let preset = |name: &str| Preset::new(strategy("none"), name.to_owned());
    let [one, two] = [[preset("one")], [preset("two")]];
    let store = Store::temporary().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("talk.json");
    let source = Source::File(path.clone());
    let write = |more: &str| {
        fs::write(&path, format!("{{\"messages\":[{TALK}{more}]}}")).unwrap();
        source.hash().unwrap()
    };
    let studied = |presets: &[Preset], hash: ContentHash| {
        let context = context(presets, &setup, &store);
        study(&context, &source, hash)
    };
    let calls = |presets: &[Preset], hash: ContentHash| {
        let studied = studied(presets, hash).unwrap();
        assert_eq!(studied.len(), 1);
        let record = studied[0].keys.record(&store, 0).unwrap();
        (studied[0].keys.content(), studied[0].facts.calls, record.rows.len())
    };
    let before = write("");
    assert_eq!(calls(&one, before), (before, 1, 1));
    let after = write(MORE);
    // All that is asked of it is stored: the file as it was.
    assert_eq!(calls(&one, before), (before, 1, 1));
    // Facts of what it was are stored, a record is not.
    assert_eq!(calls(&two, before), (after, 2, 2));
    assert_eq!(calls(&one, after), (after, 2, 2));
    fs::remove_file(&path).unwrap();
    assert_eq!(calls(&one, before), (before, 1, 1));
    assert_eq!(calls(&two, after), (after, 2, 2));
    let unread = studied(&two, before);
    assert!(matches!(unread, Err(Failure::Source(why)) if why.contains("No such file")));
}

const ANTHROPIC: &str = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"read","input":{}}],
"usage":{"input_tokens":9,"output_tokens":9,"server_tool_use":{"web_search_requests":3}}},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"c"}]}]}"#;

// The second line of the answer repeats its usage.
const CLAUDE_CODE: &str = r#"{"type":"user","uuid":"u","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"a"}}
{"type":"assistant","uuid":"v","parentUuid":"u","sessionId":"s","timestamp":"2026-01-01T00:00:01Z","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"b"}],"usage":{"input_tokens":9,"output_tokens":9,"server_tool_use":{"web_search_requests":2}}}}
{"type":"assistant","uuid":"w","parentUuid":"v","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","message":{"id":"m","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"text","text":"c"}],"usage":{"input_tokens":9,"output_tokens":9,"server_tool_use":{"web_search_requests":2}}}}
"#;

// A page that is opened is no search.
const CODEX: &str = r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s","cwd":"/x"}}
{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"a"}]}}
{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}}
{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"web_search_call","status":"completed","action":{"type":"open_page","url":"https://example.org"}}}
{"timestamp":"2026-01-01T00:00:03Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b"}]}}
"#;

#[test]
fn searches_that_a_provider_makes_are_billed() {
    let (setup, presets) = (setup(Limits::new(8_000, 800)), [preset("none")]);
    let store = Store::temporary().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let table = [("anthropic", ANTHROPIC, 3), ("claude-code", CLAUDE_CODE, 2), ("codex", CODEX, 1)];
    for (name, text, expected) in table {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let source = Source::File(path);
        let context = context(&presets, &setup, &store);
        let [studied] = &*study(&context, &source, source.hash().unwrap()).unwrap() else {
            panic!("{name}: no session")
        };
        assert_eq!(studied.facts.format, name);
        let facts = studied.keys.facts(&store).unwrap();
        let searches: u64 = facts.calls.iter().map(|call| call.web_searches).sum();
        assert_eq!(searches, expected, "{name}");
        let output: u64 = facts.calls.iter().map(|call| call.output).sum();
        // Ten dollars for a thousand where they are sold by number, besides the tokens.
        let record = studied.keys.record(&store, 0).unwrap();
        for (regime, price, dollars) in [("anthropic-5m", 10.0, 0.01), ("deepseek", 1.98, 0.0)] {
            let bill = record.bills.under(regime, |_| true).unwrap();
            let due = output as f64 * price / 1e6 + expected as f64 * dollars;
            assert!((bill.output_usd - due).abs() < 1e-9, "{name} {regime}: {bill:?}");
        }
    }
}

/// A session's own prices are those of the cache that its recorder asked for, here of the model of both named regimes.
#[test]
fn own_prices_are_of_the_cache_that_was_asked_for() {
    let (setup, presets) = (setup(Limits::new(8_000, 800)), [preset("none")]);
    let store = Store::temporary().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rows = [
        ("nothing told", "", "anthropic-5m"),
        ("five minutes", r#","cache_creation":{"ephemeral_5m_input_tokens":4000}"#, "anthropic-5m"),
        ("an hour", r#","cache_creation":{"ephemeral_1h_input_tokens":4000}"#, "anthropic-1h"),
    ];
    for (name, told, regime) in rows {
        let usage = format!(r#""cache_creation_input_tokens":4000,"output_tokens":9{told}"#);
        let text = CLAUDE_CODE.replace("claude-sonnet-4-5", "claude-sonnet-5-5");
        let text = text.replace(r#""output_tokens":9"#, &usage).replacen(
            r#""content":"a""#,
            &format!(r#""content":"{}""#, "a b ".repeat(2_000)),
            1,
        );
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        let (source, context) = (Source::File(path), context(&presets, &setup, &store));
        let [studied] = &*study(&context, &source, source.hash().unwrap()).unwrap() else {
            panic!("{name}: no session")
        };
        let record = studied.keys.record(&store, 0).unwrap();
        let usd = |regime| record.bills.under(regime, |_| true).unwrap().input_usd;
        assert!(usd("anthropic-1h") > usd("anthropic-5m") * 1.5, "{name}: nothing is written");
        assert_eq!(usd(OWN), usd(regime), "{name}");
    }
}

/// Of a hundred input tokens, those that were read from the cache: by the recorders' usage, and by the bills of what they sent.
fn read_of_hundred(agent: &str) -> (f64, f64) {
    let setup = setup(Limits::default());
    let presets = [preset("none"), Preset::as_recorded().unwrap()];
    let (store, mut recorded, mut ours) = (Store::temporary().unwrap(), [0; 2], [0; 2]);
    let mut paths = foldback_test_support::sessions_of(agent);
    let training = foldback_test_support::sessions().join("../training").join(agent);
    let entries = fs::read_dir(training).into_iter().flatten().flatten();
    paths.extend(entries.map(|entry| entry.path()));
    for source in paths.into_iter().map(Source::File) {
        let context = context(&presets, &setup, &store);
        for studied in study(&context, &source, source.hash().unwrap()).unwrap() {
            let facts = studied.keys.facts(&store).unwrap();
            let told = |of: fn(&CallFacts) -> Option<u64>| -> u64 {
                facts.calls.iter().filter_map(of).sum()
            };
            let [input, read] = [told(|call| call.recorded_input), told(|call| call.recorded_read)];
            if read == 0 || !studied.facts.billed {
                continue;
            }
            let record = studied.keys.record(&store, 1).unwrap();
            let sent: u64 = record.rows.iter().map(|row| row.input_tokens).sum();
            let bill = record.bills.under(OWN, |_| true).unwrap();
            for (sum, more) in recorded.iter_mut().zip([read, input]) {
                *sum += more;
            }
            for (sum, more) in ours.iter_mut().zip([bill.read_tokens, sent]) {
                *sum += more;
            }
        }
    }
    let share = |[read, of]: [u64; 2]| 100.0 * read as f64 / of as f64;
    (share(recorded), share(ours))
}

/// What the recorders sent reads as much of the simulated cache as it did of the real ones.
#[foldback_needs::sessions]
#[test]
fn what_was_sent_is_read_as_recorded() {
    for agent in ["claude-code", "codex", "opencode", "pi"] {
        let (recorded, ours) = read_of_hundred(agent);
        println!("{agent}: {recorded:.1} of 100 tokens read, simulated {ours:.1}");
        assert!((recorded - ours).abs() < 3.0, "{agent}: {recorded:.1} read, simulated {ours:.1}");
    }
}

/// A study of all sessions without progress reports.
/// Panics where a request holds so many messages.
#[derive(Debug)]
struct Fragile(usize);

impl Pruner for Fragile {
    fn moment(&self) -> Moment {
        Moment::CallStart
    }

    fn prune(&self, context: &StageContext<'_>) -> Pruning {
        assert!(context.view.places().len() < self.0, "more than {} messages", self.0);
        Pruning::Nothing(Why::new("nothing", "nothing to do"))
    }
}

fn fragile(most: usize) -> Preset {
    let mut strategy = strategy("none");
    strategy.name = "fragile".to_owned();
    let stage: Arc<dyn Pruner> = Arc::new(Fragile(most));
    let when = vec![stage.moment()];
    strategy.pruners.push(Bound { name: "fragile".to_owned(), stage, when, meter: MeterId::OWN });
    Preset::new(strategy, format!("fragile {most}"))
}

/// The replay of a session under a preset that panics is a row that says so; all other results are those of a run
/// without it, and the next run tries again.
#[test]
fn a_replay_that_panics_costs_its_row_alone() {
    let setup = setup(Limits::new(8_000, 800));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, more: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("{{\"messages\":[{TALK}{more}]}}")).unwrap();
        Source::File(path)
    };
    let sources = vec![file("long.json", &MORE.repeat(2)), file("short.json", "")];
    let corpus = Corpus { sources };
    let compared = |presets: &[Preset], store: &Store| {
        let run = Run { store, progress: &|| {}, strict: true };
        let reporting = Reporting::default();
        compare(&corpus, presets, &setup, reporting, run).unwrap()
    };
    let store = Store::temporary().unwrap();
    let others = [preset("none"), preset("keep-last-1")];
    let sound = compared(&others, &Store::temporary().unwrap());
    let presets = [others[0].clone(), fragile(3), others[1].clone()];
    let mut with = compared(&presets, &store);

    let [failed] = &*with.failed else { panic!("{:?}", with.failed) };
    assert!(failed.session.ends_with("long.json"), "{failed:?}");
    assert_eq!((&*failed.preset, &*failed.fault.what), ("fragile", "more than 3 messages"));
    let at = failed.fault.at.as_deref().unwrap();
    assert!(at.starts_with(&format!("{}:", file!())), "{at}");
    assert!(with.cautions.iter().any(|caution| caution.contains("fragile (1)")));
    assert_eq!([0, 1, 2].map(|at| with.presets[at].sessions), [2, 1, 2]);
    for (sound, with) in sound.scores.iter().zip(&with.scores) {
        assert_eq!(*sound[0], *with[0]);
        assert_eq!(*sound[1], *with[2]);
    }
    let at = with.corpus.sessions.iter().position(|line| line.path == failed.session).unwrap();
    let record = |preset: usize| with.record(&store, at, preset).unwrap();
    assert_eq!(record(1), Record::failed(record(0).limits, failed.fault.clone()));
    with.redact();
    let hidden = &with.failed[0];
    assert!(!format!("{hidden:?}").contains("long") && hidden.fault.what != "more than 3 messages");

    let mended = Preset { fingerprint: presets[1].fingerprint.clone(), ..fragile(99) };
    let again = compared(&[others[0].clone(), mended, others[1].clone()], &store);
    assert_eq!(again.failed, [], "what failed is tried again");

    // Where nothing can be replayed, the session is left out.
    let broken = Preset { strategy: fragile(0).strategy, ..others[0].clone() };
    let other = file("other.json", MORE);
    let store = Store::temporary().unwrap();
    let only = context(std::slice::from_ref(&broken), &setup, &store);
    let none = study(&only, &other, other.hash().unwrap());
    assert!(matches!(&none, Err(Failure::Source(why)) if why.contains(REPORT)), "{none:?}");
}

fn context<'a>(presets: &'a [Preset], setup: &'a Setup, store: &'a Store) -> Context<'a> {
    let names = Names::new(setup, presets);
    let common = Common::default();
    let regimes = setup.named_terms();
    Context { presets, setup, names, store, common, regimes, split: None, progress: &|| {} }
}

/// Presets with the same outcome share it, and sessions share what they have in common.
#[test]
fn what_is_the_same_is_kept_once() {
    let setup = setup(Limits::new(200_000, 32_000));
    let names = ["none", "brutus", "opencode", "opencode-1.17", "tiered", "tunacode", "window"];
    let presets: Vec<Preset> =
        names.into_iter().map(preset).chain([Preset::as_recorded().unwrap()]).collect();
    let folder = tempfile::tempdir().unwrap();
    let store = Store::temporary().unwrap();
    let context = context(&presets, &setup, &store);
    let [first, second] = [TALK.to_owned(), format!("{TALK}{MORE}")].map(|messages| {
        let path = folder.path().join("talk.json");
        fs::write(&path, format!("{{\"messages\":[{messages}]}}")).unwrap();
        let source = Source::File(path);
        study(&context, &source, source.hash().unwrap()).unwrap().into_iter().next().unwrap()
    });
    for studied in [&first, &second] {
        let [one, others @ ..] = &*studied.scores else { panic!("no scores") };
        for other in others {
            assert!(
                std::ptr::eq::<Outcome>(&**one, &**other),
                "a preset has an outcome of its own"
            );
        }
        assert!(one.bills.iter().all(|(_, bill)| bill.compaction.is_none()));
    }
    // Within one user turn, no pause makes a difference.
    assert_eq!(first.scores[0].bills.iter().count(), setup.named_terms().len() + 1);
    let reasons = |studied: &Studied, preset: usize| {
        Arc::as_ptr(studied.scores[preset].inaction.as_ref().unwrap())
    };
    assert!(std::ptr::eq(reasons(&first, 0), reasons(&second, 0)), "the same reason twice");
}

/// A file is read, a command is run, and the file is edited, which `keep-last-1` has cleared by then.
const EDITED: &str = r#"{"messages":[{"role":"user","content":"Fix it"},
{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"read","input":{"file_path":"b.rs"}}],
"usage":{"input_tokens":300,"output_tokens":90}},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"fn token() { refresh_the_session() }\nfn other() { close_the_session() }"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"b","name":"bash","input":{}}],
"usage":{"input_tokens":350,"output_tokens":9}},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"ok"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"edit","input":{"file_path":"b.rs","old_string":"fn token() { refresh_the_session() }","new_string":""}}],
"usage":{"input_tokens":390,"output_tokens":40}},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"ok"}]}]}"#;

#[test]
fn net_is_the_bill_and_each_read() {
    let presets = ["none", "keep-last-1"].map(preset);
    let (setup, store) = (setup(Limits::new(8_000, 800)), Store::temporary().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("edited.json");
    fs::write(&path, EDITED).unwrap();
    let source = Source::File(path);
    let context = context(&presets, &setup, &store);
    let [studied] = &*study(&context, &source, source.hash().unwrap()).unwrap() else {
        panic!("one session")
    };
    let [plain, record] = [0, 1].map(|at| studied.keys.record(&store, at).unwrap());
    for (_, bill) in plain.bills.iter() {
        assert_eq!(bill.again(), Some(RereadBill::same(bill.usd)), "nothing is missed");
    }
    // Before the last call the file is read again: one more request, as large as the one that lacks it, and from then on what was read.
    let row = &record.rows[2];
    let (reads, read) = (row.retention.rereads, row.retention.reread_tokens);
    // The old text is a piece of the result, too. One read brings back both.
    assert_eq!((reads, row.retention.missed()), (1, 2));
    let call = Part::call("x", "read", r#"{"file_path":"b.rs"}"#);
    let asked = setup.measure.counts(&Message::assistant("y", vec![call])).total();
    let more = row.input_tokens + asked + read;
    // Nothing of it is cached: the requests are too small. Input and output in dollars per million;
    for (regime, input, output) in [("anthropic-5m", 2.0, 10.0), ("no-cache", 2.0, 10.0)] {
        let bill = record.bills.under(regime, |_| true).unwrap();
        let expected = bill.usd + (more as f64 * input + 90.0 * output) / 1e6;
        let net = bill.net_usd().unwrap();
        assert!((net - expected).abs() < 1e-12, "{regime}: {net} {expected}");
    }
    // What was paid scales both alike, and a chance in between has its part.
    for ((_, bill), (_, paid)) in record.bills.iter().zip(studied.scores[1].bills.iter()) {
        let [net, all] = [bill.net_usd(), bill.net_with(1.0)].map(Option::unwrap);
        assert!((paid.net_usd().unwrap() / paid.usd - net / bill.usd).abs() < 1e-12);
        assert_eq!((bill.net_with(0.0), bill.net_with(CHANCE.value)), (Some(bill.usd), Some(net)));
        assert!(bill.usd < net && net <= all);
    }
}
