//! `goose`: a session of Goose: what `goose session export --format json` prints, the lines of versions before 1.10, or,
//! as its store gives it, a session of `sessions.db`.
//!
//! A compaction hides messages from the model, and others from the user; none is taken out. The format is only read.
//! `docs/goose.md` has the mapping.

use crate::prelude::*;

pub(crate) const FORMAT: Format =
    Format::new("goose", "Goose session (export, or session lines)", SIGNS, read);

/// Where the signature of a call is.
const SIGNATURE: &str = "/metadata/thoughtSignature";

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
    (LAYOUT.head)(&mut out, &header);
    for (record, kind) in unknown {
        out.note_unknown(kind.as_deref().unwrap_or_default(), record);
    }
    out.warn_unknown(" line(s)", Source::place);
    read_messages(&mut out, &messages);
    usage(&mut out, value::list(&header, "usage_ledger"));
    only(out.finish_run())
}

const LAYOUT: Layout = Layout {
    format: FORMAT.id,
    list: "/conversation",
    session: "/id",
    head: |out, root| {
        out.session.worked_in(None, value::text(root, "working_dir").and_then(cluster::folder));
        out.model = value::text_at(root, "/model_config/model_name").map(str::to_owned);
    },
    id: "/id",
    time: |raw| value::seconds(raw, "/created"),
    parts: |out, record, raw| BLOCKS.parts(out, record, raw, ""),
    answer: |raw| Answer { ended: value::seconds(raw, "/created"), ..Answer::default() },
    kind,
};

const BLOCKS: Blocks = Blocks {
    name: "content part",
    is_sent: is_for_model,
    types: &[
        ("text", Block::Text("/text")),
        ("image", IMAGE),
        ("thinking", Block::Thought("/thinking", &["/signature"])),
        ("reasoning", Block::Thought("/text", &[])),
        ("redactedThinking", Block::Redacted("/data")),
        ("toolRequest", Block::Code(call)),
        ("frontendToolRequest", Block::Code(call)),
        ("toolResponse", Block::Code(result)),
        ("actionRequired", Block::Silent),
        ("conversationCompacted", Block::Silent),
        ("systemNotification", Block::Silent),
        ("toolConfirmationRequest", Block::Silent),
    ],
    ..Blocks::NONE
};

const IMAGE: Block = Block::File(["mimeType", "", "data"], "image/*");

/// The content of a result. Whatever is no image has a text.
const RESULT: Blocks = Blocks {
    is_sent: is_for_model,
    types: &[("image", IMAGE), ("resource", Block::Text("/resource/text"))],
    other: |_, _, raw, at| Some(text_member(raw, "text", at)),
    ..Blocks::NONE
};

fn kind(message: &Value, parts: &[Part]) -> Kind {
    match value::text(message, "role") {
        _ if parts.is_empty() => Kind::Silent,
        Some("user") if parts.iter().any(|part| part.as_result().is_some()) => {
            Kind::Apart(Role::User)
        }
        // One that was said again behind a summary is hidden, too.
        Some("user") if is_hidden(message) && message["metadata"]["agentVisible"] != false => {
            Kind::Aside
        }
        Some("user") => Kind::Prompt,
        _ => Kind::Unknown,
    }
}

/// Whether the user is not shown a message.
fn is_hidden(message: &Value) -> bool {
    message["metadata"]["userVisible"] == false
}

/// The texts of a message.
fn said(message: &Value) -> Vec<&str> {
    value::list(message, "content").iter().filter_map(|part| value::text(part, "text")).collect()
}

fn read_messages(out: &mut SessionBuilder, messages: &[(u32, Value)]) {
    let is = |at: usize, role: &str, hidden: bool| {
        let message = messages.get(at).map(|(_, message)| message);
        message.is_some_and(|m| value::text(m, "role") == Some(role) && is_hidden(m) == hidden)
    };
    // The last words of the user.
    let mut last = None;
    let mut at = 0;
    while let Some((record, message)) = messages.get(at) {
        // A compaction writes a summary, a request to go on, and the last prompt once more.
        let taken = if is(at, "user", true) && is(at + 1, "assistant", true) {
            let next = messages.get(at + 2).map(|(_, message)| said(message).join("\n"));
            let again = is(at + 2, "user", false) && next == last;
            compaction(out, &messages[at..at + 2], !again);
            if again { 3 } else { 2 }
        } else {
            match value::text(message, "role") {
                Some("assistant") => answer(out, *record, message),
                _ => LAYOUT.message(out, *record, message),
            }
            1
        };
        let taken = &messages[at..at + taken];
        let mut users = taken.iter().rev().filter(|(_, m)| value::text(m, "role") == Some("user"));
        let texts = users.find_map(|(_, m)| Some(said(m)).filter(|texts| !texts.is_empty()));
        last = texts.map(|texts| texts.join("\n")).or(last);
        at += taken.len();
    }
}

