//! `goose`: a session of Goose: what `goose session export --format json` prints, the lines of versions before 1.10, or,
//! as [`store`] makes of it, a session of `sessions.db`.
//!
//! A compaction hides messages from the model, and others from the user; none is taken out. The format is only read.
//! `docs/goose.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("goose", "Goose session (export, or session lines)", SIGNS, read);

/// Where the signature of a call is.
const SIGNATURE: &str = "/metadata/thoughtSignature";

/// Parts of a message that the model is not sent.
const SILENT: &[&str] =
    &["actionRequired", "conversationCompacted", "systemNotification", "toolConfirmationRequest"];

const SIGNS: &[Sign] = &[
    Sign::new(100, &[Has("/working_dir"), Has("/conversation")]),
    Sign::new(100, &[Has("/working_dir"), Has("/message_count")]).lines(5),
    Sign::new(95, &[Has("/created"), Has("/metadata/agentVisible")]).lines(5),
];

/// Whether a line is the header of a file of lines.
fn is_header(opening: &Peek) -> bool {
    opening.has("/working_dir") && opening.has("/message_count")
}

fn read(text: &str) -> Result<Vec<Session>, ReadError> {
    let (mut header, mut messages) = (Value::Null, Vec::new());
    let (mut unknown, mut warnings) = (Vec::new(), Vec::new());
    let source = match value::document(text) {
        Ok(mut root) if root.get("conversation").is_some() => {
            let list = std::mem::take(&mut root["conversation"]);
            messages.extend((0u32..).zip(value::items(&list).iter().cloned()));
            header = root;
            value::source(text, "/conversation")?
        }
        // A document over several lines that does not end.
        Err(error)
            if text.lines().find(|line| !line.trim().is_empty()).map(str::trim) == Some("{") =>
        {
            return Err(error);
        }
        _ => {
            let source = Source::lines(text);
            for (record, line) in jsonl::values_once(&source, |line| is_header(&peek(line))) {
                match line {
                    Ok(line) if line.get("role").is_some() => messages.push((record, line)),
                    Ok(line) if line.get("working_dir").is_some() => header = line,
                    Ok(line) => unknown.push((record, value::string(&line, "type"))),
                    Err(warning) => warnings.push(warning),
                }
            }
            source
        }
    };
    let id = value::string(&header, "id").unwrap_or_else(|| value::content_id(text));
    let mut out = SessionBuilder::new(id, FORMAT.id, source);
    out.session.warnings = warnings;
    out.session.worked_in(None, value::text(&header, "working_dir").and_then(cluster::folder));
    for (record, kind) in unknown {
        out.note_unknown(kind.as_deref().unwrap_or_default(), record);
    }
    out.warn_unknown(" line(s)", Source::place);
    let model = value::text_at(&header, "/model_config/model_name").map(str::to_owned);
    let mut reader = Reader { out, model, running: false };
    reader.messages(&messages);
    reader.usage(value::list(&header, "usage_ledger"));
    only(reader.out.finish_run())
}

/// Whether the user is not shown a message.
fn is_hidden(message: &Value) -> bool {
    message["metadata"]["userVisible"] == false
}

/// The texts of a message.
fn said(message: &Value) -> Vec<&str> {
    value::list(message, "content").iter().filter_map(|part| value::text(part, "text")).collect()
}

struct Reader {
    out: SessionBuilder,
    model: Option<String>,
    /// Whether the turn was begun.
    running: bool,
}

impl Reader {
    fn messages(&mut self, messages: &[(u32, Value)]) {
        let is = |at: usize, role: &str, hidden: bool| {
            let message = messages.get(at).map(|(_, message)| message);
            message.is_some_and(|m| value::text(m, "role") == Some(role) && is_hidden(m) == hidden)
        };
        // What the user said last.
        let mut last = None;
        let mut at = 0;
        while let Some((record, message)) = messages.get(at) {
            // What a compaction writes: a summary and the word to go on, and the user's last word once more.
            let taken = if is(at, "user", true) && is(at + 1, "assistant", true) {
                let next = messages.get(at + 2).map(|(_, message)| said(message).join("\n"));
                let again = is(at + 2, "user", false) && next == last;
                self.compaction(&messages[at..at + 2], !again);
                if again { 3 } else { 2 }
            } else {
                self.message(*record, message);
                1
            };
            let taken = &messages[at..at + taken];
            let mut users =
                taken.iter().rev().filter(|(_, m)| value::text(m, "role") == Some("user"));
            let texts = users.find_map(|(_, m)| Some(said(m)).filter(|texts| !texts.is_empty()));
            last = texts.map(|texts| texts.join("\n")).or(last);
            at += taken.len();
        }
    }

