//! Compiles the strategies that the user named.

use crate::args::ModelArgs;
use crate::error::Error;
use crate::groups::Listed;
use crate::summaries::Choice;
use crate::{input, output, replace};
use foldback::{Compiled, Document, Options, Registry};
use foldback_core::Limits;
use foldback_core::config::nearest;
use foldback_core::registry::{Build, StageKind};
use foldback_core::stage::Estimator;
use foldback_core::strategy::{Kind, Strategy};
use foldback_replay::compare::SIMPLEST;
use foldback_replay::controls::Seer;
use foldback_replay::cost::{OWN, RegimeTable};
use foldback_replay::images::WithImages;
use foldback_replay::recorder::Recorded;
use foldback_replay::setup::RequestSource;
use foldback_replay::{ModelTable, Preset, Setup};
use foldback_stages::pruner::EvictConfig;
use std::path::Path;
use std::sync::Arc;

/// Compiles a strategy for a command that uses no models.
pub(crate) fn compile_without_model(
    registry: &Registry,
    name: &str,
    command: &str,
) -> Result<Compiled, Error> {
    let compiled = compile(registry, name, None)?;
    if compiled.strategy.asks().is_empty() {
        return Ok(compiled);
    }
    Err(Error::Usage(format!(
        "a model writes the summaries of {}, and `{command}` supports none; use `compare` or `compact`, or set [summarizer] use = \"extractive\"",
        compiled.strategy.name
    )))
}

/// Compiles a preset by name or a strategy file by path, with the environment variables of the original honored; those that
/// were found are printed. Another summarizer takes the place of its own, if it uses summaries.
pub(crate) fn compile(
    registry: &Registry,
    name: &str,
    choice: Option<&Choice>,
) -> Result<Compiled, Error> {
    if registry.preset(name).is_none()
        && let Some(control) = unseen_control(name)?
    {
        return Err(Error::Usage(format!("{name}: {}", only_compared(&control))));
    }
    let path = Path::new(name);
    let beside = foldback::read_beside(path);
    let read = |other: &str| {
        replace::uses(&path.with_file_name(other));
        beside(other)
    };
    let env = |name: &str| std::env::var(name).ok();
    let options = Options { read_file: Some(&read), env: Some(&env) };
    let file = match name.ends_with(".toml") {
        true => Some(Document::parse(name, &input::text(path)?)?),
        false => None,
    };
    let mut compiled = match &file {
        Some(document) => foldback::config::compile(registry, document.clone(), options)?,
        None => foldback::config::compile_preset(registry, name, options)?,
    };
    if let Some(choice) = choice.filter(|_| compiled.strategy.summarises()) {
        let section = choice.section(&compiled);
        let preset = || {
            // An alias has led to it; it goes by its own name from here.
            let preset = registry.preset(&compiled.strategy.name)?.item;
            Some(Document::parse(preset.name, preset.toml))
        };
        let document = match file {
            Some(document) => Some(document),
            None => preset().transpose()?,
        };
        if let Some(mut document) = document {
            document.root.set("summarizer", section);
            compiled = foldback::config::compile(registry, document, options)?;
        }
    }
    for (flag, value) in &compiled.env {
        output::note(format_args!(
            "{}: {}={value} sets {}",
            compiled.strategy.name, flag.name, flag.sets
        ));
    }
    Ok(compiled)
}

/// A strategy for the laboratory, with its configuration.
pub(crate) fn preset(
    registry: &Registry,
    name: &str,
    choice: Option<&Choice>,
) -> Result<Preset, Error> {
    let mut compiled = compile(registry, name, choice)?;
    let mut fingerprint = compiled.root.to_value().to_string();
    if choice.is_some_and(|choice| choice.recorded)
        && compiled.strategy.summarises()
        && let Some(summarizer) = compiled.strategy.summarizer.take()
    {
        compiled.strategy.summarizer = Some(Arc::new(Recorded(summarizer)));
        fingerprint.push_str(Recorded::ID);
    }
    Ok(Preset::new(compiled.strategy, fingerprint))
}

/// Presets of these names, all of which can work with the window.
pub(crate) fn usable(
    registry: &Registry,
    names: &[String],
    choice: Option<&Choice>,
    limits: Limits,
) -> Result<Vec<Preset>, Error> {
    let presets = all(names.iter().map(|name| preset(registry, name, choice)))?;
    presets.iter().try_for_each(|preset| check_window(&preset.strategy, limits))?;
    Ok(presets)
}

/// Which controls go with the presets that were asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controls {
    /// Every one: without a reference, a number says little.
    All,
    /// Those without foresight, which takes the longest. Foresight acts first where chance does, so what all presets are
    /// measured on is the same. What they forget is priced only where they are the base.
    Blind,
}

/// The given presets and groups, or those compared by default, and controls. No compaction comes first, the other
/// controls last.
pub(crate) fn presets(
    registry: &Registry,
    listed: &Listed,
    names: &[String],
    controls: Controls,
    choice: Option<&Choice>,
) -> Result<Vec<Preset>, Error> {
    let mut unseen = unseen_controls()?;
    let is_unseen =
        |name: &&String| unseen.iter().any(|control| control.strategy.name == name.as_str());
    let names = listed.expand(names);
    let named = names.iter().filter(|name| !is_unseen(name));
    let mut presets = all(named.map(|name| preset(registry, name, choice)))?;
    for name in listed.controls() {
        let more = preset(registry, name, choice)?;
        if presets.iter().any(|other| other.strategy.name == more.strategy.name) {
            continue;
        }
        presets.push(match controls == Controls::All || name == SIMPLEST {
            true => more,
            false => more.without_net(),
        });
    }
    let is_named = |preset: &Preset| names.iter().any(|name| *name == preset.strategy.name);
    unseen.retain(|preset| {
        controls == Controls::All
            || !matches!(preset.made, RequestSource::Seeing(_))
            || is_named(preset)
    });
    presets.extend(unseen);
    presets.sort_by_key(|it| (!it.is_baseline(), it.strategy.kind == Kind::Control));
    Ok(presets)
}

