//! A proxy that stops, at any moment and in any way, goes on where it was.

use crate::support::talk::{body, calls, send, task};
use crate::support::{Proxy, WINDOW, folding, settings};
use foldback::Strategy;
use foldback::core::log::{Part, Role};
use foldback::core::stage::Estimator;
use foldback::wire::Dialect;
use foldback_fake_provider::{FakeProvider, Recorded, Reply, Script};
use foldback_serve::{Folding, Server};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

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

/// Over folds and restarts, in every protocol.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_user_pins_is_in_every_request() {
    const PINNED: &str = "Never touch the migrations.";
    let mut log = task(60);
    let first = log.iter().position(|message| message.role == Role::User).unwrap();
    let mut parts = log[first].parts.clone();
    parts.push(Part::text(format!("<pin>{PINNED}</pin>")));
    log[first] = Arc::new(log[first].with_parts(parts));
    for dialect in Dialect::ALL {
        let provider = provider().await;
        let folder = tempfile::tempdir().unwrap();
        let mut proxy = Proxy::folding(&provider, journaled(folder.path())).await;
        let mut folded = 0;
        for (call, (before, _)) in calls(&log).into_iter().enumerate() {
            if call % 20 == 19 {
                proxy.stop().await;
                proxy = Proxy::folding(&provider, journaled(folder.path())).await;
            }
            let (outcome, _) = send(&proxy, dialect, body(dialect, before)).await;
            folded += usize::from(outcome.starts_with("folded"));
            let sent = provider.requests().pop().unwrap().text.clone();
            assert_eq!(sent.matches(PINNED).count(), 1, "{dialect}, call {call}: {outcome}");
        }
        assert!(folded > 10, "{dialect}: {folded}");
    }
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
        let expected = provider.requests().pop().unwrap().text.clone();
        send(&proxy, CHAT, body(CHAT, before)).await;
        assert_eq!(provider.requests().pop().unwrap().text, expected, "call {call}");
        if call % 9 == 5 {
            // As if it had been killed here: with its last line whole, torn, or lost with others.
            for share in [100, 99, 90, 50, 3, 0] {
                let left = killed(folder.path(), share);
                let other = Proxy::folding(&provider, journaled(left.path())).await;
                send(&other, CHAT, body(CHAT, before)).await;
                let text = provider.requests().pop().unwrap().text.clone();
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
            let expected = provider.requests().pop().unwrap().text.clone();
            send(&proxy, CHAT, body(CHAT, before)).await;
            let text = provider.requests().pop().unwrap().text.clone();
            assert_eq!(text, expected, "{preset}, call {call}");
        }
        assert!(folded > 10, "{preset} folded {folded} of 60");
    }
}

/// Nobody's new conversations take the old ones away: those have a limit of their own on disk.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_has_to_go_from_memory_stays_on_disk_up_to_a_limit_of_its_own() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    let limited = |conversations, journals| {
        let mut limited = journaled(folder.path());
        (limited.max_conversations, limited.max_journals) = (conversations, journals);
        limited
    };
    let journals = || {
        let is_journal = |file: &&PathBuf| file.to_str().unwrap().ends_with("foldback.jsonl");
        files(folder.path()).iter().filter(is_journal).count()
    };
    let proxy = Proxy::folding(&provider, limited(2, 5)).await;
    for (number, left) in (0..9).zip([1, 2, 3, 4, 5, 6, 7, 7, 7]) {
        let text = format!(r#"{{"messages": [{{"role": "user", "content": "{number}"}}]}}"#);
        send(&proxy, CHAT, text).await;
        assert_eq!(journals(), left, "after {number}");
    }
    assert!(proxy.metrics().await.contains("foldback_proxy_evicted_total 7\n"));
    proxy.stop().await;
    // Each has a file beside it; the note of the strategy and a file of somebody else are there, too.
    assert_eq!(files(folder.path()).len(), 2 * 7 + 2);
    for (conversations, on_disk, left) in [(2, 5, 7), (1, 5, 6), (1, 2, 3), (1, 0, 1)] {
        Proxy::folding(&provider, limited(conversations, on_disk)).await.stop().await;
        assert_eq!(journals(), left, "{conversations} in memory, {on_disk} beside them");
    }
    assert_eq!(fs::read_to_string(folder.path().join("notes.txt")).unwrap(), "mine");
}

