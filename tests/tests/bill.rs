//! What sessions cost is one figure: that of the recorded usage, which `sessions` and `inspect` print, is the base of a comparison.

use foldback_core::Limits;
use foldback_replay::setup::AS_RECORDED;
use foldback_replay::spent::Prices;
use foldback_replay::{Corpus, Preset, Reporting, Run, Source, Store, compare};
use foldback_tests::lab;
use std::path::{Path, PathBuf};

/// All files below a folder.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { files(&path, out) } else { out.push(path) }
    }
}

/// How many files below these folders have a base as recorded, each to the cent what the usage of its sessions cost.
fn agreeing(folders: &[&str]) -> usize {
    let presets = [lab::preset("none"), Preset::as_recorded().expect("a control")];
    let setup = foldback_replay::Setup { limits: Limits::default(), ..lab::setup(0, 0) };
    let (store, prices) = (Store::temporary().expect("a store"), Prices::embedded());
    let mut found = Vec::new();
    folders.iter().for_each(|folder| files(&lab::root().join(folder), &mut found));
    assert!(!found.is_empty(), "{folders:?}");
    let mut agreeing = 0;
    for path in found {
        let source = Source::File(path.clone());
        let Ok(sessions) = source.sessions() else { continue };
        let corpus = Corpus { sources: vec![source] };
        let run = Run { store: &store, progress: &|| (), strict: false };
        let reporting = Reporting::default();
        let Ok(compared) = compare(&corpus, &presets, &setup, reporting, run) else { continue };
        let Some(base) = compared.base.filter(|base| base.preset == AS_RECORDED) else { continue };
        let spent: Vec<f64> = sessions
            .iter()
            .filter_map(|session| prices.spent(session))
            .map(|spent| spent.usd)
            .collect();
        if spent.len() != base.sessions {
            continue;
        }
        let (ours, theirs) = (spent.iter().sum::<f64>(), base.usd * base.sessions as f64);
        assert!((ours - theirs).abs() < 0.005, "{}: {ours} {theirs}", path.display());
        let whole = (ours - theirs).abs() <= 1e-9 * ours.max(1.0);
        assert!(whole, "{}: {ours} {theirs}", path.display());
        agreeing += 1;
    }
    agreeing
}

#[test]
fn the_base_is_what_inspect_prints() {
    let folders = ["crates/formats/fixtures", "tests/four-sessions", "tests/cases", "examples"];
    let agreeing = agreeing(&folders);
    assert!(agreeing > 40, "{agreeing}");
}

#[foldback_needs::sessions]
#[test]
fn the_base_of_real_sessions_is_what_inspect_prints() {
    let agreeing = agreeing(&["../shared/sessions"]);
    assert!(agreeing > 20, "{agreeing}");
}
