//! The errors of the command.

use crate::endings::ENDINGS;
use crate::notes::is_verbose;
use foldback::{ConfigErrors, RegistryError};
use foldback_core::provider::ProviderError;
use foldback_formats::{ReadError, WriteError};
use foldback_replay::corpus::Skipped;
use foldback_replay::fault::{FailedReplay, REPORT};
use foldback_replay::number::count;
use foldback_replay::{CompareError, Fault, caught};
use foldback_report::inspect::not_used;
use foldback_report::plain;
use std::path::PathBuf;
use thiserror::Error;

/// Everything that ends the command with an exit code other than 0.
#[derive(Debug, Error)]
pub(crate) enum Error {
    #[error("{}: {error}", plain::line(.path))]
    Read { path: String, error: ReadError },
    #[error("{}: {error}", plain::line(&.path.display().to_string()))]
    File { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Config(#[from] ConfigErrors),
    #[error("{0}")]
    Registry(#[from] RegistryError),
    #[error("{0}")]
    Write(#[from] WriteError),
    #[error("{0}")]
    Usage(String),
    #[error("{0}")]
    NotMet(String),
    #[error("{}", replays(.0))]
    Failed(Vec<FailedReplay>),
    #[error("{}; {REPORT}", replay(.0))]
    Replay(FailedReplay),
    #[error("foldback {}; {REPORT}", plain::line(&.0.to_string()))]
    Fault(Fault),
    #[error("{0}")]
    Hook(String),
    #[error("{}", lines(.0))]
    Several(Vec<Error>),
    #[error("{}", asked(.error, *.unanswered))]
    Model { error: ProviderError, unanswered: usize },
    #[error("can't write the output: {0}")]
    Output(std::io::Error),
    #[error("can't write JSON: {0}")]
    Json(#[from] serde_json::Error),
}

impl Error {
    /// What a user can change, and how.
    pub(crate) fn usage(why: impl Into<String>) -> Self {
        Self::Usage(why.into())
    }

    /// Something was asked for that a feature of this crate brings, and the build is without it.
    pub(crate) fn left_out(what: &str, feature: &str) -> Self {
        Self::Usage(format!(
            "{what} is not in this build; install it with `cargo install --path crates/cli --features {feature}`"
        ))
    }

    /// The exit code: 1 if the command did its work and the budget does not hold, a replay failed, or a host is to go on, else
    /// 2.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::NotMet(_) | Self::Failed(_) | Self::Hook(_) => 1,
            Self::Several(errors) => errors.iter().map(Self::code).max().unwrap_or(2),
            _ => 2,
        }
    }

    /// For a command that has done its work: it failed where replays did.
    pub(crate) fn of_replays(failed: Vec<FailedReplay>) -> Result<(), Self> {
        if failed.is_empty() { Ok(()) } else { Err(Self::Failed(failed)) }
    }

    /// This error, and the replays that failed before it.
    pub(crate) fn after(self, failed: Vec<FailedReplay>) -> Self {
        match Self::of_replays(failed) {
            Ok(()) => self,
            Err(failed) => Self::Several(vec![failed, self]),
        }
    }
}

impl From<FailedReplay> for Error {
    fn from(failed: FailedReplay) -> Self {
        Self::Replay(failed)
    }
}

/// Adds replays that failed. The same replay may fail again when it is shown.
pub(crate) fn add_failed(
    failed: &mut Vec<FailedReplay>,
    more: impl IntoIterator<Item = FailedReplay>,
) {
    for more in more {
        if !failed.contains(&more) {
            failed.push(more);
        }
    }
}

/// What a command does, or that the program panicked. A panic that is no replay's ends the command like any other error.
pub(crate) fn guarded<T>(command: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    caught(command).unwrap_or_else(|fault| Err(Error::Fault(fault)))
}

impl From<ProviderError> for Error {
    fn from(error: ProviderError) -> Self {
        Self::Model { error, unanswered: 1 }
    }
}

/// The most replays that are told one by one.
const TOLD: usize = 20;

/// Which replays failed, a line each.
fn replays(failed: &[FailedReplay]) -> String {
    let count = count(failed.len() as u64, "replay");
    let mut lines = vec![format!("{count} failed, and the rest is complete; {REPORT}")];
    lines.extend(failed.iter().take(TOLD).map(|failed| format!("  {}", replay(failed))));
    if let Some(more @ 1..) = failed.len().checked_sub(TOLD) {
        lines.push(format!("  and {more} more; --json and --rows have all"));
    }
    lines.join("\n")
}

fn replay(FailedReplay { session, preset, fault }: &FailedReplay) -> String {
    format!("{} under {preset}: {}", plain::line(session), plain::line(&fault.to_string()))
}

fn lines(errors: &[Error]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// One cause represents all requests without an answer: even one of them makes the result that of
/// another strategy.
fn asked(error: &ProviderError, unanswered: usize) -> String {
    match unanswered {
        0 | 1 => error.to_string(),
        more => format!("{error}\n{more} requests were not answered; this is the first"),
    }
}

impl From<CompareError> for Error {
    fn from(error: CompareError) -> Self {
        Self::Usage(match error {
            CompareError::NothingImported(skipped) => {
                format!("no session to compare:\n{}", reasons(&skipped))
            }
            other => other.to_string(),
        })
    }
}

/// Why nothing could be imported, one line per file.
pub(crate) fn reasons(skipped: &[Skipped]) -> String {
    if skipped.is_empty() {
        let endings = ENDINGS.join(", .");
        return format!(
            "  no file ends in .{endings}; name session files or folders, or use --discover"
        );
    }
    let lines = not_used(skipped, is_verbose());
    let lines: Vec<String> = lines.iter().map(|line| format!("  {}", plain::line(line))).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_replay::Fault;

    #[test]
    fn replays_that_failed_are_told_and_end_with_1() {
        let replay = |number: usize| FailedReplay {
            session: format!("s{number}.jsonl").into(),
            preset: "mine".to_owned(),
            fault: Fault { what: "no place".to_owned(), at: Some("src/a.rs:1:2".to_owned()) },
        };
        assert!(Error::of_replays(Vec::new()).is_ok());
        let error = Error::of_replays((0..22).map(replay).collect()).unwrap_err();
        assert_eq!(error.code(), 1);
        let text = error.to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + TOLD);
        assert_eq!(
            lines[..2],
            [
                "22 replays failed, and the rest is complete; this is a fault of foldback, please report it with what stands here",
                "  s0.jsonl under mine: panicked at src/a.rs:1:2: no place",
            ]
        );
        assert_eq!(lines[1 + TOLD], "  and 2 more; --json and --rows have all");
    }
}
