//! Which sessions are about one repository, over a corpus.
//!
//! One recorder writes down the remote, another an id of the project, most of them only the folder; and a repository lies
//! in other folders on other machines. Statistics that took these for different repositories would claim too much. Two
//! places are one repository if
//!
//! - a session names both, unless the folder holds several repositories in turn, as the folder of a container does;
//! - one lies in the other, and the outer one is known to be a checkout;
//! - they end alike, in a name that says something, and no two remotes of that name are known. `src` or `app` says
//!   nothing; there the part before it must be the same, too. Where two remotes share a name, a folder belongs to the one
//!   whose owner is in its path.

use std::collections::{BTreeMap, BTreeSet};

/// Where a session worked, as it was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place<'a> {
    /// `Session::cluster`: repository, project, task, or the folder again.
    pub cluster: Option<&'a str>,
    /// `Session::folder`.
    pub folder: Option<&'a str>,
}

/// Names of folders in which any repository may lie.
const SAYS_NOTHING: &str = "api app application apps backend build client code data demo desktop dev development docs \
    documents downloads example examples frontend git github home lib main master my-app new package packages \
    playground project projects repo repos repositories root sandbox server service services site source src temp test \
    testbed tests tmp ui web website work workspace workspaces www";

/// The name of each session's repository, task or project, one for all sessions of it; `None` where nothing is recorded.
pub(crate) fn names(places: &[Place<'_>]) -> Vec<Option<String>> {
    let distinct: BTreeSet<Place<'_>> = places.iter().copied().collect();
    let mut groups = Groups::default();
    let mut held: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for place in &distinct {
        if let (Some(cluster), Some(folder)) = (place.cluster, place.folder)
            && cluster != folder
        {
            held.entry(folder).or_default().insert(key(cluster));
        }
    }
    for (folder, clusters) in &held {
        if let Some(cluster) = clusters.first().filter(|_| clusters.len() == 1) {
            groups.join(cluster, folder);
        }
    }
    let folders: BTreeSet<&str> = distinct.iter().filter_map(|place| place.folder).collect();
    for inner in &folders {
        let outer = held.keys().filter(|outer| *outer != inner && lies_in(inner, outer)).max();
        if let Some(outer) = outer.filter(|_| !held.contains_key(inner)) {
            groups.join(outer, inner);
        }
    }
    let remotes: BTreeSet<String> = distinct
        .iter()
        .filter_map(|place| place.cluster)
        .filter(|name| is_remote(name))
        .map(key)
        .collect();
    let mut alike: BTreeMap<String, Alike<'_>> = BTreeMap::new();
    for folder in folders {
        if held.get(folder).is_none_or(|clusters| clusters.len() == 1)
            && let Some(end) = end(folder)
        {
            alike.entry(end).or_default().folders.push(folder);
        }
    }
    for remote in &remotes {
        if let Some(end) = end(remote) {
            alike.entry(end).or_default().remotes.push(remote);
        }
    }
    for alike in alike.values() {
        alike.join(&mut groups);
    }
    let mut shown: BTreeMap<String, &str> = BTreeMap::new();
    for place in &distinct {
        let Some(cluster) = place.cluster.or(place.folder) else { continue };
        let best = shown.entry(groups.root(&key(cluster))).or_insert(cluster);
        if rank(cluster) < rank(best) {
            *best = cluster;
        }
    }
    let name = |place: &Place<'_>| {
        let cluster = place.cluster.or(place.folder)?;
        shown.get(&groups.root(&key(cluster))).map(|name| (*name).to_owned())
    };
    places.iter().map(name).collect()
}

/// What ends alike.
#[derive(Default)]
struct Alike<'a> {
    folders: Vec<&'a str>,
    remotes: Vec<&'a str>,
}

