//! `foldback score`

use crate::args::Score;
use crate::design::{self, Planned};
use crate::error::Error;
use crate::progress::Progress;
use crate::strategies::Controls;
use crate::{input, output, results};
use foldback_replay::{Run, Store, parts};

pub(crate) fn run(args: &Score) -> Result<(), Error> {
    let Some(folder) = results::named(&args.store) else {
        return Err(Error::usage("name a folder for the part with --store DIR"));
    };
    let corpus = input::corpus(&args.corpus)?;
    let registry = foldback::registry()?;
    let Planned { experiment, presets, setup, answers, .. } =
        design::plan(&registry, &args.design, None, &args.summaries, Controls::All)?;
    if answers.asks() {
        // Results of other answers have the same names.
        let cleaned = Store::clean(folder);
        match cleaned {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::File { path: folder.to_owned(), error });
            }
            _ => {}
        }
    }
    let store = results::store(&args.store, false)?;
    let progress = Progress::replays(corpus.sources.len(), presets.len());
    answers.show(&progress);
    let run = Run { store: &store, progress: &|| progress.step(), strict: args.corpus.strict };
    let scored = parts::score(&corpus, &presets, &setup, experiment.split, run)?;
    drop(progress);
    if let Some(counted) = answers.finish(None, &|_| "no session needed a summary".to_owned())? {
        return output::print(&counted);
    }
    if let Some(why) = store.not_kept() {
        return Err(Error::Usage(why));
    }
    let written = scored.write(folder);
    written.map_err(|error| Error::File { path: folder.to_owned(), error })?;
    output::note(format_args!(
        "scored {} sessions of {} files under {} presets",
        scored.sessions,
        corpus.sources.len(),
        presets.len()
    ));
    results::tell(&store);
    Error::of_replays(scored.failed)
}
