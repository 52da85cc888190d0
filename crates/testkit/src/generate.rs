//! Sessions from numbers: what happens, and how much of it. The laws draw the numbers at random; a fuzzer brings bytes.
//!
//! In these sessions happens what happens to agents: the user speaks between the results of one answer, results come
//! after the next answers, calls fail or are never answered, answers are cut off, a person compacts and takes it back, the provider refuses a request.
//!
//! ```
//! use foldback_testkit::generate::{Happening, session};
//!
//! let session = session(&[(Happening::Calls, 1), (Happening::Result, 40), (Happening::User, 3), (Happening::Result, 9)]);
//! assert_eq!(session.to_string(), "  \
//! 1 u0 user: text, 49 characters
//!   2 a1 assistant: calls read (c0-0), calls read (c0-1)
//!   3 t2 tool: read (c0-0), 594 characters
//!   4 u3 user: text, 22 characters
//!   5 t4 tool: read (c0-1), 44 characters
//! ");
//! ```

use crate::session::Session;
use foldback_core::log::{Finish, Message, Part, PartKind, ResultStatus, Role, ToolResult, Usage};
use foldback_core::moment::Moment;
use proptest::prelude::*;

/// The most things that happen in a session that is drawn, and in one of bytes.
const DRAWN: usize = 60;
const LONGEST: usize = 120;

/// One thing that happens in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Happening {
    /// The user says something.
    User,
    /// The user says something while the loop is running.
    Interjection,
    /// The model ends its turn.
    Answer,
    /// The model calls one to three tools.
    Calls,
    /// A result comes, of any of the open calls.
    Result,
    /// A result comes which says that the tool failed or never ran.
    Failure,
    /// A result comes of a call of an earlier answer, after other answers.
    Late,
    /// A result comes whose call is not in the recording.
    Orphan,
    /// The model's answer is cut off.
    CutOff,
    /// The agent's loop asks the strategy, now and then with what the provider says was used.
    Asks(Moment),
    /// The last fold is taken back.
    Undo,
}

/// What is drawn, and how often it comes; a byte is a place in this list.
pub const WHAT: [(Happening, u32); 12] = [
    (Happening::User, 4),
    (Happening::Interjection, 1),
    (Happening::Answer, 4),
    (Happening::Calls, 12),
    (Happening::Result, 20),
    (Happening::Failure, 2),
    (Happening::Orphan, 1),
    (Happening::CutOff, 2),
    (Happening::Asks(Moment::Manual), 2),
    (Happening::Asks(Moment::ProviderOverflow), 2),
    (Happening::Undo, 1),
    (Happening::Late, 3),
];

/// The byte that stands for something that happens.
pub fn byte(what: Happening) -> u8 {
    (0..).zip(WHAT).find(|(_, (other, _))| *other == what).map_or(0, |(byte, _)| byte)
}

/// The session that bytes stand for, two for each thing that happens: what, and its size.
pub fn session_of(bytes: &[u8]) -> Session {
    let read = |pair: &[u8]| (WHAT[usize::from(pair[0]) % WHAT.len()].0, pair[1]);
    let happens: Vec<(Happening, u8)> = bytes.chunks_exact(2).map(read).collect();
    session(&happens)
}

/// The session in which this happens. A size of 255 is a text of some 25,000 characters. A result comes for an open
/// call, or not at all.
pub fn session(happens: &[(Happening, u8)]) -> Session {
    // A log in which the model speaks first breaks a rule of some providers by itself.
    let mut session =
        Session::new("generated").user("Mend the build, and keep what src/main.rs offers.");
    let mut open: Vec<String> = Vec::new();
    // Calls of earlier answers that have no result yet.
    let mut left: Vec<String> = Vec::new();
    for (number, (what, size)) in happens.iter().take(LONGEST).enumerate() {
        let size = usize::from(*size);
        let text = || format!("line {number} of src/main.rs\n").repeat(1 + size.pow(2) / 60);
        session = match what {
            Happening::User => session.user(text()),
            Happening::Interjection => {
                let id = session.id("u");
                session.message(Message::user(id, "by the way").within_turn())
            }
            Happening::Answer => {
                left.append(&mut open);
                session.answer("We decided to keep parse_line in src/lib.rs.")
            }
            Happening::CutOff => {
                left.append(&mut open);
                let answer = session.answer_that(Finish::Length);
                let said = vec![Part::text("We decided to keep")];
                let id = session.id("a");
                session.message(Message::assistant(id, said).with_answer(answer))
            }
            Happening::Calls => {
                left.append(&mut open);
                open = (0..=size % 3).map(|call| format!("c{number}-{call}")).collect();
                let calls =
                    open.iter().map(|id| Part::call(id, "read", "{\"path\":\"src/main.rs\"}"));
                let answer = session.answer_that(Finish::ToolCalls);
                let id = session.id("a");
                session.message(Message::assistant(id, calls.collect()).with_answer(answer))
            }
            Happening::Result | Happening::Failure if !open.is_empty() => {
                let status = match what {
                    Happening::Failure => FAILURES[size % FAILURES.len()],
                    _ => ResultStatus::Completed,
                };
                let call = open.remove(size % open.len());
                result(session, call, status, text())
            }
            Happening::Late if !left.is_empty() => {
                let call = left.remove(size % left.len());
                result(session, call, ResultStatus::Completed, text())
            }
            Happening::Orphan => {
                result(session, format!("lost-{number}"), ResultStatus::Completed, text())
            }
            // What is open when the loop asks was interrupted; its result comes late, if at all.
            Happening::Asks(moment) => {
                left.append(&mut open);
                match size % 4 {
                    0 => {
                        let usage = Usage { uncached: 500 * size as u64, ..Usage::default() };
                        session.at_usage(*moment, usage)
                    }
                    _ => session.at(*moment),
                }
            }
            Happening::Undo => session.undo(),
            _ => session,
        };
    }
    session
}

const FAILURES: [ResultStatus; 3] =
    [ResultStatus::Error, ResultStatus::Pending, ResultStatus::Retry];

fn result(session: Session, call_id: String, status: ResultStatus, text: String) -> Session {
    let tool = "read".to_owned();
    let result = ToolResult { call_id, tool, status, text, ..ToolResult::default() };
    let part = Part::new(PartKind::Result(result));
    let id = session.id("t");
    session.message(Message::new(id, Role::Tool, vec![part]))
}

/// Draws what happens in a session: half of all texts are short, and a few fill a small window.
pub fn happens() -> impl Strategy<Value = Vec<(Happening, u8)>> {
    let what = proptest::strategy::Union::new_weighted(
        WHAT.iter().map(|(what, weight)| (*weight, Just(*what))).collect(),
    );
    let size = prop_oneof![2 => 0u8..60, 1 => 60u8..160, 1 => 160u8..=255];
    prop::collection::vec((what, size), 1..DRAWN)
}
