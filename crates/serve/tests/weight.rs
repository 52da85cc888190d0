//! What the proxy says that conversations take in memory is what an allocator counts, whatever a client makes long.

use crate::support::talk::{body, path, task};
use crate::support::{Proxy, folding, http};
use cap::Cap;
use foldback::Limits;
use foldback::wire::Dialect;
use foldback_serve::{Server, Settings};
use serde_json::{Value, json};
use std::alloc::System;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::process::Command;
use std::time::Duration;

#[global_allocator]
static ALLOCATED: Cap<System> = Cap::new(System, usize::MAX);

/// Conversations of each kind.
const CONVERSATIONS: usize = 3;

/// What may be allocated for other reasons: connections and threads.
const SLACK: usize = 1 << 18;

/// Makes a request by the number of its conversation.
type Make = fn(usize) -> String;

/// A text of its own of so many bytes.
fn text(number: usize, bytes: usize) -> String {
    let line = format!("{number} let value_{number} = {number};\n");
    line.repeat(bytes / line.len() + 1)
}

/// A conversation of calls with results, by what the call and the result of a number are.
fn calls(count: usize, of: impl Fn(usize) -> (Value, Value)) -> Value {
    let mut messages = vec![json!({"role": "user", "content": "Go."})];
    for number in 0..count {
        let (call, result) = of(number);
        messages.push(json!({"role": "assistant", "content": [call]}));
        messages.push(json!({"role": "user", "content": [result]}));
    }
    json!(messages)
}

fn call(id: &str, tool: &str, input: Value) -> Value {
    json!({"type": "tool_use", "id": id, "name": tool, "input": input})
}

fn result(id: &str, content: Value) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": content})
}

/// A conversation of one message with this content.
fn one(content: Value) -> Value {
    json!([{"role": "user", "content": content}])
}

/// A request with these messages, and with other members.
fn request(messages: Value, members: &[(&str, Value)]) -> String {
    let mut request = json!({"model": "m-1", "max_tokens": 9, "messages": messages});
    for (name, value) in members {
        request[*name] = value.clone();
    }
    request.to_string()
}

