//! A proxy that stops, at any moment and in any way, goes on where it was.

use crate::support::talk::{body, calls, send, task};
use crate::support::{Proxy, WINDOW, folding, settings};
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Recorded, Reply, Script};
use foldback_serve::{Folding, Server};
use std::fs;
use std::path::{Path, PathBuf};

const CHAT: Dialect = Dialect::OpenAiChat;

async fn provider() -> FakeProvider {
    FakeProvider::start(Script::answer(|_| Reply::text("ok").without_usage())).await.unwrap()
}

/// A provider to which every request is so many times as large as to the proxy.
async fn counting(times: u64) -> FakeProvider {
    let reply = move |got: &Recorded| Reply::text("ok").usage(got.tokens * times, 9);
    FakeProvider::start(Script::answer(reply)).await.unwrap()
}

fn journaled(folder: &Path) -> Folding {
    let mut folding = folding("window", WINDOW);
    folding.journal = Some(folder.to_owned());
    folding
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// A copy of a folder, its files cut after a share of their bytes: what a kill would have left.
fn killed(folder: &Path, share: usize) -> tempfile::TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in files(folder) {
        let bytes = fs::read(&file).unwrap();
        let kept = bytes.len() * share / 100;
        fs::write(copy.path().join(file.file_name().unwrap()), &bytes[..kept]).unwrap();
    }
    copy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_with_the_same_bytes() {
    let log = task(60);
    let all = calls(&log);
    let provider = provider().await;
    let whole = Proxy::folding(&provider, folding("window", WINDOW)).await;
    let folder = tempfile::tempdir().unwrap();
    let mut proxy = Proxy::folding(&provider, journaled(folder.path())).await;
    for (call, (before, _)) in all.iter().enumerate() {
        if call % 7 == 6 {
            proxy.stop().await;
            proxy = Proxy::folding(&provider, journaled(folder.path())).await;
            assert!(proxy.metrics().await.contains("foldback_proxy_conversations 1\n"));
        }
        send(&whole, CHAT, body(CHAT, before)).await;
        let expected = provider.requests().pop().unwrap().text;
        send(&proxy, CHAT, body(CHAT, before)).await;
        assert_eq!(provider.requests().pop().unwrap().text, expected, "call {call}");
        if call % 9 == 5 {
            // As if it had been killed here: with its last line whole, torn, or lost with others.
            for share in [100, 99, 90, 50, 3, 0] {
                let left = killed(folder.path(), share);
                let other = Proxy::folding(&provider, journaled(left.path())).await;
                send(&other, CHAT, body(CHAT, before)).await;
                let text = provider.requests().pop().unwrap().text;
                assert_eq!(text, expected, "call {call}, {share} %");
            }
        }
    }
    assert!(proxy.metrics().await.contains("foldback_proxy_journal_failures_total 0\n"));
}

/// What a provider said of its answer is in no request: a restart between the two must not lose it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strategies_that_go_by_usage_go_on_with_the_same_bytes() {
    let log = task(60);
    for preset in ["opencode", "codex", "gemini-cli"] {
        let provider = counting(2).await;
        let whole = Proxy::folding(&provider, folding(preset, WINDOW)).await;
        let folder = tempfile::tempdir().unwrap();
        let mut kept = folding(preset, WINDOW);
        kept.journal = Some(folder.path().to_owned());
        let mut proxy = Proxy::folding(&provider, kept.clone()).await;
        let mut folded = 0;
        for (call, (before, _)) in calls(&log).iter().enumerate() {
            if call % 3 == 2 {
                proxy.stop().await;
                proxy = Proxy::folding(&provider, kept.clone()).await;
            }
            let (outcome, _) = send(&whole, CHAT, body(CHAT, before)).await;
            folded += usize::from(outcome.starts_with("folded"));
            let expected = provider.requests().pop().unwrap().text;
            send(&proxy, CHAT, body(CHAT, before)).await;
            let text = provider.requests().pop().unwrap().text;
            assert_eq!(text, expected, "{preset}, call {call}");
        }
        assert!(folded > 10, "{preset} folded {folded} of 60");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_forgotten_leaves_no_file() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let mut two = journaled(folder.path());
    two.max_conversations = 2;
    let proxy = Proxy::folding(&provider, two).await;
    for number in 0..5 {
        let text = format!(r#"{{"messages": [{{"role": "user", "content": "{number}"}}]}}"#);
        send(&proxy, CHAT, text).await;
    }
    assert_eq!(
        files(folder.path()).len(),
        5,
        "two conversations, their answers, and a file of somebody else"
    );
    proxy.stop().await;
    let mut one = journaled(folder.path());
    one.max_conversations = 1;
    Proxy::folding(&provider, one).await.stop().await;
    assert_eq!(files(folder.path()).len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_is_damaged_or_in_use_is_an_error_that_names_it() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let log = task(5);
    let proxy = Proxy::folding(&provider, journaled(folder.path())).await;
    for (before, _) in calls(&log) {
        send(&proxy, CHAT, body(CHAT, before)).await;
    }
    let journal = |file: &PathBuf| file.to_str().unwrap().ends_with("foldback.jsonl");
    let file = &files(folder.path()).into_iter().find(journal).unwrap();
    let name = file.file_name().unwrap().to_str().unwrap().to_owned();
    let bind = async || Server::bind(settings(&provider), journaled(folder.path())).await;
    let error = bind().await.unwrap_err().to_string();
    assert!(error.contains(&name) && error.contains("in use"), "{error}");
    proxy.stop().await;
    let damaged = fs::read_to_string(file).unwrap().replacen("I read part 1", "I read part 2", 1);
    fs::write(file, damaged).unwrap();
    let error = bind().await.unwrap_err().to_string();
    assert!(error.contains(&name) && error.contains("moved out of the folder"), "{error}");
}

/// A folder that can't be written is no reason to fail a request: neither for the conversation nor for its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_can_not_be_written_is_counted() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let proxy = Proxy::folding(&provider, journaled(&gone)).await;
    fs::remove_dir(&gone).unwrap();
    let (outcome, _) = send(&proxy, CHAT, body(CHAT, &task(1)[..1])).await;
    assert!(outcome.starts_with("unchanged"), "{outcome}");
    assert!(proxy.metrics().await.contains("foldback_proxy_journal_failures_total 2\n"));
}
