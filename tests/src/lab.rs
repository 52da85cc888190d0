//! The laboratory, as the tests use it: presets to compare, and a comparison in one call.

use crate::owned;
use foldback::Compiled;
use foldback::config::{Document, Options, compile};
use foldback_core::Limits;
use foldback_core::strategy::{Kind, Strategy};
use foldback_replay::compare::Contrast;
use foldback_replay::controls::Seer;
use foldback_replay::cost::RegimeTable;
use foldback_replay::{
    Comparison, Corpus, ModelTable, Preset, Reporting, Run, Setup, Store, compare,
};
use foldback_stages::estimator::{Rounding, Unit, chars};
use foldback_stages::pruner::EvictConfig;
use std::path::PathBuf;
use std::sync::Arc;

/// A preset by its name.
pub fn preset(name: &str) -> Preset {
    Preset::new(owned(name), name.to_owned())
}

/// A strategy of `examples/strategies`, by the name of its file.
pub fn example(name: &str) -> Preset {
    let path = root().join(format!("examples/strategies/{name}.toml"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let compiled = compiled_file(name, &text);
    Preset::new(compiled.strategy, compiled.root.to_value().to_string())
}

/// A strategy file, to be changed by a test.
pub fn compiled(name: &str, text: &str) -> Strategy {
    compiled_file(name, text).strategy
}

fn compiled_file(name: &str, text: &str) -> Compiled {
    let registry = foldback::registry().expect("a registry");
    let document = Document::parse(name, text).unwrap_or_else(|error| panic!("{name}: {error}"));
    compile(&registry, document, Options::default())
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The names of all strategies of `examples/strategies`.
pub fn examples() -> Vec<String> {
    let folder = root().join("examples/strategies");
    let entries = std::fs::read_dir(&folder).expect("the folder of example strategies");
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// The greedy clairvoyant.
pub fn clairvoyant() -> Preset {
    Preset::seeing(Seer::Evict(EvictConfig::default())).expect("a valid configuration")
}

/// A control as if it were a strategy, for strategies alone are compared in pairs.
pub fn as_strategy(mut preset: Preset) -> Preset {
    Arc::get_mut(&mut preset.strategy).expect("the strategy is not shared").kind = Kind::Strategy;
    preset
}

/// All presets and controls, no compaction first and the clairvoyants last.
pub fn everything() -> Vec<Preset> {
    let registry = foldback::registry().expect("a registry");
    let others = registry.presets().map(|preset| preset.item.name);
    let mut all = vec![preset("none")];
    all.extend(others.filter(|name| *name != "none").map(preset));
    all.push(clairvoyant());
    let lines = Seer::Lines(EvictConfig::default());
    all.push(Preset::seeing(lines).expect("a valid configuration"));
    all
}

/// Limits of a window for all sessions, prices as they ship, measured by characters.
pub fn setup(context: u64, output: u64) -> Setup {
    Setup {
        limits: Limits::new(context, output),
        model: None,
        models: ModelTable::embedded(),
        regimes: RegimeTable::embedded(),
        billed: foldback_replay::cost::OWN.to_owned(),
        measure: Arc::new(chars(Unit::Utf16, Rounding::Ceil)),
    }
}

/// Reporting under a price regime.
pub fn reporting(regime: &str) -> Reporting {
    Reporting { regime: regime.to_owned(), ..Reporting::default() }
}

/// Compares with a store that lasts.
pub fn compare_in(
    store: &Store,
    corpus: &Corpus,
    presets: &[Preset],
    setup: &Setup,
    reporting: Reporting,
) -> Comparison {
    let run = Run { store, progress: &|| (), strict: false };
    compare(corpus, presets, setup, reporting, run).unwrap_or_else(|error| panic!("{error}"))
}

/// Compares from nothing, under the prices that are the default.
pub fn compared(corpus: &Corpus, presets: &[Preset], setup: &Setup) -> Comparison {
    let store = Store::temporary().expect("a folder for the store");
    compare_in(&store, corpus, presets, setup, reporting("anthropic-5m"))
}

/// The contrast of two presets, which must have been given in this order.
pub fn contrast<'a>(comparison: &'a Comparison, first: &str, second: &str) -> &'a Contrast {
    let of = |contrast: &&Contrast| contrast.first == first && contrast.second == second;
    let found = comparison.contrasts.iter().find(of);
    found.unwrap_or_else(|| panic!("no contrast of {first} and {second}"))
}

/// Whether a strategy has its summaries written by the extractive summarizer.
pub fn is_extractive(strategy: &Strategy) -> bool {
    let summarizer = strategy.summarizer.as_ref();
    strategy.filter.is_some() && summarizer.is_some_and(|by| by.id() == "extractive")
}

/// The root of the workspace.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}
