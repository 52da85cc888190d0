//! `foldback hook`: answers hooks of Claude Code around its own compaction.
//!
//! | hook | what it prints | what Claude Code does with it |
//! |---|---|---|
//! | `PreCompact` | names for the summary to keep | gives them to the model that writes it |
//! | `SessionStart` after a compaction | names that the summary lacks | gives them to the model that goes on |
//! | anything else | nothing | |
//!
//! The names are those by which the agent's calls referred to things: files, addresses, symbols, and the errors that it met. Nothing
//! is remembered between the two: the transcript has it all. Code 2 would block a compaction, so whatever is wrong ends with
//! code 1, of which Claude Code tells its user, and goes on.

use crate::error::Error;
use crate::{input, output};
use foldback_core::log::{Message, PartKind, Role};
use foldback_formats::Session;
use foldback_replay::caught;
use foldback_replay::identifiers::{Class, Identifier, components, identifiers, same_path};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes that a hook prints at most: some 1,000 tokens.
const MOST: usize = 4_000;

/// Bytes of the hook's input that are read.
const INPUT: u64 = 1 << 20;

/// Longest name that is taken.
const LONGEST: usize = 200;

/// Kinds of names, with the word for each.
const KINDS: [(Class, &str); 4] = [
    (Class::Path, "files"),
    (Class::Error, "errors"),
    (Class::Symbol, "names"),
    (Class::Url, "addresses"),
];

pub(crate) fn run() -> Result<(), Error> {
    let mut text = String::new();
    let read = std::io::stdin().take(INPUT).read_to_string(&mut text);
    let said = read
        .map_err(|error| format!("standard input: {error}"))
        .and_then(|_| caught(|| answer(&text)).unwrap_or_else(|fault| Err(fault.to_string())))
        .map_err(|why| Error::Hook(format!("foldback hook: {why}")))?;
    output::print(&said)
}

/// The text that is printed for the JSON of a hook.
fn answer(text: &str) -> Result<String, String> {
    let hook: Value = serde_json::from_str(text)
        .map_err(|error| format!("the input is no JSON of a hook of Claude Code: {error}"))?;
    let is_after = match (hook["hook_event_name"].as_str(), hook["source"].as_str()) {
        (Some("PreCompact"), _) => false,
        (Some("SessionStart"), Some("compact")) => true,
        (Some(_), _) => return Ok(String::new()),
        (None, _) => return Err("the input has no hook_event_name".to_owned()),
    };
    let path = hook["transcript_path"].as_str().ok_or("the input has no transcript_path")?;
    let sessions = input::sessions(Path::new(path), Some("claude-code"));
    let sessions = sessions.map_err(|error| error.to_string())?;
    let own = sessions.iter().find(|session| Some(&*session.id) == hook["session_id"].as_str());
    let Some(session) = own.or(sessions.first()) else { return Ok(String::new()) };
    let (before, after) = parted(session, is_after);
    let names = lost(before, after);
    if names.is_empty() {
        return Ok(String::new());
    }
    if !is_after {
        let head = "Calls of this session referred to these by name. Keep those that the work still needs, word for word:\n";
        return Ok(format!("{head}{}", listed(&names, MOST - head.len())));
    }
    let head = "The compaction took these out of sight, and its summary does not name them; those that calls used most come first.\n";
    let tail =
        format!("All that was said and read until then is in {path}; search it by these names.\n");
    let names = listed(&names, MOST.saturating_sub(head.len() + tail.len()));
    let context = format!("{head}{names}{tail}");
    let said = json!({"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": context}});
    Ok(format!("{said}\n"))
}

/// The messages that the latest compaction removed or is about to remove, and those in view behind it.
fn parted(session: &Session, is_after: bool) -> (&[Arc<Message>], &[Arc<Message>]) {
    let messages = &session.messages[..];
    let at = session.boundaries.last().map_or(0, |boundary| boundary.before.min(messages.len()));
    let (before, after) = messages.split_at(at);
    let has_gone_on = after.iter().any(|message| message.is_answer());
    match is_after {
        true if at > 0 && !has_gone_on => (before, after),
        // Its boundary is not written yet.
        _ => (messages, &[]),
    }
}

/// How often calls used a name, and when last.
type Use = (usize, usize);

/// Names that calls used before and that nothing shows after, by kind, the most used first.
fn lost(before: &[Arc<Message>], after: &[Arc<Message>]) -> BTreeMap<&'static str, Vec<String>> {
    let shown: String = after.iter().map(|message| message.shown_text() + "\n").collect();
    let shown_paths: BTreeSet<&str> =
        identifiers(&shown).filter(|it| it.class == Class::Path).map(|it| it.text).collect();
    let is_shown = |class: Class, name: &str| {
        shown.contains(name)
            || class == Class::Path && shown_paths.iter().any(|path| same_path(name, path))
    };
    let mut used: BTreeMap<(Class, String), Use> = BTreeMap::new();
    for (at, message) in before.iter().enumerate() {
        for (class, name) in named(message) {
            let (times, last) = used.entry((class, name)).or_default();
            (*times, *last) = (*times + 1, at);
        }
    }
    let mut kinds = BTreeMap::new();
    for (class, kind) in KINDS {
        let of_it = used.iter().filter(|((its, name), _)| *its == class && !is_shown(class, name));
        let mut names: Vec<(&String, &Use)> = of_it.map(|((_, name), used)| (name, used)).collect();
        names.sort_by_key(|(name, (times, last))| (std::cmp::Reverse((*times, *last)), *name));
        if !names.is_empty() {
            kinds.insert(kind, names.into_iter().map(|(name, _)| name.clone()).collect());
        }
    }
    kinds
}