/// Requests of Anthropic's protocol in which one thing is long or there is much of it, by the number of the conversation.
fn anthropic() -> Vec<(&'static str, Make)> {
    vec![
        ("texts", |n| request(one(json!(text(n, 1_000_000))), &[])),
        ("small messages", |n| {
            let messages = (0..2_000).map(|at| {
                let role = ["user", "assistant"][at % 2];
                json!({"role": role, "content": format!("{n} {at}")})
            });
            request(messages.collect(), &[])
        }),
        ("small calls", |n| {
            let of = |at| {
                let id = format!("{n}_{at}");
                (call(&id, "read", json!({"path": at})), result(&id, json!("ok")))
            };
            request(calls(1_000, of), &[])
        }),
        ("ids of calls", |n| {
            let of = |at| {
                let id = text(n * 1_000 + at, 20_000);
                (call(&id, "read", json!({})), result(&id, json!("ok")))
            };
            request(calls(40, of), &[])
        }),
        ("ids without results", |n| {
            let of = |at| {
                (
                    call(&text(n * 1_000 + at, 20_000), "read", json!({})),
                    json!({"type": "text", "text": "no"}),
                )
            };
            request(calls(40, of), &[])
        }),
        ("names of tools", |n| {
            let of = |at| {
                let id = format!("{n}_{at}");
                (call(&id, &text(n * 1_000 + at, 20_000), json!({})), result(&id, json!("ok")))
            };
            request(calls(40, of), &[])
        }),
        ("arguments of many numbers", |n| {
            let of = |at| {
                let id = format!("{n}_{at}");
                (call(&id, "read", json!({"list": vec![at; 10_000]})), result(&id, json!("ok")))
            };
            request(calls(20, of), &[])
        }),
        ("the name of the model", |n| {
            request(one(json!(format!("Go {n}."))), &[("model", json!(text(n, 1_000_000)))])
        }),
        ("types of media", |n| {
            let source =
                json!({"type": "base64", "media_type": text(n, 1_000_000), "data": "aGk="});
            request(one(json!([{"type": "image", "source": source}])), &[])
        }),
        ("titles of documents", |n| {
            let source = json!({"type": "base64", "media_type": "a/b", "data": "aGk="});
            request(
                one(json!([{"type": "document", "title": text(n, 1_000_000), "source": source}])),
                &[],
            )
        }),
        ("files in results", |n| {
            let source =
                json!({"type": "base64", "media_type": "image/png", "data": text(n, 20_000)});
            let of = |at| {
                let id = format!("{n}_{at}");
                (
                    call(&id, "read", json!({})),
                    result(&id, json!([{"type": "image", "source": source}])),
                )
            };
            request(calls(40, of), &[])
        }),
        ("unknown blocks of numbers", |n| {
            request(one(json!([{"type": "new", "list": vec![n; 100_000]}])), &[])
        }),
        ("unknown blocks of objects", |n| {
            request(
                one(json!([{"type": "new", "list": vec![json!({"a": n, "b": {}}); 10_000]}])),
                &[],
            )
        }),
        ("many unknown blocks", |n| {
            request(one(json!(vec![json!({"type": "new", "a": n}); 10_000])), &[])
        }),
        ("names of unknown blocks", |n| request(one(json!([{"type": text(n, 1_000_000)}])), &[])),
        ("thoughts", |n| {
            let thought = json!({"type": "thinking", "thinking": text(n, 200_000), "signature": text(n, 1_000_000)});
            request(
                json!([{"role": "user", "content": format!("Go {n}.")}, {"role": "assistant", "content": [thought]}]),
                &[],
            )
        }),
        ("many blocks", |n| {
            request(one(json!(vec![json!({"type": "text", "text": n.to_string()}); 10_000])), &[])
        }),
        ("system and tools", |n| {
            let tool = json!({"name": "t", "description": text(n, 1_000_000), "input_schema": {"type": "object"}});
            let members = [("system", json!(text(n, 1_000_000))), ("tools", json!([tool]))];
            request(one(json!(format!("Go {n}."))), &members)
        }),
        ("system and tools first", |n| {
            let tool = json!({"name": "t", "description": text(n, 1_000_000), "input_schema": {"type": "object"}});
            let system = json!(text(n, 1_000_000));
            json!({"system": system, "tools": [tool], "model": "m-1", "messages": one(json!(format!("Go {n}.")))}).to_string()
        }),
        ("what nobody reads", |n| {
            request(one(json!(format!("Go {n}."))), &[("metadata", json!(text(n, 1_000_000)))])
        }),
    ]
}

/// Requests of the other protocols.
fn others() -> Vec<(&'static str, Dialect, Make)> {
    vec![
        ("chat: ids and names", Dialect::OpenAiChat, |n| {
            let mut messages = vec![json!({"role": "system", "content": text(n, 500_000)})];
            for at in 0..20 {
                let (id, tool) = (text(n * 1_000 + at, 20_000), text(n * 1_000 + at, 20_000));
                let function = json!({"name": tool, "arguments": "{}"});
                let calls = json!([{"id": id, "type": "function", "function": function}]);
                messages.push(json!({"role": "assistant", "content": null, "tool_calls": calls}));
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": "ok"}));
            }
            request(json!(messages), &[])
        }),
        ("chat: unknown parts", Dialect::OpenAiChat, |n| {
            request(one(json!([{"type": "new", "list": vec![n; 100_000]}])), &[])
        }),
        ("responses: ids and names", Dialect::OpenAiResponses, |n| {
            let mut input =
                vec![json!({"type": "message", "role": "user", "content": format!("Go {n}.")})];
            for at in 0..20 {
                let (id, tool) = (text(n * 1_000 + at, 20_000), text(n * 1_000 + at, 20_000));
                input.push(json!({"type": "function_call", "id": id, "call_id": id, "name": tool, "arguments": "{}"}));
                input.push(json!({"type": "function_call_output", "call_id": id, "output": "ok"}));
            }
            json!({"model": "m-1", "input": input}).to_string()
        }),
        ("responses: unknown items", Dialect::OpenAiResponses, |n| {
            let input = json!([
                {"type": "new", "id": text(n, 500_000), "list": vec![n; 100_000]},
                {"type": "message", "role": "user", "content": format!("Go {n}.")},
            ]);
            json!({"model": "m-1", "input": input}).to_string()
        }),
    ]
}