/// The controls that are derived from each recording. They are in every comparison and have no strategy file.
pub(crate) fn unseen_controls() -> Result<Vec<Preset>, Error> {
    let made = [
        Preset::seeing(Seer::Evict(EvictConfig::default())),
        Preset::seeing(Seer::Lines(EvictConfig::default())),
        Preset::as_recorded(),
    ];
    let made = made.into_iter().map(|preset| preset.map_err(|wrong| Error::Usage(wrong.message)));
    made.collect()
}

/// The control with this name.
pub(crate) fn unseen_control(name: &str) -> Result<Option<Preset>, Error> {
    Ok(unseen_controls()?.into_iter().find(|control| control.strategy.name == name))
}

/// The purpose of a control.
pub(crate) fn only_compared(control: &Preset) -> &'static str {
    match control.made {
        RequestSource::Recorded => {
            "a control that `compare` takes from each recording: presets are compared with it; it can't be run"
        }
        _ => {
            "a control that `compare` makes for each recording, with knowledge of its later calls: presets are compared with it; it can't be run"
        }
    }
}

/// All results, or all errors.
pub(crate) fn all<T>(made: impl Iterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
    let (mut good, mut wrong) = (Vec::new(), Vec::new());
    for one in made {
        match one {
            Ok(one) => good.push(one),
            Err(error) => wrong.push(error),
        }
    }
    if wrong.is_empty() { Ok(good) } else { Err(Error::Several(wrong)) }
}

/// The settings that all presets of a run share.
pub(crate) fn setup(registry: &Registry, args: &ModelArgs) -> Result<Setup, Error> {
    let limits = args.limits();
    let models = match &args.models {
        None => ModelTable::embedded(),
        Some(path) => ModelTable::parse(&input::text(path)?)
            .map_err(|error| Error::Usage(format!("{}: {error}", path.display())))?,
    };
    if let Some(name) = &args.model
        && models.find(name).is_none()
        && limits.context == 0
    {
        return Err(Error::Usage(format!(
            "the model table of {} has no model `{name}`{}; set its limits with --window and --max-output, \
             or a table with --models",
            models.as_of,
            match models.near(name).as_slice() {
                [] => String::new(),
                near => format!("; similar names are {}", near.join(", ")),
            }
        )));
    }
    Ok(Setup {
        limits,
        model: args.model.clone(),
        models,
        regimes: RegimeTable::embedded(),
        billed: OWN.to_owned(),
        measure: estimator(registry, &args.estimator)?,
    })
}

/// Refuses a window that is too small, before anything runs.
pub(crate) fn check_window(strategy: &Strategy, limits: Limits) -> Result<(), Error> {
    match strategy.refuses(limits) {
        Some(why) if limits.context > 0 => Err(Error::Usage(format!(
            "preset {} can't work with --window {}: {why}",
            strategy.name, limits.context
        ))),
        _ => Ok(()),
    }
}

/// Refuses an unknown price regime.
pub(crate) fn check_regime(setup: &Setup, name: &str) -> Result<(), Error> {
    match setup.regime(name) {
        Err(known) if name != OWN => Err(Error::Usage(format!(
            "no price regime is called `{name}`{}; known are {}, {OWN}",
            nearest(name, known.iter().copied()),
            known.join(", ")
        ))),
        _ => Ok(()),
    }
}

/// The measuring estimator, by the name of its stage, with its defaults, and the size of images.
pub(crate) fn estimator(registry: &Registry, name: &str) -> Result<Arc<dyn Estimator>, Error> {
    let known = || {
        let names: Vec<&str> = registry
            .stages()
            .filter(|stage| stage.item.kind() == StageKind::Estimator)
            .map(|stage| stage.item.name)
            .collect();
        Error::Usage(format!("no estimator is called `{name}`; known are {}", names.join(", ")))
    };
    match registry.stage(StageKind::Estimator, name).ok_or_else(known)?.item.build {
        Build::Estimator(build) => build(serde_json::json!({}))
            .map(|estimator| Arc::new(WithImages::new(estimator)) as Arc<dyn Estimator>)
            .map_err(|invalid| Error::Usage(format!("estimator `{name}`: {}", invalid.message))),
        _ => Err(known()),
    }
}

#[cfg(all(test, feature = "serve"))]
mod tests {
    use super::*;
    use foldback_core::strategy::OnFailure;

    /// Behind the proxy nothing is folded where the client's model writes no summary: no other text takes its place.
    #[test]
    fn nothing_stands_in_for_the_summary_of_a_client() {
        let registry = foldback::registry().unwrap();
        let chosen = Choice::of_client("claude-haiku-4-5").unwrap();
        assert!(!chosen.config().unwrap().extractive);
        let mut asked = 0;
        for preset in registry.presets() {
            let strategy =
                super::preset(&registry, preset.item.name, Some(&chosen)).unwrap().strategy;
            if !strategy.asks().is_empty() {
                let on_failure = strategy.on_failure;
                assert_eq!(on_failure, OnFailure::Keep, "{}", preset.item.name);
                asked += 1;
            }
        }
        assert!(asked > 10, "{asked}");
    }
}
