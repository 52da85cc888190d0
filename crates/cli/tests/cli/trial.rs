//! A trial from the proxy to the sentence: three proxies on one file that are killed again and again, and what the command says of it.

use crate::common::{foldback, line, write};
use crate::serve::{ask, start};
use crate::serve_killed::Proxy;
use foldback_fake_provider::{Background, Reply};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Units, calls of each, and the proxies.
const UNITS: usize = 12;
const CALLS: usize = 12;
const PROXIES: usize = 3;

/// A proxy in a trial, and its address.
fn proxy(upstream: &str, file: &str) -> (Proxy, String) {
    let args = ["--trial", "window,indexed,none", "--trial-file", file, "--upstream", upstream];
    let (proxy, address, _) = start(&args);
    (Proxy(proxy), address)
}

/// A request for a call of a unit. It says which it is.
fn request(unit: usize, call: usize) -> String {
    let mut messages = vec![json!({"role": "user", "content": format!("Unit {unit}: go on.")})];
    for before in 0..call {
        messages.push(json!({"role": "assistant", "content": format!("Answer {before}.")}));
        messages.push(json!({"role": "user", "content": format!("More {before}.")}));
    }
    json!({"model": "claude-sonnet-4-5", "max_tokens": 99, "messages": messages}).to_string()
}

/// A value of the header of an answer that came whole.
fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let value =
        |name: &str| head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
    let is_whole = match value("content-length") {
        Some(length) => Some(body.len()) == length.parse().ok(),
        None => body.ends_with("\r\n0\r\n\r\n"),
    };
    value(name).filter(|_| is_whole)
}

/// Each unit's calls go to one proxy after the other. A client that got no answer asks again, as it may have been billed: the file
/// counts at least the answers that came whole, and at most those that the provider gave.
#[test]
fn no_unit_changes_its_arm_and_none_is_counted_twice_where_proxies_are_killed() {
    let given = std::sync::Arc::new(Mutex::new(BTreeMap::<String, usize>::new()));
    let counted = std::sync::Arc::clone(&given);
    let provider = Background::start(move |got| {
        let unit = got.messages()[0]["content"].to_string();
        *counted.lock().unwrap().entry(unit).or_default() += 1;
        Reply::text("ok").usage(1_000, 10)
    });
    let provider = provider.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl").to_str().unwrap().to_owned();
    let started: Vec<(Proxy, String)> =
        (0..PROXIES).map(|_| proxy(&provider.url(), &file)).collect();
    let (mut running, addresses): (Vec<_>, Vec<_>) = started.into_iter().unzip();
    let addresses: Vec<Mutex<String>> = addresses.into_iter().map(Mutex::new).collect();
    let (names, over) = (Mutex::new(BTreeMap::new()), AtomicBool::new(false));
    thread::scope(|scope| {
        let units = (0..UNITS).map(|unit| {
            let (addresses, names) = (&addresses, &names);
            scope.spawn(move || {
                for call in 0..CALLS {
                    let named = format!("x-foldback-unit: unit-{unit}\r\n");
                    for attempt in 0..2_000 {
                        assert!(attempt < 1_999, "unit {unit} gets no answer");
                        let at =
                            addresses[(unit + call + attempt) % PROXIES].lock().unwrap().clone();
                        let answer = ask(&at, "POST /v1/messages", &named, &request(unit, call));
                        let name = answer.ok().and_then(|it| {
                            header(&it, "x-foldback-conversation").map(str::to_owned)
                        });
                        if let Some(name) = name {
                            let before = names.lock().unwrap().insert(unit, name.clone());
                            assert!(before.is_none_or(|before| before == name));
                            break;
                        }
                        thread::sleep(Duration::from_millis(3));
                    }
                }
            })
        });
        let units: Vec<_> = units.collect();
        let arms = scope.spawn(|| {
            let mut arms = BTreeMap::new();
            while !over.load(Ordering::Relaxed) {
                for line in lines(&file) {
                    let unit = (line["unit"].to_string(), line["arm"].to_string());
                    let before = arms.insert(unit.0, unit.1.clone());
                    assert!(before.is_none_or(|before| before == unit.1));
                }
                thread::sleep(Duration::from_millis(5));
            }
        });
        let mut at = 0;
        while !units.iter().all(|unit| unit.is_finished()) {
            thread::sleep(Duration::from_millis(40));
            drop(running.remove(0));
            let (proxy, address) = proxy(&provider.url(), &file);
            running.push(proxy);
            *addresses[at % PROXIES].lock().unwrap() = address;
            at += 1;
        }
        over.store(true, Ordering::Relaxed);
        arms.join().unwrap();
    });
    let found = lines(&file);
    assert_eq!(found.len(), UNITS);
    let given = given.lock().unwrap();
    let asked: usize = given.values().sum();
    let calls = found.iter().map(|line| line["calls"].as_u64().unwrap() as usize);
    assert!(calls.clone().all(|calls| calls >= CALLS), "{found:?}");
    assert!(calls.sum::<usize>() <= asked);
    assert_eq!(names.into_inner().unwrap().len(), UNITS);
    let outcomes = (0..UNITS).map(|unit| format!("unit-{unit},1\n")).collect::<String>();
    let outcomes = write(folder.path(), "outcomes.csv", format!("unit,solved\n{outcomes}"));
    let text = foldback(&["trial", &file, "--outcomes", &outcomes]).done().stdout;
    assert!(text.contains("12 rows, 12 units found"), "{text}");
    drop(running);
    provider.end();
}

