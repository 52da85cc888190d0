//! Questions to a model as a user of the command has them asked: against a server that reads what it is sent, and one that
//! answers in every way that is of no use.

use crate::common::{Ran, foldback, refused};
use crate::summaries::{Folder, files};
use foldback_fake_provider::{Answer, Background, Finish, Recorded, Reply};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const SESSION: &str = "examples/sessions/refunds-pydantic-ai.json";

/// The text of a request's last message: the record, and the question behind it.
fn asked(got: &Recorded) -> String {
    let content = got.messages().last().and_then(|message| message["content"].as_str());
    content.unwrap_or_default().to_owned()
}

/// A model that reads: it fills a gap from the line of the record that fits, or says that it can't.
fn reader(got: &Recorded) -> Reply {
    Reply::text(answered(&asked(got)))
}

pub(crate) fn answered(text: &str) -> String {
    let (record, question) = text.rsplit_once("-----\n\n").unwrap_or(("", text));
    let gap = question
        .lines()
        .find_map(|line| line.split_once("____").filter(|_| !line.contains("marked")));
    let found = gap.and_then(|(before, behind)| {
        // Arguments of calls stand in the record as JSON.
        let record = record.replace("\\n", "\n").replace("\\\"", "\"");
        let (before, behind) = (before.trim_start(), behind.trim_end());
        record.lines().find_map(|line| {
            let rest = &line[line.find(before)? + before.len()..];
            let filler = match rest.strip_suffix(behind) {
                Some(filler) => filler,
                None => &rest[..rest.find(behind)?],
            };
            Some(filler.to_owned())
        })
    });
    match found {
        Some(found) => format!("I looked it up.\n\nANSWER: {found}"),
        None => "It is not there.\n\nANSWER: UNKNOWN".to_owned(),
    }
}

pub(crate) fn probe(file: &str, more: &[&str]) -> Ran {
    let mut args = vec!["probe", SESSION, "--preset", "window,none", "--ask", file];
    args.extend(["--window", "32000", "--max-output", "4000"]);
    if !more.contains(&"--count") {
        args.extend(["--count", "8"]);
    }
    args.extend(more);
    foldback(&args)
}

pub(crate) fn rows(path: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn of<'r>(rows: &'r [Value], preset: &str) -> Vec<&'r Value> {
    let is_it = |row: &&Value| row["preset"].as_str().is_some_and(|name| name.starts_with(preset));
    rows.iter().filter(is_it).collect()
}

