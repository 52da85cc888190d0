//! As many cache breakpoints reach the provider as the client set, whatever was folded and whatever its texts say.

use crate::support::talk::path;
use crate::support::{Proxy, WINDOW, folding, http, outcome};
use foldback::Limits;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply, Script};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use std::cell::Cell;

/// Strategies of all kinds: that leave little, that cut results, that write one summary.
const PRESETS: [(&str, &str); 6] = [
    ("codex", "extends = \"codex\"\n[summarizer]\nuse = \"extractive\"\n"),
    ("opencode-1.17", "extends = \"opencode-1.17\"\n[summarizer]\nuse = \"extractive\"\n"),
    ("indexed", "indexed"),
    ("window", "window"),
    ("tiered", "tiered"),
    ("masking-10", "masking-10"),
];

fn mark() -> Value {
    json!({"type": "ephemeral"})
}

/// The marks of a request, each with its place, and how many blocks of its messages may have one.
fn marks(request: &Value) -> (Vec<String>, usize) {
    let (mut places, mut free) = (Vec::new(), 0);
    let mut look = |place: String, block: &Value| {
        if block.get("cache_control").is_some_and(Value::is_object) {
            places.push(place);
        }
    };
    for list in ["tools", "system"] {
        for (at, block) in request[list].as_array().into_iter().flatten().enumerate() {
            look(format!("/{list}/{at}"), block);
        }
    }
    for (at, message) in request["messages"].as_array().unwrap().iter().enumerate() {
        let Some(blocks) = message["content"].as_array() else {
            free += 1;
            continue;
        };
        for (block_at, block) in blocks.iter().enumerate() {
            let place = format!("/messages/{at}/content/{block_at}");
            free += usize::from(block["type"] != "thinking");
            assert!(block["type"] != "thinking" || block["cache_control"].is_null(), "{place}");
            for (inner_at, inner) in block["content"].as_array().into_iter().flatten().enumerate() {
                look(format!("{place}/content/{inner_at}"), inner);
            }
            look(place, block);
        }
    }
    (places, free)
}

/// A preset's proxy and the provider behind it.
async fn proxy(preset: &str, limits: Limits) -> (FakeProvider, Proxy) {
    let answer = Script::answer(|_| Reply::text("ok").without_usage());
    let provider = FakeProvider::start(answer).await.unwrap();
    let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
    (provider, proxy)
}

