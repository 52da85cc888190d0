//! The page of a comparison of 1,000 generated sessions under every preset: writing it, and opening it in an
//! installed Chromium, beside an empty page, whose time is that of the browser itself.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use foldback_benches::driving::preset;
use foldback_benches::shape;
use foldback_core::Limits;
use foldback_replay::cost::RegimeTable;
use foldback_replay::{
    Comparison, Corpus, ModelTable, Preset, Reporting, Run, Setup, Store, compare,
};
use foldback_report::html::{Details, comparison};
use foldback_stages::estimator::o200k;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

const SESSIONS: usize = 1_000;

/// Turns of the shortest session, and how many lengths there are.
const TURNS: (usize, usize) = (2, 40);

/// A window at which most of the sessions are long enough for something to act.
const LIMITS: Limits = Limits { context: 24_000, input: 0, output: 2_000 };

fn compared() -> Comparison {
    let sessions = (0..SESSIONS).map(|at| {
        let mut session = shape::session(shape::messages(TURNS.0 + at % TURNS.1));
        session.id = format!("recordings/project-{}/session-{at:04}.jsonl", at % 31);
        session
    });
    let names = match foldback::registry() {
        Ok(registry) => registry.presets().map(|preset| preset.item.name).collect::<Vec<_>>(),
        Err(error) => panic!("registry: {error}"),
    };
    let presets: Vec<Preset> =
        names.into_iter().map(|name| Preset::new(preset(name), name.to_owned())).collect();
    let setup = Setup {
        billed: "own".to_owned(),
        limits: LIMITS,
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        measure: Arc::new(o200k()),
    };
    let store = match Store::temporary() {
        Ok(store) => store,
        Err(error) => panic!("a store: {error}"),
    };
    let run = Run { store: &store, progress: &|| (), strict: false };
    let reporting = Reporting::default();
    match compare(&Corpus::from_sessions(sessions), &presets, &setup, reporting, run) {
        Ok(comparison) => comparison,
        Err(error) => panic!("{error}"),
    }
}

/// Opens a page and waits until it is loaded and its script has run.
fn open(chromium: &str, page: &Path) {
    let options = ["--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"];
    let opened = Command::new(chromium)
        .args(options)
        .arg(page)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(opened.is_ok_and(|status| status.success()), "{chromium} opens no page");
}

fn a_thousand_sessions(c: &mut Criterion) {
    let compared = compared();
    let page = comparison(&compared, &Details::default());
    eprintln!("{} bytes, presets acted in {}", page.len(), compared.corpus.triggering);
    let mut group = c.benchmark_group("page");
    group.sample_size(10);
    group.throughput(Throughput::Elements(SESSIONS as u64));
    group.bench_function("write", |b| b.iter(|| comparison(&compared, &Details::default())));

    let names = ["chromium", "chromium-browser", "google-chrome"];
    let version = |name: &&str| Command::new(name).arg("--version").output().is_ok();
    let Some(chromium) = names.into_iter().find(version) else {
        eprintln!("no Chromium is installed: the page is not opened");
        return;
    };
    let folder = std::env::temp_dir().join(format!("foldback-page-{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        panic!("{}: {error}", folder.display());
    }
    for (name, text) in [("open", page.as_str()), ("open-empty", "<!doctype html>")] {
        let path = folder.join(format!("{name}.html"));
        if let Err(error) = std::fs::write(&path, text) {
            panic!("{}: {error}", path.display());
        }
        group.bench_function(name, |b| b.iter(|| open(chromium, &path)));
    }
    group.finish();
    // What is left of it is in the system's folder for what is temporary.
    let _ = std::fs::remove_dir_all(folder);
}

criterion_group!(benches, a_thousand_sessions);
criterion_main!(benches);
