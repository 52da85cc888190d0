//! `foldback audit`

use super::tune::{controls, with_options};
use crate::args;
use crate::details::SEVERAL;
use crate::error::Error;
use crate::groups::Listed;
use crate::{input, output, strategies};
use foldback::Registry;
use foldback_formats::{FORMATS, Session};
use foldback_replay::audit::Audit;
use foldback_replay::tune::Bench;
use foldback_replay::tune::agents::{self, OtherThreshold};
use foldback_replay::{Corpus, Preset, Reporting, Run, Setup, Store};
use foldback_report::audit::Audited;
use foldback_report::html;
use std::collections::BTreeMap;

/// What is set beside the agent's own compactions and those of its replica.
const OURS: &str = "indexed";

pub(crate) fn run(mut args: args::Audit) -> Result<(), Error> {
    args.corpus.discover |= args.corpus.paths.is_empty();
    let rows = output::rows_file(args.rows.as_ref())?;
    let registry = foldback::registry()?;
    let listed = Listed::new(&registry)?;
    let setup = strategies::setup(&registry, &args.model)?;
    let preset = |name: &str| strategies::preset(&registry, name, None);
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
        let audit = setup.audit(&path, session, &presets, shown).map_err(Error::Usage)?;
        let compacted = audit.compactions.iter().any(|it| it.trigger == "auto" && !it.copied);
        Ok((audit, compacted.then(|| session.clone())))
    };
    let (audited, skipped) =
        input::each_session(&corpus, "their compactions", args.corpus.strict, audit)?;
    let (sessions, compacted): (Vec<Audit>, Vec<_>) = audited.into_iter().unzip();
    let failed = sessions.iter().flat_map(|session| session.failed.clone()).collect();
    let compacted = compacted.into_iter().flatten().collect();
    let thresholds = thresholds(&registry, &listed, &setup, compacted)?;
    let audited = Audited::new(sessions, skipped, thresholds, setup.measure.id().to_string());
    output::rows(rows, &audited.rows())?;
    output::json(args.json.as_ref(), &audited)?;
    if let Some(path) = &args.html {
        output::write(Some(path), &html::audited(&audited))?;
    }
    let text = audited.text(args.show.is_some(), output::width());
    output::print_beside(&[&args.json, &args.rows, &args.html], &text)?;
    Error::of_replays(failed)
}

/// For each agent that compacted by itself, what another threshold would have made of these sessions.
fn thresholds(
    registry: &Registry,
    listed: &Listed,
    setup: &Setup,
    mut sessions: Vec<Session>,
) -> Result<Vec<OtherThreshold>, Error> {
    let controls = controls(registry, listed)?;
    let reporting = Reporting::default();
    let store =
        Store::temporary().map_err(|error| Error::File { path: std::env::temp_dir(), error })?;
    let run = Run { store: &store, progress: &|| (), strict: false };
    let mut out = Vec::new();
    for agent in agents::embedded().map_err(Error::Usage)? {
        let is_its = |session: &mut Session| session.format == agent.name;
        let corpus = Corpus::from_sessions(sessions.extract_if(.., is_its));
        if corpus.sources.is_empty() {
            continue;
        }
        let bench =
            Bench { corpus: &corpus, setup, reporting: &reporting, controls: &controls, run };
        let other = with_options(|options| agent.other_threshold(registry, &bench, options));
        out.extend(other.map_err(Error::Usage)?);
    }
    Ok(out)
}
