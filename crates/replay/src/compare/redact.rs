//! Replaces names that identify the compared sessions by pseudonyms, and their texts by placeholders.
//!
//! A pseudonym is a hash with the content of its session as the key. It is the same in every output and every run
//! over the same file, and without the file the name can't be found by trying names.

use crate::fault::Fault;
use crate::read::corpus::{ContentHash, Skipped};
use crate::run::totals::BrokenRule;
use crate::run::walk::Walk;

/// Why a file was left out, without its name or content.
pub(super) fn without_names(skipped: &Skipped, number: usize) -> Skipped {
    let reason = match skipped.reason.starts_with("the same bytes as") {
        true => "the same bytes as another file",
        false => "it can't be read as a session",
    };
    Skipped { path: format!("skipped-{}", number + 1), reason: reason.to_owned() }
}

/// A pseudonym of a text.
pub(super) fn pseudonym(kind: &str, key: &ContentHash, text: &str) -> String {
    named(kind, &blake3::keyed_hash(key.as_bytes(), text.as_bytes()))
}

pub(super) fn named(kind: &str, hash: &ContentHash) -> String {
    format!("{kind}-{}", &hash.to_hex()[..8])
}

/// A broken rule without the ids of message and call.
pub(super) fn rule(broken: &mut BrokenRule, key: &ContentHash) {
    broken.message = pseudonym("message", key, &broken.message);
    broken.detail.clone_from(&broken.rule);
}

/// A fault without its words, which may hold a text. The place in the program stays.
pub(super) fn fault(fault: &mut Fault) {
    WITHHELD.clone_into(&mut fault.what);
}

/// A walk that shows sizes and no texts. Reasons stay: stages give them in their own words.
pub(super) fn walk(walk: &mut Walk, key: &ContentHash) {
    let name = |kind: &str, text: &str| match text {
        "" => String::new(),
        text => pseudonym(kind, key, text),
    };
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
        if let Some(failed) = &mut track.fault {
            fault(failed);
            track.idle = vec![failed.to_string()];
        }
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
    use crate::compare::{Comparison, Keys, SessionLine};

    /// A task may be called as what stands in any sentence.
    #[test]
    fn only_models_are_looked_for_in_sentences() {
        let session =
            SessionLine { path: "5".into(), cluster: "a".into(), ..SessionLine::default() };
        let mut comparison = Comparison {
            cautions: vec!["5 sessions of a-house and a-house-large".to_owned()],
            keys: vec![Keys::of_content(blake3::hash(b"content"))],
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
