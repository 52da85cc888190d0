//! Request bodies and message lists: the shapes in which conversations in a provider's own form come.
//!
//! One body `{messages, …}`, a bare list of messages, a list of bodies, or one body or list a line.

use crate::builder::Damage;
use crate::prelude::*;

/// One conversation of a file.
pub(crate) struct Body<'a> {
    /// Its own text; the file's where it is the only one.
    text: &'a str,
    /// The parsed text.
    pub(crate) root: Value,
    /// JSON pointer to the list of messages.
    pub(crate) list: &'static str,
}

impl Body<'_> {
    /// The messages.
    pub(crate) fn messages(&self) -> &[Value] {
        value::list_at(&self.root, self.list)
    }

    /// A session without messages, with model, tool definitions and source.
    pub(crate) fn session(&self, format: FormatId) -> Result<Session, ReadError> {
        let source = Source::document(self.text, self.list)?;
        let id = value::first_string(&self.root, &["session_id", "id"]);
        let id = id.unwrap_or_else(|| value::content_id(self.text));
        let mut out = SessionBuilder::new(id, format, source);
        out.session.model = value::string(&self.root, "model");
        // Training sets keep the task beside the messages.
        out.session.cluster = ["instance_id", "task_id"]
            .iter()
            .find_map(|key| cluster::task(None, value::text(&self.root, key)?));
        out.tools(self.root.get("tools").or_else(|| self.root.get("functions")));
        Ok(out.session)
    }
}

/// The conversations of a file, at least one, and the lines that hold none with the reason.
fn bodies(text: &str) -> Result<(Vec<Body<'_>>, Vec<Damage>), ReadError> {
    let whole = match value::document(text) {
        Ok(root) => {
            let first = root.as_array().and_then(|items| items.first());
            let bodies: Vec<Body<'_>> = match first.and_then(list_of) {
                Some("/messages") => value::elements(text, "")?
                    .into_iter()
                    .filter_map(|range| body(&text[range.clone()], raw::parse(&text[range]).ok()?))
                    .collect(),
                _ => body(text, root).into_iter().collect(),
            };
            let wanted = "a list of messages is needed here, or at the top";
            return match bodies.is_empty() {
                true => Err(value::malformed("/messages", wanted)),
                false => Ok((bodies, Vec::new())),
            };
        }
        Err(error) => error,
    };
    let (mut bodies, mut damaged) = (Vec::new(), Vec::new());
    for (line, range) in raw::numbered_lines(text) {
        let line_text = &text[range];
        let found = raw::parse(line_text).map_err(|error| error.to_string());
        match found.and_then(|root| body(line_text, root).ok_or("no messages in it".to_owned())) {
            Ok(body) => bodies.push(body),
            Err(detail) => damaged.push((format!("line {line}"), detail)),
        }
    }
    if bodies.is_empty() { Err(whole) } else { Ok((bodies, damaged)) }
}

fn body(text: &str, root: Value) -> Option<Body<'_>> {
    let list = list_of(&root)?;
    Some(Body { text, root, list })
}

fn list_of(root: &Value) -> Option<&'static str> {
    if root.is_array() { Some("") } else { root.get("messages")?.is_array().then_some("/messages") }
}

/// Reads every conversation of a file with `read`; damaged lines are noted with the first session.
///
/// # Errors
///
/// [`ReadError::Malformed`] where it is neither a document nor lines of one of the shapes.
pub(crate) fn read_all(
    text: &str,
    read: impl Fn(&Body<'_>) -> Result<Session, ReadError>,
) -> Result<Vec<Session>, ReadError> {
    let (bodies, damaged) = bodies(text)?;
    with_damage(bodies.iter().map(read).collect::<Result<_, _>>()?, damaged)
}

/// Whose shape tool definitions are to be in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ToolShape {
    /// `{type: "function", function: {name, description, parameters}}`.
    OpenAi,
    /// `{name, description, input_schema}`.
    Anthropic,
}

