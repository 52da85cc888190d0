//! `foldback inspect`

use crate::args::Inspect;
use crate::error::Error;
use crate::progress::Progress;
use crate::{input, output, strategies};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_replay::Source;
use foldback_replay::corpus::Skipped;
use foldback_report::inspect::{self, Inspected};
use rayon::prelude::*;
use std::path::Path;

pub(crate) fn run(args: &Inspect) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let estimator = strategies::estimator(&registry, &args.estimator.estimator)?;
    let one = match args.corpus.paths.as_slice() {
        [path] if !path.is_dir() && !args.corpus.discover => Some(path),
        _ => None,
    };
    let (files, sessions, skipped) = match one {
        Some(path) => (1, file(args, path, &*estimator)?, Vec::new()),
        None => folders(args, &*estimator)?,
    };
    if let Some(path) = &args.json {
        output::write(Some(path), &inspect::json(files, &sessions, &skipped)?)?;
        if output::is_stdout(path) {
            return Ok(());
        }
    }
    let width = output::width();
    let text = match one {
        Some(_) => {
            let texts = sessions.iter().map(|one| inspect::session(one, width));
            texts.collect::<Vec<_>>().join("\n")
        }
        None => inspect::list(&sessions, &skipped, width),
    };
    output::print(&text)
}

/// All sessions of a file, in the given format.
fn file(args: &Inspect, path: &Path, estimator: &dyn Estimator) -> Result<Vec<Inspected>, Error> {
    let name = path.display().to_string();
    let sessions = input::sessions(path, args.from.as_deref())?;
    for session in &sessions {
        input::strict(&name, &session.warnings, args.corpus.strict)?;
    }
    Ok(sessions.iter().map(|session| Inspected::of(name.clone(), session, estimator)).collect())
}

/// The contents of many files, each read when its turn comes.
fn folders(
    args: &Inspect,
    estimator: &dyn Estimator,
) -> Result<(usize, Vec<Inspected>, Vec<Skipped>), Error> {
    if args.from.is_some() {
        return Err(Error::Usage("--from is the format of one file; name that one".to_owned()));
    }
    let corpus = input::corpus(&args.corpus)?;
    let files = corpus.sources.len();
    let progress = Progress::new(files, "files", "what is in them".to_owned());
    let look = |source: &Source| -> Result<Vec<Inspected>, Result<Skipped, Error>> {
        let path = source.name();
        let found = source.sessions();
        progress.step();
        let found = found.map_err(|reason| Ok(Skipped { path: path.clone(), reason }))?;
        let many = found.len() > 1;
        let inspected = |session: &Session| {
            input::strict(&path, &session.warnings, args.corpus.strict).map_err(Err)?;
            Ok(Inspected::of(source.path_of(&session.id, many), session, estimator))
        };
        found.iter().map(inspected).collect()
    };
    let looked: Vec<_> = corpus.sources.par_iter().map(look).collect();
    drop(progress);
    let (mut sessions, mut skipped) = (Vec::new(), Vec::new());
    for found in looked {
        match found {
            Ok(more) => sessions.extend(more),
            Err(why) => skipped.push(why?),
        }
    }
    if sessions.is_empty() {
        return Err(Error::Usage(format!("no session to look at:\n{}", input::reasons(&skipped))));
    }
    Ok((files, sessions, skipped))
}
