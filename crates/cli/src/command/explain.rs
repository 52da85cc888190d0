//! `foldback explain`

use crate::args::Explain;
use crate::error::Error;
use crate::{input, output, strategies};
use foldback_replay::index::Index;
use foldback_replay::walk::{Detail, Walk};
use foldback_report::explain;
use std::sync::Arc;

pub(crate) fn run(args: &Explain) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let compile = |name: &String| {
        let compiled = strategies::compile_without_model(&registry, name, "explain")?;
        Ok(Arc::new(compiled.strategy))
    };
    let presets = args.preset.iter().map(compile).collect::<Result<Vec<_>, Error>>()?;
    let setup = strategies::setup(&registry, &args.model)?;
    for strategy in &presets {
        strategies::check_window(strategy, setup.limits)?;
    }
    let (session, _) =
        input::session_and_format(&args.file, args.from.as_deref(), args.session.as_deref())?;
    let path = args.file.display().to_string();
    input::strict(&path, &session, args.strict)?;
    if session.calls() == 0 {
        return Err(Error::Usage(format!(
            "{path}: no model call is recorded in this session, so there is nothing to replay"
        )));
    }
    let index = Arc::new(Index::of(&session));
    let detail = Detail::default();
    let mut walk = Walk::of(&path, &session, &index, &setup.measure, detail);
    for strategy in &presets {
        let mut options = setup.options(&session, strategy);
        options.validate = false;
        walk.follow(&session, &index, strategy, &options, detail);
    }
    let layout =
        explain::Layout { width: output::width(), top: args.top, ..explain::Layout::default() };
    output::print(&explain::explain(&walk, layout))
}
