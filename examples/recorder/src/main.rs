//! Records the sessions of `examples/sessions`.
//!
//! Each script of `scripts/` is the part of an agent: what it says and which tools it calls. The tools
//! really run, on a copy of a code base in `projects/`: edits change files, tests pass or fail. What
//! would differ from run to run (ids, times, folders, durations) comes from a seed or is made equal, so
//! that the same scripts give the same bytes.
//!
//! ```text
//! cargo run -p recorder              write all sessions
//! cargo run -p recorder -- --check   compare with what is there
//! ```

mod formats;
mod record;
mod script;
mod seed;
mod tokens;
mod tools;

use rayon::prelude::*;
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let check = match env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => {
            eprintln!("unknown argument {other}; the only one is --check");
            return ExitCode::from(2);
        }
    };
    match all(check) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Records every script; with `check` only compares. Whether all is as it should be.
fn all(check: bool) -> Result<bool, String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut scripts: Vec<_> = fs::read_dir(home.join("scripts"))
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "script"))
        .collect();
    scripts.sort();
    let recorded: Result<Vec<(String, bool)>, String> =
        scripts.par_iter().map(|path| record(home, path, check)).collect();
    let recorded = recorded?;
    recorded.iter().for_each(|(told, _)| println!("{told}"));
    let good = !check || recorded.iter().all(|(_, same)| *same);
    if !good {
        eprintln!(
            "the sessions differ from what the scripts give; run the recorder without --check (CPython 3.11 or later)"
        );
    }
    Ok(good)
}

/// Records a script: what there is to say of its session, and whether it is as it was.
fn record(home: &Path, path: &Path, check: bool) -> Result<(String, bool), String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(path).map_err(|error| fail(&error))?;
    let script = script::parse(&text).map_err(|error| fail(&error))?;
    for key in ["project", "folder"] {
        if script.header(key).is_empty() {
            return Err(fail(&format_args!("the script has no `{key}:`")));
        }
    }
    let folder = script.header("folder");
    let format = formats::by_name(&script.header("format"), folder.clone())
        .ok_or_else(|| fail(&"`format:` names no format"))?;
    let project = home.join("projects").join(script.header("project"));
    let workspace = tools::Workspace::copy_of(&project, folder)
        .map_err(|error| format!("{}: {error}", project.display()))?;
    let recording = record::run(&script, &format, &workspace).map_err(|error| fail(&error))?;
    let written = format.write(&recording);
    let target = home.join("../sessions").join(format!("{name}.{}", format.extension));
    let same = fs::read_to_string(&target).is_ok_and(|there| there == written);
    if !check && !same {
        fs::write(&target, &written).map_err(|error| format!("{}: {error}", target.display()))?;
    }
    Ok((report(&name, &recording, written.len(), same), same))
}

fn report(name: &str, recording: &record::Recording<'_>, bytes: usize, same: bool) -> String {
    let calls = || recording.turns.iter().flat_map(|turn| &turn.calls);
    let actions = || calls().flat_map(|call| &call.actions);
    format!(
        "{name}: {} turns, {} calls, {} tool calls ({} failed), {} characters of results, {} tokens at most, {bytes} bytes{}",
        recording.turns.len(),
        calls().count(),
        actions().count(),
        actions()
            .filter(|action| action.outcome.as_ref().is_some_and(|outcome| !outcome.ok))
            .count(),
        actions().map(|action| action.shown.chars().count()).sum::<usize>(),
        calls().map(|call| call.usage.input).max().unwrap_or_default(),
        if same { ", as it was" } else { ", changed" },
    )
}
