//! `foldback trial`

use crate::args;
use crate::error::Error;
use crate::{input, output};
use foldback_replay::spent::Prices;
use foldback_replay::trial::{Plan, TrialResult};
use foldback_report::{html, trial};

pub(crate) fn run(args: &args::Trial) -> Result<(), Error> {
    if args.plan {
        return plan(args);
    }
    let rows = output::rows_file(args.rows.as_ref())?;
    let named = |path: &std::path::PathBuf| Ok((path.display().to_string(), input::text(path)?));
    let files = args.paths.iter().map(named).collect::<Result<Vec<_>, Error>>()?;
    let outcomes = args.outcomes.as_ref().map(named).transpose()?;
    let outcomes = outcomes.as_ref().map(|(path, text)| (&**path, &**text));
    let result = TrialResult::new(&files, outcomes).map_err(Error::Usage)?;
    output::rows(rows, &result.units)?;
    output::json(args.json.as_ref(), &result)?;
    output::json(args.manifest.as_ref(), &trial::manifest(&result))?;
    if let Some(path) = &args.html {
        output::write(Some(path), &html::trial(&result))?;
    }
    output::print_beside(&args.files(), &trial::text(&result, output::width()))
}

/// By the bills of recorded sessions.
fn plan(args: &args::Trial) -> Result<(), Error> {
    let corpus =
        input::corpus(&args::CorpusArgs { paths: args.sessions.clone(), ..Default::default() })?;
    let prices = Prices::embedded();
    let bill = |_, session: &_| Ok(prices.spent(session).map(|spent| spent.usd));
    let (bills, _) = input::each_session(&corpus, "their bills", false, bill)?;
    let bills: Vec<f64> = bills.into_iter().flatten().filter(|usd| *usd > 0.0).collect();
    let plan = Plan::new(&bills, args.arms.into()).ok_or_else(|| {
        Error::Usage(format!(
            "a plan takes three sessions with recorded usage or more, and here are {}; name more with --from, or run a few units under \
             `foldback serve --trial`: `foldback trial` then says how many more it takes",
            bills.len()
        ))
    })?;
    output::json(args.json.as_ref(), &plan)?;
    output::print_beside(&args.files(), &trial::plan(&plan, output::width()))
}
