//! `crush`: a session of Crush, as `crush session show --json` prints it or, as [`store`] makes of it, in `crush.db`.
//!
//! The two have one shape; a store knows more: what a summary is, the files, the signatures. The format is only read.
//! `docs/crush.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("crush", "Crush session (`crush session show --json`)", SIGNS, read);

const SIGNS: &[Sign] =
    &[Sign::new(100, &[Has("/meta/uuid"), Has("/meta/prompt_tokens"), Has("/messages")])];

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let root = value::document(text)?;
    let id = value::string(&root["meta"], "uuid");
    let out = SessionBuilder::document(text, "/messages", id, FORMAT.id)?;
    let mut reader = Reader { out, running: false };
    for (record, message) in (0u32..).zip(value::list(&root, "messages")) {
        reader.message(record, message);
    }
    only(reader.out.finish_run())
}

struct Reader {
    out: SessionBuilder,
    /// Whether the turn was begun.
    running: bool,
}

impl Reader {
    fn message(&mut self, record: u32, raw: &Value) {
        let parts = self.parts(record, raw);
        // An answer that did not come is not sent.
        if parts.is_empty() {
            self.running = false;
            return;
        }
        match value::text(raw, "role") {
            Some("user") => {
                // What the user ran alone asks nothing.
                let ran = |part: &Part| matches!(part.kind, PartKind::Text { synthetic: true, .. });
                let asks = !parts.iter().all(ran);
                let mid_turn = !asks || std::mem::replace(&mut self.running, true);
                self.push(record, raw, Role::User, parts).mid_turn = mid_turn;
            }
            Some("assistant") if value::flag(raw, "is_summary") => {
                let kept = self.out.holds_log();
                self.out.boundary("summary", "auto").original_kept = kept;
                // It is sent as the user's.
                let message = self.push(record, raw, Role::User, synthetic(parts));
                message.mid_turn = true;
                message.origin = Origin::Entry(EntryKind::Summary);
            }
            Some("assistant") => self.answer(record, raw, parts),
            Some("tool") => {
                for part in parts {
                    self.push(record, raw, Role::Tool, vec![part]);
                }
            }
            Some("system") => {
                self.push(record, raw, Role::System, parts);
            }
            other => self.out.unknown_role_of(record, other),
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_named(record, value::filled(raw, "id"), role, parts);
        message.at = value::time(raw, "created").or_else(|| value::seconds(raw, "/created"));
        message
    }

    fn answer(&mut self, record: u32, raw: &Value, parts: Vec<Part>) {
        self.running = parts.iter().any(|part| part.as_call().is_some());
        let ended = value::list(raw, "parts")
            .iter()
            .find(|part| value::text(part, "type") == Some("finish"));
        let reason = ended.and_then(|part| value::text(part, "reason"));
        let answer = Answer {
            model: value::filled(raw, "model").map(str::to_owned),
            provider: value::filled(raw, "provider").map(str::to_owned),
            ended: ended.and_then(|part| value::seconds(part, "/time")),
            finish: reason.map(|reason| match reason {
                "canceled" => Finish::Error,
                reason => finish(reason),
            }),
            error: ended.and_then(|part| value::filled(part, "message")).map(str::to_owned),
            ..Answer::default()
        };
        self.push(record, raw, Role::Assistant, parts).answer = Some(answer);
    }

    fn parts(&mut self, record: u32, raw: &Value) -> Vec<Part> {
        let mut parts = Vec::new();
        for (index, part) in value::list(raw, "parts").iter().enumerate() {
            let at = format!("/parts/{index}");
            let text = |key| value::text(part, key).unwrap_or_default();
            let mime = if part["mime_type"].is_string() { "mime_type" } else { "MIMEType" };
            match text("type") {
                "finish" => {}
                "text" if text("text").is_empty() => {}
                "text" => parts.push(text_member(part, "text", &at)),
                "reasoning" => {
                    let names = ["signature", "thought_signature"];
                    let opaque = names.iter().find_map(|name| value::filled(part, name));
                    let opaque = opaque.map(str::to_owned);
                    parts.push(signed_member(part, "thinking", opaque, &at));
                }
                "tool_call" => {
                    let id = value::first(part, &["tool_call_id", "id"]).unwrap_or_default();
                    let call = self.out.call(id, text("name"), text("input"));
                    parts.push(call.at(format!("{at}/input")));
                }
                "tool_result" => {
                    let (id, name) = (text("tool_call_id"), text("name"));
                    let failed = value::flag(part, "is_error");
                    let mut media = vec![media(part, [mime, "", "data"], "")];
                    media.retain(|media| !media.mime.is_empty());
                    let result = self.out.result(id, name, failed, text("content"), media);
                    parts.push(result.at(format!("{at}/content")));
                }
                "binary" => parts.push(file(media(part, [mime, "Path", "Data"], "")).at(at)),
                "image_url" => parts.push(file(media(part, ["", "", "url"], "image/*")).at(at)),
                // What the user ran.
                "shell_command" => {
                    let code = part["exit_code"].as_i64().unwrap_or_default();
                    let (command, output) = (text("command"), text("output"));
                    let text = format!("$ {command}\n{output}\n(exit code {code})");
                    parts.push(Part::synthetic(text).at(at));
                }
                kind => parts.push(self.out.unknown_at(record, &at, "content part", kind, part)),
            }
        }
        parts
    }
}

/// `crush.db`.
#[cfg(feature = "sqlite")]
pub(crate) mod store {
    use crate::prelude::*;
    use crate::sqlite::store::{Store, Table, parsed, rows};
    use rusqlite::Connection;

    pub(crate) const STORE: Store = Store {
        agent: "Crush",
        columns: &["sessions.completion_tokens", "messages.parts"],
        documents,
        read: super::read,
    };

    fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
        let messages = ("messages", "session_id");
        let mut messages = Table::new(connection, messages, &["created_at"], |id| id)?;
        let sessions = rows(connection, "sessions", &["created_at", "id"])?;
        sessions.iter().map(|session| shown(session, &mut messages)).collect()
    }

    fn shown(session: &Value, messages: &mut Table<'_>) -> Result<String, ReadError> {
        let id = value::text(session, "id").unwrap_or_default();
        let messages = messages.take(id)?.into_iter().map(|row| {
            let parts = parsed(&row, "parts");
            let parts = value::items(&parts).iter().map(|part| {
                let mut out = part["data"].as_object().cloned().unwrap_or_default();
                out.insert("type".to_owned(), part["type"].clone());
                Value::Object(out)
            });
            json!({
                "id": row["id"],
                "role": row["role"],
                "created": row["created_at"],
                "model": row["model"],
                "provider": row["provider"],
                "is_summary": row["is_summary_message"] == 1,
                "parts": parts.collect::<Value>(),
            })
        });
        let messages: Value = messages.collect();
        let meta = json!({
            "uuid": id,
            "title": session["title"],
            "prompt_tokens": session["prompt_tokens"],
            "completion_tokens": session["completion_tokens"],
        });
        Ok(json!({"meta": meta, "messages": messages}).to_string())
    }
}
