//! `foldback check`

use crate::args::Check;
use crate::error::Error;
use crate::summaries::Choice;
use crate::{design, input, output, strategies};
use foldback::Document;
use foldback_replay::Experiment;

pub(crate) fn run(args: &Check) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let path = args.file.display().to_string();
    if !path.ends_with(".toml") {
        return Err(Error::Usage(format!("{path}: a strategy file ends in .toml")));
    }
    let text = input::text(&args.file)?;
    if Choice::is_one(&Document::parse(&path, &text)?) {
        let alone = Choice::read(&path)?.alone(&registry, &path)?;
        let id = alone.strategy.summarizer.as_ref().map_or("", |summarizer| summarizer.id());
        return output::print(&format!(
            "{path}: valid summarizer {id}; use it with `foldback compare PATH --summarizer {path}`\n"
        ));
    }
    if Experiment::is_one(&path, &text) {
        let presets = design::check(&registry, &args.file, &text)?;
        return output::print(&format!(
            "{path}: valid experiment with {presets} presets and controls; run it with `foldback compare PATH --experiment {path}`\n"
        ));
    }
    let compiled = strategies::compile(&registry, &path, None)?;
    let strategy = &compiled.strategy;
    let stages: Vec<&str> = strategy
        .overflow
        .iter()
        .map(|bound| bound.name.as_str())
        .chain(strategy.pruners.iter().map(|bound| bound.name.as_str()))
        .chain(strategy.filter.iter().map(|bound| bound.name.as_str()))
        .chain(strategy.summarizer.iter().filter(|_| strategy.filter.is_some()).map(|s| s.id()))
        .collect();
    let stages =
        if stages.is_empty() { "no stage that folds".to_owned() } else { stages.join(", ") };
    output::print(&format!("{path}: `{}` is valid: {stages}\n", strategy.name))
}
