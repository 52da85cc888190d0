//! Which files may hold the history of others: a resumed, a forked or a subagent's session begins with what the one
//! that it comes from holds. Told by the opening of a file, without reading it.

use crate::codex;
use crate::peek::{Peek, peek};

/// Lines that are looked at: before the first message there may be titles and snapshots.
const LINES: usize = 40;

/// The origin of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// An identifier of the history at the beginning of the file: files with the same one may share that history.
    pub id: String,
    /// The session that its history was copied from, if the file says so.
    pub from: Option<String>,
}

/// The lineage of a file, by its first bytes; `None` where its records have no ids.
pub fn lineage(opening: &[u8]) -> Option<Lineage> {
    let text = String::from_utf8_lossy(opening);
    let whole = peek(&text);
    if whole.has("/messages/*/info/role") {
        // A fork of OpenCode has ids of its own. Its first messages were said when those of the original were.
        return one(&whole, "/messages/*/info/time/created").map(|id| Lineage { id, from: None });
    } else if whole.has("/working_dir") && whole.has("/conversation") {
        // A fork of Goose keeps the ids of messages.
        return one(&whole, "/conversation/*/id").map(|id| Lineage { id, from: None });
    }
    let mut rollout: Option<Lineage> = None;
    for line in text.lines().take(LINES).filter(|line| line.trim_start().starts_with('{')) {
        let opening = peek(line);
        let value = |path: &str| one(&opening, path);
        if opening.is("/type", "session_meta") {
            let id = value("/payload/id")?;
            match &mut rollout {
                None => {
                    let parents = codex::PARENTS;
                    let mut parents = parents.map(|at| value(&format!("/payload{at}"))).into_iter();
                    let from = parents.find_map(|from| from).filter(|from| *from != id);
                    rollout = Some(Lineage { id, from });
                }
                // Where the header does not say it, that of the parent comes along.
                Some(found) if found.id != id && found.from.is_none() => found.from = Some(id),
                Some(_) => {}
            }
        } else if opening.is("/type", "session") && opening.has("/createdAt") {
            let from = value("/parentSession");
            return value("/id").map(|id| Lineage { id, from });
        } else if opening.is("/type", "metadata") && opening.has("/protocol_version") {
            // A fork of Kimi Code is the whole file, and more.
            return value("/created_at").map(|id| Lineage { id, from: None });
        } else if opening.has("/parent_session_id") && opening.has("/started_at") {
            let from = value("/parent_session_id");
            return value("/id").map(|id| Lineage { id, from });
        } else if rollout.is_none() && !opening.is("/type", "session") {
            let is_record = opening.has("/type") || opening.has("/kind");
            let id = value("/uuid").or_else(|| value("/id").filter(|_| is_record));
            if let Some(id) = id {
                return Some(Lineage { id, from: None });
            }
        }
    }
    rollout
}

fn one(opening: &Peek, path: &str) -> Option<String> {
    opening.values(path).find(|value| !value.is_empty() && *value != "null").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_opening_tells_where_a_session_comes_from() {
        let meta =
            |rest: &str| format!(r#"{{"type":"session_meta","payload":{{"id":"b"{rest}}}}}"#);
        let table = [
            (meta(""), Some(("b", None))),
            (meta(r#","forked_from_id":"a""#), Some(("b", Some("a")))),
            (meta(r#","parent_thread_id":"a""#), Some(("b", Some("a")))),
            (
                meta(r#","source":{"subagent":{"thread_spawn":{"parent_thread_id":"a"}}}"#),
                Some(("b", Some("a"))),
            ),
            (meta(r#","source":{"subagent":"review"}"#), Some(("b", None))),
            (meta(r#","forked_from_id":null"#), Some(("b", None))),
            (
                meta("") + "\n" + r#"{"type":"session_meta","payload":{"id":"a"}}"#,
                Some(("b", Some("a"))),
            ),
            (
                r#"{"type":"summary","leafUuid":"x"}
{"type":"user","uuid":"u1","message":{"#
                    .to_owned(),
                Some(("u1", None)),
            ),
            (
                r#"{"type":"session","id":"s","cwd":"/"}
{"type":"message","id":"e1"}"#
                    .to_owned(),
                Some(("e1", None)),
            ),
            (
                r#"{"type":"session","id":"s","createdAt":1,"parentSession":"r"}"#.to_owned(),
                Some(("s", Some("r"))),
            ),
            (
                r#"{"type":"metadata","protocol_version":"1.5","created_at":17}"#.to_owned(),
                Some(("17", None)),
            ),
            (
                r#"{
  "info": {"id": "ses_b", "time": {"created": 9}},
  "messages": [{"info": {"role": "user", "time": {"created": 17}}, "parts": []}]
}"#
                .to_owned(),
                Some(("17", None)),
            ),
            (
                r#"{"id":"b","parent_session_id":"a","started_at":1,"messages":[]}"#.to_owned(),
                Some(("b", Some("a"))),
            ),
            (
                r#"{"id":"s","working_dir":"/","conversation":[{"id":"m1","role":"user"}]}"#
                    .to_owned(),
                Some(("m1", None)),
            ),
            (r#"{"id":"e1","kind":"MessageEvent"}"#.to_owned(), Some(("e1", None))),
            (r#"{"messages":[]}"#.to_owned(), None),
            (String::new(), None),
        ];
        for (text, expected) in table {
            let expected = expected
                .map(|(id, from)| Lineage { id: id.to_owned(), from: from.map(str::to_owned) });
            assert_eq!(lineage(text.as_bytes()), expected, "{text}");
        }
    }
}