/// The lines of conversations.
fn lines(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line.get("conversation").is_some()).collect()
}

const EXAMPLE: [&str; 4] =
    ["trial", "examples/trial/trial.jsonl", "--outcomes", "examples/trial/outcomes.csv"];

#[test]
fn every_output_holds_the_same_trial() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [json, rows, csv, parquet, page, manifest] =
        ["t.json", "t.jsonl", "t.csv", "t.parquet", "t.html", "m.json"].map(path);
    let more = ["--json", &json, "--rows", &rows, "--html", &page, "--manifest", &manifest];
    let text = foldback(&[&EXAMPLE[..], &more].concat()).done().stdout;
    foldback(&[&EXAMPLE[..], &["--rows", &csv]].concat()).done();
    if cfg!(feature = "parquet") {
        foldback(&[&EXAMPLE[..], &["--rows", &parquet]].concat()).done();
        assert!(std::fs::read(&parquet).unwrap().starts_with(b"PAR1"));
    }
    let read = |path: &str| std::fs::read_to_string(path).unwrap();
    let told: Value = serde_json::from_str(&read(&json)).unwrap();
    let units = told["units"].as_array().unwrap().len();
    assert_eq!(read(&rows).lines().count(), units);
    assert_eq!(read(&csv).lines().count(), units + 1);
    let (sentence, page) = (told["sentence"].as_str().unwrap(), read(&page));
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(joined.ends_with(sentence), "{text}");
    assert!(page.contains("<svg") && page.matches("<circle").count() == 2 * units, "{page}");
    let manifest: Value = serde_json::from_str(&read(&manifest)).unwrap();
    assert_eq!(manifest["arms"][0]["name"], told["arms"][0]["name"]);
    assert_eq!(manifest["files"][0]["content"].as_str().unwrap().len(), 16);
    let stdout = foldback(&[&EXAMPLE[..], &["--json", "-"]].concat()).done().stdout;
    assert_eq!(stdout, read(&json));
}

#[test]
fn a_plan_is_made_of_recorded_bills() {
    let text = line("trial --plan --from examples/sessions").done().stdout;
    assert!(text.contains("10.0%") && text.contains("units of each arm"), "{text}");
}

#[test]
fn what_is_wrong_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let other = write(folder.path(), "other.jsonl", "{}");
    let other = format!("serve --trial indexed,none --trial-file {other}");
    for (args, expected) in [
        ("trial README.md", "README.md:1: this is no file of a trial"),
        (
            "trial examples/trial/trial.jsonl --outcomes README.md",
            "README.md:2: there is no outcome; a line names",
        ),
        ("trial", "FILE"),
        ("trial --plan", "--from"),
        ("trial --plan --from examples/trial", "no session to look at"),
        ("serve --trial indexed", "a trial has two arms or more"),
        ("serve --trial indexed,indexed", "--trial names indexed twice"),
        ("serve --trial indexed,none --weights 1", "--weights gives 1 numbers for 2 arms"),
        ("serve --trial indexed,none --preset indexed", "cannot be used with"),
        ("serve --preset indexed --seed 3", "cannot be used with"),
        (&other, "other.jsonl:1: this is no file of a trial"),
    ] {
        let ran = line(args);
        assert_eq!(ran.code, 2, "{args}");
        assert!(ran.stderr.contains(expected), "{args}: {}", ran.stderr);
    }
}
