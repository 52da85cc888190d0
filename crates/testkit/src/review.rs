//! What a strategy makes of a session, as text: for snapshots, comparisons and messages of failed tests.

use crate::drive::{DriveEvent, drive};
use crate::session::Session;
use crate::subject::Subject;
use foldback_core::conversation::Report;
use foldback_core::moment::Moment;
use foldback_core::render;
use similar::TextDiff;
use std::fmt::Write as _;

/// What a strategy makes of a session: the folds and the view at the end, made for review. Messages and calls are
/// numbered; ids, times and home folders in texts have one word each; long texts are cut with their length.
///
/// ```
/// use foldback_testkit::{Session, compaction, lines};
///
/// let session = Session::new("two files")
///     .call("read", "{\"path\":\"a.rs\"}", lines("a.rs", 4_000))
///     .call("read", "{\"path\":\"b.rs\"}", lines("b.rs", 4_000))
///     .answer("Both are fine.");
/// let text = compaction(&session, "keep-last-1");
/// assert!(text.contains("001 call-start keep-last: 2010 → 1015 tokens; 1 edited"), "{text}");
/// ```
pub fn compaction(session: &Session, subject: impl Into<Subject>) -> String {
    let strategy = subject.into().strategy(session);
    let title = format!("{} · {}", strategy.label(), session.title());
    match drive(session, &strategy, &mut |_, _| Ok(())) {
        Ok(conversation) => render::review(&title, &conversation),
        Err(error) => error,
    }
}

/// What two strategies make of a session, as the lines that differ; empty where none does.
///
/// ```
/// use foldback_testkit::{Session, diff, lines};
///
/// let session = Session::new("two files")
///     .call("read", "{\"path\":\"a.rs\"}", lines("a.rs", 4_000))
///     .call("read", "{\"path\":\"b.rs\"}", lines("b.rs", 4_000))
///     .answer("Both are fine.");
/// let text = diff("none", "keep-last-1", &session);
/// assert!(text.contains("+    result read c1 (cleared): "), "{text}");
/// assert_eq!(diff("none", "none", &session), "");
/// ```
pub fn diff(a: impl Into<Subject>, b: impl Into<Subject>, session: &Session) -> String {
    let (a, b) = (compaction(session, a), compaction(session, b));
    let names = [&a, &b].map(|text| text.lines().next().unwrap_or_default().to_owned());
    let lines = TextDiff::from_lines(&a, &b);
    lines.unified_diff().header(&names[0], &names[1]).to_string()
}

/// The reports of the stages that changed the view at a moment.
///
/// # Errors
///
/// Where none did: says what happened at every moment.
pub fn fires(
    session: &Session,
    subject: impl Into<Subject>,
    moment: Moment,
) -> Result<Vec<Report>, String> {
    let strategy = subject.into().strategy(session);
    let mut all: Vec<Report> = Vec::new();
    drive(session, &strategy, &mut |_, seen| {
        if let DriveEvent::Answered(_, _, reports) = seen {
            all.extend(reports.iter().cloned());
        }
        Ok(())
    })?;
    let fired = |report: &&Report| report.moment == moment && report.outcome.changed();
    let found: Vec<Report> = all.iter().filter(fired).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let mut message =
        format!("{} changes nothing at {moment}; what its stages report:\n", strategy.name);
    let mut lines: Vec<(String, usize)> = Vec::new();
    for Report { moment, stage, outcome, .. } in &all {
        let line = format!("{moment} {stage}: {outcome}");
        match lines.last_mut().filter(|(last, _)| *last == line) {
            Some((_, count)) => *count += 1,
            None => lines.push((line, 1)),
        }
    }
    for (line, count) in lines {
        let times = if count > 1 { format!(" ({count} times)") } else { String::new() };
        let _ = writeln!(message, "  {line}{times}");
    }
    if all.is_empty() {
        message.push_str("  nothing: no stage was asked in this session\n");
    }
    Err(message)
}

/// Asserts what a strategy makes of a session, by a snapshot of [`compaction`].
///
/// Takes what [`insta::assert_snapshot!`](https://insta.rs) takes: a name before the session, or an inline snapshot
/// behind the strategy. Review and accept with `cargo insta review`, or with `INSTA_UPDATE=always`.
///
/// ```
/// use foldback_testkit::{Session, assert_compaction_snapshot};
///
/// let session = Session::new("a greeting").user("Hello").answer("Hello! What is to be done?");
/// assert_compaction_snapshot!(session, "none", @r"
/// ## none · a greeting
/// 2 messages in the view, 2 in the history; 8 tokens (chars(utf16)/4 half-up)
///
/// ### Folds
/// none
///
/// ### View
/// 001 user u1
///     text: Hello
/// 002 assistant a2
///     text: Hello! What is to be done?
/// ");
/// ```
#[macro_export]
macro_rules! assert_compaction_snapshot {
    ($session:expr, $subject:expr, @$($inline:tt)*) => {
        $crate::insta::assert_snapshot!($crate::compaction(&$session, $subject), @$($inline)*)
    };
    ($session:expr, $subject:expr $(,)?) => {
        $crate::insta::assert_snapshot!($crate::compaction(&$session, $subject))
    };
    ($name:expr, $session:expr, $subject:expr $(,)?) => {
        $crate::insta::assert_snapshot!($name, $crate::compaction(&$session, $subject))
    };
}

/// Asserts that a strategy changes the view of a session at a moment, and gives the reports of the stages that did.
///
/// ```
/// use foldback_core::moment::Moment;
/// use foldback_testkit::{Session, assert_fires, lines};
///
/// let session = Session::new("two files")
///     .call("read", "{\"path\":\"a.rs\"}", lines("a.rs", 4_000))
///     .call("read", "{\"path\":\"b.rs\"}", lines("b.rs", 4_000))
///     .answer("Both are fine.");
/// let fired = assert_fires!(session, "keep-last-1", Moment::CallStart);
/// assert_eq!(fired[0].stage, "keep-last");
/// ```
#[macro_export]
macro_rules! assert_fires {
    ($session:expr, $subject:expr, $moment:expr $(,)?) => {
        match $crate::fires(&$session, $subject, $moment) {
            Ok(fired) => fired,
            Err(message) => panic!("{message}"),
        }
    };
}