/// What the provider is sent, and whether it was folded.
async fn sent(provider: &FakeProvider, proxy: &Proxy, client: &Value) -> (Value, bool) {
    let url = format!("{}{}", proxy.url, path(Dialect::Anthropic));
    let response = http().post(url).body(client.to_string()).send().await.unwrap();
    assert_eq!(response.status(), 200);
    let done = outcome(&response);
    assert!(!done.starts_with("fault"), "{done}");
    (provider.requests().pop().unwrap().body.clone(), done.starts_with("folded"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marks_of_messages_that_were_folded_stand_on_the_nearest_that_are_sent() {
    let rows = [
        (
            "marks-codex-1-8.json",
            "codex",
            20_000,
            ["/messages/1/content/0", "/messages/3/content/0"],
        ),
        (
            "marks-indexed-small-10-6.json",
            "indexed",
            24_000,
            ["/messages/1/content/0", "/messages/3/content/1"],
        ),
    ];
    for (file, preset, context, expected) in rows {
        let case = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/F07-cache-marks");
        let text = std::fs::read_to_string(format!("{case}/{file}")).unwrap();
        let case: Value = serde_json::from_str(&text).unwrap();
        let text = PRESETS.iter().find(|(name, _)| *name == preset).unwrap().1;
        let (provider, proxy) = proxy(text, Limits::new(context, 2_000)).await;
        let (sent, folded) = sent(&provider, &proxy, &case["client"]).await;
        assert!(folded, "{file}");
        let (places, _) = marks(&sent);
        assert_eq!(places[..2], ["/tools/1", "/system/0"], "{file}");
        assert_eq!(places[2..], expected, "{file}");
    }
}

/// A text with the word that marks are known by, or without.
fn text() -> impl Strategy<Value = String> {
    let word = r#""cache_control": {"type": "ephemeral"}"#;
    prop::sample::select(vec!["plain words", "cache_control", word, " = \"cache_control\""])
        .prop_flat_map(|word| {
            (20..400usize).prop_map(move |times| format!("{word}\n").repeat(times))
        })
}

/// A call with its result: whether the model thinks and speaks, how many calls, their argument and their results.
#[derive(Clone, Debug)]
struct Step {
    thinks: bool,
    speaks: bool,
    results: Vec<(String, bool)>,
}

fn step() -> impl Strategy<Value = Step> {
    let results = prop::collection::vec((text(), any::<bool>()), 1..4);
    (any::<bool>(), any::<bool>(), results).prop_map(|(thinks, speaks, results)| Step {
        thinks,
        speaks,
        results,
    })
}

/// A client's request. `marked` picks the blocks with marks in its messages.
fn request(
    steps: &[Step],
    around: (bool, bool),
    marked: &[prop::sample::Index],
    number: u64,
) -> Value {
    let mut messages =
        vec![json!({"role": "user", "content": format!("Task {number}: cache_control")})];
    for (at, step) in steps.iter().enumerate() {
        let mut blocks = Vec::new();
        if step.thinks {
            blocks.push(
                json!({"type": "thinking", "thinking": "cache_control", "signature": "c2ln"}),
            );
        }
        if step.speaks {
            blocks.push(json!({"type": "text", "text": format!("Step {at}.")}));
        }
        let ids: Vec<_> =
            (0..step.results.len()).map(|call| format!("toolu_{at}_{call}")).collect();
        for id in &ids {
            let input = json!({"path": format!("src/{id}.rs"), "cache_control": mark()});
            blocks.push(json!({"type": "tool_use", "id": id, "name": "read", "input": input}));
        }
        messages.push(json!({"role": "assistant", "content": blocks}));
        let results = ids.iter().zip(&step.results).map(|(id, (text, in_blocks))| {
            let content =
                if *in_blocks { json!([{"type": "text", "text": text}]) } else { json!(text) };
            json!({"type": "tool_result", "tool_use_id": id, "content": content})
        });
        messages.push(json!({"role": "user", "content": results.collect::<Vec<_>>()}));
    }
    // Where a mark may stand: on a block, or in a result.
    let mut places = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        for (block_at, block) in message["content"].as_array().into_iter().flatten().enumerate() {
            let place = format!("/messages/{at}/content/{block_at}");
            if block["content"].is_array() {
                places.push(format!("{place}/content/0"));
            }
            if block["type"] != "thinking" {
                places.push(place);
            }
        }
    }
    let mut tool = json!({"name": "read", "input_schema": {"properties": {"cache_control": {"type": "object"}}}});
    let mut system = json!({"type": "text", "text": "You never write \"cache_control\"."});
    for (is_marked, block) in [(around.0, &mut tool), (around.1, &mut system)] {
        if is_marked {
            block["cache_control"] = mark();
        }
    }
    let mut request = json!({
        "model": "m-1", "max_tokens": 500, "tools": [tool], "system": [system], "messages": messages,
    });
    for index in marked {
        request.pointer_mut(&places[index.index(places.len())]).unwrap()["cache_control"] = mark();
    }
    request
}

#[test]
fn as_many_marks_are_sent_as_the_client_set() {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let number = Cell::new(0);
    for (name, preset) in PRESETS {
        let (provider, proxy) = runtime.block_on(proxy(preset, WINDOW));
        let (folded, moved) = (Cell::new(0), Cell::new(0));
        let requests = (
            prop::collection::vec(step(), 4..16),
            any::<(bool, bool)>(),
            prop::collection::vec(any::<prop::sample::Index>(), 0..=2),
        );
        let config = Config { cases: 24, failure_persistence: None, ..Config::default() };
        // The same requests every time: few of any drawn ones have a mark that `masking-10` moves.
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let run = runner.run(&requests, |(steps, around, marked)| {
            number.set(number.get() + 1);
            let client = request(&steps, around, &marked, number.get());
            let (sent, is_folded) = runtime.block_on(sent(&provider, &proxy, &client));
            let ((before, _), (after, free)) = (marks(&client), marks(&sent));
            folded.set(folded.get() + usize::from(is_folded));
            moved.set(moved.get() + usize::from(before != after));
            let around = before.iter().filter(|place| !place.starts_with("/messages")).count();
            prop_assert_eq!(&before[..around], &after[..around]);
            prop_assert_eq!(after.len(), before.len().min(around + free), "{:?}", after);
            Ok(())
        });
        run.unwrap_or_else(|error| panic!("{name}: {error}"));
        let (folded, moved) = (folded.get(), moved.get());
        assert!(folded >= 5 && moved >= 1, "{name}: folded {folded}, moved {moved}");
    }
}
