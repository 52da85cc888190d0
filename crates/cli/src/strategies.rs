//! From what the user named to compiled strategies.

use crate::error::Error;
use crate::input;
use foldback::{Compiled, Document, Options, Registry};
use foldback_core::Limits;
use foldback_core::registry::{Build, StageKind};
use foldback_core::stage::Estimator;
use foldback_core::strategy::Kind;
use foldback_replay::compare::is_baseline;
use foldback_replay::cost::RegimeTable;
use foldback_replay::{ModelTable, Preset, Setup};
use foldback_stages::pruner::EvictConfig;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Compiles a preset by name or a strategy file by path, with the environment variables of the
/// original honoured; those that were found are printed.
pub(crate) fn compile(registry: &Registry, name: &str) -> Result<Compiled, Error> {
    let path = Path::new(name);
    let folder = path.parent().map(Path::to_owned).unwrap_or_default();
    let read = move |other: &str| {
        // What a file extends is looked up beside it.
        std::fs::read_to_string(folder.join(other)).map_err(|error| error.to_string())
    };
    let env = |name: &str| std::env::var(name).ok();
    let options = Options {
        read_file: Some(&read),
        env: Some(&env),
    };
    let is_file = name.ends_with(".toml");
    let compiled = if is_file {
        let document = Document::parse(name, &input::text(path)?)?;
        foldback::config::compile(registry, document, options)?
    } else {
        foldback::config::compile_preset(registry, name, options)?
    };
    for (flag, value) in &compiled.env {
        anstream::eprintln!(
            "{}: {}={value} sets {}",
            compiled.strategy.name,
            flag.name,
            flag.sets
        );
    }
    Ok(compiled)
}

/// A strategy as the laboratory takes it, with the configuration that it goes by.
pub(crate) fn preset(registry: &Registry, name: &str) -> Result<Preset, Error> {
    let compiled = compile(registry, name)?;
    let fingerprint = compiled.root.to_value().to_string();
    Ok(Preset::new(compiled.strategy, fingerprint))
}

/// The presets that were named, or all of them, and every control: without what it is compared with, a
/// number says little. No compaction comes first, the other controls last.
pub(crate) fn presets(registry: &Registry, names: &[String]) -> Result<Vec<Preset>, Error> {
    let mut presets = names
        .iter()
        .map(|name| preset(registry, name))
        .collect::<Result<Vec<_>, _>>()?;
    for known in registry.presets() {
        let more = preset(registry, known.item.name)?;
        let wanted = names.is_empty() || more.strategy.kind == Kind::Control;
        let there = |other: &Preset| other.strategy.name == more.strategy.name;
        if wanted && !presets.iter().any(there) {
            presets.push(more);
        }
    }
    let clairvoyant = Preset::clairvoyant(EvictConfig::default())
        .map_err(|invalid| Error::Usage(invalid.message))?;
    presets.push(clairvoyant);
    presets.sort_by_key(|preset| {
        let control = preset.strategy.kind == Kind::Control;
        (!is_baseline(&preset.strategy), control)
    });
    Ok(presets)
}

/// What the presets of a run share.
pub(crate) fn setup(
    registry: &Registry,
    limits: Limits,
    model: Option<String>,
    models: Option<&PathBuf>,
    measure: &str,
) -> Result<Setup, Error> {
    let models = match models {
        None => ModelTable::embedded(),
        Some(path) => ModelTable::parse(&input::text(path)?).map_err(|error| Error::Models {
            path: path.display().to_string(),
            error,
        })?,
    };
    if let Some(name) = &model
        && models.find(name).is_none()
        && limits.context == 0
    {
        return Err(Error::Usage(format!(
            "the model table of {} has no model `{name}`; give its limits with --window and --output, \
             or a table with --models",
            models.as_of
        )));
    }
    Ok(Setup {
        limits,
        model,
        models,
        regimes: RegimeTable::embedded(),
        measure: estimator(registry, measure)?,
    })
}

/// An estimator by the name of its stage, with its defaults.
pub(crate) fn estimator(registry: &Registry, name: &str) -> Result<Arc<dyn Estimator>, Error> {
    let known = || {
        let names: Vec<&str> = registry
            .stages()
            .filter(|stage| stage.item.kind() == StageKind::Estimator)
            .map(|stage| stage.item.name)
            .collect();
        Error::Usage(format!(
            "no estimator is called `{name}`; known are {}",
            names.join(", ")
        ))
    };
    match registry
        .stage(StageKind::Estimator, name)
        .ok_or_else(known)?
        .item
        .build
    {
        Build::Estimator(build) => build(serde_json::json!({}))
            .map_err(|invalid| Error::Usage(format!("estimator `{name}`: {}", invalid.message))),
        _ => Err(known()),
    }
}
