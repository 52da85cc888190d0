//! History that several sessions of a corpus hold: a resumed, a forked or a subagent's session begins with what the one that
//! it comes from holds. Its calls count once: where they were made.
//!
//! The opening of each file tells which may be related; only those are read. The sessions of one file, such as a store, are
//! compared whenever it is read. What is a copy stays in the log as what was
//! said before, and is no call.

use crate::parallel::in_parallel;
use crate::read::corpus::{self, Content, Copied, Source};
use foldback_core::Message;
use foldback_formats::{Lineage, Session, lineage};
use std::collections::{BTreeMap, HashMap, HashSet};
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
    let mut hashes = HashSet::new();
    let read = family.iter().filter_map(|&at| Some((at, sources[at].read().ok()?)));
    // The same file under two names is told by its bytes.
    let read: Vec<(usize, Content)> =
        read.filter(|(_, content)| hashes.insert(content.hash)).collect();
    let members = read.iter().flat_map(|(at, content)| {
        let from = lineages[*at].as_ref().and_then(|lineage| lineage.from.as_deref());
        let numbered = content.sessions.iter().enumerate();
        numbered.map(move |(number, session)| {
            let from = session.parent.as_deref().or(from);
            Member { place: (*at, number), session, from }
        })
    });
    let mut found: BTreeMap<usize, Copied> = BTreeMap::new();
    for ((at, number), copied) in among(members.collect(), false) {
        found.entry(at).or_default().insert(number, copied);
    }
    found.into_iter().collect()
}

/// Takes the calls out of the sessions of a file that another of them holds: a store has all of an agent's.
pub fn counted_once(sessions: &mut [Session]) {
    if sessions.len() > 1 {
        let copied = within(sessions);
        corpus::taken_out(sessions, &copied);
    }
}

/// What is copied from one session of a file to another.
fn within(sessions: &[Session]) -> Copied {
    let numbered = sessions.iter().enumerate();
    let members = numbered.map(|(number, session)| {
        let from = session.parent.as_deref();
        Member { place: (0, number), session, from }
    });
    among(members.collect(), true)
        .into_iter()
        .map(|((_, number), copied)| (number, copied))
        .collect()
}

/// A session that may hold what others do.
struct Member<'a> {
    /// The file of the session, and the number of the session in it.
    place: (usize, usize),
    session: &'a Session,
    /// The session that it comes from, where that is known.
    from: Option<&'a str>,
}

/// The answers of sessions that are copies, by their places. Where nothing but a file holds the sessions together, what has
/// no time of its own is no copy: benchmarks begin alike.
fn among(mut members: Vec<Member<'_>>, timed: bool) -> Vec<((usize, usize), Vec<usize>)> {
    let parents: HashMap<&str, Option<&str>> =
        members.iter().map(|member| (member.session.id.as_str(), member.from)).collect();
    let last = |session: &Session| session.log().filter_map(|message| message.at).max();
    // What was made of another comes after it; else what went on for longer does.
    members.sort_by_cached_key(|member| {
        (origin(member, &parents).1, last(member.session), member.place)
    });
    let mut seen: HashSet<String> = HashSet::new();
    let mut found = Vec::new();
    for member in &members {
        let root = origin(member, &parents).0;
        let known: Vec<(usize, Option<String>)> = answers(member.session)
            .map(|(at, answer)| (at, fingerprint(answer, member.session, root, timed)))
            .collect();
        let is_copy = |(_, known): &&(usize, Option<String>)| {
            known.as_ref().is_some_and(|known| seen.contains(known))
        };
        // A fork may write its history anew, without ids; the copy is the beginning of it.
        let copied: Vec<usize> = match member.from {
            Some(_) => known.iter().take_while(is_copy).map(|(at, _)| *at).collect(),
            None => known.iter().filter(is_copy).map(|(at, _)| *at).collect(),
        };
        seen.extend(known.into_iter().filter_map(|(_, known)| known));
        if !copied.is_empty() {
            found.push((member.place, copied));
        }
    }
    found
}

/// The session that one comes from in the end, and how many lie between.
fn origin<'a>(
    member: &Member<'a>,
    parents: &HashMap<&'a str, Option<&'a str>>,
) -> (&'a str, usize) {
    let (mut root, mut depth) = (member.session.id.as_str(), 0);
    let mut from = member.from;
    // A damaged file may hold a cycle.
    while let Some(parent) = from.filter(|parent| *parent != root && depth < parents.len()) {
        let known = parents.get(parent);
        depth += usize::from(known.is_some());
        (root, from) = (parent, known.copied().flatten());
    }
    (root, depth)
}

/// Answers of the log, with their places.
fn answers(session: &Session) -> impl Iterator<Item = (usize, &Message)> {
    let messages = session.messages.iter().enumerate();
    messages
        .filter(|(_, message)| message.is_answer() && !message.is_entry())
        .map(|(at, m)| (at, &**m))
}

/// What an answer is known by: what it says, the ids of its calls, and what else a copy has in common with it in its format:
/// its own id, its time, or nothing but where the session comes from. `None` where that is not enough.
fn fingerprint(answer: &Message, session: &Session, root: &str, timed: bool) -> Option<String> {
    let time = || answer.at.map(|at| at.to_string());
    let mut text = match session.format {
        "codex" | "hermes" => root.to_owned(),
        "opencode" => time()?,
        _ if timed => format!("{}\n{}", answer.id, time()?),
        _ => answer.id.clone(),
    };
    for part in &answer.parts {
        let id = part.as_call().map_or("", |call| call.call_id.as_str());
        text.push_str(&format!("\n{}\t{id}\t{}", part.kind_name(), part.shown()));
    }
    Some(blake3::hash(text.as_bytes()).to_string())
}