/// The names that a message uses: those in the arguments of its calls, and the errors in its results; each once.
fn named(message: &Message) -> BTreeSet<(Class, String)> {
    let mut names = BTreeSet::new();
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => {
                strings(&call.arguments_value(), &mut |text| {
                    for Identifier { class, text } in identifiers(text) {
                        let is_wanted = match class {
                            // A bare name stands for many files.
                            Class::Path => components(text) > 1,
                            Class::Symbol | Class::Url => true,
                            _ => false,
                        };
                        if is_wanted && text.len() <= LONGEST {
                            names.insert((class, text.to_owned()));
                        }
                    }
                });
            }
            PartKind::Result(result) if message.role == Role::Tool => {
                let errors = identifiers(&result.text).filter(|it| it.class == Class::Error);
                names.extend(errors.map(|it| (Class::Error, it.text.to_owned())));
            }
            _ => {}
        }
    }
    names
}

/// The strings of a value.
fn strings(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| strings(item, found)),
        Value::Object(members) => members.values().for_each(|item| strings(item, found)),
        _ => {}
    }
}

/// A line for each kind, of so many bytes at most together.
fn listed(kinds: &BTreeMap<&'static str, Vec<String>>, most: usize) -> String {
    let mut lines = String::new();
    // Files come first and get half; each other kind gets half of what is left.
    for (_, kind) in KINDS {
        let Some(names) = kinds.get(kind) else { continue };
        let room = most.saturating_sub(lines.len()) / 2;
        let mut line = format!("{kind}:");
        let taken = names.iter().take_while(|name| {
            let fits = line.len() + name.len() + 40 <= room;
            if fits {
                line = format!("{line} {name},");
            }
            fits
        });
        let taken = taken.count();
        if taken == 0 {
            continue;
        }
        line.pop();
        lines += &match names.len() - taken {
            0 => format!("{line}\n"),
            more => format!("{line}, and {more} more\n"),
        };
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::Part;

    fn called(id: &str, arguments: &Value) -> Arc<Message> {
        let call = Part::call(id, "read", arguments.to_string());
        Arc::new(Message::assistant(id, vec![call]))
    }

    #[test]
    fn what_is_not_shown_any_more_is_listed_by_its_use() {
        let before = [
            called("a", &json!({"path": "/w/src/parser.rs", "text": "fn max_depth() {}"})),
            called("b", &json!({"path": "/w/src/kept.rs"})),
            called("c", &json!({"path": "/w/src/lexer.rs"})),
            called(
                "d",
                &json!({"path": "/w/src/parser.rs", "more": ["/w/src/short.rs", "mod.rs"]}),
            ),
            Arc::new(Message::tool(
                "t",
                "d",
                "read",
                "error[E0308]: mismatched types\n/w/only/shown.rs",
            )),
        ];
        let after = [Arc::new(Message::user("s", "src/kept.rs was changed; src/short.rs, too."))];
        let names = lost(&before, &after);
        assert_eq!(names["files"], ["/w/src/parser.rs", "/w/src/lexer.rs"]);
        assert_eq!(
            (&names["errors"][..], &names["names"][..]),
            (&["E0308".to_owned()][..], &["max_depth".to_owned()][..])
        );
        assert_eq!(
            listed(&names, 4_000),
            "files: /w/src/parser.rs, /w/src/lexer.rs\nerrors: E0308\nnames: max_depth\n"
        );
        assert_eq!(lost(&after, &before), BTreeMap::new());
    }

    #[test]
    fn a_list_has_no_more_bytes_than_it_may() {
        let names: Vec<String> =
            (0..500).map(|number| format!("/w/src/part_{number}.rs")).collect();
        let kinds = KINDS.map(|(_, kind)| (kind, names.clone())).into();
        for most in [0, 50, 100, 1_000, 4_000] {
            let text = listed(&kinds, most);
            assert!(text.len() <= most, "{most}: {}", text.len());
            assert_eq!(text.is_empty(), most < 120, "{most}: {text}");
        }
        assert!(listed(&kinds, 1_000).contains(", and "));
    }

    #[test]
    fn bad_input_is_told_and_other_hooks_say_nothing() {
        let rows = [
            ("", Err("no JSON")),
            ("[]", Err("no hook_event_name")),
            (r#"{"hook_event_name":"PreCompact"}"#, Err("no transcript_path")),
            (
                r#"{"hook_event_name":"PreCompact","transcript_path":"/no/such.jsonl"}"#,
                Err("/no/such.jsonl"),
            ),
            (r#"{"hook_event_name":"SessionStart","source":"startup"}"#, Ok("")),
            (r#"{"hook_event_name":"Stop"}"#, Ok("")),
        ];
        for (text, expected) in rows {
            match (answer(text), expected) {
                (Ok(said), Ok(expected)) => assert_eq!(said, expected, "{text}"),
                (Err(said), Err(expected)) => assert!(said.contains(expected), "{text}: {said}"),
                (said, expected) => panic!("{text}: {said:?}, not {expected:?}"),
            }
        }
    }
}