impl Alike<'_> {
    fn join(&self, groups: &mut Groups) {
        // Each known repository or project among them, whatever its name.
        let known = |name: &&&str| groups.is_known(name);
        let tied: BTreeSet<String> =
            self.folders.iter().filter(known).map(|folder| groups.root(folder)).collect();
        let all: BTreeSet<String> =
            self.remotes.iter().map(|remote| groups.root(remote)).chain(tied).collect();
        let loose: Vec<&str> = self.folders.iter().filter(|name| !known(name)).copied().collect();
        match (all.len(), all.first()) {
            (0, _) => loose.windows(2).for_each(|two| groups.join(two[0], two[1])),
            (1, Some(known)) => loose.iter().for_each(|folder| groups.join(known, folder)),
            _ => {
                for folder in loose {
                    let owned =
                        |remote: &&&str| owner(remote).is_some_and(|owner| has_part(folder, owner));
                    let mut owners = self.remotes.iter().filter(owned);
                    if let (Some(remote), None) = (owners.next(), owners.next()) {
                        groups.join(remote, folder);
                    }
                }
            }
        }
    }
}

/// Sets that grow together.
#[derive(Default)]
struct Groups {
    /// A member's representative, its own where there is none.
    of: BTreeMap<String, String>,
}

impl Groups {
    fn root(&self, name: &str) -> String {
        let mut name = name;
        while let Some(next) = self.of.get(name) {
            name = next;
        }
        name.to_owned()
    }

    /// `into` stays the representative.
    fn join(&mut self, into: &str, other: &str) {
        let (into, other) = (self.root(into), self.root(other));
        if into != other {
            self.of.insert(other, into);
        }
    }

    /// Whether a folder belongs to something other than folders.
    fn is_known(&self, folder: &str) -> bool {
        !is_folder(&self.root(folder))
    }
}

/// A name as it is compared: hosts take owners and names in any case.
fn key(name: &str) -> String {
    if is_remote(name) { name.to_ascii_lowercase() } else { name.to_owned() }
}

/// Remotes go before projects and tasks, folders last.
fn rank(name: &str) -> (u8, &str) {
    let kind = match name {
        name if is_remote(name) => 0,
        name if is_folder(name) => 2,
        _ => 1,
    };
    (kind, name)
}

fn parts(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split(['/', '\\']).filter(|part| !part.is_empty())
}

/// Whether the name of a session's task is that of a repository or project, and not of a task of a benchmark: `host/owner/name`, a
/// folder, or the hash by which a recorder knows one.
pub fn is_repository(name: &str) -> bool {
    let is_hash = name.len() >= 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_remote(name) || is_folder(name) || is_hash
}

fn is_folder(name: &str) -> bool {
    let drive = name.get(1..2) == Some(":");
    drive || name.starts_with(['/', '\\', '~'])
}

/// `host/owner/name`.
fn is_remote(name: &str) -> bool {
    let host = name.split('/').next().unwrap_or_default();
    !is_folder(name) && host.contains('.') && parts(name).count() >= 3
}

fn owner(remote: &str) -> Option<&str> {
    parts(remote).rev().nth(1)
}

fn has_part(path: &str, wanted: &str) -> bool {
    parts(path).any(|part| part.eq_ignore_ascii_case(wanted))
}

fn lies_in(inner: &str, outer: &str) -> bool {
    inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with(['/', '\\']))
}