#[test]
fn a_model_that_reads_is_right_where_the_answer_is_in_view() {
    let folder = Folder::new();
    let server = Background::start(reader).unwrap();
    let file = folder.summarizer(&server.url());
    let [cassette, first, second] =
        ["cassette", "a.jsonl", "b.jsonl"].map(|name| folder.path(name));
    let with =
        |more: &[&str]| probe(&file, &[&["--cassette", &cassette, "--json", "-"], more].concat());

    let dry = with(&["--dry-run"]).done().stdout;
    let together = dry.lines().find(|line| line.starts_with("together")).unwrap_or_default();
    assert!(dry.contains("questions: window"), "{dry}");
    let recorded = with(&["--record", "--rows", &first]).done();
    let requests = server.end();
    assert_eq!(together.split_whitespace().nth(1), Some(&*requests.len().to_string()), "{dry}");
    assert_eq!(files(&cassette).len(), requests.len(), "equal requests were sent twice");
    for told in ["text of the sessions is sent to small-model", "answers were recorded", " USD"] {
        assert!(recorded.stderr.contains(told), "no {told}: {}", recorded.stderr);
    }

    let all = rows(&first);
    assert_eq!(all.len(), 4 * 8 * 2, "a row for each of four views, eight questions, two forms");
    let ids: BTreeSet<&str> = all.iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 8);
    let gaps = |preset: &str| {
        let gaps = of(&all, preset).into_iter();
        gaps.filter(|row| row["question"].as_str().unwrap().contains("____")).collect::<Vec<_>>()
    };
    for row in gaps("full") {
        assert_eq!(
            (&row["right"], &row["in_view"]),
            (&Value::Bool(true), &Value::Bool(true)),
            "{row}"
        );
    }
    // No compaction shows the whole log.
    let answers =
        |preset: &str| of(&all, preset).iter().map(|row| row["answer"].clone()).collect::<Vec<_>>();
    assert_eq!(answers("none"), answers("full"));
    assert!(of(&all, "nothing").iter().all(|row| row["right"] == false && row["in_view"] == false));
    let (mut lost, mut found) = (0, 0);
    for row in gaps("window").into_iter().chain(gaps("none")) {
        if row["kept"] == true {
            assert_eq!(row["right"], true, "{row}");
            found += 1;
        } else if row["in_view"] == false {
            assert_eq!(row["right"], false, "{row}");
            lost += 1;
        }
    }
    assert!(lost > 0 && found > 0, "{lost} lost, {found} found");

    // The server is gone.
    let replayed = with(&["--rows", &second]).done();
    assert!(replayed.stdout == recorded.stdout && rows(&second) == all);
    let document: Value = serde_json::from_str(&recorded.stdout).unwrap();
    assert_eq!((&document["questions"], &document["sessions"]), (&8.into(), &1.into()));
    let nothing = &document["presets"][3];
    assert_eq!((&nothing["preset"], &nothing["exact"]["value"]), (&"nothing".into(), &0.0.into()));

    let shown = probe(&file, &["--cassette", &cassette]).done().stdout;
    for part in [
        "8 questions of 1 session, answered by small-model",
        "difference: points against window",
        "by calls since",
        "said that it can't tell",
    ] {
        assert!(shown.contains(part), "no {part}: {shown}");
    }
    let csv = folder.path("rows.csv");
    probe(&file, &["--cassette", &cassette, "--rows", &csv]).done();
    let table = csv::Reader::from_path(&csv).unwrap().into_records().count();
    assert_eq!(table, all.len());

    let lost = files(&cassette).remove(0);
    std::fs::remove_file(&lost).unwrap();
    let missing = with(&[]);
    assert_eq!((missing.code, &*missing.stdout), (2, ""), "{}", missing.stderr);
    assert!(missing.stderr.contains("not-recorded"), "{}", missing.stderr);
}

#[test]
fn answers_of_no_use_are_counted_and_told() {
    type Reads = fn(&Recorded) -> Reply;
    let filtered: Reads =
        |_| Reply::answer(Answer { text: "I".into(), finish: Finish::Filter, ..Answer::default() });
    let table: [(&str, Reads, &str); 6] = [
        ("refused", filtered, "refused"),
        ("empty", |_| Reply::empty(), "empty"),
        (
            "form",
            |_| Reply::text("Let me see.\nThis may take a while."),
            "in another form than was asked for",
        ),
        ("unknown", |_| Reply::text("ANSWER: UNKNOWN"), "said that it can't tell"),
        ("wrong", |_| Reply::text("ANSWER: nothing of the kind"), "right, exact"),
        (
            "too-large",
            |_| {
                Reply::status(
                    400,
                    r#"{"error":{"message":"This model's maximum context length is 1000 tokens. However, you requested 2000 tokens","code":"context_length_exceeded"}}"#,
                )
            },
            "did not fit the model",
        ),
    ];
    for (outcome, answer, told) in table {
        let folder = Folder::new();
        let server = Background::start(answer).unwrap();
        let file = folder.summarizer(&server.url());
        let path = folder.path("rows.jsonl");
        let ran = probe(&file, &["--form", "exact", "--rows", &path]).done();
        server.end();
        assert!(ran.stdout.contains(told), "{outcome}: {}", ran.stdout);
        for row in rows(&path) {
            assert_eq!(
                (row["outcome"].as_str(), &row["right"]),
                (Some(outcome), &false.into()),
                "{row}"
            );
        }
    }
}

