//! The sessions that both are given: recorded ones and drawn ones.

use foldback_core::Message;
use foldback_core::step::{Step, steps};
use foldback_test_support::sessions;
use foldback_testkit::generate::{happens, session};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use walkdir::WalkDir;

/// Calls of a session before which decisions are compared, evenly spread where there are more.
const LOOKED_AT: usize = 40;

/// Messages of a session at most: packages that go through the history at every call take the square of it.
const LONGEST: usize = 1_500;

/// A session, and the calls before which decisions are compared.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// File or number.
    pub(crate) name: String,
    /// What happened.
    pub(crate) log: Vec<Arc<Message>>,
    /// Numbers of messages before those calls.
    pub(crate) at: Vec<usize>,
    /// The same of every call.
    pub(crate) calls: Vec<usize>,
}

impl Case {
    /// A session with at least one call.
    pub(crate) fn of(name: String, mut log: Vec<Arc<Message>>) -> Option<Self> {
        log.truncate(LONGEST);
        let (mut calls, mut appended) = (Vec::new(), 0);
        for step in steps(&log) {
            match step {
                Step::Append(_) => appended += 1,
                Step::Call { .. } => calls.push(appended),
                Step::At(_) | Step::StepEnd { .. } => {}
            }
        }
        let every = calls.len().div_ceil(LOOKED_AT).max(1);
        let last = calls.last().copied();
        let mut at: Vec<usize> = calls.iter().copied().step_by(every).collect();
        at.extend(last.filter(|last| at.last() != Some(last)));
        (!at.is_empty()).then_some(Self { name, log, at, calls })
    }
}

/// The recorded sessions: those beside the project, and the examples.
pub(crate) fn recorded() -> Vec<Case> {
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("four-sessions");
    let files = [sessions(), examples].into_iter().flat_map(|folder| {
        WalkDir::new(folder)
            .sort_by_file_name()
            .into_iter()
            .flatten()
            .map(walkdir::DirEntry::into_path)
    });
    files.filter(|path| path.is_file()).flat_map(|path| read(&path)).collect()
}

fn read(path: &Path) -> Vec<Case> {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let sessions = foldback_formats::read(&bytes, None).unwrap_or_default();
    let name = |id: &str| format!("{}#{id}", path.display());
    let case = |session: foldback_formats::Session| {
        Case::of(name(&session.id), session.log().cloned().collect())
    };
    sessions.into_iter().filter_map(case).collect()
}

/// Drawn sessions, the same ones every time.
pub(crate) fn generated(count: usize) -> Vec<Case> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let draw = |number: usize| {
        let drawn = happens().new_tree(&mut runner).unwrap_or_else(|error| panic!("{error}"));
        let session = session(&drawn.current());
        Case::of(format!("drawn {number}"), session.messages().to_vec())
    };
    (0..).filter_map(draw).take(count).collect()
}
