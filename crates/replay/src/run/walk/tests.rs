use super::*;
use crate::Preset;
use crate::acted::{preset, session, setup};
use crate::read::identifiers::Class;
use foldback_core::Limits;
use foldback_core::log::{Message, Part};
use foldback_core::moment::Moment;

const OLD: &str = "fn token() {\n    refresh();\n}";

fn follow(session: &Session, presets: &[&str], window: u64) -> Walk {
    let presets: Vec<Preset> = presets.iter().map(|name| preset(name)).collect();
    let setup = setup(Limits::new(window, window / 10));
    setup.walk("a.jsonl", session, &presets.iter().collect::<Vec<_>>(), Detail::default())
}

/// A file is read, much is read after it, a later turn edits the file and names what stood in it.
fn forgetful() -> Session {
    let call = |id: &str, tool: &str, arguments: &str| {
        Message::assistant(id, vec![Part::call(format!("{id}-c"), tool, arguments)])
    };
    let result = |id: &str, of: &str, tool: &str, text: &str| {
        Message::tool(id, format!("{of}-c"), tool, text)
    };
    let long = "nothing of interest here, only words that fill the window\n".repeat(300);
    let mut messages = vec![
        Message::user("u0", "Fix the login"),
        call("a0", "read", r#"{"file_path":"src/auth/token.rs"}"#),
        result("r0", "a0", "read", &format!("{OLD}\n// see docs/flow.md\n{long}")),
    ];
    for n in 1..4 {
        messages.push(call(&format!("a{n}"), "bash", r#"{"command":"make"}"#));
        messages.push(result(&format!("r{n}"), &format!("a{n}"), "bash", &long));
    }
    messages.push(Message::assistant("a4", vec![Part::text("Read it all.")]));
    messages.push(Message::user("u1", "And?"));
    messages.push(Message::assistant("a5", vec![Part::text("Shall I?")]));
    messages.push(Message::user("u2", "Go on"));
    let edit = serde_json::json!({
        "file_path": "src/auth/token.rs", "old_string": OLD, "new_string": "",
    });
    messages.push(call("a6", "edit", &edit.to_string()));
    messages.push(result("r6", "a6", "edit", "done"));
    messages.push(call("a7", "read", r#"{"file_path":"docs/flow.md"}"#));
    session(messages)
}

#[test]
fn what_was_cleared_and_what_that_cost_stands_in_the_walk() {
    let walk = follow(&forgetful(), &["none", "tunacode-local"], 40_000);
    let answers: Vec<(usize, usize)> = walk.calls.iter().map(|c| (c.answer, c.turn)).collect();
    assert_eq!(answers, [(1, 1), (3, 1), (5, 1), (7, 1), (9, 1), (11, 2), (13, 3), (15, 3)]);
    assert_eq!(walk.messages[2].name, "read");
    assert_eq!(walk.messages[2].call, Some(0));
    assert!(
        walk.messages[2].cut && walk.messages[2].excerpt.starts_with("fn token() { refresh();")
    );
    let [none, local] = walk.tracks.as_slice() else {
        panic!("two presets, {} tracks", walk.tracks.len());
    };
    assert!(none.forgotten.is_empty() && none.steps.is_empty());
    assert_eq!(none.idle, ["it has no stage that folds"]);

    // The third turn clears every result before call 6: even the newest alone is over 2,000 tokens.
    assert_eq!(local.firings.len(), 1);
    assert_eq!((local.firings[0].call, local.firings[0].fold), (6, false));
    let step = &local.steps[0];
    let changed: Vec<(usize, State)> = step.changes.iter().map(|c| (c.message, c.state)).collect();
    assert_eq!(step.call, 6);
    assert_eq!(changed, [2, 4, 6, 8].map(|message| (message, State::Cleared)), "{changed:?}");
    assert!(step.changes[0].tokens < walk.messages[2].tokens);
    let placeholder = &local.shown[step.changes[0].shown.unwrap()];
    assert!(placeholder.contains("cleared"), "{placeholder}");

    let missed = worst(&walk, local, 10);
    let told: Vec<_> = missed
        .iter()
        .map(|m| (m.need.call, m.need.kind, m.need.text.as_str(), m.left_view_at, m.more))
        .collect();
    assert_eq!(told, [(6, NeedKind::Edit, "fn token() {", 6, 0)]);
    let worst = missed[0];
    assert_eq!(worst.need.file.as_deref(), Some("src/auth/token.rs"));
    assert_eq!((worst.need.seen, worst.need.distance), (2, 6));
    assert_eq!(worst.by, Some("tunacode.placeholder"));
    assert!(worst.need.source.unwrap().tokens > 1_000);
}

#[test]
fn edits_come_first_then_what_is_dear_to_read_again() {
    let need = |kind, text: &str, source: Option<(usize, u64)>| Need {
        call: 9,
        kind,
        text: text.to_owned(),
        file: None,
        distance: 4,
        seen: 3,
        source: source.map(|(message, tokens)| NeedSource { message, tokens }),
        headline: false,
    };
    let (piece, path) = (NeedKind::Piece, NeedKind::Reference(Class::Path));
    let mut walk = follow(&forgetful(), &["tunacode-local"], 40_000);
    walk.needs = vec![
        need(piece, "cheap", Some((1, 10))),
        need(piece, "dear", Some((2, 900))),
        need(piece, "kept", Some((7, 5_000))),
        need(piece, "dear too", Some((2, 900))),
        need(piece, "nowhere", None),
        need(NeedKind::Edit, "edit", Some((3, 5))),
        need(piece, "nowhere", None),
        // A name is not told.
        need(path, "named", Some((8, 9_000))),
    ];
    let missed = [0, 1, 3, 4, 5, 6, 7].map(|need| Forgotten { need, left_view_at: 5 });
    walk.tracks[0].forgotten = missed.to_vec();
    let told = |top| -> Vec<(String, usize)> {
        let worst = worst(&walk, &walk.tracks[0], top);
        worst.iter().map(|m| (m.need.text.clone(), m.more)).collect()
    };
    let all = [("edit", 0), ("dear", 1), ("cheap", 0), ("nowhere", 1)];
    let all = all.map(|(text, more)| (text.to_owned(), more));
    assert_eq!(told(10), all);
    assert_eq!(told(2), all[..2]);
}

#[test]
fn what_fold_after_fold_does_is_counted() {
    let mut walk = follow(&forgetful(), &["pi", "none"], 17_000);
    assert_eq!(walk.tracks.iter().map(|track| track.stuck).collect::<Vec<_>>(), [None, None]);

    let firing = |call: usize, fold, own_before, own_after| TrackFiring {
        call,
        moment: Moment::CallStart,
        stage: String::new(),
        fold,
        reason: String::new(),
        degraded: None,
        own_before,
        own_after,
    };
    let prunings = [firing(3, false, 100, 90), firing(7, false, 95, 99)];
    let folds = [firing(4, true, 120, 40), firing(8, true, 110, 60)];
    let need = |call, distance, headline| Need {
        call,
        kind: NeedKind::Reference(Class::Path),
        text: String::new(),
        file: None,
        distance,
        seen: 0,
        source: None,
        headline,
    };
    // By call and distance: behind no fold, one, one, two, and one that is not counted.
    walk.needs = [(3, 2, true), (4, 4, true), (8, 4, true), (9, 6, true), (9, 9, false)]
        .map(|(call, distance, headline)| need(call, distance, headline))
        .to_vec();
    let track = &mut walk.tracks[0];
    track.forgotten = [2, 3, 4].map(|need| Forgotten { need, left_view_at: 4 }).to_vec();
    track.firings = prunings.to_vec();
    let Repeated { folds: of_folds, freed, left } = track.repeated();
    assert_eq!((of_folds, freed, left), (false, vec![10, 0], vec![90, 99]));
    track.firings.extend(folds);
    let Repeated { folds: of_folds, freed, left } = track.repeated();
    assert_eq!((of_folds, freed, left), (true, vec![80, 50], vec![40, 60]));
    let kept = walk.by_generation(&walk.tracks[0]).map(|share| (share.kept, share.needed));
    assert_eq!(kept, [(1, 2), (0, 1), (0, 0), (0, 0)]);
}

#[test]
fn texts_on_one_line() {
    let cases = [
        ("", 5, "", false),
        ("abc", 3, "abc", false),
        ("abcd", 3, "abc", true),
        (" a\n\n b\t", 9, "a b", false),
        ("ab cd", 2, "ab", true),
        ("ab cd", 3, "ab ", true),
        ("äöü\u{7}ß", 4, "äöü ", true),
    ];
    for (text, limit, expect, cut) in cases {
        assert_eq!(log::one_line(text, limit), (expect.to_owned(), cut), "{text:?}");
    }
}

/// The states that a reader builds up from the changes must be those that the requests were made of: frame,
/// shown messages and written messages together are the size that the replay measured, at every call.
#[test]
fn the_changes_add_up_to_what_was_sent() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/sessions");
    let presets = ["none", "opencode", "tunacode-local", "window", "tiered"];
    let (mut steps, mut forgotten) = (0, 0);
    for file in ["journal-opencode.json", "price-lists-codex.jsonl"] {
        let bytes = std::fs::read(format!("{folder}/{file}")).unwrap();
        let session = foldback_formats::read(&bytes, None).unwrap().remove(0);
        let walk = follow(&session, &presets, 60_000);
        let plain: Vec<u64> = walk.calls.iter().map(|call| call.plain_tokens).collect();
        assert_eq!(walk.tracks[0].tokens, plain, "{file}");
        let head = &walk.messages[..walk.calls[0].answer];
        let frame = plain[0] - head.iter().map(|line| line.tokens).sum::<u64>();
        for track in &walk.tracks {
            let mut sizes: Vec<u64> = walk.messages.iter().map(|line| line.tokens).collect();
            let mut standing: &[usize] = &[];
            let mut next = track.steps.iter().peekable();
            for (call, line) in walk.calls.iter().enumerate() {
                if let Some(step) = next.next_if(|step| step.call == call) {
                    for change in &step.changes {
                        sizes[change.message] = change.tokens;
                    }
                    standing = &step.standing;
                }
                let shown: u64 = sizes[..line.answer].iter().sum();
                let written: u64 = standing.iter().map(|at| track.written[*at].tokens).sum();
                let preset = &track.preset;
                assert_eq!(
                    frame + shown + written,
                    track.tokens[call],
                    "{file}, {preset}, call {call}"
                );
            }
            for missed in &track.forgotten {
                let need = &walk.needs[missed.need];
                assert!(missed.left_view_at <= need.call, "{file}: {need:?}");
                assert!(need.seen < walk.calls[need.call].answer, "{file}: {need:?}");
            }
            steps += track.steps.len();
            forgotten += track.forgotten.len();
        }
    }
    assert!(steps > 20 && forgotten > 100, "{steps} steps, {forgotten} forgotten");
}
