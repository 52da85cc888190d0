//! History that several files of a corpus hold: a resumed, a forked or a subagent's session begins with what the one that
//! it comes from holds. Its calls count once: where they were made.
//!
//! The opening of each file tells which may be related; only those are read. What is a copy stays in the log as what was
//! said before, and is no call.

use crate::corpus::{Content, Copied, Source};
use crate::parallel::in_parallel;
use foldback_core::Message;
use foldback_formats::{Lineage, Session, lineage};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// Bytes of a file that are looked at to find out what it is related to. A header may hold a whole system prompt.
const OPENING: u64 = 256 * 1024;

/// Tells files apart that hold the same calls: those of the first of them count.
pub fn told_apart(sources: Vec<Source>) -> Vec<Source> {
    let lineages = in_parallel(&sources, |source| match source {
        Source::File(path) => opening(path),
        _ => None,
    });
    let copies = in_parallel(&families(&lineages), |family| of(&sources, &lineages, family));
    let copies: BTreeMap<usize, Copied> = copies.into_iter().flatten().collect();
    let told = |(at, source): (usize, Source)| match (source, copies.get(&at)) {
        (Source::File(path), Some(copied)) => {
            Source::Copying { path, copied: Arc::new(copied.clone()) }
        }
        (source, _) => source,
    };
    sources.into_iter().enumerate().map(told).collect()
}

fn opening(path: &Path) -> Option<Lineage> {
    let mut bytes = Vec::new();
    File::open(path).ok()?.take(OPENING).read_to_end(&mut bytes).ok()?;
    lineage(&bytes)
}

/// The files that may hold the same history: those that share an id, or name one another's.
fn families(lineages: &[Option<Lineage>]) -> Vec<Vec<usize>> {
    let mut family: Vec<usize> = (0..lineages.len()).collect();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, lineage) in lineages.iter().enumerate() {
        let ids = lineage.iter().flat_map(|l| [Some(l.id.as_str()), l.from.as_deref()]);
        for id in ids.flatten() {
            let other = *first.entry(id).or_insert(at);
            let (a, b) = (head(&mut family, at), head(&mut family, other));
            family[a.max(b)] = a.min(b);
        }
    }
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for at in 0..lineages.len() {
        members.entry(head(&mut family, at)).or_default().push(at);
    }
    members.into_values().filter(|members| members.len() > 1).collect()
}

/// The first member that is known of a family.
fn head(family: &mut [usize], of: usize) -> usize {
    let mut at = of;
    while family[at] != at {
        family[at] = family[family[at]];
        at = family[at];
    }
    at
}

/// What is copied in the files of a family, by their places among the sources.
fn of(sources: &[Source], lineages: &[Option<Lineage>], family: &[usize]) -> Vec<(usize, Copied)> {
    let mut members: Vec<(usize, Content)> =
        family.iter().filter_map(|&at| Some((at, sources[at].read().ok()?))).collect();
    let from = |at: usize| lineages[at].as_ref().and_then(|lineage| lineage.from.as_deref());
    let ids: BTreeSet<&str> =
        family.iter().filter_map(|&at| Some(lineages[at].as_ref()?.id.as_str())).collect();
    let last = |content: &Content| {
        let messages = content.sessions.iter().flat_map(|session| session.log());
        messages.filter_map(|message| message.at).max()
    };
    // What was made of another comes after it; else what went on for longer does.
    members.sort_by_cached_key(|(at, content)| {
        (from(*at).is_some_and(|from| ids.contains(from)), last(content), sources[*at].name())
    });
    let mut seen: HashSet<String> = HashSet::new();
    let mut files = HashSet::new();
    let mut found = Vec::new();
    for (at, content) in &members {
        // The same file under two names is told by its bytes.
        if !files.insert(content.hash) {
            continue;
        }
        let is_fork = from(*at).is_some();
        let copied: Copied = content
            .sessions
            .iter()
            .enumerate()
            .map(|(number, session)| (number, copied(session, is_fork, &seen)))
            .filter(|(_, copied)| !copied.is_empty())
            .collect();
        for session in &content.sessions {
            seen.extend(answers(session).map(|(_, answer)| fingerprint(answer, session)));
        }
        if !copied.is_empty() {
            found.push((*at, copied));
        }
    }
    found
}

/// Answers of the log, with their places.
fn answers(session: &Session) -> impl Iterator<Item = (usize, &Message)> {
    let messages = session.messages.iter().enumerate();
    messages
        .filter(|(_, message)| message.is_answer() && !message.is_entry())
        .map(|(at, m)| (at, &**m))
}

/// The answers that were seen elsewhere. A fork writes its history anew, without ids; the copy is the beginning of it.
fn copied(session: &Session, is_fork: bool, seen: &HashSet<String>) -> Vec<usize> {
    let is_copy = |(_, answer): &(usize, &Message)| seen.contains(&fingerprint(answer, session));
    let all = answers(session);
    match is_fork {
        true => all.take_while(is_copy).map(|(at, _)| at).collect(),
        false => all.filter(is_copy).map(|(at, _)| at).collect(),
    }
}

/// What an answer is known by: what it says and the ids of its calls, and its own id where the format has one.
fn fingerprint(answer: &Message, session: &Session) -> String {
    let mut text = if session.format == "codex" { String::new() } else { answer.id.clone() };
    for part in &answer.parts {
        let id = part.as_call().map_or("", |call| call.call_id.as_str());
        text.push_str(&format!("\n{}\t{id}\t{}", part.kind_name(), part.shown()));
    }
    blake3::hash(text.as_bytes()).to_string()
}

/// How many calls of a file are copies, where any is.
pub(crate) fn in_source(source: &Source) -> Option<usize> {
    match source {
        Source::Copying { copied, .. } => Some(copied.values().map(Vec::len).sum()),
        _ => None,
    }
}
