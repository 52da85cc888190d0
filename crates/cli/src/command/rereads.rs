//! `foldback rereads`

use crate::args::Rereads;
use crate::error::Error;
use crate::progress::Progress;
use crate::{input, output, strategies};
use foldback_replay::recorder::{HORIZONS, by_totals, pool, survey};
use foldback_replay::stats::Bootstrap;
use foldback_report::rereads;

pub(crate) fn run(args: &Rereads) -> Result<(), Error> {
    let corpus = input::corpus(&args.corpus)?;
    let within = within(&args.within)?;
    let registry = foldback::registry()?;
    let measure = strategies::estimator(&registry, &args.estimator.estimator)?;
    let files = corpus.sources.len();
    let progress = Progress::new(files, "files", "what agents read again".to_owned());
    let survey = survey(&corpus, &*measure, &|| progress.step())?;
    if survey.sessions.is_empty() {
        return Err(Error::Usage(format!(
            "no session to look at:\n{}",
            input::reasons(&survey.skipped)
        )));
    }
    for session in &survey.sessions {
        input::strict(&session.path, &session.warnings, args.corpus.strict)?;
    }
    let pooled = pool(&survey.pooled(), &Bootstrap::default());
    drop(progress);
    let labels: Vec<String> = survey
        .sessions
        .iter()
        .map(|session| {
            let model = session.model.as_deref().unwrap_or("unknown model");
            format!("{}, {model}", session.format)
        })
        .collect();
    let groups = by_totals(
        labels
            .iter()
            .zip(&survey.sessions)
            .map(|(label, session)| (label.as_str(), &session.policy)),
    );
    if let Some(path) = &args.json {
        output::write(Some(path), &rereads::json(&survey, &pooled, &groups)?)?;
        if output::is_stdout(path) {
            return Ok(());
        }
    }
    let layout = rereads::Layout { all: output::is_verbose(), width: output::width(), within };
    output::print(&rereads::rereads(&survey, &pooled, &groups, layout))
}

/// One of the horizons that are pooled.
fn within(text: &str) -> Result<Option<usize>, Error> {
    let found = match text {
        "end" => Some(None),
        number => number.parse().ok().map(Some),
    };
    let names: Vec<String> = HORIZONS
        .iter()
        .map(|within| within.map_or_else(|| "end".to_owned(), |calls| calls.to_string()))
        .collect();
    found.filter(|within| HORIZONS.contains(within)).ok_or_else(|| {
        Error::Usage(format!(
            "--within {text}: must be one of {}, in calls after a compaction",
            names.join(", ")
        ))
    })
}
