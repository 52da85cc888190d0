//! History that several sessions of a corpus hold: a resumed, a forked or a subagent's session begins with what the one that
//! it comes from holds. Its calls count once: where they were made.
//!
//! The opening of each file tells which may be related; only those are read. The sessions of one file, such as a store, are
//! compared whenever it is read.

use super::corpus::{Content, Source};
use super::history::{Copied, Member, among};
use crate::parallel::in_parallel;
use foldback_formats::{Lineage, lineage};
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::Read as _;

/// Bytes of a file that are looked at to find out what it is related to. A header may hold a whole system prompt.
const OPENING: u64 = 256 * 1024;

/// Tells files apart that hold the same calls: those of the first of them count.
pub fn told_apart(sources: Vec<Source>) -> Vec<Source> {
    let lineages = in_parallel(&sources, opening);
    let copies = in_parallel(&families(&lineages), |family| copied(&sources, &lineages, family));
    let mut copies: BTreeMap<usize, Copied> = copies.into_iter().flatten().collect();
    let told = |(at, source)| match copies.remove(&at) {
        Some(copied) => Source::Copying { source: Box::new(source), copied },
        None => source,
    };
    sources.into_iter().enumerate().map(told).collect()
}

/// What the opening of a file says that it is related to. What is elsewhere is fetched whole, as it is read whole later.
fn opening(source: &Source) -> Option<Lineage> {
    let bytes = match source {
        Source::File(path) => {
            let mut bytes = Vec::new();
            File::open(path).ok()?.take(OPENING).read_to_end(&mut bytes).ok()?;
            bytes
        }
        Source::Elsewhere { fetch, .. } => (fetch.0)().ok()?,
        _ => return None,
    };
    lineage(bytes.get(..OPENING as usize).unwrap_or(&bytes))
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
fn copied(
    sources: &[Source],
    lineages: &[Option<Lineage>],
    family: &[usize],
) -> Vec<(usize, Copied)> {
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

#[cfg(test)]
mod tests {
    use super::super::corpus::Fetch;
    use super::*;
    use std::path::Path;

    #[test]
    fn what_is_copied_counts_once_wherever_it_is_kept() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/four-sessions"));
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some()).collect();
        files.sort();
        let bytes = std::fs::read(&files[0]).unwrap();
        // The same session in another file: not the same bytes.
        let contents = [bytes.clone(), [&*bytes, b"\n"].concat()];
        let made = tempfile::tempdir().unwrap();
        let file = |(at, content): (usize, &Vec<u8>)| {
            let path = made.path().join(at.to_string());
            std::fs::write(&path, content).unwrap();
            Source::File(path)
        };
        let elsewhere = |(at, content): (usize, &Vec<u8>)| {
            let content = content.clone();
            let fetch = Fetch(Box::new(move || Ok(content.clone())));
            Source::Elsewhere { name: at.to_string(), fetch }
        };
        let numbered = || contents.iter().enumerate();
        for sources in [numbered().map(file).collect(), numbered().map(elsewhere).collect()] {
            let told = told_apart(sources);
            let copied = told.iter().map(|source| source.sessions().unwrap()[0].copied);
            let copied: Vec<usize> = copied.collect();
            assert!(copied[0] == 0 && copied[1] > 0, "{told:?}: {copied:?}");
        }
    }
}