/// What does not fit is not sent, and counts for nothing.
#[test]
fn the_whole_log_is_left_out_where_it_does_not_fit() {
    let folder = Folder::new();
    let server = Background::start(reader).unwrap();
    let file = folder.summarizer(&server.url());
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text
        .replace("attempts = 1", "attempts = 1\ncontext_tokens = 30000\nmax_output_tokens = 500");
    std::fs::write(&file, text).unwrap();
    let path = folder.path("rows.jsonl");
    let ran = probe(&file, &["--rows", &path]).done();
    let sent = server.end();
    let mut outcomes: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let all = rows(&path);
    for row in &all {
        let preset = row["preset"].as_str().unwrap().split('+').next().unwrap();
        outcomes.entry(preset).or_default().insert((row["outcome"] == "too-large").to_string());
    }
    let only = |text: &str| BTreeSet::from([text.to_owned()]);
    assert_eq!(outcomes["full"], only("true"), "{}", ran.stdout);
    assert_eq!((&outcomes["window"], &outcomes["nothing"]), (&only("false"), &only("false")));
    assert!(
        ran.stdout.contains("full: 16 did not fit the model and count nowhere"),
        "{}",
        ran.stdout
    );
    assert_eq!(sent.len(), 32);
}

/// Budgets and providers that fail end the command, with nothing on standard output.
#[test]
fn a_run_that_could_not_ask_everything_is_no_result() {
    type Reads = fn(&Recorded) -> Reply;
    let table: [(&str, Reads, &[&str], &[&str]); 3] = [
        (
            "too dear",
            reader,
            &["--budget-usd", "0.0001"],
            &["budget: a request to small-model may cost up to $"],
        ),
        (
            "no key",
            |_| Reply::status(401, r#"{"error":{"message":"no such key"}}"#),
            &[],
            &["auth (HTTP 401): no such key"],
        ),
        (
            "failing",
            |_| Reply::status(503, r#"{"error":{"message":"overloaded"}}"#),
            &[],
            &["overloaded (HTTP 503)"],
        ),
    ];
    for (name, answer, flags, parts) in table {
        let folder = Folder::new();
        let server = Background::start(answer).unwrap();
        let file = folder.summarizer(&server.url());
        let path = folder.path("rows.jsonl");
        let ran = probe(&file, &[flags, &["--rows", &path]].concat());
        server.end();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{name}: {}", ran.stderr);
        assert!(!std::path::Path::new(&path).exists(), "{name}: rows were written");
        for part in parts {
            assert!(ran.stderr.contains(part), "{name}, no {part}: {}", ran.stderr);
        }
    }
}

/// A preset's summaries may be a model's, too, each model with its own price.
#[test]
fn summaries_and_answers_may_be_of_two_models() {
    let folder = Folder::new();
    let server = Background::start(|got: &Recorded| match got.body["model"].as_str() {
        Some("writer") => Reply::text("## Goal\nA summary by the other model."),
        _ => reader(got),
    })
    .unwrap();
    let file = folder.summarizer(&server.url());
    let text = std::fs::read_to_string(&file).unwrap();
    let writer = folder.write("writer.toml", &text.replace("small-model", "writer"));
    let path = folder.path("rows.jsonl");
    let ran = probe(&file, &["--summarizer", &writer, "--budget-usd", "5", "--rows", &path]).done();
    let sent = server.end();
    assert!(
        sent.iter().any(|body| body.contains("A summary by the other model")),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stderr.contains("is sent to writer at")
            && ran.stderr.contains("is sent to small-model at")
    );
    assert!(!of(&rows(&path), "window+llm(writer").is_empty());
}

/// Where it is asked in the place of a call, nothing of what came later is asked for.
#[test]
fn questions_may_be_asked_in_the_place_of_a_call() {
    let folder = Folder::new();
    let server = Background::start(reader).unwrap();
    let file = folder.summarizer(&server.url());
    let path = folder.path("rows.jsonl");
    probe(&file, &["--at", "20", "--form", "exact", "--rows", &path]).done();
    for row in rows(&path) {
        assert_eq!(row["call"], 20);
        assert!(row["age"].as_u64().is_some_and(|age| age <= 21), "{row}");
    }
    let late = probe(&file, &["--at", "9999"]);
    assert_eq!(late.code, 2);
    assert!(late.stderr.contains("--at"), "{}", late.stderr);
    server.end();
}

/// Requests are written for a batch service and its answers read back: the same result as from the model itself.
#[test]
fn a_batch_gives_what_the_model_gives() {
    let folder = Folder::new();
    let server = Background::start(reader).unwrap();
    let file = folder.summarizer(&server.url());
    let own = folder.write(
        "own.jsonl",
        "{\"question\": \"Here is a ____ indeed.\", \"answer\": \"gap\"}\n{\"question\": \"Not of this one?\", \"answer\": \"no\", \"session\": \"x\"}\n",
    );
    let [first, second, batch, back] =
        ["a.jsonl", "b.jsonl", "batch.jsonl", "back.jsonl"].map(|name| folder.path(name));
    let with =
        |more: &[&str]| probe(&file, &[&["--count", "3", "--questions", &own], more].concat());
    with(&["--rows", &first]).done();
    let sent = server.end().len();
    let told = with(&["--batch", &batch]).done();
    assert_eq!(told.stdout, "");
    assert!(told.stderr.contains(&format!("{sent} requests were written")), "{}", told.stderr);

    // What the service does with each line.
    let text = std::fs::read_to_string(&batch).unwrap();
    let mut lines: Vec<Value> = Vec::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let messages = line["body"]["messages"].as_array().unwrap();
        let said = answered(messages.last().unwrap()["content"].as_str().unwrap());
        let body = serde_json::json!({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]});
        lines.push(serde_json::json!({
            "custom_id": line["custom_id"], "response": {"status_code": 200, "body": body},
        }));
    }
    assert_eq!(lines.len(), sent);
    let written = |lines: &[Value]| {
        let text: Vec<String> = lines.iter().rev().map(Value::to_string).collect();
        std::fs::write(&back, text.join("\n")).unwrap();
    };
    written(&lines);
    with(&["--batch", &back, "--rows", &second]).done();
    let (model, batch) = (rows(&first), rows(&second));
    assert!(model == batch, "{model:?}\n{batch:?}");
    // One's own question has nothing to choose from; there are four views.
    assert_eq!(model.len(), 4 * (3 * 2 + 1));
    assert_eq!(model.iter().filter(|row| row["kind"] == "own").count(), 4);

    written(&lines[1..]);
    let missing = with(&["--batch", &back]);
    assert_eq!((missing.code, &*missing.stdout), (2, ""));
    let id = lines[0]["custom_id"].as_str().unwrap();
    assert!(
        missing.stderr.contains(&format!("the answers lack the request {id}")),
        "{}",
        missing.stderr
    );
}

#[test]
fn each_mistake_is_told_and_ends_with_2() {
    let folder = Folder::new();
    let no_model = folder.write("none.toml", "[summarizer]\nuse = \"extractive\"\n");
    let misspelt = folder.write("misspelt.toml", "[summarizer]\nuse = \"llm\"\nmodle = \"m\"\n");
    let closed = folder.summarizer("http://127.0.0.1:9/v1/");
    let probe = ["probe", SESSION, "--preset", "window"].join("\n");
    let odd = folder
        .write("odd.jsonl", "{\"question\": \"a\", \"answer\": \"b\"}\n{\"question\": \"a\"}\n");
    let names = [
        ("probe", probe),
        ("no_model", no_model),
        ("misspelt", misspelt),
        ("closed", closed),
        ("odd", odd),
    ];
    refused("probe", &names);
}