/// A proxy in front of nobody: what is kept is kept before a request is sent.
async fn proxy(preset: &str, context: u64) -> Proxy {
    let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let mut settings = Settings::default();
    settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    settings.set_upstream(&format!("http://{}", closed.local_addr().unwrap())).unwrap();
    drop(closed);
    let folding = folding(preset, Limits::new(context, 1_000));
    Proxy::run(Server::bind(settings, folding).await.unwrap())
}

async fn send(proxy: &Proxy, dialect: Dialect, body: String) {
    let url = format!("{}{}", proxy.url, path(dialect));
    let response = http().post(url).body(body).send().await.unwrap();
    response.bytes().await.unwrap();
}

/// What is allocated once nothing of a request is left but what is kept.
async fn settled() -> usize {
    let mut before = ALLOCATED.allocated();
    let mut same = 0;
    while same < 3 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = ALLOCATED.allocated();
        same = if now.abs_diff(before) < 4_096 { same + 1 } else { 0 };
        before = now;
    }
    before
}

/// A number of the proxy's.
async fn number(proxy: &Proxy, name: &str) -> usize {
    let metrics = proxy.metrics().await;
    let line = metrics.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

/// What the proxy says that it keeps.
async fn counted(proxy: &Proxy) -> usize {
    number(proxy, "foldback_proxy_conversation_bytes").await
}

/// Bytes by the proxy's estimate, and by the allocator.
async fn weighed(
    preset: &str,
    context: u64,
    dialect: Dialect,
    of: impl Fn(usize) -> Vec<String>,
) -> (usize, usize) {
    let proxy = proxy(preset, context).await;
    let mut before = (0, 0);
    for number in 0..=CONVERSATIONS {
        for body in of(number) {
            send(&proxy, dialect, body).await;
        }
        // With the first one, threads and connections are there.
        if number == 0 {
            before = (counted(&proxy).await, settled().await);
        }
    }
    assert_eq!(
        number(&proxy, "foldback_proxy_conversations").await,
        CONVERSATIONS + 1,
        "all are kept"
    );
    let (took, counted) = (settled().await - before.1, counted(&proxy).await - before.0);
    proxy.stop().await;
    (counted, took)
}

/// Runs in a process of its own, since the allocator counts what every test of a process allocates.
#[test]
fn what_is_kept_is_weighed() {
    const APART: &str = "FOLDBACK_TEST_WEIGHT";
    if std::env::var_os(APART).is_some() {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        return runtime.worker_threads(2).enable_all().build().unwrap().block_on(weigh());
    }
    let test = "weight::what_is_kept_is_weighed";
    let mut process = Command::new(std::env::current_exe().unwrap());
    let process = process.args(["--exact", test, "--nocapture"]).env(APART, "1");
    assert!(process.status().unwrap().success());
}

async fn weigh() {
    let anthropic = anthropic().into_iter().map(|(name, of)| (name, Dialect::Anthropic, of));
    let mut wrong = Vec::new();
    let mut check = |name: &str, (counted, took): (usize, usize)| {
        println!(
            "{name}: {counted} bytes by estimate, {took} by the allocator: {:.2}",
            counted as f64 / took as f64
        );
        if counted + SLACK < took || counted > 2 * took + SLACK {
            wrong.push(format!("{name}: {counted} bytes by estimate, {took} by the allocator"));
        }
    };
    for (name, dialect, of) in anthropic.chain(others()) {
        check(name, weighed("none", 1 << 40, dialect, |number| vec![of(number)]).await);
    }
    // Conversations that grow and are folded: what strategies keep of them counts, too.
    for preset in ["window", "tiered", "tunacode", "indexed", "masking-10"] {
        let of = |number: usize| {
            let log = task(60 + number);
            let growing = (0..log.len()).filter(|at| log[*at].is_answer());
            growing.map(|at| body(Dialect::OpenAiChat, &log[..at])).collect()
        };
        check(preset, weighed(preset, 24_000, Dialect::OpenAiChat, of).await);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
