//! What the page of a comparison shows of single sessions: stored call rows, and walks that are made by
//! replaying the most telling sessions once more.

use crate::progress::Progress;
use foldback_core::strategy::Kind;
use foldback_replay::walk::{Detail, Walk};
use foldback_replay::{Comparison, Corpus, Preset, Setup, Store};
use foldback_report::html::{self, Details, Drawn};
use rayon::prelude::*;

/// Sessions whose saw-teeth a page draws, at most.
const DRAWN: usize = 12;

/// Model calls of the sessions that can be walked, together at most: they are replayed once more, which
/// takes seconds.
const WALKED_CALLS: usize = 1_200;

/// Excerpts are shorter than where one session is explained, since a page holds several.
const DETAIL: Detail = Detail { excerpt: 160, written: 2_500 };

/// What was compared and how.
pub(crate) struct Compared<'a> {
    pub(crate) comparison: &'a Comparison,
    pub(crate) corpus: &'a Corpus,
    pub(crate) presets: &'a [Preset],
    pub(crate) setup: &'a Setup,
    pub(crate) store: &'a Store,
}

impl Compared<'_> {
    pub(crate) fn details(&self) -> Details {
        let sessions = &self.comparison.corpus.sessions;
        let (walked, mut others) = html::to_walk(self.comparison, WALKED_CALLS);
        let progress = Progress::new(walked.len(), "sessions", "walked for the page".to_owned());
        let walk = |session: usize| {
            let walk = self.walk(session);
            progress.step();
            (session, walk)
        };
        let walks: Vec<(usize, Option<Walk>)> = walked.into_par_iter().map(walk).collect();
        let lost = walks.iter().filter(|(_, walk)| walk.is_none());
        others.extend(lost.map(|(session, _)| *session));
        others.sort_unstable();
        Details {
            drawn: self.drawn(),
            walks: walks.into_iter().filter_map(|(_, walk)| walk).collect(),
            not_walked: others.into_iter().map(|session| sessions[session].path.clone()).collect(),
        }
    }

    fn drawn(&self) -> Vec<Drawn> {
        html::to_draw(self.comparison, DRAWN)
            .into_iter()
            .filter_map(|session| {
                let presets = 0..self.presets.len();
                let records =
                    presets.map(|preset| self.comparison.record(self.store, session, preset));
                Some(Drawn { session, records: records.collect::<Option<_>>()? })
            })
            .collect()
    }

    /// The session under the strategies that changed something in it; `None` where its file can't be read
    /// any more or has changed. Controls are there to be counted against, not to be read.
    fn walk(&self, session: usize) -> Option<Walk> {
        let path = &self.comparison.corpus.sessions[session].path;
        let scores = self.comparison.scores_of(session).iter();
        let changed = scores.filter(|score| score.metrics.compactions > 0);
        let acted: Vec<usize> = changed
            .map(|score| score.preset)
            .filter(|at| self.presets[*at].strategy.kind == Kind::Strategy)
            .collect();
        let make = || {
            let presets: Vec<&Preset> = acted.iter().map(|at| &self.presets[*at]).collect();
            Some(self.setup.walk(
                path,
                &self.comparison.session(self.corpus, session)?,
                &presets,
                DETAIL,
            ))
        };
        self.comparison.walk(self.store, session, &acted, DETAIL, make)
    }
}
