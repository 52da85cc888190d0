//! `foldback score`

use crate::args::Score;
use crate::design::{self, Planned};
use crate::error::Error;
use crate::progress::Progress;
use crate::strategies::Controls;
use crate::{input, output, results};
use foldback_replay::{Run, scores};

pub(crate) fn run(args: &Score) -> Result<(), Error> {
    if let Some(path) =
        args.out.path().filter(|path| path.extension().is_some_and(|it| it == "parquet"))
    {
        let why = "a part is JSON lines: give it a name that ends in .jsonl; `compare --scores … --rows` writes tables";
        return Err(Error::Usage(format!("{}: {why}", path.display())));
    }
    let corpus = input::corpus(&args.corpus)?;
    let registry = foldback::registry()?;
    let Planned { experiment, presets, setup, answers, .. } =
        design::plan(&registry, &args.design, None, &args.summaries, Controls::All)?;
    let store = results::store(&args.store, answers.is_some())?;
    let progress = Progress::replays(corpus.sources.len(), presets.len());
    if let Some(answers) = &answers {
        answers.show(&progress);
    }
    let run = Run { store: &store, progress: &|| progress.step(), strict: args.corpus.strict };
    let mut scored = scores::score(&corpus, &presets, &setup, experiment.split, run)?;
    drop(progress);
    if let Some(answers) = &answers
        && let Some(counted) =
            answers.finish(None, &|_| "no session needed a summary".to_owned())?
    {
        return output::print(&counted);
    }
    let (files, sessions) = (scored.files(), scored.sessions());
    let failed = std::mem::take(&mut scored.failed);
    output::write_with(args.out.path(), |out| scored.write(&store, out))?;
    output::note(format_args!(
        "scored {sessions} sessions of {files} files under {} presets",
        presets.len()
    ));
    results::tell(&store);
    Error::of_replays(failed)
}