/// Tool definitions in a provider's shape; `None` where the recorded ones are in no known shape.
pub(crate) fn tools(recorded: &str, shape: ToolShape) -> Option<Value> {
    let converted = |tool: &Value| {
        let inner = tool.get("function").unwrap_or(tool);
        let name = value::text(inner, "name")?;
        let (own, key) = match shape {
            ToolShape::OpenAi => ("function", "parameters"),
            ToolShape::Anthropic => ("input_schema", "input_schema"),
        };
        if tool.get(own).is_some() {
            return Some(tool.clone());
        }
        let mut made = json!({"name": name});
        if let Some(description) = value::text(inner, "description") {
            made["description"] = description.into();
        }
        let schema = ["parameters", "input_schema"].iter().find_map(|key| inner.get(key));
        made[key] = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
        Some(match shape {
            ToolShape::OpenAi => json!({"type": "function", "function": made}),
            ToolShape::Anthropic => made,
        })
    };
    let recorded: Value = serde_json::from_str(recorded).ok()?;
    recorded.as_array()?.iter().map(converted).collect::<Option<Vec<_>>>().map(Value::from)
}

/// The messages one by one, and results that follow each other together: providers want those that answer one
/// message in one. The first of each run stands beside it.
pub(crate) fn runs(messages: &[Message]) -> impl Iterator<Item = (&Message, &[Message])> {
    let together =
        |before: &Message, after: &Message| before.role == Role::Tool && after.role == Role::Tool;
    messages.chunk_by(together).filter_map(|run| Some((run.first()?, run)))
}

/// The results in these messages.
pub(crate) fn results(messages: &[Message]) -> impl Iterator<Item = &ToolResult> {
    messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_result)
}

/// The content of a result: its text, or where it came with files a list that begins with a block of this type.
pub(crate) fn with_files(result: &ToolResult, text: &str, file: fn(&Media) -> Value) -> Value {
    if result.media.is_empty() {
        return result.text.as_str().into();
    }
    let text = json!({ "type": text, "text": result.text });
    std::iter::once(text).chain(result.media.iter().map(file)).collect()
}

/// The arguments of a call as an object; what is none goes under `input`.
pub(crate) fn input_of(call: &ToolCall) -> Value {
    match call.arguments_value() {
        input @ Value::Object(_) => input,
        other => json!({ "input": other }),
    }
}

/// Arguments as an object; free text goes under `input`.
pub(crate) fn object(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => json!({ "input": arguments }),
    }
}

/// A file as a URL that holds its data where it has no other.
pub(crate) fn data_url(media: &Media) -> String {
    match media.url.contains(':') {
        true => media.url.clone(),
        false => format!("data:{};base64,{}", media.mime, media.url),
    }
}

/// The data of a file without the `data:` in front.
pub(crate) fn bare_data(media: &Media) -> &str {
    let data = media.url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    data.map_or(&media.url, |(_, data)| data)
}

/// The tool definitions of a frame in a provider's shape; noted as lost where they are in none.
pub(crate) fn frame_tools(
    frame: &Frame,
    shape: ToolShape,
    losses: &mut Vec<String>,
) -> Option<Value> {
    let found = tools(frame.text_of(SegmentKind::Tools)?, shape);
    if found.is_none() {
        losses.push("the tool definitions: they are in no known shape".to_owned());
    }
    found
}

/// Values, one a line.
pub(crate) fn lines(values: impl IntoIterator<Item = Value>, separator: &str) -> String {
    let lines: Vec<String> = values.into_iter().map(|value| value.to_string()).collect();
    lines.join(separator)
}

/// A part that the format has no place for, as text: unknown parts as they were recorded.
pub(crate) fn text_of(part: &Part) -> String {
    match &part.kind {
        PartKind::Unknown { raw, .. } => value::shown(raw),
        PartKind::File(media) => {
            let name = media.name.as_deref().unwrap_or_default();
            format!("[{}: {name}]", media.mime)
        }
        _ => part.shown().into_owned(),
    }
}
