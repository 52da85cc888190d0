//! Which lines belong to one conversation.
//!
//! A file holds one main conversation and, in versions before subagents had files of their own, the
//! conversations of subagents in between (`isSidechain`). Each has a context of its own, so each is a
//! session of its own. Within the main one the order of the file is the order of events; the tree
//! only serves to find branches that the user gave up by going back to an earlier prompt.

use super::line::Line;
use crate::prelude::*;
use foldback_core::work;

/// The lines of one conversation, as indices.
pub(super) struct Thread {
    /// `None` for the main conversation, else what tells the subagent's apart.
    pub key: Option<String>,
    pub lines: Vec<usize>,
    /// Lines that were left out because the user went back to before them.
    pub abandoned: Vec<usize>,
}

/// Where the line with an id is.
pub(super) fn by_uuid(lines: &[Line]) -> HashMap<&str, usize> {
    let ids = lines.iter().enumerate();
    ids.filter_map(|(index, line)| Some((line.uuid.as_deref()?, index))).collect()
}

/// The main conversation first, then the subagents' in the order in which they begin.
pub(super) fn split(lines: &[Line], by_uuid: &HashMap<&str, usize>) -> Vec<Thread> {
    let new = |key| Thread { key, lines: Vec::new(), abandoned: Vec::new() };
    let mut threads: Vec<Thread> = vec![new(None)];
    let mut keys: HashMap<String, usize> = HashMap::new();
    let mut begins: Vec<Option<usize>> = vec![None; lines.len()];
    // By line, the thread that it is in.
    let mut member: Vec<usize> = Vec::with_capacity(lines.len());
    for (index, line) in lines.iter().enumerate() {
        let thread = if line.is_sidechain == Some(true) {
            let key = sidechain_key(lines, by_uuid, &mut begins, index);
            *keys.entry(key.clone()).or_insert_with(|| {
                threads.push(new(Some(key)));
                threads.len() - 1
            })
        } else {
            0
        };
        threads[thread].lines.push(index);
        member.push(thread);
    }
    for (number, thread) in threads.iter_mut().enumerate() {
        let parent_of = |index: usize| {
            work::count(1);
            let parent = lines[index].parent().and_then(|parent| by_uuid.get(parent)).copied();
            parent.filter(|parent| member[*parent] == number)
        };
        let gone = abandoned(lines, parent_of, &thread.lines);
        thread.abandoned =
            thread.lines.iter().copied().filter(|index| gone.contains(index)).collect();
        thread.lines.retain(|index| !gone.contains(index));
    }
    threads
}

/// The id of the nearest line up the sidechain that names its agent, or of the line that the sidechain begins with.
/// `begins` has it by line, if it is known.
fn sidechain_key(
    lines: &[Line],
    by_uuid: &HashMap<&str, usize>,
    begins: &mut [Option<usize>],
    start: usize,
) -> String {
    let mut path = vec![start];
    let mut at = start;
    // Bounded, since a damaged file may hold a cycle.
    while begins[at].is_none() && lines[at].agent_id.is_none() && path.len() <= lines.len() {
        work::count(1);
        let parent = lines[at].parent_uuid.as_deref();
        match parent.and_then(|parent| by_uuid.get(parent)) {
            Some(&next) if lines[next].is_sidechain == Some(true) => at = next,
            _ => break,
        }
        path.push(at);
    }
    let begin = begins[at].unwrap_or(at);
    for line in path {
        begins[line] = Some(begin);
    }
    lines[begin].agent_id.clone().unwrap_or_else(|| lines[begin].id())
}

/// Lines of branches that were given up: the branch and the chain that leads to the newest line part
/// at one and the same line, and both go on with a prompt. Forks of any other kind (parallel results,
/// progress, hooks) belong to the conversation.
///
/// `parent_of` gives the parent of a line if it is in the same conversation.
fn abandoned(
    lines: &[Line],
    parent_of: impl Fn(usize) -> Option<usize>,
    members: &[usize],
) -> HashSet<usize> {
    let mut gone = HashSet::new();
    let Some(&leaf) = members.iter().rev().find(|&&index| lines[index].is_talk()) else {
        return gone;
    };
    // The chain from the newest line back to the root, with its order.
    let mut chain = Vec::new();
    let mut place: HashMap<usize, usize> = HashMap::new();
    let mut at = Some(leaf);
    while let Some(index) = at {
        // A damaged file may hold a cycle; the place of a line in it is the first.
        if place.contains_key(&index) {
            break;
        }
        place.insert(index, chain.len());
        chain.push(index);
        at = parent_of(index);
    }
    // By place in the chain, the line of the conversation that comes next.
    let mut next_talk: Vec<Option<usize>> = Vec::with_capacity(chain.len());
    let mut talk = None;
    for &index in &chain {
        next_talk.push(talk);
        talk = lines[index].is_talk().then_some(index).or(talk);
    }
    // Each line off the chain belongs to the branch whose first line hangs on the chain.
    let mut root_of: HashMap<usize, Option<usize>> = HashMap::new();
    let mut verdict: HashMap<usize, bool> = HashMap::new();
    for &index in members {
        if place.contains_key(&index) {
            continue;
        }
        let mut path = vec![index];
        let root = loop {
            let here = path[path.len() - 1];
            if let Some(known) = root_of.get(&here) {
                break *known;
            }
            match parent_of(here) {
                Some(parent) if place.contains_key(&parent) => break Some(here),
                Some(parent) if path.len() <= lines.len() => path.push(parent),
                _ => break None,
            }
        };
        for step in path {
            root_of.insert(step, root);
        }
        let Some(root) = root else { continue };
        // The first talk of a branch settles it; lines before it (hooks, progress) do no harm.
        if !verdict.contains_key(&root) && lines[index].is_talk() {
            let fork = parent_of(root).and_then(|parent| place.get(&parent));
            let continues = fork.and_then(|&fork| next_talk[fork]);
            let rewound =
                lines[index].is_prompt() && continues.is_some_and(|next| lines[next].is_prompt());
            verdict.insert(root, rewound);
        }
        if verdict.get(&root) == Some(&true) {
            gone.insert(index);
        }
    }
    gone
}
