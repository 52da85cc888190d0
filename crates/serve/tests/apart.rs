//! Conversations stay apart: forks, sub-agents, clients that say the same, and requests at the same time.

use crate::support::talk::{body, calls, send, task};
use crate::support::{Proxy, WINDOW, folding};
use foldback::core::log::Message;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Reply, Script};
use std::collections::BTreeSet;
use std::sync::Arc;

const CHAT: Dialect = Dialect::OpenAiChat;

async fn provider() -> FakeProvider {
    FakeProvider::start(Script::answer(|_| Reply::text("ok").without_usage())).await.unwrap()
}

/// What a provider is sent for each call of a log, by a proxy that sees nothing else.
async fn alone(log: &[Arc<Message>]) -> Vec<String> {
    let provider = provider().await;
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    for (before, _) in calls(log) {
        send(&proxy, CHAT, body(CHAT, before)).await;
    }
    provider.requests().into_iter().map(|request| request.text.clone()).collect()
}

/// The same task, with other words from one of its messages on.
fn fork(log: &[Arc<Message>], from: usize, word: &str) -> Vec<Arc<Message>> {
    let other = |(at, message): (usize, &Arc<Message>)| match at < from || !message.is_answer() {
        true => Arc::clone(message),
        false => {
            let mut message = Message::clone(message);
            message.parts.insert(0, foldback::Part::text(word));
            Arc::new(message)
        }
    };
    log.iter().enumerate().map(other).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forks_take_nothing_from_each_other() {
    let log = task(70);
    let branches = [log.clone(), fork(&log, 60, "B"), fork(&log, 90, "C"), fork(&log, 1, "D")];
    let provider = provider().await;
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let mut expected = Vec::new();
    for branch in &branches {
        expected.push(alone(branch).await);
    }
    // In turn: each goes on where it was after all others had theirs.
    for call in 0..expected[0].len() {
        for (branch, expected) in branches.iter().zip(&expected) {
            send(&proxy, CHAT, body(CHAT, calls(branch)[call].0)).await;
            assert_eq!(provider.requests().pop().unwrap().text, expected[call], "call {call}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_with_the_same_conversation_at_the_same_time_get_the_same() {
    let log = task(60);
    let expected = alone(&log).await;
    let provider = provider().await;
    let proxy = Arc::new(Proxy::folding(&provider, folding("window", WINDOW)).await);
    for (call, expected) in expected.iter().enumerate() {
        let clients = (0..4).map(|_| {
            let (proxy, body) = (Arc::clone(&proxy), body(CHAT, calls(&log)[call].0));
            tokio::spawn(async move { send(&proxy, CHAT, body).await })
        });
        for client in clients.collect::<Vec<_>>() {
            assert_eq!(client.await.unwrap().1, 200);
        }
        let requests = provider.requests();
        for request in &requests[requests.len() - 4..] {
            assert_eq!(request.text, *expected, "call {call}");
        }
    }
    assert!(proxy.metrics().await.contains("foldback_proxy_conversations 1\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_conversations_at_once_are_not_mixed_up() {
    let log = task(30);
    let branches: Vec<_> =
        (0..40).map(|branch| fork(&log, 1, &format!("branch {branch}."))).collect();
    let answers = |request: &foldback_fake_provider::Recorded| {
        let named = request.text.split("branch ").nth(1).and_then(|rest| rest.split('.').next());
        Reply::text(named.unwrap_or("none").to_owned()).without_usage()
    };
    let provider = FakeProvider::start(Script::answer(answers)).await.unwrap();
    let proxy = Arc::new(Proxy::folding(&provider, folding("window", WINDOW)).await);
    let running = branches.iter().cloned().map(|branch| {
        let proxy = Arc::clone(&proxy);
        tokio::spawn(async move {
            for (before, _) in calls(&branch) {
                send(&proxy, CHAT, body(CHAT, before)).await;
            }
        })
    });
    for running in running.collect::<Vec<_>>() {
        running.await.unwrap();
    }
    let requests = provider.requests();
    for (number, branch) in branches.iter().enumerate().step_by(9) {
        let expected = alone(branch).await;
        let own: Vec<_> = requests
            .iter()
            .filter(|request| request.text.contains(&format!("branch {number}.")))
            .collect();
        let last = own.iter().max_by_key(|request| request.number).unwrap();
        assert_eq!(&last.text, expected.last().unwrap(), "branch {number}");
    }
    let branches_in = |text: &str| {
        let named = text.split("branch ").skip(1).filter_map(|rest| rest.split('.').next());
        named.collect::<BTreeSet<_>>().len()
    };
    assert!(requests.iter().all(|request| branches_in(&request.text) <= 1));
}

/// A sub-agent may begin with the words of its parent and have another system prompt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_frame_is_another_conversation_until_the_model_has_answered() {
    let provider = provider().await;
    let proxy = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let log = task(3);
    let [first, second, third, ..] = &calls(&log)[..] else { panic!("calls") };
    let tools = |before: &[Arc<Message>], tool: &str| {
        let name = format!("{{\"name\" : \"{tool}\"}}");
        body(CHAT, before).replacen("{\"name\" : \"read\"}", &name, 1)
    };
    let conversations = async |count: u64| {
        let metrics = proxy.metrics().await;
        assert!(metrics.contains(&format!("foldback_proxy_conversations {count}\n")), "{metrics}");
    };
    send(&proxy, CHAT, tools(first.0, "read")).await;
    conversations(1).await;
    send(&proxy, CHAT, tools(first.0, "write")).await;
    conversations(2).await;
    send(&proxy, CHAT, tools(second.0, "read")).await;
    conversations(2).await;
    // The tools may change in the middle of a conversation.
    send(&proxy, CHAT, tools(third.0, "other")).await;
    conversations(2).await;
}

/// Messages of a few letters take a thousand times their text in memory, and that is what counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_conversations_take_is_bounded_and_not_what_they_say() {
    let provider = provider().await;
    let mut small = folding("window", WINDOW);
    small.max_bytes = 1 << 20;
    let proxy = Proxy::folding(&provider, small).await;
    let count = async |name: &str| {
        let metrics = proxy.metrics().await;
        let name = format!("foldback_proxy_{name} ");
        let line = metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
        line.parse::<usize>().unwrap()
    };
    let long = |name: &str| {
        let said = |at: usize| {
            format!(r#"{{"role":"{}","content":"{name}"}}"#, ["user", "assistant"][at % 2])
        };
        let messages: Vec<String> = (0..601).map(said).collect();
        format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","))
    };
    send(&proxy, CHAT, long("a")).await;
    let bytes = count("conversation_bytes").await;
    assert!(bytes > 10 * long("a").len() && bytes < 1 << 20, "{bytes}");
    send(&proxy, CHAT, long("b")).await;
    assert_eq!((count("conversations").await, count("evicted_total").await), (1, 1));
    assert_eq!(count("conversation_bytes").await, bytes, "that of the other is gone");
}
