//! `foldback recommend`

use super::tune::{Prepared, prepare, with_options};
use crate::args::Recommend;
use crate::error::{Error, add_failed};
use crate::groups::Listed;
use crate::{output, results};
use foldback_replay::tune::advice::{Budget, Choice, choose, walks};
use foldback_replay::tune::{Header, sweeps};
use foldback_replay::walk::Walk;
use foldback_report::recommend::{self, Advice};

/// Sessions to walk for examples of what was forgotten.
const WALKED: usize = 4;

pub(crate) fn run(args: &Recommend) -> Result<(), Error> {
    if let Some(agent) = &args.for_agent {
        return super::agent_settings::run(args, agent);
    }
    let budget =
        Budget::parse(&args.budget).map_err(|why| Error::Usage(format!("--budget {why}")))?;
    if args.search.model.model.is_none() && args.search.model.window.is_none() {
        return Err(Error::usage("name the model with --model, or a window with --window"));
    }
    let registry = foldback::registry()?;
    let prepared = prepare(&registry, &args.search)?;
    let Prepared { corpus, setup, controls, .. } = &prepared;
    let names = Listed::new(&registry)?.expand(&args.preset);
    let embedded = sweeps::embedded().map_err(Error::Usage)?;
    let sweep = |options: foldback::Options<'_>| {
        sweeps::all(&registry, &names, &embedded, setup.limits, options)
    };
    let (candidates, rejected) = with_options(sweep)?;
    let progress = prepared.progress(&candidates);
    let done = || progress.step();
    let bench = prepared.bench(&done);
    let mut tuned = bench.tune(&candidates)?;
    tuned.rejected = rejected;
    let chosen = match choose(&tuned, budget) {
        Choice::Meets(at) => Ok(at),
        Choice::Nearest(at) => Err(recommend::nearest(&tuned, at, budget)),
        Choice::Nothing => Err(recommend::nothing(&tuned)),
    };
    let chosen = chosen.map_err(|why| Error::Usage(why).after(tuned.failed()))?;
    let reported = bench.report(&mut tuned, &candidates, &[chosen])?;
    let candidate = &candidates[chosen];
    let walks_of_chosen = reported.map_or_else(Vec::new, |(comparison, shown)| {
        let place = shown.iter().position(|at| *at == chosen).unwrap_or(0);
        let preset = (controls.len() + place, &candidate.preset);
        walks(corpus, setup, &comparison, preset, WALKED)
    });
    drop(progress);
    let name = format!("{}-recommended", candidate.of);
    let table = setup.model.as_deref().and_then(|model| setup.models.find(model));
    let advice = Advice {
        tuned: &tuned,
        chosen,
        budget,
        model: setup.model.as_deref(),
        window: setup.limits.context,
        table: table.as_deref(),
        walks: &walks_of_chosen,
        not_for: &candidate.preset.strategy.not_for,
    };
    let header = Header {
        name: &name,
        description: Some(&recommend::description(&advice)),
        model: setup.model.as_deref(),
        limits: setup.limits,
    };
    let text = recommend::file(&advice, &candidate.toml(header));
    output::write(args.out.as_deref(), &text)?;
    results::tell(&prepared.store);
    output::note(recommend::note(&advice));
    let file = args.out.as_deref().filter(|path| !output::is_stdout(path));
    let written = file.map_or_else(|| "The output".to_owned(), |path| path.display().to_string());
    let mut failed = tuned.failed();
    add_failed(&mut failed, walks_of_chosen.iter().flat_map(Walk::failed));
    match recommend::not_met(&advice, &written) {
        Some(why) => Err(Error::NotMet(why).after(failed)),
        None => Error::of_replays(failed),
    }
}
