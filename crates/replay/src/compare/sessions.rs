//! The sessions of a comparison: what it lists of each, and which files are left out.

use super::provenance::short;
use crate::parallel::in_parallel;
use crate::read::corpus::{ContentHash, Corpus, Skipped, Source};
use crate::read::repositories::{self, Place};
use crate::rows::CompareError;
use crate::rows::study::{Common, Keys, Recording, Score, Studied};
use crate::stats::{self, Sample};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session as the comparison lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionLine {
    /// Path of the file, followed by `#id` if the file holds several sessions.
    pub path: Arc<str>,
    /// Hash of the file's bytes: the first 16 hexadecimal digits that `b3sum` prints.
    pub content: String,
    /// Id of the format.
    pub format: Arc<str>,
    /// Task or repository; sessions of one depend on each other. The path if not recorded.
    pub cluster: Arc<str>,
    /// Messages as the format counts them.
    pub messages: usize,
    /// Tool calls.
    pub tool_calls: usize,
    /// Model calls.
    pub calls: usize,
    /// Calls that another session holds as well and that count there.
    pub copied_calls: usize,
    /// User turns.
    pub turns: usize,
    /// Compactions that the recorder made.
    pub boundaries: usize,
    /// What could not be read.
    pub warnings: usize,
}

/// What was compared, with every session accounted for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CorpusSummary {
    /// Files that were looked at.
    pub files: usize,
    /// Sessions that were imported.
    pub imported: usize,
    /// Sessions without a model call: they are ignored.
    pub without_calls: usize,
    /// Sessions in which at least one strategy changed something.
    pub triggering: usize,
    /// Tasks or repositories that the sessions fall into.
    pub clusters: usize,
    /// What intervals and tests go by.
    pub unit: Unit,
    /// Files that were not used.
    pub skipped: Vec<Skipped>,
    /// The sessions.
    pub sessions: Vec<SessionLine>,
}

impl SessionLine {
    fn new(session: &Studied, common: &Common) -> Self {
        let path: Arc<str> = session.path.as_str().into();
        let facts = &session.facts;
        let cluster = facts.cluster.as_deref();
        Self {
            content: short(session.keys.content()),
            format: common.names.one(&facts.format.as_str().into()),
            cluster: cluster
                .map_or_else(|| Arc::clone(&path), |name| common.names.one(&name.into())),
            path,
            messages: facts.messages,
            tool_calls: facts.tool_calls,
            calls: facts.calls,
            copied_calls: facts.copied,
            turns: facts.turns,
            boundaries: facts.boundaries,
            warnings: facts.warnings,
        }
    }
}

/// Gives sessions of one repository one name for it.
pub(super) fn name_repositories(lines: &mut [SessionLine], folders: &[Option<Arc<str>>]) {
    let places = lines.iter().zip(folders).map(|(line, folder)| Place {
        // Without anything recorded it is the path of the file, which is no folder that an agent worked in.
        cluster: Some(&*line.cluster).filter(|cluster| *cluster != &*line.path),
        folder: folder.as_deref(),
    });
    let names = repositories::names(&places.collect::<Vec<_>>());
    let mut shared: BTreeMap<String, Arc<str>> = BTreeMap::new();
    for (line, name) in lines.iter_mut().zip(names) {
        let Some(name) = name.filter(|name| *name != *line.cluster) else { continue };
        let made = shared.entry(name).or_insert_with_key(|name| name.as_str().into());
        line.cluster = Arc::clone(made);
    }
}

/// What intervals and tests leave out, flip and count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Tasks or repositories: something acted in at least ten of them.
    #[default]
    Repositories,
    /// Sessions: something acted in fewer tasks or repositories, so what is found holds for these alone.
    Sessions,
    /// Nothing: something acted in fewer than five sessions, and there are sums alone.
    Sums,
}

/// Repositories that are needed to say something of others.
pub const LEAST_REPOSITORIES: usize = 10;
/// Sessions that are needed to say something of others in the same repositories.
pub const LEAST_SESSIONS: usize = 5;

/// The sessions by unit.
#[derive(Debug)]
pub(super) struct Units {
    pub(super) unit: Unit,
    /// The number of each session's unit.
    pub(super) numbers: Vec<usize>,
    /// Tasks or repositories.
    pub(super) repositories: usize,
    /// By unit, whether something acted in it.
    acting: Vec<bool>,
}

