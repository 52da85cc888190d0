//! Clients that refer to the items of earlier answers and do not send them again (`item_reference`), as the AI SDK does.

use crate::support::talk::{MODEL, calls, task};
use crate::support::{Proxy, WINDOW, folding, http, outcome, settings};
use foldback::core::log::Message;
use foldback_fake_provider::{Answer, Call, FakeProvider, Recorded, Reply, Script};
use foldback_serve::Settings;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// A provider whose answers reason, speak and call.
async fn provider(log: &[Arc<Message>]) -> FakeProvider {
    let answers: Vec<Reply> = calls(log)
        .into_iter()
        .map(|(_, answer)| {
            let calls = answer.parts.iter().filter_map(|part| part.as_call());
            let calls =
                calls.map(|call| Call::new(&call.call_id, &call.tool, call.arguments_value()));
            let reasoning = "I look at the next part.".to_owned();
            let (text, calls) = (answer.said(), calls.collect());
            Reply::answer(Answer { reasoning, text, calls, ..Answer::default() }).without_usage()
        })
        .collect();
    let answer = move |request: &Recorded| answers[(request.number - 1) % answers.len()].clone();
    FakeProvider::start(Script::answer(answer)).await.unwrap()
}

/// The items of an answer, streamed or not.
fn items(text: &str) -> Vec<Value> {
    let whole: Value = serde_json::from_str(text).unwrap_or_else(|_| {
        let last = text.lines().filter_map(|line| line.strip_prefix("data: ")).next_back();
        serde_json::from_str::<Value>(last.unwrap()).unwrap()["response"].take()
    });
    whole["output"].as_array().unwrap().clone()
}

/// How a client says what the model answered.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// By the items, as they came.
    Items,
    /// By references to them.
    References,
}

/// What was done with the requests of a client, what it sent, and what the provider got.
struct Course {
    done: Vec<String>,
    asked: Vec<String>,
    got: Vec<Arc<Recorded>>,
    /// The items by their references.
    known: BTreeMap<String, Value>,
}

async fn course(
    proxy: &Proxy,
    provider: &FakeProvider,
    log: &[Arc<Message>],
    says: Says,
    streams: bool,
) -> Course {
    let mut course = Course { done: vec![], asked: vec![], got: vec![], known: BTreeMap::new() };
    let mut input: Vec<String> = Vec::new();
    let mut at = 0;
    for (before, _) in calls(log) {
        // What is new of users and tools.
        for message in before[at..].iter().filter(|message| !message.is_answer()) {
            for result in message.parts.iter().filter_map(|part| part.as_result()) {
                input.push(json!({"type": "function_call_output", "call_id": result.call_id, "output": result.text}).to_string());
            }
            if message.role == foldback::core::log::Role::User {
                input.push(json!({"role": "user", "content": message.said()}).to_string());
            }
        }
        at = before.len();
        let list = input.join(" ,\n ");
        let body = format!(
            "{{ \"model\":\"{MODEL}\", \"stream\" : {streams}, \"input\" : [ {list} ], \"store\" :true }}"
        );
        let response = http()
            .post(format!("{}/v1/responses", proxy.url))
            .body(body.clone())
            .send()
            .await
            .unwrap();
        assert_eq!(response.status(), 200);
        course.done.push(outcome(&response));
        course.asked.push(body);
        course.got.push(provider.requests().pop().unwrap());
        for item in items(&response.text().await.unwrap()) {
            let id = item["id"].as_str().unwrap();
            // In a spelling of the client's own.
            let reference = format!("{{\"type\" : \"item_reference\", \"id\":\"{id}\"}}");
            input.push(match says {
                Says::Items => item.to_string(),
                Says::References => reference,
            });
            course.known.insert(id.to_owned(), item);
        }
    }
    course
}

