//! What the page of a comparison shows of single sessions: stored call rows, and walks that are made by
//! replaying the most telling sessions once more.

use foldback_core::strategy::Kind;
use foldback_formats::Session;
use foldback_replay::index::Index;
use foldback_replay::walk::{Detail, Track, Walk};
use foldback_replay::{Comparison, Corpus, Preset, Setup, Source, Store};
use foldback_report::html::{self, Details, Drawn};
use rayon::prelude::*;
use std::sync::Arc;

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
        let walks: Vec<(usize, Option<Walk>)> =
            walked.into_par_iter().map(|session| (session, self.walk(session))).collect();
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
    /// any more. Controls are there to be counted against, not to be read.
    fn walk(&self, session: usize) -> Option<Walk> {
        let path = &self.comparison.corpus.sessions[session].path;
        let changed = |at: usize| {
            let score = self.comparison.scores.get(session * self.presets.len() + at);
            score.is_some_and(|score| score.metrics.compactions > 0)
        };
        let acted: Vec<usize> = (0..self.presets.len())
            .filter(|at| self.presets[*at].strategy.kind == Kind::Strategy && changed(*at))
            .collect();
        let make = || {
            let read = self.read(path)?;
            let index = Arc::new(Index::of(&read));
            let empty = Walk::of(path, &read, &index, &self.setup.measure, DETAIL);
            let tracks: Vec<Vec<Track>> = acted
                .par_iter()
                .map(|at| {
                    let Preset { strategy, completions, .. } = &self.presets[*at];
                    let mut options = self.setup.options(&read, strategy);
                    options.validate = false;
                    options.completions.clone_from(completions);
                    let mut walk = empty.clone();
                    walk.follow(&read, &index, strategy, &options, DETAIL);
                    walk.tracks
                })
                .collect();
            Some(Walk { tracks: tracks.into_iter().flatten().collect(), ..empty })
        };
        self.comparison.walk(self.store, session, &acted, DETAIL, make)
    }

    /// A session by the path that the comparison lists it under.
    fn read(&self, path: &str) -> Option<Session> {
        let holds = |source: &&Source| {
            let name = source.name();
            path.strip_prefix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
        };
        self.corpus.sources.iter().filter(holds).find_map(|source| {
            let sessions = source.sessions().ok()?;
            let many = sessions.len() > 1;
            sessions.into_iter().find(|session| source.path_of(&session.id, many) == path)
        })
    }
}
