//! `foldback audit`

use super::flat_rows;
use crate::args;
use crate::error::Error;
use crate::groups::Listed;
use crate::progress::Progress;
use crate::strategies::{self, contender};
use crate::{input, output};
use foldback_replay::audit::Audit;
use foldback_replay::corpus::Skipped;
use foldback_replay::parallel::in_parallel;
use foldback_replay::walk::Detail;
use foldback_replay::{Preset, Setup, Source};
use foldback_report::audit::Audited;
use std::collections::BTreeMap;

/// What is set beside the agent's own compactions and those of its replica.
const OURS: &str = "indexed";

/// What presets are replayed with.
struct Bench<'a> {
    args: &'a args::Audit,
    setup: &'a Setup,
    ours: &'a Preset,
    /// By the format of an agent's sessions.
    replicas: BTreeMap<&'static str, Preset>,
}

pub(crate) fn run(mut args: args::Audit) -> Result<(), Error> {
    args.corpus.discover |= args.corpus.paths.is_empty();
    let rows = flat_rows(args.rows.as_ref())?;
    let registry = foldback::registry()?;
    let listed = Listed::new(&registry)?;
    let setup = strategies::setup(&registry, &args.model)?;
    let ours = contender(&registry, OURS, None)?.preset;
    let mut replicas = BTreeMap::new();
    for format in foldback_formats::FORMATS {
        if let Some(name) = listed.replica(format.id) {
            replicas.insert(format.id, contender(&registry, name, None)?.preset);
        }
    }
    let corpus = input::corpus(&args.corpus)?;
    let bench = Bench { args: &args, setup: &setup, ours: &ours, replicas };
    let progress = Progress::new(corpus.sources.len(), "files", "their compactions".to_owned());
    let looked = in_parallel(&corpus.sources, |source| {
        let audited = bench.audit(source);
        progress.step();
        audited
    });
    drop(progress);
    let (mut sessions, mut skipped) = (Vec::new(), Vec::new());
    for audited in looked {
        match audited? {
            Ok(more) => sessions.extend(more),
            Err(why) => skipped.push(why),
        }
    }
    if sessions.is_empty() {
        let reasons = crate::error::reasons(&skipped);
        return Err(Error::Usage(format!("no session to look at:\n{reasons}")));
    }
    let failed = sessions.iter().flat_map(|session| session.failed.clone()).collect();
    let measure = setup.measure.id().to_string();
    let audited = Audited::new(sessions, skipped, measure);
    if let Some((path, format)) = rows {
        output::write_with(Some(path), |out| audited.write_rows(format, out))?;
    }
    if let Some(path) = &args.json {
        output::write(Some(path), &audited.json()?)?;
    }
    let mut named = [&args.json, &args.rows].into_iter().flatten();
    if !named.any(|path| output::is_stdout(path)) {
        output::print(&audited.text(args.full, output::width()))?;
    }
    Error::of_replays(failed)
}

impl Bench<'_> {
    /// The sessions of a file.
    fn audit(&self, source: &Source) -> Result<Result<Vec<Audit>, Skipped>, Error> {
        let path = source.name();
        let found = match source.sessions() {
            Ok(found) => found,
            Err(failure) => {
                let reason = failure.skips(|| path.clone())?;
                return Ok(Err(Skipped { path, reason }));
            }
        };
        let many = found.len() > 1;
        let audited = found.iter().map(|session| {
            input::strict(&path, &session.warnings, self.args.corpus.strict)?;
            let replica = self.replicas.get(session.format);
            let presets: Vec<&Preset> = [self.ours].into_iter().chain(replica).collect();
            let path = source.path_of(&session.id, many);
            self.setup.audit(&path, session, &presets, DETAIL).map_err(Error::Usage)
        });
        Ok(Ok(audited.collect::<Result<_, _>>()?))
    }
}

/// Nothing of a session's texts is shown.
const DETAIL: Detail = Detail { excerpt: 0, written: 0 };
