//! `foldback explain`

use crate::args::{Command, Explain};
use crate::asking::Answers;
use crate::error::Error;
use crate::groups::Listed;
use crate::strategies::Controls;
use crate::summaries::Choice;
use crate::{input, next, output, strategies};
use foldback_formats::session_file;
use foldback_replay::Preset;
use foldback_replay::fault::FailedReplay;
use foldback_replay::walk::{Detail, Track};
use foldback_report::{Width, explain};

pub(crate) fn run(args: &Explain) -> Result<(), Error> {
    let (text, failed) = explained(args, output::width())?;
    output::print(&text)?;
    Error::of_replays(failed)
}

/// What is printed, and the replays that failed.
pub(crate) fn explained(
    args: &Explain,
    width: Width,
) -> Result<(String, Vec<FailedReplay>), Error> {
    let file = &args.session.file;
    if input::is_folder(file) && session_file(file).is_none() {
        return Err(Error::Usage(format!("{} is a folder; name a session file", file.display())));
    }
    let registry = foldback::registry()?;
    let choice = args.summaries.summarizer.as_deref().map(Choice::read).transpose()?;
    let mut failed = Vec::new();
    let names = match args.preset.is_empty() {
        true => vec![best(args, &mut failed)?],
        false => Listed::new(&registry)?.expand(&args.preset),
    };
    let setup = strategies::setup(&registry, &args.model)?;
    let presets = strategies::usable(&registry, &names, choice.as_ref(), setup.limits)?;
    let (session, _) = input::session(&args.session, false)?;
    let path = args.session.file.display().to_string();
    if session.calls() == 0 {
        return Err(Error::Usage(format!(
            "{path}: no model call is recorded in this session, so there is nothing to replay"
        )));
    }
    let answers = Answers::open(&args.summaries, &presets, &[], choice.as_slice(), &setup)?;
    let presets = crate::design::with_answers(presets, &answers);
    let progress = answers.progress();
    let walk =
        setup.walk(&path, &session, &presets.iter().collect::<Vec<&Preset>>(), Detail::default());
    drop(progress);
    let idle = |at: usize| {
        let track: Option<&Track> = walk.tracks.get(at);
        let folds = track.into_iter().flat_map(|track| &track.firings).filter(|one| one.fold);
        let degraded: Vec<&str> = folds.clone().filter_map(|one| one.degraded.as_deref()).collect();
        match (folds.count(), &*degraded) {
            (0, _) => "nothing was folded".to_owned(),
            (folds, []) => format!("{folds} folds without a summary of the model"),
            (folds, [first, ..]) => format!("{folds} folds; the first: {first}"),
        }
    };
    if let Some(counted) = answers.finish(None, &idle)? {
        return Ok((counted, Vec::new()));
    }
    failed.extend(walk.failed());
    Ok((explain::explain(&walk, width, args.count), failed))
}

/// The preset that a comparison of this file recommends. Replays of the comparison that failed are added to `failed`.
fn best(args: &Explain, failed: &mut Vec<FailedReplay>) -> Result<String, Error> {
    let file = &args.session.file;
    let flags = next::flags(&args.model).into_iter();
    let flags = flags.filter_map(|(flag, value)| Some(format!("{flag}={}", value?)));
    let options: Vec<String> = flags.chain(["--store=none".to_owned()]).collect();
    let Command::Compare(compare) =
        Command::parse("compare", &options, std::slice::from_ref(file))?
    else {
        return Err(Error::usage("no session was named"));
    };
    let comparison = super::compare::compute(&compare, Controls::All)?.comparison;
    let best = comparison.best().map(|line| line.name().to_owned());
    failed.extend(comparison.failed);
    best.ok_or_else(|| {
        Error::Usage(format!(
            "{}: no preset that is compared by default acts on this session; name one with --preset, or a smaller --window",
            file.display()
        ))
        .after(std::mem::take(failed))
    })
}
