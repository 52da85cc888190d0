//! The telling lines of a tool run that failed.

use super::sentence::{cut, head};
use foldback_core::log::{ResultStatus, ToolResult};
use std::borrow::Cow;

/// Lines that are kept of one failure.
const LINES: usize = 6;
/// Bytes that are kept of one line.
const LINE_BYTES: usize = 240;
/// Bytes at either end of an output in which an exit code is looked for.
const EDGE: usize = 400;

/// The lines of a failed run that say why it failed. `None` if it did not fail. An output that mentions errors is
/// no failure by itself: only commands (`is_command`) are judged by what they print.
pub(super) fn failure(result: &ToolResult, is_command: bool) -> Option<Vec<Cow<'_, str>>> {
    let text = result.text.as_str();
    let failed = match result.status {
        ResultStatus::Error | ResultStatus::Retry => true,
        ResultStatus::Completed if is_command => match exit_code(text) {
            Some(code) => code != 0,
            None => text.lines().any(is_verdict),
        },
        _ => false,
    };
    if !failed {
        return None;
    }
    let telling = lines(text, is_telling);
    if !telling.is_empty() {
        return Some(telling);
    }
    // A command that failed in silence (`grep` without a match) tells nothing.
    let last = lines(text, |line| {
        let tag = line.starts_with('<') && line.ends_with('>');
        // What a request says of its own cut is no output.
        let note = line.starts_with("[...") && line.ends_with("truncated]");
        !line.is_empty() && !tag && !note && exit_code(line).is_none()
    });
    let last = last[last.len().saturating_sub(2)..].to_vec();
    (!last.is_empty()).then_some(last)
}

/// The first and the last of the lines that `wanted` picks.
fn lines(text: &str, wanted: impl Fn(&str) -> bool) -> Vec<Cow<'_, str>> {
    let all: Vec<&str> = text.lines().map(str::trim).filter(|l| wanted(l)).collect();
    let (first, last) = match all.len().checked_sub(LINES / 2) {
        Some(behind) if all.len() > LINES => (LINES / 2, behind),
        _ => (all.len(), all.len()),
    };
    all[..first].iter().chain(&all[last..]).map(|line| cut(line, LINE_BYTES)).collect()
}

/// The exit code that an output reports at one of its ends.
fn exit_code(text: &str) -> Option<i64> {
    let opening = head(text, EDGE);
    let ending = &text[text.ceil_char_boundary(text.len().saturating_sub(EDGE))..];
    [opening, ending].into_iter().find_map(|part| {
        let lower = part.to_ascii_lowercase();
        ["exit code", "exit status", "exit_code\"", "exited with code", "returncode>"]
            .iter()
            .find_map(|label| {
                let rest = &lower[lower.find(label)? + label.len()..];
                let rest = rest.trim_start_matches([':', ' ', '=']);
                let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '-');
                rest[..digits.unwrap_or(rest.len())].parse().ok()
            })
    })
}

/// Whether a line says by itself that the run failed. Compilers and test runners begin it at the margin;
/// an indented one is more often a piece of source code.
fn is_verdict(line: &str) -> bool {
    starts_with_any(
        line,
        &[
            "error:",
            "error[",
            "Error:",
            "ERROR:",
            "fatal:",
            "FAILED",
            "FAIL ",
            "--- FAIL",
            "npm ERR!",
            "Traceback (most recent call last)",
            "not ok ",
        ],
    ) || line.contains("panicked at")
        || line.contains("test result: FAILED")
        || line.contains("command not found")
}

/// Whether a line of a failed run tells what went wrong.
fn is_telling(line: &str) -> bool {
    is_verdict(line)
        || starts_with_any(line, &["Error", "E   ", "Caused by", "Exception", "✕", "✗", "●"])
        || [
            ": error",
            "Error: ",
            "Error(",
            "Exception: ",
            "error TS",
            "FAILED",
            "No such file",
            "Permission denied",
            "assertion ",
            "undefined reference",
            "not found",
            "cannot find",
        ]
        .iter()
        .any(|mark| line.contains(mark))
        || line.ends_with("Error")
}

fn starts_with_any(line: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| line.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(status: ResultStatus, is_command: bool, text: &str) -> Option<String> {
        let result = ToolResult { status, text: text.to_owned(), ..ToolResult::default() };
        failure(&result, is_command).map(|lines| lines.join("|"))
    }

    #[test]
    fn runs_as_a_table() {
        use ResultStatus::{Completed, Error};
        let traceback =
            "Traceback (most recent call last):\n  File \"a.py\", line 3\nValueError: no";
        // status, is it a command?, output, telling lines
        let cases: [(ResultStatus, bool, &str, Option<&str>); 15] = [
            (Completed, true, "ok", None),
            (Completed, true, "fn f() {\n    error: 1,\n}", None),
            (Completed, true, "exit code: 0\nerror: only a warning", None),
            (Completed, true, "thing broke\nexit code: 2", Some("thing broke")),
            (Completed, true, "Exit code 1", None),
            (
                Completed,
                true,
                "<returncode>127</returncode>\nsh: foo: command not found",
                Some("sh: foo: command not found"),
            ),
            (Completed, true, "{\"output\":\"x\",\"metadata\":{\"exit_code\":1}}", None),
            (
                Completed,
                true,
                "running\nerror[E0308]: mismatched types\n --> src/a.rs:3",
                Some("error[E0308]: mismatched types"),
            ),
            (Completed, true, traceback, Some("Traceback (most recent call last):|ValueError: no")),
            (
                Completed,
                true,
                "test a::b ... FAILED\ntest result: FAILED. 1 passed",
                Some("test a::b ... FAILED|test result: FAILED. 1 passed"),
            ),
            (Completed, false, "fn f() { panic!(\"x\") }\nerror: in a file that was read", None),
            (Error, false, "old_string was not unique", Some("old_string was not unique")),
            (Error, false, "a\nb\nc", Some("b|c")),
            (Error, false, "", None),
            (Completed, true, "<returncode>1</returncode>\n<output>\n</output>", None),
        ];
        for (status, is_command, text, expected) in cases {
            assert_eq!(of(status, is_command, text).as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn of_many_lines_the_first_and_the_last_are_kept() {
        let text: Vec<String> = (0..20).map(|n| format!("error: {n}")).collect();
        let kept = of(ResultStatus::Error, true, &text.join("\n"));
        let expected = "error: 0|error: 1|error: 2|error: 17|error: 18|error: 19";
        assert_eq!(kept.as_deref(), Some(expected));
    }
}
