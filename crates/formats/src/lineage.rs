//! Which files may hold the history of others: a resumed, a forked or a subagent's session begins with what the one
//! that it comes from holds. Told by the opening of a file, without reading it.

use crate::peek::{Peek, peek};

/// Lines that are looked at: before the first message there may be titles and snapshots.
const LINES: usize = 40;

/// Where a session comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lineage {
    /// What tells the history that the file begins with: files that have this in common may hold one history.
    pub id: String,
    /// The session that its history was copied from, if the file says so.
    pub from: Option<String>,
}

/// The lineage of a file, by its first bytes; `None` where its records have no ids.
pub fn lineage(opening: &[u8]) -> Option<Lineage> {
    let text = String::from_utf8_lossy(opening);
    let mut codex: Option<Lineage> = None;
    for line in text.lines().take(LINES).filter(|line| line.trim_start().starts_with('{')) {
        let opening = peek(line);
        let value = |path: &str| one(&opening, path);
        if opening.is("/type", "session_meta") {
            let id = value("/payload/id")?;
            match &mut codex {
                None => {
                    let from = value("/payload/forked_from_id")
                        .or_else(|| value("/payload/parent_thread_id"))
                        .filter(|from| *from != id);
                    codex = Some(Lineage { id, from });
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
        } else if codex.is_none() && !opening.is("/type", "session") {
            let id = value("/uuid").or_else(|| value("/id").filter(|_| opening.has("/type")));
            if let Some(id) = id {
                return Some(Lineage { id, from: None });
            }
        }
    }
    codex
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
