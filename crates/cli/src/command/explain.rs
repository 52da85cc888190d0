//! `foldback explain`

use crate::args::Explain;
use crate::error::Error;
use crate::{input, output, strategies};
use foldback_replay::Preset;
use foldback_replay::walk::Detail;
use foldback_report::explain;

pub(crate) fn run(args: &Explain) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let compile = |name: &String| {
        let compiled = strategies::compile_without_model(&registry, name, "explain")?;
        // Nothing is kept, so that it needs no fingerprint.
        Ok(Preset::new(compiled.strategy, String::new()))
    };
    let presets = strategies::all(args.preset.iter().map(compile))?;
    let setup = strategies::setup(&registry, &args.model)?;
    for preset in &presets {
        strategies::check_window(&preset.strategy, setup.limits)?;
    }
    let (session, _) = input::session(&args.session, None)?;
    let path = args.session.file.file.display().to_string();
    if session.calls() == 0 {
        return Err(Error::Usage(format!(
            "{path}: no model call is recorded in this session, so there is nothing to replay"
        )));
    }
    let walk = setup.walk(&path, &session, &presets.iter().collect::<Vec<_>>(), Detail::default());
    output::print(&explain::explain(&walk, output::width(), args.top))
}