/// The end of a path that says which repository it is; `None` if none does.
fn end(path: &str) -> Option<String> {
    let names: Vec<String> = parts(path).map(str::to_ascii_lowercase).collect();
    let says = |at: usize| {
        let name = &names[at];
        let hash = name.len() >= 7 && name.chars().all(|c| c.is_ascii_hexdigit());
        let above = at.checked_sub(1).map(|above| names[above].as_str());
        // A person's home, which has a name of that person.
        let home = is_folder(path) && at <= 2 && matches!(above, Some("home" | "users"));
        !hash
            && !home
            && name.chars().filter(|c| c.is_alphabetic()).count() > 1
            && !SAYS_NOTHING.split(' ').any(|nothing| nothing == name)
    };
    let last = names.len().checked_sub(1)?;
    if says(last) {
        return Some(names[last].clone());
    }
    let before = last.checked_sub(1).filter(|before| says(*before))?;
    Some(names[before..].join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A remote, a project or nothing, a folder, and the number of its repository.
    type Row = (Option<&'static str>, &'static str, usize);

    #[test]
    fn repositories_as_a_table() {
        let table: [(&str, &[Row]); 12] = [
            (
                "machines and worktrees of one repository",
                &[
                    (Some("github.com/owner/tool"), "/Users/a/workspace/tool", 0),
                    (None, "/Users/a/workspace/tool", 0),
                    (None, "/Users/b/Work/owner/devenv/tool", 0),
                    (None, "C:\\Users\\c\\tool", 0),
                    (Some("github.com/Owner/Tool"), "/home/d/x/tool", 0),
                ],
            ),
            (
                "machines without a remote",
                &[(None, "/Users/a/r-kit", 0), (None, "/home/b/code/r-kit", 0)],
            ),
            (
                "a common end that says nothing",
                &[
                    (None, "/Users/a/shop/app", 0),
                    (None, "/home/b/bank/app", 1),
                    (None, "/home/c/app", 2),
                    (None, "/home/d/shop/app", 0),
                    (None, "/home/d/src", 3),
                    (None, "/Users/e/src", 4),
                ],
            ),
            (
                "one remote whose name says nothing",
                &[
                    (Some("github.com/shop/app"), "/Users/a/app", 0),
                    (None, "/home/b/app", 1),
                    (None, "/home/b/shop/app", 0),
                ],
            ),
            (
                "two remotes of one name",
                &[
                    (Some("github.com/one/tool"), "/Users/a/tool", 0),
                    (Some("github.com/two/tool"), "/Users/b/tool", 1),
                    (None, "/home/c/tool", 2),
                    (None, "/home/c/two/tool", 1),
                ],
            ),
            (
                "a folder that holds one repository after the other",
                &[
                    (Some("github.com/one/tool"), "/workspace", 0),
                    (Some("github.com/two/kit"), "/workspace", 1),
                    (None, "/workspace", 2),
                    (None, "/home/c/kit", 1),
                ],
            ),
            (
                "a folder that is called otherwise than its remote",
                &[(Some("github.com/one/tool"), "/a/evaluator", 0), (None, "/b/evaluator", 0)],
            ),
            (
                "folders in a checkout",
                &[
                    (Some("github.com/one/tool"), "/a/tool", 0),
                    (None, "/a/tool/frontend", 0),
                    (None, "/a/tools", 1),
                ],
            ),
            (
                "folders in a folder that is no checkout",
                &[(None, "/a/all", 0), (None, "/a/all/kit", 1)],
            ),
            (
                "a project's id",
                &[
                    (Some("1f2e"), "/Users/a/kit", 0),
                    (Some("1f2e"), "/home/b/kit-2", 0),
                    (None, "/c/kit", 0),
                ],
            ),
            (
                "two projects of one name",
                &[
                    (Some("1f2e"), "/Users/a/kit", 0),
                    (Some("3d4c"), "/home/b/kit", 1),
                    (None, "/c/kit", 2),
                ],
            ),
            ("homes", &[(None, "/home/a", 0), (None, "/Users/a", 1), (None, "/home/b/a", 2)]),
        ];
        for (name, rows) in table {
            let place = |row: &Row| Place { cluster: row.0.or(Some(row.1)), folder: Some(row.1) };
            let places: Vec<Place<'_>> = rows.iter().map(place).collect();
            let found = names(&places);
            for (a, (left, row)) in found.iter().zip(rows).enumerate() {
                for (right, other) in found.iter().zip(rows).skip(a + 1) {
                    assert_eq!(
                        left == right,
                        row.2 == other.2,
                        "{name}: {} {}, {found:?}",
                        row.1,
                        other.1
                    );
                }
            }
            // In any order.
            let backwards = names(&places.iter().rev().copied().collect::<Vec<_>>());
            assert!(found.iter().eq(backwards.iter().rev()), "{name}: {found:?} {backwards:?}");
        }
    }

    #[test]
    fn a_repository_goes_by_its_remote() {
        let place = |cluster, folder| Place { cluster, folder };
        let places = [
            place(Some("/Users/a/tool"), Some("/Users/a/tool")),
            place(Some("github.com/o/tool"), Some("/home/b/tool")),
            place(Some("airline/13"), None),
            place(None, None),
        ];
        let expected =
            [Some("github.com/o/tool"), Some("github.com/o/tool"), Some("airline/13"), None];
        assert_eq!(names(&places), expected.map(|name| name.map(str::to_owned)));
    }
}
