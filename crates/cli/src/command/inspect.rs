//! `foldback inspect`

use crate::args::Inspect;
use crate::error::Error;
use crate::{input, output, strategies};
use foldback_core::stage::Estimator;
use foldback_formats::Session;
use foldback_replay::corpus::Skipped;
use foldback_replay::history;
use foldback_replay::spent::Prices;
use foldback_report::Width;
use foldback_report::inspect::{self, Inspected};
use std::collections::BTreeSet;
use std::path::Path;

pub(crate) fn run(mut args: Inspect) -> Result<(), Error> {
    args.corpus.discover |= args.corpus.paths.is_empty();
    let found = Inspection::new(&args)?;
    let document = inspect::document(found.files, &found.sessions, &found.skipped);
    output::json(args.json.as_ref(), &document)?;
    output::print_beside(&[&args.json], &found.text(output::width()))
}

/// The contents of the files.
pub(crate) struct Inspection {
    files: usize,
    sessions: Vec<Inspected>,
    skipped: Vec<Skipped>,
    /// One file was named: its sessions are shown one by one.
    one_by_one: bool,
}

impl Inspection {
    pub(crate) fn new(args: &Inspect) -> Result<Self, Error> {
        let registry = foldback::registry()?;
        let estimator = strategies::estimator(&registry, &args.estimator)?;
        match args.corpus.paths.as_slice() {
            [path] if !input::is_folder(path) && !args.corpus.discover => {
                let sessions = file(args, path, &*estimator)?;
                Ok(Self { files: 1, sessions, skipped: Vec::new(), one_by_one: true })
            }
            _ => folders(args, &*estimator),
        }
    }

    /// The printed text.
    pub(crate) fn text(&self, width: Width) -> String {
        if !self.one_by_one {
            return inspect::list(&self.sessions, &self.skipped, output::is_verbose(), width);
        }
        let texts = self.sessions.iter().map(|one| inspect::session(one, width));
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// All sessions of a file, in the given format.
fn file(args: &Inspect, path: &Path, estimator: &dyn Estimator) -> Result<Vec<Inspected>, Error> {
    let name = path.display().to_string();
    let mut sessions = input::sessions(path, args.from.as_deref())?;
    history::counted_once(&mut sessions);
    for session in &sessions {
        input::strict(&name, &session.warnings, args.corpus.strict)?;
    }
    let prices = Prices::embedded();
    let inspected = |session| Inspected::new(name.clone(), session, estimator, &prices);
    Ok(sessions.iter().map(inspected).collect())
}

/// The contents of many files, each read when its turn comes.
fn folders(args: &Inspect, estimator: &dyn Estimator) -> Result<Inspection, Error> {
    if args.from.is_some() {
        return Err(Error::usage("--from is the format of one file; name that one"));
    }
    let mut corpus = input::corpus(&args.corpus)?;
    // A file in a folder that is named, too, is looked at once.
    let mut seen = BTreeSet::new();
    corpus.sources.retain(|source| {
        source
            .path()
            .is_none_or(|path| seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned())))
    });
    let prices = Prices::embedded();
    let files = corpus.sources.len();
    let inspected = |path, session: &Session| Ok(Inspected::new(path, session, estimator, &prices));
    let (sessions, skipped) =
        input::each_session(&corpus, "what is in them", args.corpus.strict, inspected)?;
    Ok(Inspection { files, sessions, skipped, one_by_one: false })
}
