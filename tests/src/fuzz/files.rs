//! Files that foldback keeps for itself, in any state.

use async_trait::async_trait;
use foldback_core::conversation::Conversation;
use foldback_core::log::{Finish, Role, Usage};
use foldback_core::moment::Moment;
use foldback_core::provider::{
    Completion, CompletionRequest, Endpoint, Model, ProviderError, Turn,
};
use foldback_core::strategy::Strategy;
use foldback_core::{Limits, Message};
use foldback_live::journal::Journal;
use foldback_llm::Cassette;
use foldback_replay::Store;
use foldback_testkit::talk::{append, at, block_on, conversation, sent_lines, step};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

fn empty() -> Conversation {
    static WINDOW: LazyLock<Arc<Strategy>> = LazyLock::new(|| {
        Arc::new(foldback::preset(&foldback::registry().unwrap(), "window").unwrap())
    });
    conversation(Arc::clone(&WINDOW), Limits::new(60_000, 8_000))
}

/// A journal of some messages, a fold, and what came after it.
pub(crate) fn written_journal() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    let mut talk = empty();
    let mut journal = Journal::open(&path, &mut talk).unwrap();
    for number in 0..6 {
        talk.append(Message::user(format!("u{number}"), "Read it again."));
        append(&mut talk, step(number, "read", "some lines\n".repeat(40)));
        if number == 4 {
            at(&mut talk, Moment::Manual);
        }
        journal.record(&talk).unwrap();
    }
    std::fs::read(&path).unwrap()
}

/// A journal opens and goes on, or is left as it is.
pub(crate) fn journal(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal");
    std::fs::write(&path, data).unwrap();
    let mut kept = empty();
    match Journal::open(&path, &mut kept) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            assert_eq!(std::fs::read(&path).unwrap(), data, "a refused journal was written");
        }
        Ok(mut journal) => {
            kept.append(Message::user("a message of the fuzzer", "later"));
            journal.record(&kept).unwrap();
            drop(journal);
            let mut again = empty();
            Journal::open(&path, &mut again).unwrap();
            assert_eq!(sent_lines(&again), sent_lines(&kept));
        }
    }
}

/// How a pack begins.
const PACK: &[u8] = b"foldback results 2\n";

/// The hashes of an entry: of its name, length and content, and of its head.
fn hashes(fields: &[u8], content: &[u8]) -> [u8; 40] {
    let mut out = [0; 40];
    out[..32].copy_from_slice(blake3::hash(&[fields, content].concat()).as_bytes());
    let head = blake3::hash(&[fields, &out[..32]].concat());
    out[32..].copy_from_slice(&head.as_bytes()[..8]);
    out
}

/// A pack with two entries, as `foldback_replay::store` describes it.
pub(crate) fn written_pack() -> Vec<u8> {
    let mut pack = PACK.to_vec();
    for (name, content) in [([7; 32], &b"one entry"[..]), ([9; 32], &[0; 40])] {
        let fields = [&name[..], &(content.len() as u64).to_le_bytes()].concat();
        pack.extend([&fields, &hashes(&fields, content)[..], content].concat());
    }
    pack
}

/// A pack whose hashes are right whatever it holds: no mutation meets one, and what follows would never be read.
fn sealed(mut pack: Vec<u8>) -> Vec<u8> {
    let mut at = PACK.len();
    while let Some((fields, rest)) = pack.get(at..).and_then(|entry| entry.split_at_checked(40)) {
        let Some(behind) = rest.get(40..) else { break };
        let mut length = [0; 8];
        length.copy_from_slice(&fields[32..]);
        let length = usize::try_from(u64::from_le_bytes(length)).unwrap_or(usize::MAX);
        let hashes = hashes(fields, &behind[..length.min(behind.len())]);
        pack[at + 40..at + 80].copy_from_slice(&hashes);
        at = at.saturating_add(80).saturating_add(length);
    }
    pack
}

/// A folder with two packs opens: one as it comes, one with right hashes.
pub(crate) fn store(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("results-000001.pack"), data).unwrap();
    std::fs::write(folder.path().join("results-000002.pack"), sealed(data.to_vec())).unwrap();
    let store = Store::open(folder.path(), "fuzz").unwrap();
    let _ = store.damaged();
}

/// The request whose answer is looked for.
fn request() -> CompletionRequest {
    CompletionRequest {
        endpoint: Endpoint { provider: "openai".into(), model: "m".into(), ..Endpoint::default() },
        system: "Instructions.".into(),
        turns: vec![Turn { role: Role::User, text: "Summarise.".into() }],
        temperature: None,
        max_output: 256,
        timeout: Duration::from_secs(1),
        replicate: 0,
    }
}

/// A model that always says the same.
#[derive(Debug)]
struct Says;

#[async_trait]
impl Model for Says {
    async fn complete(&self, _: &CompletionRequest) -> Result<Completion, ProviderError> {
        let usage = Some(Usage { uncached: 100, output: 7, ..Usage::default() });
        let text = "A summary.".to_owned();
        Ok(Completion { text, finish: Finish::Stop, usage, model: Some("m-2026".to_owned()) })
    }
}

/// What a cassette keeps of an answer.
pub(crate) fn written_answer() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::record(folder.path(), Arc::new(Says));
    block_on(cassette.complete(&request())).unwrap();
    std::fs::read(cassette.file(&request())).unwrap()
}

/// A recorded answer is one, or an error.
pub(crate) fn cassette(data: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let cassette = Cassette::replay(folder.path());
    std::fs::write(cassette.file(&request()), data).unwrap();
    if let Err(error) = block_on(cassette.complete(&request())) {
        assert!(!error.to_string().is_empty());
    }
}
