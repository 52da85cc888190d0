//! `foldback compare`

use crate::args::Compare;
use crate::error::Error;
use crate::{input, output, strategies};
use foldback_core::Limits;
use foldback_replay::Preset;
use foldback_report::{html, json, table};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal as _;
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &Compare) -> Result<(), Error> {
    if args.paths.is_empty() && !args.discover {
        return Err(Error::Usage(
            "nothing to compare: name session files or folders, or use --discover".to_owned(),
        ));
    }
    let registry = foldback::registry()?;
    let names: Vec<String> = if args.preset.is_empty() {
        registry
            .presets()
            .map(|preset| preset.item.name.to_owned())
            .collect()
    } else {
        args.preset.clone()
    };
    let mut presets = names
        .iter()
        .map(|name| {
            let strategy = Arc::new(strategies::compile(&registry, name)?.strategy);
            Ok(Preset { strategy })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    if args.preset.is_empty() {
        // What the others are compared with comes first.
        presets
            .sort_by_key(|preset| preset.strategy.kind != foldback_core::strategy::Kind::Control);
    }
    let limits = Limits {
        context: args.window.unwrap_or(0),
        input: 0,
        output: args.output.unwrap_or(0),
    };
    let setup = strategies::setup(
        &registry,
        limits,
        args.model.clone(),
        args.models.as_ref(),
        &args.measure,
    )?;
    refuse_windows(&presets, limits)?;
    let corpus = input::corpus(&args.paths, args.discover, args.strict)?;
    let bar = progress((corpus.sessions.len() * presets.len()) as u64);
    let comparison = foldback_replay::compare(&corpus, &presets, &setup, &|| bar.inc(1));
    bar.finish_and_clear();
    tell_statistics(&presets);
    if let Some(path) = &args.rows {
        output::write(Some(path), &json::rows(&comparison)?)?;
    }
    if let Some(path) = &args.json {
        output::write(Some(path), &json::comparison(&comparison)?)?;
    }
    if let Some(path) = &args.html {
        output::write(Some(path), &html::comparison(&comparison))?;
    }
    // A document on standard output stands alone, so that it can be piped.
    let to_stdout = |path: &Option<std::path::PathBuf>| path.as_deref() == Some(Path::new("-"));
    if [&args.json, &args.html, &args.rows]
        .into_iter()
        .any(to_stdout)
    {
        return Ok(());
    }
    let layout = table::Layout {
        width: output::width(),
        ..table::Layout::default()
    };
    output::print(&table::comparison(&comparison, layout))
}

/// What filters tell of their own work, such as the hit rate of a cache. It depends on what ran when, so it
/// is no part of the result.
fn tell_statistics(presets: &[Preset]) {
    for preset in presets {
        let filter = preset.strategy.filter.as_ref();
        for (name, value) in filter.iter().flat_map(|filter| filter.stage.statistics()) {
            anstream::eprintln!("{}: {name} {value}", preset.strategy.name);
        }
    }
}

/// A window in which nothing could ever fit is refused before anything runs.
fn refuse_windows(presets: &[Preset], limits: Limits) -> Result<(), Error> {
    if limits.context == 0 {
        return Ok(());
    }
    for preset in presets {
        let limits = preset
            .strategy
            .limits(limits, Limits::default(), Limits::default());
        let policy = preset.strategy.overflow.as_ref();
        if let Some(why) = policy.and_then(|policy| policy.stage.refuses(limits)) {
            return Err(Error::Usage(format!(
                "preset {} can't work with --window {}: {why}",
                preset.strategy.name, limits.context
            )));
        }
    }
    Ok(())
}

fn progress(length: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} replays, {eta} left");
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
