//! What each format records of where, or on what, a session worked.
use crate::common::{recorded, rows, sessions};
use foldback_formats::read;

#[test]
fn the_cluster_is_read_where_it_is_recorded() {
    for (heading, text) in rows(include_str!("tables/clusters.txt")) {
        let (format, expected) = heading.split_once(" → ").unwrap();
        let cluster = sessions(text, format).remove(0).cluster;
        assert_eq!(cluster.as_deref().unwrap_or("none"), expected, "{heading}\n{text}");
    }
}

/// Folder of recorded sessions, sessions (subagents are sessions too), those with a cluster, clusters. One repository may
/// have several as long as nothing compares sessions: one opened a pull request, the other names a folder alone.
const RECORDED: &[(&str, usize, usize, usize)] = &[
    ("claude-code", 13, 13, 7),
    ("codex", 5, 5, 2),
    ("copilot-cli", 1, 1, 1),
    ("inspect", 2, 2, 1),
    ("mini-swe-agent", 1, 1, 1),
    ("opencode", 5, 5, 3),
    ("openhands", 3, 3, 3),
    ("pi", 2, 2, 1),
    ("roo-code", 1, 1, 1),
    ("swe-agent", 3, 2, 2),
    ("tau2-bench", 50, 50, 50),
];

#[foldback_needs::sessions]
#[test]
fn clusters_of_recorded_sessions() {
    for (folder, sessions, with, clusters) in RECORDED {
        let found: Vec<Option<String>> = recorded(folder)
            .iter()
            .flat_map(|path| read(&std::fs::read(path).unwrap(), None).unwrap())
            .map(|session| session.cluster)
            .collect();
        if found.is_empty() {
            continue;
        }
        let mut named: Vec<&String> = found.iter().flatten().collect();
        named.sort();
        let count = named.len();
        named.dedup();
        assert_eq!(
            (found.len(), count, named.len()),
            (*sessions, *with, *clusters),
            "{folder}: {named:?}"
        );
    }
}