    fn compaction(&mut self, written: &[(u32, Value)], by_hand: bool) {
        let kept = self.out.holds_log();
        let boundary = self.out.boundary("summary", if by_hand { "manual" } else { "auto" });
        boundary.original_kept = kept;
        let kinds = [(Role::User, EntryKind::Summary), (Role::Assistant, EntryKind::Continue)];
        for ((record, message), (role, kind)) in written.iter().zip(kinds) {
            let parts = synthetic(self.parts(*record, message));
            let message = self.push(*record, message, role, parts);
            message.mid_turn = true;
            message.origin = Origin::Entry(kind);
        }
    }

    fn push(&mut self, record: u32, raw: &Value, role: Role, parts: Vec<Part>) -> &mut Message {
        let message = self.out.push_named(record, value::filled(raw, "id"), role, parts);
        message.at = value::seconds(raw, "/created");
        message
    }

    fn message(&mut self, record: u32, raw: &Value) {
        let parts = self.parts(record, raw);
        if parts.is_empty() {
            return;
        }
        match value::text(raw, "role") {
            Some("assistant") => self.answer(record, raw, parts),
            Some("user") if parts.iter().any(|part| part.as_result().is_some()) => {
                for part in parts {
                    let role = if part.as_result().is_some() { Role::Tool } else { Role::User };
                    self.push(record, raw, role, vec![part]).mid_turn = role == Role::User;
                }
            }
            // One that was said again behind a summary is hidden, too.
            Some("user") if is_hidden(raw) && raw["metadata"]["agentVisible"] != false => {
                self.push(record, raw, Role::User, synthetic(parts)).mid_turn = true;
            }
            Some("user") => {
                let mid_turn = std::mem::replace(&mut self.running, true);
                self.push(record, raw, Role::User, parts).mid_turn = mid_turn;
            }
            other => self.out.unknown_role_of(record, other),
        }
    }

    fn answer(&mut self, record: u32, raw: &Value, parts: Vec<Part>) {
        let id = value::filled(raw, "id");
        self.running = parts.iter().any(|part| part.as_call().is_some());
        let thought = |part: &Part| matches!(part.kind, PartKind::Reasoning { .. });
        // Each of its calls is a message, with the time and the thoughts of the answer and the result behind it.
        let made = value::seconds(raw, "/created");
        let same = |answer: &Message| {
            let known = |part: &Part| answer.parts.iter().any(|known| known.kind == part.kind);
            let thoughts: Vec<bool> =
                parts.iter().filter(|part| thought(part)).map(known).collect();
            let thinks = answer.parts.iter().any(thought);
            answer.at == made && thinks != thoughts.is_empty() && !thoughts.contains(&false)
        };
        if let Some(at) = id.and_then(|id| self.out.piece_of(id, record, same)) {
            let known = &self.out.messages[at].parts;
            let is_new =
                |part: &Part| !thought(part) || known.iter().all(|known| known.kind != part.kind);
            let parts: Vec<Part> = parts.into_iter().filter(is_new).collect();
            return self.out.extend(at, record, parts);
        }
        let model = self.model.clone();
        let message = self.push(record, raw, Role::Assistant, parts);
        message.answer = Some(Answer { model, ended: message.at, ..Answer::default() });
        if let Some(id) = id {
            self.out.begins_response(id);
        }
    }

    fn parts(&mut self, record: u32, raw: &Value) -> Vec<Part> {
        let mut parts = Vec::new();
        for (index, part) in value::list(raw, "content").iter().enumerate() {
            let at = format!("/content/{index}");
            let text = |key| value::text(part, key).unwrap_or_default();
            match text("type") {
                // Some is for the user alone.
                _ if !is_for_model(part) => {}
                "text" => parts.push(text_member(part, "text", &at)),
                "image" => parts.push(image(part).at(at)),
                "thinking" => {
                    let signature = value::filled(part, "signature").map(str::to_owned);
                    parts.push(signed_member(part, "thinking", signature, &at));
                }
                "reasoning" => parts.push(signed_member(part, "text", None, &at)),
                "redactedThinking" => parts.push(redacted(value::string(part, "data")).at(at)),
                "toolRequest" | "frontendToolRequest" => {
                    let call = &part["toolCall"]["value"];
                    let name = value::text(call, "name").unwrap_or_default();
                    // A call that the provider could not read is an error here, and the result says it.
                    let (text_of, place) = match call.get("arguments") {
                        Some(arguments) => (value::shown(arguments), "/toolCall/value/arguments"),
                        None => ("{}".to_owned(), "/toolCall"),
                    };
                    // Gemini's, in front of what it stands with.
                    if let Some(signature) = value::text_at(part, SIGNATURE) {
                        let signature = reasoning("", Some(signature.to_owned()));
                        parts.push(signature.at(format!("{at}{SIGNATURE}")));
                    }
                    parts.push(self.out.call(text("id"), name, text_of).at(format!("{at}{place}")));
                }
                "toolResponse" => parts.push(self.result(part, &at)),
                kind if SILENT.contains(&kind) => {}
                kind => parts.push(self.out.unknown_at(record, &at, "content part", kind, part)),
            }
        }
        parts
    }

