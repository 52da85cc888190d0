//! What folds could have kept, and whether a later call used it.

use foldback_core::Limits;
use foldback_core::strategy::Strategy;
use foldback_formats::Session;
use foldback_indexed::features::{BLOCK, LINE, WORD};
use foldback_indexed::filter::NoteConfig;
use foldback_indexed::learn::{Observed, Offered, Uses};
use foldback_indexed::model::Weights;
use foldback_replay::{ReplayOptions, replay};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};

/// Windows of the replays, in tokens, the smallest first.
pub const WINDOWS: [u64; 3] = [60_000, 100_000, 200_000];

/// Shares of the window without the frame that folds bring messages down to.
const TARGETS: [f64; 2] = [0.3, 0.5];

/// What a regression is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learnable {
    /// Whether a call names a word again.
    Word,
    /// Whether a call is the first to take a line as a whole.
    Line,
    /// Whether a call edits a block of lines.
    Block,
}

impl Learnable {
    /// In the order in which they are fitted.
    pub const ALL: [Self; 3] = [Self::Word, Self::Line, Self::Block];

    /// Its table in a strategy file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Word => "word",
            Self::Line => "line",
            Self::Block => "block",
        }
    }

    /// Names of the features, the bias first.
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Self::Word => &WORD,
            Self::Line => &LINE,
            Self::Block => &BLOCK,
        }
    }
}

/// A session to learn from.
#[derive(Clone, Debug)]
pub struct Lesson {
    /// What it shares with others of its kind; its path where nothing is recorded.
    pub cluster: String,
    /// The session.
    pub session: Arc<Session>,
}

/// Examples of one kind.
#[derive(Clone, Debug)]
pub struct Examples {
    /// What they are about.
    pub kind: Learnable,
    /// Features, example by example, without the bias.
    pub features: Vec<f32>,
    /// Whether a later call used it, by example.
    pub labels: Vec<bool>,
    /// The cluster of its session, by example.
    pub groups: Vec<usize>,
    /// Sessions with a fold.
    pub sessions: usize,
}

impl Examples {
    /// Replays lessons, the examples in their order.
    pub fn of(
        lessons: &[Lesson],
        strategy: &Strategy,
        weights: &[Weights; 3],
        kind: Learnable,
    ) -> Self {
        let clusters: BTreeSet<&str> = lessons.iter().map(|l| l.cluster.as_str()).collect();
        let clusters: Vec<&str> = clusters.into_iter().collect();
        let parts: Vec<Self> = lessons
            .par_iter()
            .map(|lesson| {
                let group = clusters.binary_search(&lesson.cluster.as_str()).unwrap_or_default();
                let mut out = Self::empty(kind);
                out.read(&lesson.session, group, strategy, weights);
                out
            })
            .collect();
        let mut out = Self::empty(kind);
        for part in parts {
            out.features.extend(part.features);
            out.labels.extend(part.labels);
            out.groups.extend(part.groups);
            out.sessions += part.sessions;
        }
        out
    }

    fn empty(kind: Learnable) -> Self {
        let (features, labels, groups) = Default::default();
        Self { kind, features, labels, groups, sessions: 0 }
    }

    fn read(
        &mut self,
        session: &Session,
        group: usize,
        strategy: &Strategy,
        weights: &[Weights; 3],
    ) {
        let log: Vec<_> = session.log().cloned().collect();
        let uses = Uses::of(&log);
        let mut folded = false;
        for context in WINDOWS {
            for target in TARGETS {
                for fold in folds(session, strategy, weights, context, target) {
                    folded = true;
                    self.add(&fold, &uses);
                }
            }
        }
        self.groups = vec![group; self.labels.len()];
        self.sessions += usize::from(folded);
    }

    fn add(&mut self, fold: &Offered, uses: &Uses) {
        let after = fold.log_len;
        match self.kind {
            Learnable::Word => {
                for (word, features) in &fold.words {
                    self.push(features, uses.word(*word, after).any);
                }
            }
            Learnable::Line => {
                for (key, features) in &fold.lines {
                    self.push(features, uses.line(*key, after).first);
                }
            }
            Learnable::Block => {
                for (keys, features) in &fold.blocks {
                    self.push(features, uses.edits(keys, after));
                }
            }
        }
    }

    fn push(&mut self, features: &[f32], label: bool) {
        self.features.extend(&features[1..]);
        self.labels.push(label);
    }

    /// Features of an example, without the bias.
    pub fn width(&self) -> usize {
        self.kind.features().len() - 1
    }

    /// Number of examples.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Examples that a later call used.
    pub fn taken(&self) -> usize {
        self.labels.iter().filter(|label| **label).count()
    }

    /// Number of clusters.
    pub fn clusters(&self) -> usize {
        self.groups.iter().collect::<BTreeSet<_>>().len()
    }
}

/// What the folds of one replay could have kept.
fn folds(
    session: &Session,
    strategy: &Strategy,
    [word, line, block]: &[Weights; 3],
    context: u64,
    target: f64,
) -> Vec<Offered> {
    let (word, line, block) = (word.clone(), line.clone(), block.clone());
    let config = NoteConfig { target, word, line, block, ..NoteConfig::default() };
    let Ok(filter) = config.filter() else { return Vec::new() };
    let observed = Observed::new(filter);
    let seen = Arc::clone(&observed.folds);
    let mut strategy = strategy.clone();
    if let Some(bound) = &mut strategy.filter {
        bound.stage = Arc::new(observed);
    }
    let measure = Arc::clone(strategy.estimator());
    let options = ReplayOptions {
        limits: Limits::new(context, 0),
        ceiling: None,
        model: None,
        measure,
        validate: false,
        completions: None,
    };
    replay(session, &Arc::new(strategy), &options);
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    std::mem::take(&mut *seen)
}