impl Units {
    /// Of sessions, by whether something acted in each.
    ///
    /// A session of no recorded task is a unit of its own and has its place by its content, since the draws of the test follow
    /// the order of the units: its path would make other p-values of the same files in another folder.
    pub(super) fn new(lines: &[SessionLine], keys: &[Keys], acting: &[bool]) -> Self {
        let alone = |key: &Keys| Label::Alone(*key.content().as_bytes(), key.number());
        let named = lines.iter().zip(keys).map(|(line, key)| match line.cluster == line.path {
            true => alone(key),
            false => Label::Named(Arc::clone(&line.cluster)),
        });
        let (mut numbers, repositories) = stats::clusters(&named.collect::<Vec<_>>());
        let acts = |numbers: &[usize], count: usize| {
            let mut acts = vec![false; count];
            numbers.iter().zip(acting).for_each(|(number, acting)| acts[*number] |= *acting);
            acts
        };
        let mut by_unit = acts(&numbers, repositories);
        let count = |of: &[bool]| of.iter().filter(|acts| **acts).count();
        let unit = match (count(&by_unit), count(acting)) {
            (_, sessions) if sessions < LEAST_SESSIONS => Unit::Sums,
            (repositories, _) if repositories < LEAST_REPOSITORIES => Unit::Sessions,
            _ => Unit::Repositories,
        };
        if unit == Unit::Sessions {
            let sessions;
            (numbers, sessions) = stats::clusters(&keys.iter().map(alone).collect::<Vec<_>>());
            by_unit = acts(&numbers, sessions);
        }
        Self { unit, numbers, repositories, acting: by_unit }
    }