    fn result(&mut self, raw: &Value, at: &str) -> Part {
        let (id, result) = (value::text(raw, "id").unwrap_or_default(), &raw["toolResult"]);
        if let Some(error) = value::text(result, "error") {
            let part = self.out.result(id, "", true, error, Vec::new());
            return part.at(format!("{at}/toolResult/error"));
        }
        // Before 1.17 the value was the content.
        let (content, place) = match &result["value"] {
            list @ Value::Array(_) => (list, format!("{at}/toolResult/value")),
            value => (&value["content"], format!("{at}/toolResult/value/content")),
        };
        let items = value::items(content).iter().enumerate().filter(|(_, item)| is_for_model(item));
        let parts = items.map(|(index, item)| {
            let at = format!("{place}/{index}");
            match value::text(item, "type") {
                Some("image") => image(item).at(at),
                Some("resource") => {
                    text_member(&item["resource"], "text", &format!("{at}/resource"))
                }
                _ => text_member(item, "text", &at),
            }
        });
        let (text, media, place) = flattened(parts.collect(), place.clone());
        let failed = value::flag(&result["value"], "isError");
        self.out.result(id, "", failed, text, media).at(place)
    }

    /// The calls of a store, where they are as many as the answers; it does not say which is whose.
    fn usage(&mut self, calls: &[Value]) {
        let (compactions, calls): (Vec<&Value>, Vec<&Value>) =
            calls.iter().partition(|call| value::count(call, "/is_compaction") > 0);
        let used = |call: &&Value| {
            let model = value::string(call, "model");
            Answer { usage: COUNTS.any(call), model, ..Answer::default() }
        };
        self.out.session.unlogged.extend(compactions.iter().map(used));
        let answers = self.out.messages.iter().filter(|message| message.answer.is_some()).count();
        if answers == calls.len() {
            let answers =
                self.out.messages.iter_mut().filter_map(|message| message.answer.as_mut());
            for (answer, call) in answers.zip(&calls) {
                answer.usage = COUNTS.any(call);
                answer.model = value::string(call, "model").or(answer.model.take());
            }
        } else if !calls.is_empty() {
            self.out.session.unlogged.extend(calls.iter().map(used));
            let detail = format!(
                "{} call(s) were counted and {} answer(s) recorded: which is whose is not known; the counts are left out",
                calls.len(),
                answers
            );
            self.out.warn("stray-usage", "usage_ledger", detail);
        }
    }
}

/// Whether a part is not said to be for the user alone.
fn is_for_model(part: &Value) -> bool {
    let audience = value::list_at(part, "/annotations/audience");
    audience.is_empty() || audience.iter().any(|role| role == "assistant")
}

fn image(raw: &Value) -> Part {
    file(media(raw, ["mimeType", "", "data"], "image/*"))
}

/// As the provider counted: whether the input holds what the cache did goes by provider, and most say so.
const COUNTS: Counts = Counts {
    input: &["/input_tokens"],
    cache_read: &["/cache_read_tokens"],
    cache_write: &["/cache_write_tokens"],
    output: &["/output_tokens"],
    total: "/total_tokens",
    ..Counts::NONE
};

/// `sessions.db`.
#[cfg(feature = "sqlite")]
pub(crate) mod store {
    use crate::prelude::*;
    use crate::sqlite::store::{Store, Table, parsed, rows};
    use rusqlite::Connection;

    pub(crate) const STORE: Store = Store {
        agent: "Goose",
        columns: &["sessions.working_dir", "messages.content_json"],
        documents,
        read: super::read,
    };

    fn documents(connection: &Connection) -> Result<Vec<String>, ReadError> {
        let of = |table| Table::new(connection, (table, "session_id"), &["id"], |id| id);
        // Newer versions have a ledger.
        let (mut messages, mut ledger) = (of("messages")?, of("usage_ledger")?);
        let sessions = rows(connection, "sessions", &["created_at", "id"])?;
        sessions.iter().map(|session| export(session, &mut messages, &mut ledger)).collect()
    }

    fn export(
        session: &Value,
        messages: &mut Table<'_>,
        ledger: &mut Table<'_>,
    ) -> Result<String, ReadError> {
        let id = value::text(session, "id").unwrap_or_default();
        let messages = messages.take(id)?.into_iter().map(|row| {
            json!({
                "id": row["message_id"],
                "role": row["role"],
                "created": row["created_timestamp"],
                "content": parsed(&row, "content_json"),
                "metadata": parsed(&row, "metadata_json"),
            })
        });
        let mut out = session.clone();
        out["model_config"] = parsed(session, "model_config_json");
        out["conversation"] = messages.collect();
        out["usage_ledger"] = ledger.take(id)?.into();
        Ok(out.to_string())
    }
}