/// What a provider said is on disk alone, once others have taken the place of the conversation.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_pushed_out_goes_on_with_the_same_bytes() {
    let log = task(60);
    let provider = counting(2).await;
    let whole = Proxy::folding(&provider, folding("opencode", WINDOW)).await;
    let folder = tempfile::tempdir().unwrap();
    let mut kept = folding("opencode", WINDOW);
    kept.journal = Some(folder.path().to_owned());
    kept.max_conversations = 1;
    let proxy = Proxy::folding(&provider, kept).await;
    let mut folded = 0;
    for (call, (before, _)) in calls(&log).iter().enumerate() {
        if call % 3 == 2 {
            let text = format!(r#"{{"messages": [{{"role": "user", "content": "{call}"}}]}}"#);
            send(&proxy, CHAT, text).await;
        }
        let (outcome, _) = send(&whole, CHAT, body(CHAT, before)).await;
        folded += usize::from(outcome.starts_with("folded"));
        let expected = provider.requests().pop().unwrap().text.clone();
        send(&proxy, CHAT, body(CHAT, before)).await;
        assert_eq!(provider.requests().pop().unwrap().text, expected, "call {call}");
    }
    assert!(folded > 10, "{folded} of 60");
    let of_it = files(folder.path());
    let of_it =
        of_it.iter().filter(|file| fs::read_to_string(file).unwrap().contains("I read part"));
    assert_eq!(of_it.count(), 1, "it has one journal all the time");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn journals_are_their_owners_alone_wherever_they_lie() {
    use std::os::unix::fs::PermissionsExt as _;
    let modes = |folder: &Path| -> Vec<u32> {
        files(folder)
            .iter()
            .map(|file| fs::metadata(file).unwrap().permissions().mode() & 0o777)
            .collect()
    };
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    // A folder that everybody may read, and files that an earlier version left open.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let proxy = Proxy::folding(&provider, journaled(folder.path())).await;
    send(&proxy, CHAT, body(CHAT, &task(3)[..3])).await;
    proxy.stop().await;
    assert_eq!(modes(folder.path()), [0o600; 3]);
    for file in files(folder.path()) {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    Proxy::folding(&provider, journaled(folder.path())).await.stop().await;
    let of_clients = files(folder.path()).into_iter().filter(|file| !file.ends_with("strategy"));
    for file in of_clients {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{file:?}");
    }
}

/// Pipes, folders and links to nowhere, under names of journals and of what is beside them.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_plain_file_does_not_stop_the_start() {
    let log = task(4);
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let proxy = Proxy::folding(&provider, journaled(folder.path())).await;
    send(&proxy, CHAT, body(CHAT, &log[..3])).await;
    proxy.stop().await;
    let journal = |file: &PathBuf| file.to_str().unwrap().ends_with("foldback.jsonl");
    let real = files(folder.path()).into_iter().find(journal).unwrap();
    let name = real.to_str().unwrap().to_owned();
    let pipe = |path: &str| {
        let _ = fs::remove_file(path);
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe(&name.replace(".1.foldback", ".7.foldback"));
    fs::create_dir(name.replace(".1.foldback", ".8.foldback")).unwrap();
    std::os::unix::fs::symlink("nowhere", name.replace(".1.foldback", ".9.foldback")).unwrap();
    pipe(folder.path().join("strategy").to_str().unwrap());
    pipe(&format!("{name}.answers.jsonl"));
    let proxy = Proxy::folding(&provider, journaled(folder.path())).await;
    assert!(proxy.metrics().await.contains("foldback_proxy_conversations 1\n"));
    let (outcome, _) = send(&proxy, CHAT, body(CHAT, &log[..5])).await;
    assert!(outcome.starts_with("unchanged"), "{outcome}");
    // What the provider said can't be written, and that is counted.
    assert!(proxy.metrics().await.contains("foldback_proxy_journal_failures_total 1\n"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_preset_for_the_same_conversations_is_said() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    for (preset, expected) in [
        ("window", None),
        ("window", None),
        (
            "tiered",
            Some(
                "window+extractive folded these conversations until now; tiered+extractive goes on with them",
            ),
        ),
        ("tiered", None),
        (
            "window",
            Some(
                "tiered+extractive folded these conversations until now; window+extractive goes on with them",
            ),
        ),
    ] {
        let said = Arc::new(Mutex::new(String::new()));
        let into = Arc::clone(&said);
        let mut settings = settings(&provider);
        settings.say = Arc::new(move |line| into.lock().unwrap().push_str(line));
        let mut folding = folding(preset, WINDOW);
        folding.journal = Some(folder.path().to_owned());
        let proxy = Proxy::both(settings, folding).await;
        send(&proxy, CHAT, body(CHAT, &task(1)[..1])).await;
        proxy.stop().await;
        let said = said.lock().unwrap();
        assert_eq!(said.is_empty(), expected.is_none(), "{preset}: {said}");
        assert!(said.ends_with(expected.unwrap_or_default()), "{preset}: {said}");
    }
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

/// Counts letters, and stops the first thread that counts after it was told to, until it is let go.
#[derive(Debug)]
struct Turnstile {
    id: Arc<str>,
    state: Mutex<TurnstileState>,
    changed: Condvar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnstileState {
    Open,
    Closed,
    Holding,
}

impl Turnstile {
    fn new() -> Arc<Self> {
        let (state, changed) = (Mutex::new(TurnstileState::Open), Condvar::new());
        Arc::new(Self { id: "turnstile".into(), state, changed })
    }

    fn set(&self, state: TurnstileState) {
        *self.state.lock().unwrap() = state;
        self.changed.notify_all();
    }

    fn is_holding(&self) -> bool {
        *self.state.lock().unwrap() == TurnstileState::Holding
    }
}

impl Estimator for Turnstile {
    fn id(&self) -> &Arc<str> {
        &self.id
    }

    fn text(&self, text: &str) -> u64 {
        let mut state = self.state.lock().unwrap();
        if *state == TurnstileState::Closed {
            *state = TurnstileState::Holding;
            drop(self.changed.wait_while(state, |state| *state == TurnstileState::Holding));
        }
        text.len() as u64
    }
}

/// Reading a long journal takes a while, and clients repeat what is not answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_comes_while_the_journal_is_read_goes_on_with_it() {
    let log = task(4);
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let turnstile = Turnstile::new();
    let strategy = Arc::new(Strategy::new("plain", Arc::clone(&turnstile) as Arc<dyn Estimator>));
    let mut folding = Folding::new(strategy, Arc::new(|_| Some(WINDOW))).unwrap();
    folding.journal = Some(folder.path().to_owned());
    folding.max_conversations = 1;
    let proxy = Arc::new(Proxy::folding(&provider, folding).await);
    send(&proxy, CHAT, body(CHAT, &log[..3])).await;
    send(&proxy, CHAT, r#"{"messages": [{"role": "user", "content": "another"}]}"#.into()).await;
    turnstile.set(TurnstileState::Closed);
    let request = || {
        let (proxy, body) = (Arc::clone(&proxy), body(CHAT, &log[..5]));
        tokio::spawn(async move { send(&proxy, CHAT, body).await })
    };
    let first = request();
    while !turnstile.is_holding() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let mut second = request();
    // Where it is not waited for, it is answered in this time.
    let early = tokio::time::timeout(Duration::from_millis(300), &mut second).await;
    turnstile.set(TurnstileState::Open);
    let second = match early {
        Ok(answered) => answered.unwrap(),
        Err(_) => second.await.unwrap(),
    };
    for (outcome, status) in [first.await.unwrap(), second] {
        assert!(outcome.starts_with("unchanged") && status == 200, "{outcome}, {status}");
    }
    let of_it = files(folder.path());
    let of_it =
        of_it.iter().filter(|file| fs::read_to_string(file).unwrap().contains("I read part"));
    assert_eq!(of_it.count(), 1, "both requests are of one conversation");
}

/// A folder that can't be written is no reason to fail a request: neither for the conversation nor for its answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_journal_that_can_not_be_written_is_counted() {
    let provider = provider().await;
    let folder = tempfile::tempdir().unwrap();
    let gone = folder.path().join("gone");
    let proxy = Proxy::folding(&provider, journaled(&gone)).await;
    fs::remove_dir_all(&gone).unwrap();
    let (outcome, _) = send(&proxy, CHAT, body(CHAT, &task(1)[..1])).await;
    assert!(outcome.starts_with("unchanged"), "{outcome}");
    assert!(proxy.metrics().await.contains("foldback_proxy_journal_failures_total 2\n"));
}
