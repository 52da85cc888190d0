//! What fold after fold frees and leaves, in a session that does not end and in the longest recordings: the table of
//! `docs/findings.md`. The law `keeps_freeing` holds the presets against the sessions of the test kit.

use foldback_formats::Session;
use foldback_replay::stats::Share;
use foldback_replay::walk::{Detail, GENERATIONS, Track, Walk};
use foldback_replay::{Preset, Setup};
use foldback_tests::lab;
use foldback_tests::planted::Planted;
use rayon::prelude::*;
use std::fmt::Write as _;

/// Window and output limit of every session.
const WINDOW: (u64, u64) = (100_000, 8_000);

/// How many recordings.
const LONGEST: usize = 10;

/// 3,000 calls that read some 500 tokens each; what they name was read up to 400 calls before.
fn endless() -> Vec<Session> {
    let planted =
        Planted { sessions: 1, calls: 3_000, characters: 2_000, reach: 400, ..Planted::default() };
    planted.sessions()
}

fn longest() -> Vec<Session> {
    let shared = foldback_test_support::sessions();
    let files = walkdir::WalkDir::new(shared.join("..")).sort_by_file_name();
    let files: Vec<_> = files.into_iter().flatten().map(|entry| entry.into_path()).collect();
    let mut sessions: Vec<Session> = files
        .par_iter()
        .filter(|path| {
            path.starts_with(shared.join("../sessions"))
                || path.starts_with(shared.join("../training"))
        })
        .filter_map(|path| foldback_formats::read(&std::fs::read(path).ok()?, None).ok())
        .flatten()
        .collect();
    sessions.sort_by_key(|session| std::cmp::Reverse(session.calls()));
    sessions.truncate(LONGEST);
    sessions
}

/// One preset over several sessions. What it prunes counts in sessions in which it does not fold.
#[derive(Default)]
struct Row {
    times: usize,
    /// By session: what the first, the median and the last one freed, what the first and the last one left.
    sizes: Vec<[u64; 5]>,
    /// Where folds had no effect any more: call, of how many.
    stuck: Vec<(usize, usize)>,
    over: usize,
    kept: [Share; GENERATIONS],
    pruning: bool,
}

impl Row {
    fn of(sessions: &[Session], preset: &Preset, setup: &Setup) -> Self {
        let mut row = Self::default();
        for session in sessions {
            let walk = setup.walk("", session, &[preset], Detail::default());
            for track in &walk.tracks {
                row.take(&walk, track);
            }
        }
        row
    }

    fn take(&mut self, walk: &Walk, track: &Track) {
        let told = track.repeated();
        self.times += told.freed.len();
        self.pruning |= !told.folds;
        let mut sorted = told.freed.clone();
        sorted.sort_unstable();
        if let ([first, ..], [floor, ..]) = (&*told.freed, &*told.left) {
            let (last, end) = (told.freed.last().unwrap(), told.left.last().unwrap());
            self.sizes.push([*first, sorted[sorted.len() / 2], *last, *floor, *end]);
        }
        self.stuck.extend(track.stuck.map(|call| (call, walk.calls.len())));
        self.over += track.overflows.len();
        for (sum, share) in self.kept.iter_mut().zip(walk.by_generation(track)) {
            *sum += share;
        }
    }

    /// The median over sessions.
    fn size(&self, which: usize) -> String {
        let mut sizes: Vec<u64> = self.sizes.iter().map(|sizes| sizes[which]).collect();
        sizes.sort_unstable();
        match sizes.get(sizes.len() / 2) {
            Some(tokens) => format!("{:.1}", *tokens as f64 / 1_000.0),
            None => "–".to_owned(),
        }
    }

    fn cells(&self) -> String {
        let size = |which: usize| self.size(which);
        let stuck: Vec<String> =
            self.stuck.iter().map(|(call, of)| format!("{call} of {of}")).collect();
        let kept = |share: &Share| {
            share.value().map_or("–".to_owned(), |share| format!("{:.0}", share * 100.0))
        };
        let kept: Vec<String> = self.kept.iter().map(kept).collect();
        let prunings = if self.pruning && self.times > 0 { " p" } else { "" };
        format!(
            "{}{prunings} | {} / {} / {} | {} / {} | {} | {} | {}",
            self.times,
            size(0),
            size(1),
            size(2),
            size(3),
            size(4),
            if stuck.is_empty() { "–".to_owned() } else { stuck.join(", ") },
            self.over,
            kept.join("/"),
        )
    }
}

#[test]
#[ignore = "some ten minutes; run with --ignored --nocapture"]
fn what_fold_after_fold_frees_and_leaves() {
    let setup = lab::setup(WINDOW.0, WINDOW.1);
    let (endless, longest) = (endless(), longest());
    assert_eq!(longest.len(), LONGEST, "the recordings are in ../shared");
    for session in &longest {
        println!("{} {} calls", session.id, session.calls());
    }
    let presets: Vec<Preset> =
        foldback_tests::presets().iter().map(|preset| lab::preset(&preset.name)).collect();
    let rows = presets.par_iter().filter(|preset| !preset.is_baseline()).map(|preset| {
        let [endless, longest] =
            [&endless, &longest].map(|sessions| Row::of(sessions, preset, &setup).cells());
        let row = format!("| {} | {endless} | {longest} |", preset.strategy.name);
        println!("{row}");
        row
    });
    let rows: Vec<String> = rows.collect();
    let mut table = String::new();
    for row in rows {
        let _ = writeln!(table, "{row}");
    }
    println!("\n{table}");
}
