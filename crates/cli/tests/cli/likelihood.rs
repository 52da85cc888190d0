//! `probe --form likelihood`: a server says how likely the recorded actions are.

use crate::probe::{of, probe, rows};
use crate::summaries::Folder;
use foldback_fake_provider::{Background, Recorded, Reply};
use serde_json::Value;
use std::collections::BTreeMap;

/// A server that says how likely a prompt is: each word is as unlikely as it is seldom in what stands before it.
fn likely(got: &Recorded) -> Reply {
    // Whether somebody is there is looked up first.
    let Some(prompt) = got.body["prompt"].as_str() else { return Reply::status(404, "") };
    assert_eq!(
        (&got.body["prompt_logprobs"], &got.body["max_tokens"]),
        (&0.into(), &1.into()),
        "{}",
        got.body
    );
    let mut times: BTreeMap<&str, u32> = BTreeMap::new();
    let token = |word| {
        let before = times.entry(word).or_default();
        *before += 1;
        let logprob = -1.0 - 8.0 / f64::from(*before);
        serde_json::json!({"7": {"logprob": logprob, "rank": 1, "decoded_token": word}})
    };
    let tokens: Vec<Value> = prompt.split_inclusive([' ', '\n', '/']).map(token).collect();
    let choice =
        serde_json::json!({"text": "x", "prompt_logprobs": tokens, "finish_reason": "length"});
    Reply::status(200, serde_json::json!({"choices": [choice], "model": "small-model"}).to_string())
}

#[test]
fn what_the_agent_did_is_less_likely_where_its_view_lacks_the_cause() {
    let folder = Folder::new();
    let server = Background::everywhere(likely).unwrap();
    let file = folder.summarizer(&server.url());
    let [cassette, first, second] =
        ["cassette", "a.jsonl", "b.jsonl"].map(|name| folder.path(name));
    let with = |more: &[&str]| {
        let flags =
            ["--form", "likelihood", "--count", "6", "--cassette", &cassette, "--json", "-"];
        probe(&file, &[&flags[..], more].concat())
    };
    let dry = with(&["--dry-run"]).done().stdout;
    let recorded = with(&["--record", "--rows", &first]).done();
    let sent = server.end();
    let together = dry.lines().find(|line| line.starts_with("together")).unwrap_or_default();
    assert_eq!(together.split_whitespace().nth(1), Some(&*sent.len().to_string()), "{dry}");
    assert!(
        recorded.stderr.contains("text of the sessions is sent to small-model"),
        "{}",
        recorded.stderr
    );

    let all = rows(&first);
    assert_eq!(all.len(), 4 * 6);
    for (row, none) in of(&all, "full").iter().zip(of(&all, "none")) {
        // No compaction shows the whole log.
        assert_eq!((&row["rise"], &none["rise"]), (&0.0.into(), &0.0.into()));
        assert_eq!((&row["nats"], &row["call"]), (&none["nats"], &none["call"]));
    }
    let rise = |preset: &str| {
        let rises = of(&all, preset).into_iter().map(|row| row["rise"].as_f64().unwrap());
        rises.sum::<f64>() / 6.0
    };
    assert!(rise("nothing") > rise("window") && rise("window") > 0.0, "{all:?}");
    assert!(of(&all, "window").iter().any(|row| row["kept"].as_u64() < row["needed"].as_u64()));
    let document: Value = serde_json::from_str(&recorded.stdout).unwrap();
    let line = &document["presets"][0];
    assert_eq!((&line["preset"], &line["actions"]), (&"window+extractive".into(), &6.into()));
    assert!((line["rise"]["value"].as_f64().unwrap() - rise("window")).abs() < 1e-9);

    // The server is gone.
    assert_eq!(with(&["--rows", &second]).done().stdout, recorded.stdout);
    assert!(rows(&second) == all);
    let flags = ["--form", "likelihood", "--count", "6", "--cassette", &cassette];
    let shown = probe(&file, &flags).done().stdout;
    assert!(
        shown.contains("6 recorded actions of 1 session, by log-probabilities of small-model"),
        "{shown}"
    );
}

/// A server without log-probabilities is refused in one sentence.
#[test]
fn a_server_has_to_say_how_likely_a_prompt_is() {
    type Reads = fn(&Recorded) -> Reply;
    let none: Reads =
        |_| Reply::status(200, r#"{"choices":[{"text":"x","finish_reason":"length"}]}"#);
    let table: [(&str, Reads, &str); 3] = [
        ("none in the answer", none, "the answer has none"),
        ("no such address", |_| Reply::status(404, "Not Found"), "HTTP 404"),
        (
            "a model of chats",
            |_| Reply::status(404, r#"{"error":{"message":"This is a chat model"}}"#),
            "HTTP 404",
        ),
    ];
    for (name, answer, why) in table {
        let folder = Folder::new();
        let server = Background::everywhere(answer).unwrap();
        let file = folder.summarizer(&server.url());
        let ran = probe(&file, &["--form", "likelihood", "--count", "2"]);
        server.end();
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{name}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(why)
                && ran.stderr.contains("needs a server that answers `prompt_logprobs`"),
            "{name}: {}",
            ran.stderr
        );
    }
}
