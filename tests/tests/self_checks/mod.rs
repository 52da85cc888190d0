//! Self-checks of the laboratory: what must hold whatever the sessions are, or its numbers mean nothing.

mod files;
mod fixed_points;
mod future;
mod scale;
mod store;

use foldback_formats::Session;
use foldback_replay::{CallRow, Corpus, Probe, Request, Source};
use foldback_tests::lab;
use foldback_tests::planted::{Needs, Planted};
use foldback_tests::{Script, file};
use std::path::PathBuf;

/// The recorded sessions that ship.
fn examples() -> Corpus {
    let folder = lab::root().join("tests/four-sessions");
    let entries = std::fs::read_dir(folder).unwrap().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end != "md"));
    paths.sort();
    Corpus { sources: paths.into_iter().map(Source::File).collect() }
}

/// A few planted sessions.
fn few(needs: Needs) -> Vec<Session> {
    let planted = Planted { needs, sessions: 3, lines: true, ..Planted::default() };
    planted.sessions()
}

/// Four turns of reading, mending and testing, with edits and failures; some 17,000 tokens.
fn mending() -> Session {
    mending_files_of(2_600)
}

fn mending_files_of(characters: usize) -> Session {
    let mut script = Script::default();
    for turn in 0..4 {
        script.user(&format!("turn {turn}: mend src/m{turn}.rs and run its tests"));
        let mut read: Option<(String, String)> = None;
        for step in 0..6 {
            let name = format!("src/m{turn}_{step}.rs");
            let path = format!("{{\"path\":\"{name}\"}}");
            let text = file(&name, characters);
            script.call("reading on", &[("read", &path, &text)]);
            // What is mended was read one step before.
            if let Some((name, text)) = read.replace((name, text)) {
                let change = serde_json::json!({
                    "path": name,
                    "old_string": text.lines().nth(7).unwrap(),
                    "new_string": "value_7 = 1",
                });
                script.call("", &[("edit", &change.to_string(), "done")]);
            }
        }
        let failure = format!("error[E0308]: mismatched types in src/m{turn}.rs:12");
        script.call("", &[("bash", "{\"command\":\"cargo test\"}", &failure)]);
        script.call("We decided to leave the interface as it is.", &[]);
    }
    let mut session = script.session();
    session.id = "mending".to_owned();
    session
}

/// What a replay sent, request by request, and what it measured.
#[derive(Debug, Default, PartialEq)]
struct Sent {
    views: Vec<Vec<String>>,
    rows: Vec<CallRow>,
}

impl Probe for Sent {
    fn call(&mut self, request: &Request<'_>) {
        let shown = request.conversation.sent();
        let texts = shown.iter().map(|shown| {
            // Usage is what the provider said, and no part of a request.
            let mut message = shown.to_message();
            message.answer = None;
            serde_json::to_string(&message).unwrap()
        });
        self.views.push(texts.collect());
    }
}
