//! `foldback recommend --for`: the values of an agent's own settings.

use super::setup::make;
use super::tune::{Prepared, prepare, with_options};
use crate::args::Recommend;
use crate::error::Error;
use crate::setup::{AgentFile, Change, SetupRecord};
use crate::{output, places, results};
use foldback_replay::tune::advice::Budget;
use foldback_replay::tune::agents::{self, Agent, SettingsAdvice};
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
    let variable = |name: &str| places::absolute(name);
    let no_home = || Error::Usage("neither HOME nor USERPROFILE is set".to_owned());
    let file = AgentFile::find(agent, &variable).ok_or_else(no_home)?;
    if args.remove {
        return removed(&file);
    }
    let keep = match Budget::parse(&args.budget) {
        Ok(Budget::Keep(share)) => share,
        Ok(Budget::Cost(_)) => {
            let why = "--budget: with --for it is the share of what the present settings keep; write `keep=0.95`";
            return Err(Error::Usage(why.to_owned()));
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
    let mut tuned = bench.tune(&candidates)?;
    tuned.rejected = rejected;
    let cheapest = agents::cheapest(&tuned, &candidates, keep);
    if let Some(at) = cheapest {
        bench.report(&mut tuned, &candidates, &[at])?;
    }
    drop(progress);
    let advice = agents::advice(&tuned, cheapest, keep);
    let best = cheapest.and_then(|at| candidates.get(at));
    let changed = best.map_or_else(Vec::new, |candidate| agent.changed(candidate));
    let mut values: Vec<(String, Value)> =
        changed.iter().map(|(setting, value)| (setting.key.clone(), value.clone())).collect();
    values.sort_by(|one, other| one.0.cmp(&other.0));
    let text = settings::settings(
        settings::Settings {
            agent,
            present: &present,
            tuned: &tuned,
            advice,
            changed: &changed,
            snippet: &file.snippet(&values),
            path: &file.path.display().to_string(),
        },
        output::width(),
    );
    output::print(&text)?;
    results::tell(&prepared.store);
    let is_advised = matches!(advice, SettingsAdvice::Change(_));
    if is_advised && args.write {
        written(&file, &values)?;
    } else if is_advised {
        output::print("\nnothing is written yet: add --write\n")?;
    }
    Error::of_replays(tuned.failed())
}

/// Writes values into the file.
fn written(file: &AgentFile<'_>, values: &[(String, Value)]) -> Result<(), Error> {
    let mut record = SetupRecord::open(true)?;
    let (out, new) = file.changes(values, &record)?;
    for (change, removed) in out.iter().map(|out| (out, true)).chain([(&new, false)]) {
        make_noted(change, removed, &mut record)?;
    }
    output::print("\nwritten, and taken out with --remove\n")
}

/// Takes out what was written.
fn removed(file: &AgentFile<'_>) -> Result<(), Error> {
    let mut record = SetupRecord::open(true)?;
    match file.removal(&record)? {
        Some(change) => {
            make_noted(&change, true, &mut record)?;
            output::print(&format!("taken out of {}\n", file.path.display()))
        }
        None => output::print(&format!("nothing to take out of {}\n", file.path.display())),
    }
}

/// Makes a change; what is written is remembered before it is there.
fn make_noted(change: &Change, removed: bool, record: &mut SetupRecord) -> Result<(), Error> {
    if !removed {
        record.note(change, false);
        record.keep()?;
    }
    let made = make(change);
    if removed == made.is_ok() {
        record.note(change, true);
        record.keep()?;
    }
    made
}
