//! Which answers of some sessions are copies: a session that was resumed or forked, and that of a subagent, begin with the history
//! of another. What is a copy stays in the log as what was said before, and is no call.

use foldback_core::Message;
use foldback_formats::Session;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// Answers of a file that are copies: session of the file, and messages of it.
pub(crate) type Copied = BTreeMap<usize, Vec<usize>>;

/// Takes the calls out of the sessions of a file that another of them holds: a store has all of an agent's.
pub fn counted_once(sessions: &mut [Session]) {
    if sessions.len() > 1 {
        let numbered = sessions.iter().enumerate();
        let members = numbered.map(|(number, session)| {
            let from = session.parent.as_deref();
            Member { place: (0, number), session, from }
        });
        let copied = among(members.collect(), true);
        let copied = copied.into_iter().map(|((_, number), copied)| (number, copied)).collect();
        take_out(sessions, &copied);
    }
}

/// A session that may hold what others do.
pub(super) struct Member<'a> {
    /// The file of the session, and the number of the session in it.
    pub(super) place: (usize, usize),
    pub(super) session: &'a Session,
    /// The session that it comes from, where that is known.
    pub(super) from: Option<&'a str>,
}

/// The answers of sessions that are copies, by their places. Where nothing but a file holds the sessions together, what has
/// no time of its own is no copy: benchmarks begin alike.
pub(super) fn among(
    mut members: Vec<Member<'_>>,
    timed: bool,
) -> Vec<((usize, usize), Vec<usize>)> {
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

/// Takes the calls out that are counted elsewhere.
pub(crate) fn take_out(sessions: &mut [Session], copied: &Copied) {
    for (number, messages) in copied {
        let Some(session) = sessions.get_mut(*number) else { continue };
        for at in messages {
            if let Some(message) = session.messages.get_mut(*at).filter(|m| m.is_answer()) {
                Arc::make_mut(message).answer = None;
                session.copied += 1;
            }
        }
        // What was taken back before the last copy was copied with it.
        let last = messages.iter().filter_map(|at| session.messages.get(*at)?.at).max();
        session.unlogged.retain(|answer| answer.ended.is_none() || answer.ended > last);
    }
}
