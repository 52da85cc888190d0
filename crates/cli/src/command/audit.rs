//! `foldback audit`

use super::flat_rows;
use crate::args;
use crate::details::SEVERAL;
use crate::error::Error;
use crate::groups::Listed;
use crate::strategies::{self, contender};
use crate::{input, output};
use foldback_formats::{FORMATS, Session};
use foldback_replay::Preset;
use foldback_report::audit::Audited;
use foldback_report::html;
use std::collections::BTreeMap;

/// What is set beside the agent's own compactions and those of its replica.
const OURS: &str = "indexed";

pub(crate) fn run(mut args: args::Audit) -> Result<(), Error> {
    args.corpus.discover |= args.corpus.paths.is_empty();
    let rows = flat_rows(args.rows.as_ref())?;
    let registry = foldback::registry()?;
    let listed = Listed::new(&registry)?;
    let setup = strategies::setup(&registry, &args.model)?;
    let preset = |name: &str| Ok::<_, Error>(contender(&registry, name, None)?.preset);
    let ours = preset(OURS)?;
    let mut replicas: BTreeMap<&str, Preset> = BTreeMap::new();
    for format in FORMATS {
        if let Some(name) = listed.replica(format.id) {
            replicas.insert(format.id, preset(name)?);
        }
    }
    let corpus = input::corpus(&args.corpus)?;
    let shown = args.html.as_ref().map(|_| SEVERAL);
    let audit = |path: String, session: &Session| {
        let presets: Vec<&Preset> =
            [&ours].into_iter().chain(replicas.get(session.format)).collect();
        setup.audit(&path, session, &presets, shown).map_err(Error::Usage)
    };
    let (sessions, skipped) =
        input::each_session(&corpus, "their compactions", args.corpus.strict, audit)?;
    let failed = sessions.iter().flat_map(|session| session.failed.clone()).collect();
    let audited = Audited::new(sessions, skipped, setup.measure.id().to_string());
    if let Some((path, format)) = rows {
        output::write_with(Some(path), |out| audited.write_rows(format, out))?;
    }
    if let Some(path) = &args.json {
        output::write(Some(path), &audited.json()?)?;
    }
    if let Some(path) = &args.html {
        output::write(Some(path), &html::audited(&audited))?;
    }
    let mut named = [&args.json, &args.rows, &args.html].into_iter().flatten();
    if !named.any(|path| output::is_stdout(path)) {
        output::print(&audited.text(args.show.is_some(), output::width()))?;
    }
    Error::of_replays(failed)
}
