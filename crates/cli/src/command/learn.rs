//! `foldback learn`

use crate::args::Learn;
use crate::error::Error;
use crate::progress::Progress;
use crate::{input, output};
use foldback_learn::examples::Lesson;
use foldback_learn::{Learned, learn};
use foldback_replay::repositories::{self, Place};
use std::sync::Arc;

/// The strategy whose weights are fitted.
const STRATEGY: &str = "indexed";

pub(crate) fn run(args: &Learn) -> Result<(), Error> {
    let corpus = input::corpus(&args.corpus)?;
    let registry = foldback::registry()?;
    let strategy = crate::strategies::compile(&registry, STRATEGY)?.strategy;
    let progress =
        Progress::new(corpus.sources.len(), "files", "sessions to learn from".to_owned());
    let mut lessons = Vec::new();
    for source in &corpus.sources {
        match source.sessions() {
            Ok(sessions) => {
                for session in sessions {
                    input::strict(&source.name(), &session.warnings, args.corpus.strict)?;
                    let cluster = source.name();
                    lessons.push(Lesson { cluster, session: Arc::new(session) });
                }
            }
            Err(failure) => {
                let reason = failure.skips(|| source.name())?;
                output::note(format_args!("{}: {reason}", source.name()));
            }
        }
        progress.step();
    }
    drop(progress);
    let places = lessons.iter().map(|lesson| Place {
        cluster: lesson.session.cluster.as_deref(),
        folder: lesson.session.folder.as_deref(),
    });
    let names = repositories::names(&places.collect::<Vec<_>>());
    for (lesson, name) in lessons.iter_mut().zip(names) {
        lesson.cluster = name.unwrap_or(std::mem::take(&mut lesson.cluster));
    }
    let learned = learn(&lessons, &strategy).map_err(|why| Error::Usage(why.to_string()))?;
    output::write(args.out.path(), &learned.toml(&args.name))?;
    output::note(note(&learned));
    Ok(())
}

/// The fitted weights, and how well they order examples that they were not fitted to.
fn note(learned: &Learned) -> String {
    let mut out = format!(
        "fitted to {} sessions of {} repositories or tasks; on those that a fit has not seen:",
        learned.sessions, learned.clusters
    );
    for fitted in &learned.fitted {
        let share = 100.0 * fitted.taken as f64 / fitted.examples.max(1) as f64;
        out.push_str(&format!(
            "\n  {}: {} examples, {share:.1}% used by a later call; ",
            fitted.kind.name(),
            fitted.examples
        ));
        out.push_str(&match &fitted.held_out {
            Some(held_out) => format!(
                "AUC {:.2}, the best tenth has {:.0}% of what is used",
                held_out.auc,
                100.0 * held_out.first_tenth
            ),
            None => "all of one repository, so not measured".to_owned(),
        });
    }
    out
}
