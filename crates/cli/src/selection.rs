//! Selects among the sessions that were found: by path, by agent, by project, by day.

use crate::args::CorpusArgs;
use foldback_formats::Session;
use foldback_replay::Source;
use rayon::prelude::*;

/// The sources without the excluded ones. Files are read only if their content decides.
pub(crate) fn selected(sources: Vec<Source>, args: &CorpusArgs) -> Vec<Source> {
    let excluded = |path: &str| args.exclude.iter().any(|text| is_like(path, text));
    let sources = sources.into_iter().filter(|source| !excluded(&source.name()));
    if args.agent.is_empty() && args.project.is_none() && args.since.is_none() {
        return sources.collect();
    }
    sources.collect::<Vec<_>>().into_par_iter().filter_map(|source| meant(source, args)).collect()
}

/// Whether the parts of a text, which `*` separates, occur in a path one after the other.
fn is_like(path: &str, text: &str) -> bool {
    let mut parts = text.split('*');
    let found = parts
        .try_fold(path, |rest, part| rest.find(part).and_then(|at| rest.get(at + part.len()..)));
    found.is_some()
}

/// A source with the selected sessions; `None` without any. Unreadable sources stay, so that they are reported.
fn meant(source: Source, args: &CorpusArgs) -> Option<Source> {
    let Ok(all) = source.sessions() else {
        return Some(source);
    };
    let (name, found) = (source.name(), all.len());
    let mut sessions = all;
    sessions.retain(|session| is_meant(&name, session, args));
    match sessions.as_slice() {
        [] => None,
        kept if kept.len() == found => Some(source),
        // It goes by the path that it has among the others of its file.
        [one] => Some(Source::Memory { name: source.path_of(&one.id, true), sessions }),
        _ => Some(Source::Memory { name, sessions }),
    }
}

fn is_meant(path: &str, session: &Session, args: &CorpusArgs) -> bool {
    let of_project = args.project.as_deref().is_none_or(|project| {
        let project = project.to_lowercase();
        let texts = [Some(path), session.cluster.as_deref()];
        texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&project))
    });
    let late_enough = args.since.is_none_or(|since| {
        let answers = session.log().filter_map(|message| message.answer.as_ref());
        let mut times = answers.filter_map(|answer| answer.ended.or(answer.started));
        times.any(|time| time >= since)
    });
    let of_agent = args.agent.is_empty() || args.agent.contains(&session.format);
    of_agent && of_project && late_enough
}
