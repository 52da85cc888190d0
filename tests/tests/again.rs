//! A session that was compacted and written is compacted again at the same moment: nothing changes. Where an original
//! acts again by its own rule, `again.toml` says so.

use foldback_core::Limits;
use foldback_core::conversation::Conversation;
use foldback_core::strategy::Strategy;
use foldback_formats::{Session, View, format, read};
use foldback_replay::calibrate::unrecorded;
use foldback_replay::state::{Ask, stored};
use foldback_replay::{ReplayOptions, replay};
use foldback_test_support::{sessions, table};
use foldback_tests::{options, presets};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Windows and output limits: one that few sessions fill, and one that nearly all do.
const LIMITS: [(u64, u64); 2] = [(60_000, 15_000), (20_000, 2_000)];

/// Larger files take minutes without optimization.
const MOST_BYTES: u64 = 1_000_000;

/// The same of a run that drives every call.
const MOST_BYTES_LIVE: u64 = 500_000;

/// The longest sessions of a file: each is written with the whole file around it, and sub-agents are much alike.
const OF_A_FILE: usize = 2;

/// How a session is compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// As it is stored, between two turns.
    Stored,
    /// Driven from its first message (`--when live`).
    Live,
}

impl How {
    /// The table of what acts again.
    fn table(self) -> &'static str {
        match self {
            Self::Stored => "acts_again",
            Self::Live => "acts_again_live",
        }
    }

    /// A session as a strategy leaves it, and whether it folded anything.
    fn compacted(
        self,
        session: &Session,
        strategy: &Arc<Strategy>,
        limits: Limits,
    ) -> (Conversation, bool) {
        let options = compacting(limits);
        let (conversation, reports) = match self {
            Self::Stored => stored(session, strategy, &options, Ask::NextTurn),
            Self::Live => replay(session, strategy, &options).into_state(),
        };
        (conversation, reports.iter().any(|report| report.fold.is_some()))
    }

    /// The same in the session's own format.
    fn written(self, session: &Session, conversation: &Conversation, limits: Limits) -> String {
        let edits = session.recorded_edits();
        // As the command does: where nothing takes their place, the recorder's own compactions stay.
        let view = match self == Self::Live && conversation.folds().is_empty() {
            true => View::recorded(session, &edits),
            false => View {
                session,
                frame: &session.frame,
                unrecorded: unrecorded(session, &*compacting(limits).measure),
                sent: conversation.sent(),
                stored: conversation.stored(),
            },
        };
        format(session.format).unwrap().write(&view).unwrap().unwrap().text
    }
}

fn compacting(limits: Limits) -> ReplayOptions {
    ReplayOptions { limits, validate: false, ..options(limits.context, limits.output) }
}

/// Runs every preset on these files, and where it changed something once more.
fn changed_again(how: How, paths: &[PathBuf]) -> Found {
    let presets = presets();
    let runs = paths.par_iter().map(|path| {
        let text = std::fs::read_to_string(path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let mut sessions = read(text.as_bytes(), None).unwrap();
        // What is only read can't be compacted twice.
        sessions.retain(|session| format(session.format).unwrap().writer.is_some());
        sessions.sort_by_key(|session| std::cmp::Reverse(session.messages.len()));
        sessions.truncate(OF_A_FILE);
        let all = sessions.iter().flat_map(|session| {
            let of = move |strategy| LIMITS.map(|limits| (session, strategy, limits));
            presets.iter().flat_map(of)
        });
        let all: Vec<_> = all.collect();
        let again = all.into_par_iter().map(|(session, strategy, (context, output))| {
            let limits = Limits::new(context, output);
            let mut found = Found::default();
            if strategy.refuses(limits).is_some() {
                return found;
            }
            // What folds nothing is written as it was read: the round trips of the formats look at that.
            let (conversation, folded) = how.compacted(session, strategy, limits);
            let once = folded.then(|| how.written(session, &conversation, limits));
            let Some(once) = once.filter(|once| *once != text) else { return found };
            found.runs += 1;
            found.acted.insert(strategy.name.clone());
            let written = read(once.as_bytes(), Some(session.format)).unwrap();
            // The id of an only session may be made of its content.
            let same = match &*written {
                [only] => Some(only),
                several => several.iter().find(|written| written.id == session.id),
            };
            let twice = same.map(|same| {
                let (conversation, _) = how.compacted(same, strategy, limits);
                how.written(same, &conversation, limits)
            });
            if twice.as_ref() != Some(&once) {
                found.again.insert((name.clone(), strategy.name.clone(), context));
            }
            found
        });
        again.reduce(Found::default, Found::and)
    });
    runs.reduce(Found::default, Found::and)
}

/// What first and second runs did.
#[derive(Debug, Default)]
struct Found {
    /// First runs that changed anything.
    runs: usize,
    /// Presets of these runs.
    acted: BTreeSet<String>,
    /// What is changed by a second run: file, preset, window.
    again: BTreeSet<(String, String, u64)>,
}

impl Found {
    fn and(mut self, other: Self) -> Self {
        self.runs += other.runs;
        self.acted.extend(other.acted);
        self.again.extend(other.again);
        self
    }
}

/// Checks that a second run changes what the table says, and nothing else. Gives the presets of which no first run changed anything.
fn check(how: How, paths: &[PathBuf]) -> Vec<String> {
    let names: BTreeSet<_> = paths.iter().filter_map(|path| path.file_name()?.to_str()).collect();
    let listed: Vec<(String, String, u64, String)> =
        table::rows(include_str!("again.toml"), how.table());
    let listed = listed.into_iter().filter(|(file, ..)| names.contains(file.as_str()));
    let listed: BTreeSet<_> =
        listed.map(|(file, preset, window, _)| (file, preset, window)).collect();
    let Found { runs, acted, again } = changed_again(how, paths);
    assert!(runs > names.len(), "{runs} first runs changed anything");
    assert_eq!(again, listed, "of {runs} runs");
    let idle = presets().into_iter().filter(|preset| !acted.contains(&preset.name));
    idle.map(|preset| preset.name.clone()).collect()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        match entry.path() {
            path if path.is_dir() => paths.extend(files(&path)),
            path if path.extension().is_some_and(|kind| kind == "md") => {}
            path => paths.push(path),
        }
    }
    paths.sort();
    paths
}

fn shipped() -> Vec<PathBuf> {
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("four-sessions"))
}

#[test]
fn a_second_run_changes_no_shipped_example() {
    // All but `none` wait for the end of a step.
    assert_eq!(
        check(How::Stored, &shipped()),
        ["codex", "codex-remote", "dsh", "none", "oh-my-pi", "pi", "pi-0.87"]
    );
}

#[test]
fn a_second_live_run_changes_no_shipped_example() {
    assert_eq!(check(How::Live, &shipped()), ["none"]);
}

#[foldback_needs::sessions]
#[test]
fn a_second_run_changes_no_recorded_session() {
    let mut paths = files(&sessions());
    paths.retain(|path| path.metadata().is_ok_and(|file| file.len() <= MOST_BYTES));
    check(How::Stored, &paths);
}

#[foldback_needs::sessions]
#[test]
fn a_second_live_run_changes_no_recorded_session() {
    let mut paths = files(&sessions());
    paths.retain(|path| path.metadata().is_ok_and(|file| file.len() <= MOST_BYTES_LIVE));
    check(How::Live, &paths);
}