fn compaction(out: &mut SessionBuilder, written: &[(u32, Value)], by_hand: bool) {
    let kept = out.holds_log();
    let boundary = out.boundary("summary", if by_hand { "manual" } else { "auto" });
    boundary.original_kept = kept;
    let kinds = [(Role::User, EntryKind::Summary), (Role::Assistant, EntryKind::Continue)];
    for ((record, message), (role, kind)) in written.iter().zip(kinds) {
        let parts = synthetic((LAYOUT.parts)(out, *record, message));
        let message = out.add(&LAYOUT.record(*record, message), role, parts);
        message.mid_turn = true;
        message.origin = Origin::Entry(kind);
    }
}

fn answer(out: &mut SessionBuilder, number: u32, raw: &Value) {
    let parts = (LAYOUT.parts)(out, number, raw);
    if parts.is_empty() {
        return;
    }
    let record = LAYOUT.record(number, raw);
    let thought = |part: &Part| matches!(part.kind, PartKind::Reasoning { .. });
    // Each of its calls is a message, with the time and the thoughts of the answer and the result behind it.
    let same = |answer: &Message| {
        let known = |part: &Part| answer.parts.iter().any(|known| known.kind == part.kind);
        let thoughts: Vec<bool> = parts.iter().filter(|part| thought(part)).map(known).collect();
        let thinks = answer.parts.iter().any(thought);
        answer.at == record.at && thinks != thoughts.is_empty() && !thoughts.contains(&false)
    };
    if let Some(at) = record.id.as_deref().and_then(|id| out.piece_of(id, number, same)) {
        out.running = parts.iter().any(|part| part.as_call().is_some());
        let known = &out.messages[at].parts;
        let is_new =
            |part: &Part| !thought(part) || known.iter().all(|known| known.kind != part.kind);
        let parts: Vec<Part> = parts.into_iter().filter(is_new).collect();
        return out.extend(at, number, parts);
    }
    out.answer(&record, parts, (LAYOUT.answer)(raw));
    if let Some(id) = record.id {
        out.begins_response(&id);
    }
}

fn call(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let call = &raw["toolCall"]["value"];
    let name = value::text(call, "name").unwrap_or_default();
    // A call that the provider could not read is an error here, and the result says it.
    let (arguments, place) = match call.get("arguments") {
        Some(arguments) => (value::shown(arguments), "/toolCall/value/arguments"),
        None => ("{}".to_owned(), "/toolCall"),
    };
    // Gemini's signature stands in front of its call.
    let signature = value::text_at(raw, SIGNATURE)
        .map(|signature| reasoning("", Some(signature.to_owned())).at(format!("{at}{SIGNATURE}")));
    let id = value::text(raw, "id").unwrap_or_default();
    let call = out.call(id, name, arguments).at(format!("{at}{place}"));
    signature.into_iter().chain([call]).collect()
}

fn result(out: &mut SessionBuilder, raw: &Value, at: &str) -> Vec<Part> {
    let (id, result) = (value::text(raw, "id").unwrap_or_default(), &raw["toolResult"]);
    if let Some(error) = value::text(result, "error") {
        let part = out.result(id, "", true, error, Vec::new());
        return vec![part.at(format!("{at}/toolResult/error"))];
    }
    // Before 1.17 the value was the content.
    let (content, place) = match &result["value"] {
        list @ Value::Array(_) => (list, format!("{at}/toolResult/value")),
        value => (&value["content"], format!("{at}/toolResult/value/content")),
    };
    let parts = RESULT.list(out, 0, content, &place);
    let (text, media, place) = flattened(parts, place);
    let failed = value::flag(&result["value"], "isError");
    vec![out.result(id, "", failed, text, media).at(place)]
}

/// The calls of a store, where they are as many as the answers; it does not say which is whose.
fn usage(out: &mut SessionBuilder, calls: &[Value]) {
    let (compactions, calls): (Vec<&Value>, Vec<&Value>) =
        calls.iter().partition(|call| value::count(call, "/is_compaction") > 0);
    let used = |call: &&Value| {
        let model = value::string(call, "model");
        Answer { usage: COUNTS.any(call), model, ..Answer::default() }
    };
    out.session.unlogged.extend(compactions.iter().map(used));
    let answers = out.messages.iter().filter(|message| message.answer.is_some()).count();
    if answers == calls.len() {
        let answers = out.messages.iter_mut().filter_map(|message| message.answer.as_mut());
        for (answer, call) in answers.zip(&calls) {
            answer.usage = COUNTS.any(call);
            answer.model = value::string(call, "model").or(answer.model.take());
        }
    } else if !calls.is_empty() {
        out.session.unlogged.extend(calls.iter().map(used));
        let detail = format!(
            "{} call(s) were counted and {} answer(s) recorded: which is whose is not known; the counts are left out",
            calls.len(),
            answers
        );
        out.warn("stray-usage", "usage_ledger", detail);
    }
}

/// Whether a part is not said to be for the user alone.
fn is_for_model(part: &Value) -> bool {
    let audience = value::list_at(part, "/annotations/audience");
    audience.is_empty() || audience.iter().any(|role| role == "assistant")
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
