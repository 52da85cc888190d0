//! `foldback inspect`

use crate::args::Inspect;
use crate::error::Error;
use crate::{input, output, strategies};
use foldback_report::inspect;

pub(crate) fn run(args: &Inspect) -> Result<(), Error> {
    let registry = foldback::registry()?;
    let estimator = strategies::estimator(&registry, &args.estimator.estimator)?;
    let sessions = input::sessions(&args.file.file, args.file.from.as_deref())?;
    let path = args.file.file.display().to_string();
    let texts: Vec<String> =
        sessions.iter().map(|session| inspect::session(&path, session, &*estimator)).collect();
    output::print(&texts.join("\n"))
}
