//! Pseudonyms in place of what says whose sessions were compared, and placeholders in place of what stands in them.
//!
//! A pseudonym is a hash under the content of its session as the key. It is the same in every output and every run
//! over the same file, and nobody who lacks the file can find the name by trying names.

use super::{Comparison, Keys, SessionLine, Skipped};
use crate::corpus::ContentHash;
use crate::totals::BrokenRule;
use crate::walk::Walk;
use std::collections::{BTreeMap, HashMap};

impl Comparison {
    /// Puts pseudonyms in place of paths, tasks, repositories, tools, identifiers and models that no table lists,
    /// and placeholders in place of texts, in everything that is read from the comparison from now on: its lines and
    /// sentences, [records](Self::record) and [walks](Self::walk).
    pub fn redact(&mut self) {
        self.redacted = true;
        self.provenance.command = None;
        let mut names = Names::default();
        let keys: Vec<ContentHash> = self.keys.iter().map(Keys::content).collect();
        let sessions = || self.corpus.sessions.iter().zip(&keys);
        let mut same: HashMap<&ContentHash, usize> = HashMap::new();
        let mut clusters: BTreeMap<&str, &ContentHash> = BTreeMap::new();
        for (session, key) in sessions() {
            let number = same.entry(key).or_default();
            let of_file = pseudonym("session", key, "");
            let name = if *number == 0 { of_file } else { format!("{of_file}-{number}") };
            *number += 1;
            names.add(&session.path, name);
            let least = clusters.entry(&session.cluster).or_insert(key);
            if key.as_bytes() < least.as_bytes() {
                *least = key;
            }
        }
        for (cluster, key) in clusters {
            names.add(cluster, pseudonym("task", key, cluster));
        }
        for (number, model) in self.unlisted.iter().enumerate() {
            names.add(model, format!("model-{}", number + 1));
        }
        for (number, skipped) in self.corpus.skipped.iter_mut().enumerate() {
            *skipped = without_names(skipped, number);
        }
        for SessionLine { path, cluster, .. } in &mut self.corpus.sessions {
            *path = names.of(path);
            *cluster = names.of(cluster);
        }
        for idle in self.presets.iter_mut().flat_map(|line| &mut line.idle) {
            idle.path = names.of(&idle.path);
        }
        for sentence in self.assumptions.iter_mut().chain(&mut self.cautions) {
            *sentence = names.within(sentence);
        }
    }
}

/// Why a file was left out, without its name and without what stands in it.
fn without_names(skipped: &Skipped, number: usize) -> Skipped {
    let reason = match skipped.reason.starts_with("the same bytes as") {
        true => "the same bytes as another file",
        false => "it can't be read as a session",
    };
    Skipped { path: format!("skipped-{}", number + 1), reason: reason.to_owned() }
}

/// What stands in place of which name.
#[derive(Default)]
struct Names(BTreeMap<String, String>);

impl Names {
    /// The first pseudonym of a name stays: where no task is recorded, the path stands for it.
    fn add(&mut self, name: &str, pseudonym: String) {
        self.0.entry(name.to_owned()).or_insert(pseudonym);
    }

    fn of(&self, name: &str) -> String {
        self.0.get(name).cloned().unwrap_or_default()
    }

    /// A sentence with all names replaced, the longest first: one may stand within another.
    fn within(&self, sentence: &str) -> String {
        let mut names: Vec<(&String, &String)> = self.0.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        names.into_iter().fold(sentence.to_owned(), |text, (name, pseudonym)| {
            if name.is_empty() { text } else { text.replace(name, pseudonym) }
        })
    }
}

fn pseudonym(kind: &str, key: &ContentHash, text: &str) -> String {
    let hash = match text {
        "" => *key,
        text => blake3::keyed_hash(key.as_bytes(), text.as_bytes()),
    };
    format!("{kind}-{}", &hash.to_hex()[..8])
}

/// A broken rule without the ids of message and call.
pub(super) fn rule(broken: &mut BrokenRule, key: &ContentHash) {
    broken.message = pseudonym("message", key, &broken.message);
    broken.detail.clone_from(&broken.rule);
}

/// A walk that shows sizes and no texts. Reasons stay: stages give them in their own words.
pub(super) fn walk(walk: &mut Walk, key: &ContentHash) {
    let name = |kind: &str, text: &str| match text {
        "" => String::new(),
        text => pseudonym(kind, key, text),
    };
    walk.session = name("session", &walk.session);
    walk.model = None;
    for line in &mut walk.messages {
        line.name = name("tool", &line.name);
        WITHHELD.clone_into(&mut line.excerpt);
        line.cut = false;
    }
    for need in &mut walk.needs {
        need.text = name("text", &need.text);
        need.file = need.file.as_deref().map(|file| name("file", file));
    }
    for track in &mut walk.tracks {
        track.broken.iter_mut().for_each(|(_, broken)| rule(broken, key));
        let told = track.shown.iter_mut().chain(&mut track.failures);
        let degraded = track.firings.iter_mut().filter_map(|firing| firing.degraded.as_mut());
        let written = track.written.iter_mut().map(|written| &mut written.text);
        told.chain(degraded).chain(written).for_each(|text| WITHHELD.clone_into(text));
    }
}

/// What stands in place of a text.
const WITHHELD: &str = "(withheld)";