    /// What estimates are made of.
    pub(super) fn sample(&self, seed: u64) -> Sample {
        Sample::of_acting(seed, self.acting.clone(), self.unit == Unit::Sums)
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Label {
    Named(Arc<str>),
    Alone([u8; 32], usize),
}

/// What a comparison keeps of its sessions, each list in their order.
#[derive(Debug)]
pub(super) struct Studies {
    pub(super) lines: Vec<SessionLine>,
    /// The folders that they worked in, where recorded.
    pub(super) folders: Vec<Option<Arc<str>>>,
    pub(super) recordings: Vec<Recording>,
    pub(super) scores: Vec<Box<[Score]>>,
    pub(super) keys: Vec<Keys>,
    /// Their sources in the corpus.
    pub(super) sources: Vec<usize>,
    /// The first warning, with the path of its session.
    pub(super) warning: Option<(String, String)>,
}

impl Studies {
    /// With room for so many sessions.
    pub(super) fn for_sessions(count: usize) -> Self {
        Self {
            lines: Vec::with_capacity(count),
            folders: Vec::with_capacity(count),
            recordings: Vec::with_capacity(count),
            scores: Vec::with_capacity(count),
            keys: Vec::with_capacity(count),
            sources: Vec::with_capacity(count),
            warning: None,
        }
    }

    /// Takes over what is kept of a session.
    pub(super) fn take(&mut self, source: usize, mut session: Studied, common: &Common) {
        let number = self.lines.len();
        session.scores.iter_mut().for_each(|score| score.place(number));
        self.lines.push(SessionLine::new(&session, common));
        let folder = session.facts.folder.as_deref();
        self.folders.push(folder.map(|folder| common.names.one(&folder.into())));
        let warning = session.facts.first_warning.take();
        if let (None, Some(warning)) = (&self.warning, warning) {
            self.warning = Some((session.path, warning));
        }
        self.recordings.push(Recording::new(session.facts, common));
        self.scores.push(session.scores);
        self.keys.push(session.keys);
        self.sources.push(source);
    }
}

/// Positions of sources in the corpus, with the hashes of their content.
type Unique = Vec<(usize, ContentHash)>;

/// The positions of the sources in the corpus with the hashes of their content, and those that are left out:
/// unreadable, or the same bytes as one before.
pub(super) fn hashes(corpus: &Corpus) -> Result<(Unique, Vec<Skipped>), CompareError> {
    let hashes = in_parallel(&corpus.sources, Source::hash);
    let mut first: BTreeMap<[u8; 32], String> = BTreeMap::new();
    let (mut unique, mut skipped) = (Vec::new(), Vec::new());
    for (at, hash) in hashes.into_iter().enumerate() {
        let path = corpus.sources[at].name();
        match hash {
            Err(failure) => {
                let reason = failure.skips(|| path.clone())?;
                skipped.push(Skipped { path, reason });
            }
            Ok(hash) => match first.get(hash.as_bytes()) {
                Some(same) => {
                    skipped.push(Skipped { path, reason: format!("the same bytes as {same}") })
                }
                None => {
                    first.insert(*hash.as_bytes(), path);
                    unique.push((at, hash));
                }
            },
        }
    }
    Ok((unique, skipped))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acted::{preset, setup};
    use crate::compare::{Reporting, compare};
    use crate::rows::store::Store;
    use crate::rows::study::COUNTS;
    use crate::rows::study::{Outcome, Run};
    use crate::run::setup::Preset;
    use foldback_core::Limits;
    use std::fs;

    #[test]
    fn clusters_do_not_depend_on_where_the_files_lie() {
        let keys = [b"3", b"1", b"2"].map(|content| Keys::of_content(blake3::hash(content)));
        let numbers = |paths: [&str; 3]| {
            let line = |path: &str, cluster: Option<&str>| SessionLine {
                path: path.into(),
                cluster: cluster.unwrap_or(path).into(),
                ..SessionLine::default()
            };
            let named = line(paths[0], Some("harbor"));
            let lines = [named, line(paths[1], None), line(paths[2], None)];
            let units = Units::new(&lines, &keys, &[true; 3]);
            (units.numbers, units.repositories)
        };
        let expected = numbers(["../one", "../two", "../three"]);
        assert_eq!(expected.1, 3);
        for paths in [["/one", "/two", "/three"], ["work/one", "work/two", "work/three"]] {
            assert_eq!(numbers(paths), expected, "{paths:?}");
        }
        assert_eq!(numbers(["c", "b", "a"]), expected, "names of the files");
    }

    #[test]
    fn the_unit_is_the_largest_of_which_there_are_enough() {
        // Sessions of each repository, and in how many of all of them something acts.
        let table = [
            (vec![1; 10], 10, Unit::Repositories, 10),
            (vec![1; 20], 10, Unit::Repositories, 20),
            (vec![1; 20], 9, Unit::Sessions, 20),
            (vec![9], 5, Unit::Sessions, 9),
            (vec![9, 3], 4, Unit::Sums, 2),
            (vec![], 0, Unit::Sums, 0),
        ];
        for (repositories, acting, unit, numbers) in table {
            let sizes = repositories.iter().enumerate();
            let names: Vec<usize> = sizes.flat_map(|(at, size)| vec![at; *size]).collect();
            let line = |name: &usize| SessionLine {
                path: "path".into(),
                cluster: format!("repository {name}").into(),
                ..SessionLine::default()
            };
            let lines: Vec<SessionLine> = names.iter().map(line).collect();
            let key = |at: usize| Keys::of_content(blake3::hash(at.to_string().as_bytes()));
            let keys: Vec<Keys> = (0..names.len()).map(key).collect();
            let acts: Vec<bool> = (0..names.len()).map(|at| at < acting).collect();
            let units = Units::new(&lines, &keys, &acts);
            assert_eq!((units.unit, units.acting.len()), (unit, numbers), "{repositories:?}");
            assert_eq!(units.repositories, repositories.len());
        }
    }

    /// The memory of a session, which a comparison keeps for as many as it has. It is counted, since it would grow
    /// unseen: nine messages in which `keep-last-1` acts twice and the other presets do nothing.
    #[test]
    fn a_short_session_takes_little() {
        let named = ["none", "brutus", "indexed", "opencode", "tiered", "tunacode", "window"];
        let presets: Vec<Preset> = [&named[..], &["drop-oldest", "keep-last-1", "random"]]
            .concat()
            .into_iter()
            .map(preset)
            .chain([Preset::as_recorded().unwrap()])
            .collect();
        let setup = setup(Limits::new(200_000, 32_000));
        let folder = tempfile::tempdir().unwrap();
        let file = |number: usize| {
            let mut text = format!(r#"{{"role":"user","content":"Look at file {number}."}}"#);
            for call in 0..4 {
                text += &format!(
                    r#",{{"role":"assistant","content":null,"tool_calls":[{{"id":"{call}","type":"function","function":{{"name":"read","arguments":"{{\"path\":\"src/f{number}_{call}.rs\"}}"}}}}]}},{{"role":"tool","tool_call_id":"{call}","content":"fn f{number}_{call}() {{ }} // {}"}}"#,
                    "x".repeat(60 + number)
                );
            }
            let path = folder.path().join(format!("{number}.json"));
            fs::write(&path, format!("{{\"messages\":[{text}]}}")).unwrap();
            Source::File(path)
        };
        let corpus = Corpus { sources: (0..2).map(file).collect() };
        let store = Store::temporary().unwrap();
        let run = Run { store: &store, progress: &|| {}, strict: true };
        let reporting = Reporting::default();
        let compared = compare(&corpus, &presets, &setup, reporting, run).unwrap();

        let line = &compared.corpus.sessions[1];
        assert!(Arc::ptr_eq(&line.path, &line.cluster), "two copies of a path");
        let scores = &compared.scores[1];
        let mut outcomes: Vec<&Outcome> = scores.iter().map(|score| &**score).collect();
        outcomes.sort_by_key(|outcome| std::ptr::from_ref(*outcome));
        outcomes.dedup_by_key(|outcome| std::ptr::from_ref(*outcome));
        let acted: Vec<u64> = outcomes.iter().map(|one| one.metrics.compactions).collect();
        assert!(acted.len() == 2 && acted.contains(&0) && acted.contains(&2), "{acted:?}");
        let kept = [
            ("line", size_of_val(line) + COUNTS + line.path.len() + line.content.capacity()),
            ("recording", size_of::<Recording>()),
            ("keys", size_of::<Keys>() + size_of::<usize>()),
            ("scores", size_of::<Box<[Score]>>() + size_of_val(&**scores)),
            ("outcomes", outcomes.iter().map(|outcome| outcome.bytes()).sum()),
        ];
        let bytes: usize = kept.iter().map(|(_, bytes)| bytes).sum();
        assert!(bytes <= 2_848, "{bytes} bytes: {kept:?}");
    }
}
