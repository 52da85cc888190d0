//! `foldback check`

use crate::args::Check;
use crate::error::Error;
use crate::{output, strategies};

pub(crate) fn run(args: &Check) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let path = args.file.display().to_string();
    if !path.ends_with(".toml") {
        return Err(Error::Usage(format!("{path}: a strategy file ends in .toml")));
    }
    let compiled = strategies::compile(&registry, &path)?;
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
    output::print(&format!("{path}: `{}` is fine: {stages}\n", strategy.name))
}
