//! `foldback recommend --for`: the values of an agent's own settings.

use super::setup::make;
use super::tune::{Prepared, prepare, with_options};
use crate::args::Recommend;
use crate::error::Error;
use crate::setup::{AgentFile, SetupRecord};
use crate::{output, places, results};
use foldback_replay::tune::advice::Budget;
use foldback_replay::tune::agents::{self, Agent};
use foldback_report::settings;
use serde_json::Value;

pub(super) fn run(args: &Recommend, name: &str) -> Result<(), Error> {
    let all = agents::embedded().map_err(Error::Usage)?;
    let agent = all.iter().find(|agent| agent.name == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|agent| &*agent.name).collect();
        Error::Usage(format!("--for {name}: no such agent; known are {}", names.join(", ")))
    })?;
    if agent.settings.is_empty() {
        let Agent { title, version, note, .. } = agent;
        return output::print(&format!("{title} ({version})\n{note}\n"));
    }
    let no_home = || Error::usage("neither HOME nor USERPROFILE is set");
    let file = AgentFile::find(agent, &places::absolute).ok_or_else(no_home)?;
    if args.remove {
        let what = if write(&file, &[])? { "taken" } else { "nothing to take" };
        return output::print(&format!("{what} out of {}\n", file.path.display()));
    }
    let keep = match Budget::parse(&args.budget) {
        Ok(Budget::Keep(share)) => share,
        Ok(Budget::Cost(_)) => {
            let why = "--budget: with --for it is the share of what the present settings keep; write `keep=0.95`";
            return Err(Error::usage(why));
        }
        Err(why) => return Err(Error::Usage(format!("--budget {why}"))),
    };
    let present = file.present()?;
    let registry = foldback::registry()?;
    let prepared = prepare(&registry, &args.search)?;
    let Prepared { setup, .. } = &prepared;
    let (candidates, rejected) =
        with_options(|options| agent.candidates(&registry, &present, setup.limits, options))
            .map_err(|why| Error::Usage(format!("{}: {why}", file.path.display())))?;
    let progress = prepared.progress(&candidates);
    let done = || progress.step();
    let bench = prepared.bench(&done);
    let mut advised = agent.advise(&bench, &candidates, keep)?;
    advised.tuned.rejected = rejected;
    drop(progress);
    let values: Vec<(String, Value)> = advised.changed.clone().into_iter().collect();
    let (path, snippet) = (file.path.display().to_string(), file.snippet(&values));
    let width = output::width();
    output::print(&settings::settings(agent, &present, &advised, &path, &snippet, width))?;
    results::tell(&prepared.store);
    if advised.stay.is_none() {
        let said = match args.write {
            true => write(&file, &values).map(|_| "written, and taken out with --remove")?,
            false => "nothing is written yet: add --write",
        };
        output::print(&format!("\n{said}\n"))?;
    }
    Error::of_replays(advised.tuned.failed())
}

/// Takes out what was written, and writes it with these values, if any; whether there was something to take out.
fn write(file: &AgentFile<'_>, values: &[(String, Value)]) -> Result<bool, Error> {
    let mut record = SetupRecord::open(true)?;
    let (out, new) = file.changes(values, &record)?;
    let changes = out.iter().map(|out| (out, true)).chain(new.iter().map(|new| (new, false)));
    for (change, removed) in changes {
        make(change, removed, &mut record)?;
    }
    Ok(out.is_some())
}
