//! A trial: who gets which arm, what is recorded, and that nothing of a conversation is.

use crate::support::talk::{body, calls, path, reply, task};
use crate::support::{Proxy, WINDOW, folding, http, settings};
use foldback::core::log::{Finish, Message};
use foldback::wire::Dialect;
use foldback_fake_provider::{Call, FakeProvider, Reply, Script};
use foldback_live::trial::assign::unit_name;
use foldback_live::trial::record::{ConversationLine, Trial as Record, UnitLine};
use foldback_serve::trial::TrialArm;
use foldback_serve::{ServeError, Server, Trial};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

const ARMS: [&str; 3] = ["window", "masking-10", "none"];

fn trial(file: &Path, seed: u64) -> Trial {
    let arms = ARMS.map(|arm| TrialArm::new(arm, arm, 1)).into();
    Trial { seed, file: file.to_owned(), guard: true, arms }
}

async fn bind(provider: &FakeProvider, trial: Trial) -> Result<Server, ServeError> {
    let foldings = ARMS.map(|arm| folding(arm, WINDOW));
    Server::bind_arms(settings(provider), foldings.into(), Some(trial)).await
}

async fn start(provider: &FakeProvider, file: &Path) -> Proxy {
    Proxy::run(bind(provider, trial(file, 1)).await.unwrap())
}

fn read(file: &Path) -> Record {
    Record::parse(&fs::read_to_string(file).unwrap()).unwrap()
}

/// Sends a request of a unit; the name of its conversation.
async fn send(proxy: &Proxy, unit: Option<&str>, text: String) -> String {
    let mut request = http().post(format!("{}{}", proxy.url, path(Dialect::Anthropic))).body(text);
    if let Some(unit) = unit {
        request = request.header("x-foldback-unit", unit);
    }
    let response = request.send().await.unwrap();
    let name = response.headers()["x-foldback-conversation"].to_str().unwrap().to_owned();
    response.bytes().await.unwrap();
    name
}

/// The unit's name is in its first message, so that conversations begin differently.
fn log_of(unit: &str, length: usize) -> Vec<Arc<Message>> {
    let mut log = task(length);
    log[0] = Arc::new(Message::user("u", format!("planted-text {unit}")));
    log
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_proxies_on_one_file_and_restarts_keep_arms_and_count_each_answer_once() {
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("ok").usage(1_000, 10)));
    let provider = provider.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl");
    let units: Vec<String> = (0..9).map(|n| format!("unit-{n}")).collect();
    let mut arms: BTreeMap<String, String> = BTreeMap::new();
    for round in 0..2 {
        let proxies = [
            start(&provider, &file).await,
            start(&provider, &file).await,
            start(&provider, &file).await,
        ];
        for step in 0..3 {
            // Every unit goes on at another proxy.
            let requests = units.iter().enumerate().map(|(at, unit)| {
                let text = body(Dialect::Anthropic, calls(&log_of(unit, 12))[round * 3 + step].0);
                send(&proxies[(at + step) % 3], Some(unit), text)
            });
            futures_util::future::join_all(requests).await;
        }
        for line in &read(&file).conversations {
            let before = arms.insert(line.unit.unit.clone(), line.unit.arm.clone());
            assert!(before.is_none_or(|before| before == line.unit.arm));
        }
        for proxy in proxies {
            proxy.stop().await;
        }
    }
    let found = read(&file);
    assert_eq!(found.conversations.len(), units.len());
    for line in &found.conversations {
        let UnitLine { sums, .. } = &line.unit;
        assert_eq!((sums.calls, sums.uncached, sums.output), (6, 6_000, 60), "{line:?}");
    }
    let names =
        units.iter().map(|unit| unit_name(1, unit)).collect::<std::collections::BTreeSet<_>>();
    assert_eq!(arms.into_keys().collect::<std::collections::BTreeSet<_>>(), names);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_arm_folds_as_its_preset_and_none_sends_the_clients_bytes() {
    let log = log_of("x", 60);
    let answers = log.clone();
    let provider = FakeProvider::start(Script::answer(move |got| {
        let said =
            calls(&answers).into_iter().find(|(before, _)| before.len() == got.messages().len());
        said.map_or_else(|| Reply::text("ok"), |(_, answer)| reply(answer))
    }));
    let provider = provider.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl");
    let proxy = start(&provider, &file).await;
    let mut folded: BTreeMap<String, bool> = BTreeMap::new();
    for unit in 0..30 {
        if folded.len() == ARMS.len() {
            break;
        }
        let begun = provider.requests().len();
        let texts: Vec<String> =
            calls(&log).iter().map(|(before, _)| body(Dialect::Anthropic, before)).collect();
        for text in &texts {
            send(&proxy, Some(&format!("unit-{unit}")), text.clone()).await;
        }
        let sent = provider.requests();
        let same = sent[begun..].iter().zip(&texts).all(|(sent, text)| sent.text == *text);
        assert!(sent.iter().all(|sent| sent.header("x-foldback-unit").is_none()));
        let line = read(&file).conversations.pop().unwrap();
        assert_eq!(line.unit.sums.folds > 0, !same, "{line:?}");
        folded.insert(line.unit.arm.clone(), !same);
        assert!(line.unit.arm != "none" || line.unit.sums.folds == 0);
    }
    let expected = [("masking-10", true), ("none", false), ("window", true)];
    assert_eq!(folded, expected.map(|(arm, folded)| (arm.to_owned(), folded)).into());
    let page = http().get(format!("{}/", proxy.url)).send().await.unwrap().text().await.unwrap();
    assert!(page.contains("<td>none</td><td>yes</td><td>m-1</td>"), "{page}");
    let metrics = proxy.metrics().await;
    for arm in 1..=3 {
        assert!(
            metrics.contains(&format!("foldback_proxy_trial_stopped{{number=\"{arm}\"")),
            "{metrics}"
        );
    }
}

