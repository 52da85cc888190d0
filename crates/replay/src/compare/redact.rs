//! Replaces names that identify the compared sessions by pseudonyms, and their texts by placeholders.
//!
//! A pseudonym is a hash with the content of its session as the key. It is the same in every output and every run
//! over the same file, and without the file the name can't be found by trying names.

use super::{Comparison, Skipped};
use crate::corpus::ContentHash;
use crate::totals::BrokenRule;
use crate::walk::Walk;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Comparison {
    /// Replaces paths, tasks, repositories, tools, identifiers and models that no table lists by pseudonyms,
    /// and texts by placeholders, in everything that is read from the comparison from now on: its lines and
    /// sentences, [records](Self::record) and [walks](Self::walk).
    pub fn redact(&mut self) {
        self.redacted = true;
        self.provenance.command = None;
        // By cluster the least hash of its sessions, so that their order does not matter.
        let mut clusters: BTreeMap<Arc<str>, ContentHash> = BTreeMap::new();
        for (session, keys) in self.corpus.sessions.iter().zip(&self.keys) {
            let (cluster, key) = (Arc::clone(&session.cluster), keys.content());
            let least = clusters.entry(cluster).or_insert(key);
            if key.as_bytes() < least.as_bytes() {
                *least = key;
            }
        }
        for (session, keys) in self.corpus.sessions.iter_mut().zip(&self.keys) {
            let path: Arc<str> = match keys.number() {
                0 => named("session", &keys.content()).into(),
                number => format!("{}-{number}", named("session", &keys.content())).into(),
            };
            // Where no task is recorded, the path stands for it.
            session.cluster = match session.cluster == session.path {
                true => Arc::clone(&path),
                false => pseudonym("task", &clusters[&session.cluster], &session.cluster).into(),
            };
            session.path = path;
        }
        for (number, skipped) in self.corpus.skipped.iter_mut().enumerate() {
            *skipped = without_names(skipped, number);
        }
        // Sentences name models, and neither sessions nor tasks. The longest first: one may stand within another.
        let models = self.unlisted.iter().enumerate().filter(|(_, model)| !model.is_empty());
        let mut models: Vec<(usize, &String)> = models.collect();
        models.sort_by_key(|(_, model)| std::cmp::Reverse(model.len()));
        for sentence in self.assumptions.iter_mut().chain(&mut self.cautions) {
            for (number, model) in &models {
                *sentence = sentence.replace(model.as_str(), &format!("model-{}", number + 1));
            }
        }
    }
}

/// Why a file was left out, without its name or content.
fn without_names(skipped: &Skipped, number: usize) -> Skipped {
    let reason = match skipped.reason.starts_with("the same bytes as") {
        true => "the same bytes as another file",
        false => "it can't be read as a session",
    };
    Skipped { path: format!("skipped-{}", number + 1), reason: reason.to_owned() }
}

/// A pseudonym of a text.
fn pseudonym(kind: &str, key: &ContentHash, text: &str) -> String {
    named(kind, &blake3::keyed_hash(key.as_bytes(), text.as_bytes()))
}

fn named(kind: &str, hash: &ContentHash) -> String {
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
        let texts = track.shown.iter_mut().chain(&mut track.failures);
        let degraded = track.firings.iter_mut().filter_map(|firing| firing.degraded.as_mut());
        let written = track.written.iter_mut().map(|written| &mut written.text);
        texts.chain(degraded).chain(written).for_each(|text| WITHHELD.clone_into(text));
    }
}

/// What replaces a text.
const WITHHELD: &str = "(withheld)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Keys, SessionLine};

    /// A task may be called as what stands in any sentence.
    #[test]
    fn only_models_are_looked_for_in_sentences() {
        let session =
            SessionLine { path: "5".into(), cluster: "a".into(), ..SessionLine::default() };
        let mut comparison = Comparison {
            cautions: vec!["5 sessions of a-house and a-house-large".to_owned()],
            keys: vec![Keys::of(blake3::hash(b"content"))],
            unlisted: vec!["a-house".to_owned(), "a-house-large".to_owned()],
            ..Comparison::default()
        };
        comparison.corpus.sessions = vec![session];
        comparison.redact();
        let SessionLine { path, cluster, .. } = &comparison.corpus.sessions[0];
        assert!(path.starts_with("session-") && cluster.starts_with("task-"), "{path} {cluster}");
        assert_eq!(comparison.cautions, ["5 sessions of model-1 and model-2"]);
    }
}
