//! Sessions for packages that keep a history of their own: what they store of a session, and what they say of it.
//!
//! A script of `javascript` is given the folder of its package and reads one case a line, in a form of its own; it answers each with
//! a line. A program that is no library is driven by a script of `python`.

use crate::differential::corpus::{Case, generated, recorded};
use crate::differential::{Happens, happens};
use foldback_core::conversation::Conversation;
use foldback_core::log::Usage;
use foldback_core::{Message, Role};
use foldback_formats::{Session, View, format, read};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Sessions of a file that are compared at most: some hold dozens.
const OF_A_FILE: usize = 2;

/// The answers of a script to these cases, in order.
///
/// # Panics
///
/// If its package is not installed, or the script fails.
pub(crate) fn ask(package: &str, cases: &[Value]) -> Vec<Value> {
    ask_script(package, package, cases)
}

/// What is found where each case is compared with the answers of a package's script to it.
///
/// # Panics
///
/// As [`ask`], and where `compare` does.
pub(crate) fn compared<C, F: Debug + Default>(
    package: &str,
    cases: &[C],
    json: fn(&C) -> Value,
    compare: fn(&C, &Value, &mut F),
) -> F {
    compared_by(package, package, cases, json, compare)
}

/// The same of another script of a package.
///
/// # Panics
///
/// As [`compared`].
pub(crate) fn compared_by<C, F: Debug + Default>(
    package: &str,
    script: &str,
    cases: &[C],
    json: fn(&C) -> Value,
    compare: fn(&C, &Value, &mut F),
) -> F {
    let asked: Vec<Value> = cases.iter().map(json).collect();
    let answers = ask_script(package, script, &asked);
    let mut found = F::default();
    for (case, answers) in cases.iter().zip(&answers) {
        compare(case, answers, &mut found);
    }
    println!("{} sessions: {found:?}", cases.len());
    found
}

/// Runs a session beside a package: appends what happens to the conversation, and wherever the agent asks gives `ask` the usage of
/// the last answer and what the package answers. Ends with the difference that `ask` finds, if it finds one.
///
/// # Panics
///
/// If the package has fewer answers.
pub(crate) fn beside<'s, D>(
    log: impl IntoIterator<Item = &'s Arc<Message>>,
    answers: &Value,
    talk: &mut Conversation,
    mut ask: impl FnMut(&mut Conversation, Option<Usage>, &Value) -> Option<D>,
) -> Option<D> {
    let mut answers = answers.as_array().unwrap().iter();
    let mut used = None;
    for what in happens(log) {
        match what {
            Happens::Appended(message) => {
                if let Some(answer) = &message.answer {
                    used = answer.usage;
                }
                talk.append(Arc::clone(message));
            }
            Happens::Asked => {
                let difference = ask(talk, used, answers.next().unwrap());
                if difference.is_some() {
                    return difference;
                }
            }
        }
    }
    None
}

/// The answers of another script of a package.
///
/// # Panics
///
/// If its package is not installed, or the script fails.
pub(crate) fn ask_script(package: &str, script: &str, cases: &[Value]) -> Vec<Value> {
    let (project, home) = folders(package);
    let script = project.join("javascript").join(format!("{script}.mjs"));
    // What is written for Bun brings it.
    let bun = home.join("node_modules/@oven/bun-linux-x64/bin/bun");
    let program = if bun.exists() { bun } else { "node".into() };
    answers(package, Command::new(program).args([script, home]), cases)
}

/// The same of a program that a script of `python` drives.
///
/// # Panics
///
/// If it is not installed, or the script fails.
pub(crate) fn ask_program(package: &str, cases: &[Value]) -> Vec<Value> {
    let (project, home) = folders(package);
    let script = project.join("python").join(format!("{package}.py"));
    answers(package, Command::new("python3").arg(script).env("PACKAGE_HOME", home), cases)
}

/// Where the scripts are, and where a package is.
fn folders(package: &str) -> (PathBuf, PathBuf) {
    let project = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("differential");
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| project.join("../../target"));
    (project, target.join("external").join(package))
}

fn answers(package: &str, command: &mut Command, cases: &[Value]) -> Vec<Value> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{package}: {error}"));
    let mut input = child.stdin.take().unwrap_or_else(|| panic!("no standard input"));
    let lines: Vec<String> = cases.iter().map(ToString::to_string).collect();
    // A process that ended has said why on standard error.
    let writer = std::thread::spawn(move || {
        lines.iter().try_for_each(|line| writeln!(input, "{line}")).is_ok()
    });
    let output = child.wait_with_output().unwrap_or_else(|error| panic!("{package}: {error}"));
    let wrote = writer.join().is_ok_and(|wrote| wrote);
    let text = String::from_utf8_lossy(&output.stdout);
    let answer =
        |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    let answers: Vec<Value> = text.lines().map(answer).collect();
    let ended = output.status.success();
    assert!(
        ended && wrote && answers.len() == cases.len(),
        "{package} answered {}; `cargo xtask test-external {package}` installs it",
        answers.len()
    );
    answers
}

/// Recorded sessions, a few of every file.
///
/// # Panics
///
/// If there are fewer than 20.
pub(crate) fn recorded_sessions() -> Vec<Session> {
    let mut of_file: BTreeMap<String, usize> = BTreeMap::new();
    let few = |case: &Case| {
        let file = case.name.split('#').next().unwrap_or_default().to_owned();
        let count = of_file.entry(file).or_default();
        *count += usize::from(case.at.len() > 2);
        case.at.len() > 2 && *count <= OF_A_FILE
    };
    let sessions: Vec<Session> = recorded()
        .into_iter()
        .filter(few)
        .map(|case| Session::of_messages(case.name, case.log))
        .collect();
    assert!(sessions.len() >= 20, "{} recorded sessions", sessions.len());
    sessions
}

/// Drawn sessions. What an agent's own loop excludes does not happen in them: results that come after the user spoke.
pub(crate) fn drawn_sessions(count: usize) -> Vec<Session> {
    generated(count)
        .into_iter()
        .map(|case| Session::of_messages(case.name, in_order(&case.log)))
        .collect()
}

/// The messages without results that come after the user spoke or the model answered again.
fn in_order(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut open: Vec<String> = Vec::new();
    let comes = |message: &&Arc<Message>| {
        if message.role != Role::Tool {
            open = message.call_ids().map(str::to_owned).collect();
            return true;
        }
        let mut results = message.parts.iter().filter_map(|part| part.as_result());
        results.all(|result| open.contains(&result.call_id))
    };
    messages.iter().filter(comes).cloned().collect()
}

/// The same session as a format stores it.
///
/// # Panics
///
/// If the format can't be written or read back.
pub(crate) fn stored_as(id: &str, session: &Session) -> Session {
    let format = format(id).unwrap_or_else(|error| panic!("{error}"));
    let written =
        format.write(&View::recorded(session, &[])).unwrap_or_else(|| panic!("{id} is only read"));
    let text = written.unwrap_or_else(|error| panic!("{error}")).text;
    read(text.as_bytes(), Some(id)).unwrap_or_else(|error| panic!("{error}")).remove(0)
}

/// The record that a message was read from.
///
/// # Panics
///
/// If it was read from none.
pub(crate) fn record<'t>(session: &'t Session, message: &Message) -> &'t str {
    let range = message.record.and_then(|record| session.source.records.get(record as usize));
    &session.source.text[range.unwrap_or_else(|| panic!("{} has no record", message.id)).clone()]
}