/// What a unit is without a header: a session, or one conversation; a subagent belongs to its parent, also after a restart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_and_subagents_are_of_one_unit() {
    const PROMPT: &str = "Find all places in which the parser allocates.";
    let provider = FakeProvider::start(Script::answer(|got| match got.text.contains("delegate") {
        true => {
            Reply::calls([Call::new("1", "Task", json!({"prompt": PROMPT, "kind": "explore"}))])
        }
        false => Reply::text("ok"),
    }));
    let provider = provider.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl");
    let ask = |text: &str, session: Option<&str>| {
        let mut body =
            json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]});
        if let Some(session) = session {
            body["metadata"] = json!({"user_id": format!("user_1_session_{session}")});
        }
        body.to_string()
    };
    let unit_of = |conversation: &str| {
        let lines = read(&file).conversations;
        lines.into_iter().find(|line| line.conversation == conversation).unwrap().unit.unit
    };
    let proxy = start(&provider, &file).await;
    let parent = send(&proxy, None, ask("please delegate this", None)).await;
    let child = send(&proxy, None, ask(PROMPT, None)).await;
    let alone = send(&proxy, None, ask("What does the parser do?", None)).await;
    let [one, two, other] = [
        send(&proxy, None, ask("first", Some("s-1"))).await,
        send(&proxy, None, ask("second", Some("s-1"))).await,
        send(&proxy, None, ask("first", Some("s-2"))).await,
    ];
    assert_eq!(unit_of(&child), unit_of(&parent));
    assert_ne!(unit_of(&alone), unit_of(&parent));
    assert_eq!(unit_of(&one), unit_of(&two));
    assert_ne!(unit_of(&one), unit_of(&other));
    proxy.stop().await;
    let proxy = start(&provider, &file).await;
    assert_eq!(send(&proxy, None, ask(PROMPT, None)).await, child);
    // A harness that names units knows better.
    let named = send(&proxy, Some("mine"), ask(PROMPT, None)).await;
    assert_eq!(unit_of(&named), unit_name(1, "mine"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_of_a_conversation_is_in_the_file() {
    let call = || Call::new("planted-id", "read", json!({"path": "/home/planted-path/a.rs"}));
    let provider = FakeProvider::start(Script::answer(move |got| match got.messages().len() {
        1 => Reply::calls([call()]),
        3 => Reply::status(400, r#"{"error": {"message": "planted-error"}}"#),
        _ => Reply::text("planted-answer"),
    }));
    let provider = provider.await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl");
    let proxy = start(&provider, &file).await;
    let mut messages = vec![json!({"role": "user", "content": "planted-text"})];
    for more in ["", "planted-result", "planted-more"] {
        if !more.is_empty() {
            let block = json!({"type": "tool_use", "id": "planted-id", "name": "read", "input": {"path": "/home/planted-path/a.rs"}});
            messages.push(json!({"role": "assistant", "content": [block]}));
            let block =
                json!({"type": "tool_result", "tool_use_id": "planted-id", "content": more});
            messages.push(json!({"role": "user", "content": [block]}));
        }
        let body = json!({"model": "m", "max_tokens": 9, "system": "planted-system", "messages": messages});
        let request = http()
            .post(format!("{}/v1/messages?k=planted-query", proxy.url))
            .body(body.to_string());
        let request =
            request.header("x-api-key", "planted-key").header("x-foldback-unit", "planted-unit");
        request
            .header("authorization", "Bearer planted-token")
            .send()
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
    }
    let found = read(&file);
    assert_eq!(found.conversations.len(), 1);
    let line = &found.conversations[0].unit;
    assert_eq!((line.sums.calls, line.sums.refusals, line.sums.repeats), (2, 1, 1), "{line:?}");
    for entry in fs::read_dir(folder.path()).unwrap() {
        let text = fs::read_to_string(entry.unwrap().path()).unwrap();
        assert!(!text.contains("planted") && !text.contains("a.rs"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_file_of_another_trial_is_refused_and_a_harmful_arm_gets_no_new_units() {
    let provider = FakeProvider::start(Script::answer(|_| Reply::text("ok"))).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("trial.jsonl");
    start(&provider, &file).await.stop().await;
    let refused = |trial: Trial| async { bind(&provider, trial).await.unwrap_err().to_string() };
    let mut heavier = trial(&file, 1);
    heavier.arms[0].weight = 2;
    for other in [trial(&file, 2), heavier] {
        let error = refused(other).await;
        assert!(error.contains("trial.jsonl:1: this file is of a trial with seed 1"), "{error}");
    }
    // Twenty units of each arm, of which `window` needs three times the calls.
    let mut text = fs::read_to_string(&file).unwrap();
    for at in 0..60 {
        let arm = ARMS[at % 3];
        let calls = if arm == "window" { 90 } else { 30 };
        let mut line = json!(ConversationLine {
            conversation: format!("c{at}"),
            unit: UnitLine {
                unit: format!("u{at}"),
                arm: arm.to_owned(),
                first_ms: at as i64 - 100,
                stop: Some(Finish::Stop),
                ..UnitLine::default()
            },
        });
        line["calls"] = Value::from(calls);
        text += &format!("{line}\n");
    }
    fs::write(&file, &text).unwrap();
    let ask = |n: usize| {
        json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": format!("task {n}")}]}).to_string()
    };
    let proxy = start(&provider, &file).await;
    for n in 0..30 {
        send(&proxy, None, ask(n)).await;
    }
    let found = read(&file);
    let [stop] = &found.stops[..] else { panic!("{:?}", found.stops) };
    assert_eq!((&*stop.stopped, stop.units < 20), ("window", true));
    let new = found.conversations.iter().filter(|line| line.unit.sums.calls == 1);
    assert!(new.clone().all(|line| line.unit.arm != "window") && new.count() == 30);
    let metrics = proxy.metrics().await;
    assert!(metrics.contains("trial_stopped{number=\"1\",arm=\"window\"} 1"), "{metrics}");
    proxy.stop().await;
    // Without the guard it goes on.
    fs::write(&file, &text).unwrap();
    let unguarded = Trial { guard: false, ..trial(&file, 1) };
    let proxy = Proxy::run(bind(&provider, unguarded).await.unwrap());
    for n in 0..30 {
        send(&proxy, None, ask(n)).await;
    }
    let lines = read(&file).conversations;
    assert!(lines.iter().any(|line| line.unit.sums.calls == 1 && line.unit.arm == "window"));
}
