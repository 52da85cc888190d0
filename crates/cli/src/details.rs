//! What the page of a comparison shows for single sessions: stored call rows, and walks that are made by
//! replaying the most informative sessions once more.

use crate::design::Planned;
use crate::error::Error;
use crate::progress::Progress;
use foldback_core::strategy::Kind;
use foldback_replay::fault::FailedReplay;
use foldback_replay::parallel::{in_parallel, try_in_parallel};
use foldback_replay::walk::{Detail, Walk};
use foldback_replay::{Comparison, Corpus, Preset, Store};
use foldback_report::html::{self, Details, Most, Walked, reader};

/// The most model calls of the walked sessions together: they are replayed once more, which
/// takes seconds.
const WALKED_CALLS: usize = 1_200;

/// Excerpts of a page that holds several sessions.
pub(crate) const SEVERAL: Detail = Detail { excerpt: 400, written: 2_500 };

/// Excerpts of a page that holds one.
const ONE: Detail = Detail { excerpt: 2_000, written: 8_000 };

/// A comparison and its inputs.
pub(crate) struct Computed {
    pub(crate) comparison: Comparison,
    pub(crate) store: Store,
    pub(crate) corpus: Corpus,
    pub(crate) planned: Planned,
}

impl Computed {
    /// With this many sessions in the reader, or as many as fit. Replays that failed are added to `failed`.
    pub(crate) fn details(&self, walked: Option<usize>, failed: &mut Vec<FailedReplay>) -> Details {
        let sessions = &self.comparison.corpus.sessions;
        let most = walked.map_or(Most::Calls(WALKED_CALLS), Most::Sessions);
        let room = walked.is_none().then_some(reader::ROOM);
        let (walked, mut others) = html::to_walk(&self.comparison, most);
        let progress = Progress::new(walked.len(), "sessions", "walked for the page".to_owned());
        let walk = |session: &usize| {
            let walk = self.walk(*session, SEVERAL);
            progress.step();
            (*session, walk)
        };
        let walks = in_parallel(&walked, walk);
        failed.extend(walks.iter().filter_map(|(_, walk)| walk.as_ref()).flat_map(Walk::failed));
        let lost = walks.iter().filter(|(_, walk)| walk.is_none());
        others.extend(lost.map(|(session, _)| *session));
        others.sort_unstable();
        Details {
            walks: walks
                .into_iter()
                .filter_map(|(session, walk)| Some(Walked { session, walk: walk? }))
                .collect(),
            room,
            not_walked: others
                .into_iter()
                .map(|session| sessions[session].path.to_string())
                .collect(),
            ..Details::default()
        }
    }

    /// Passes the pages of all sessions that can be walked to `write`; `report` is where they link back to. Returns which
    /// those were; replays that failed are added to `failed`. No more than a few walks are in memory at a time.
    pub(crate) fn pages(
        &self,
        report: &str,
        write: impl Fn(usize, &str) -> Result<(), Error> + Sync,
        failed: &mut Vec<FailedReplay>,
    ) -> Result<Vec<usize>, Error> {
        let sessions = self.comparison.corpus.sessions.len();
        let progress = Progress::new(sessions, "sessions", "written as pages".to_owned());
        let page = |session: &usize| {
            let walk = self.walk(*session, ONE);
            let written = walk.map(|walk| {
                let written = write(*session, &reader::page(&walk, report));
                written.map(|()| (*session, walk.failed().collect::<Vec<_>>()))
            });
            progress.step();
            written.transpose()
        };
        let sessions: Vec<usize> = (0..sessions).collect();
        let mut written = Vec::new();
        for (session, more) in try_in_parallel(&sessions, page)?.into_iter().flatten() {
            written.push(session);
            failed.extend(more);
        }
        Ok(written)
    }

    /// The session under the strategies that changed something in it, else under the first, which says why it did
    /// nothing; `None` if its file can't be read any more or has changed. Controls exist for comparison
    /// and are not shown.
    fn walk(&self, session: usize, detail: Detail) -> Option<Walk> {
        let path = &self.comparison.corpus.sessions[session].path;
        let scores = self.comparison.scores_of(session).iter();
        let changed = scores.filter(|score| score.metrics.compactions > 0);
        let mut acted: Vec<usize> = changed
            .map(|score| score.preset())
            .filter(|at| self.planned.presets[*at].strategy.kind == Kind::Strategy)
            .collect();
        if acted.is_empty() {
            let failed = |at: &usize| {
                let score = self.comparison.scores_of(session).get(*at);
                score.is_some_and(|score| score.fault.is_some())
            };
            let order = self.comparison.by_bill();
            let first = order.iter().copied().find(|at| !failed(at));
            acted.push(first.unwrap_or(self.comparison.baseline));
        }
        let make = || {
            let presets: Vec<&Preset> = acted.iter().map(|at| &self.planned.presets[*at]).collect();
            Some(self.planned.setup.walk(
                path,
                &self.comparison.session(&self.corpus, session)?,
                &presets,
                detail,
            ))
        };
        self.comparison.walk(&self.store, session, &acted, detail, make)
    }
}