/// The items that the provider got, its own in the places of references.
fn resolved(course: &Course, request: &Recorded) -> Vec<Value> {
    let item = |item: &Value| match item["type"] == "item_reference" {
        true => course.known[item["id"].as_str().unwrap()].clone(),
        false => item.clone(),
    };
    request.messages().iter().map(item).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_with_references_is_folded_as_one_with_the_items() {
    let log = task(130);
    for (preset, streams) in [("window", true), ("opencode", false), ("tiered", true)] {
        let mut courses = Vec::new();
        for says in [Says::Items, Says::References] {
            let provider = provider(&log).await;
            let proxy = Proxy::folding(&provider, folding(preset, WINDOW)).await;
            courses.push(course(&proxy, &provider, &log, says, streams).await);
        }
        let [items, references] = &courses[..] else { unreachable!() };
        let folded = references.done.iter().filter(|done| done.starts_with("folded")).count();
        let last = |course: &Course| course.done.last().unwrap().clone();
        assert!(folded > 9, "{preset}: {folded}, {} and {}", last(references), last(items));
        assert_eq!(references.done, items.done, "{preset}");
        let mut referred = 0;
        for (call, got) in references.got.iter().enumerate() {
            let what = format!("{preset}, call {call}: {}", references.done[call]);
            if !references.done[call].starts_with("folded") {
                assert_eq!(got.text, references.asked[call], "{what}");
                continue;
            }
            assert_eq!(resolved(references, got), resolved(items, &items.got[call]), "{what}");
            // What is sent as it is keeps the client's own bytes.
            let own = "{\"type\" : \"item_reference\", \"id\":\"rs_";
            assert_eq!(got.text.matches("\"rs_").count(), got.text.matches(own).count(), "{what}");
            referred += got.text.matches(own).count();
            assert!(got.text.ends_with(" ], \"store\" :true }"), "{what}");
        }
        assert!(referred > 9, "{preset}: {referred}");
    }
}

/// A proxy in front of a provider, and what it says.
async fn listening(provider: &FakeProvider) -> (Proxy, Arc<Mutex<Vec<String>>>) {
    let said = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&said);
    let mut settings: Settings = settings(provider);
    settings.say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
    (Proxy::both(settings, folding("window", WINDOW)).await, said)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_stays_with_the_provider_is_said_once_with_the_way_out() {
    let user = r#"{"role":"user","content":"Go on."}"#;
    let reference = r#"{"type":"item_reference","id":"rs_of_before"}"#;
    let rows = [
        (format!(r#""input":[{user},{reference}]"#), "providerOptions"),
        (format!(r#""input":[{user},{{"id":"rs_of_before"}}]"#), "providerOptions"),
        (
            format!(r#""previous_response_id":"resp_1","input":[{user}]"#),
            "without `previous_response_id`",
        ),
        (format!(r#""conversation":"conv_1","input":[{user}]"#), "without `conversation`"),
    ];
    for (members, way_out) in rows {
        let provider = FakeProvider::start(Script::answer(|_| Reply::text("Good."))).await.unwrap();
        let (proxy, said) = listening(&provider).await;
        let body = format!("{{\"model\":\"{MODEL}\",{members}}}");
        for _ in 0..3 {
            let url = format!("{}/v1/responses", proxy.url);
            let response = http().post(url).body(body.clone()).send().await.unwrap();
            assert_eq!(outcome(&response), "passed; why=kept-elsewhere", "{members}");
            assert_eq!(provider.requests().pop().unwrap().text, body);
        }
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 1, "{members}: {said:?}");
        assert!(said[0].contains(way_out) && !said[0].contains("_of_before"), "{said:?}");
    }
}

/// Servers that number the items of each answer anew give one id to many.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_id_of_two_items_stands_for_neither() {
    let answer = |text: &str| {
        let item = json!({"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": text}]});
        let body = json!({"id": "resp_1", "status": "completed", "output": [item]});
        Reply::raw(200, "application/json", body.to_string())
    };
    let replies = [answer("One."), answer("Two."), answer("Three."), answer("Four.")];
    let provider = FakeProvider::start(replies).await.unwrap();
    let (proxy, _) = listening(&provider).await;
    let user = |text: &str| json!({"role": "user", "content": text});
    let reference = json!({"type": "item_reference", "id": "msg_1"});
    let rows = [
        (vec![user("A")], "unchanged"),
        (vec![user("A"), reference.clone(), user("B")], "unchanged"),
        (vec![user("A"), reference, user("C")], "passed; why=kept-elsewhere"),
    ];
    for (input, expected) in rows {
        let body = json!({"model": MODEL, "input": input}).to_string();
        let url = format!("{}/v1/responses", proxy.url);
        let response = http().post(url).body(body).send().await.unwrap();
        assert!(outcome(&response).starts_with(expected), "{input:?}: {}", outcome(&response));
        response.bytes().await.unwrap();
    }
}
