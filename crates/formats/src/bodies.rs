//! Request bodies and message lists: the shapes in which conversations in a provider's own form come.
//!
//! One body `{messages, …}`, a bare list of messages, a list of bodies, or one body or list a line.

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

/// The conversations of a file, and the lines that hold none (1-based) with the reason.
pub(crate) struct Bodies<'a> {
    /// At least one.
    pub(crate) bodies: Vec<Body<'a>>,
    /// Lines that were left out.
    pub(crate) damaged: Vec<(usize, String)>,
}

/// Divides a file into conversations.
///
/// # Errors
///
/// [`ReadError::Malformed`] where it is neither a document nor lines of one of the shapes.
pub(crate) fn bodies(text: &str) -> Result<Bodies<'_>, ReadError> {
    match value::document(text) {
        Ok(root) => {
            let many = root.as_array().is_some_and(|items| {
                items.first().is_some_and(|item| list_of(item) == Some("/messages"))
            });
            let bodies = if many {
                value::elements(text, "")?
                    .into_iter()
                    .filter_map(|range| body(&text[range.clone()], raw::parse(&text[range]).ok()?))
                    .collect()
            } else {
                Vec::from_iter(body(text, root))
            };
            if bodies.is_empty() {
                return Err(value::malformed(
                    "/messages",
                    "a list of messages is needed here, or at the top",
                ));
            }
            Ok(Bodies { bodies, damaged: Vec::new() })
        }
        Err(error) => {
            let mut found = Bodies { bodies: Vec::new(), damaged: Vec::new() };
            for (line, range) in raw::numbered_lines(text) {
                let detail = match raw::parse(&text[range.clone()]) {
                    Ok(root) => match body(&text[range], root) {
                        Some(body) => {
                            found.bodies.push(body);
                            continue;
                        }
                        None => "no messages in it".to_owned(),
                    },
                    Err(error) => error.to_string(),
                };
                found.damaged.push((line, format!("{detail}; left out")));
            }
            if found.bodies.is_empty() { Err(error) } else { Ok(found) }
        }
    }
}

fn body(text: &str, root: Value) -> Option<Body<'_>> {
    let list = list_of(&root)?;
    Some(Body { text, root, list })
}

fn list_of(root: &Value) -> Option<&'static str> {
    if root.is_array() { Some("") } else { root.get("messages")?.is_array().then_some("/messages") }
}

/// Reads every body with `read`; damaged lines are noted with the first session.
pub(crate) fn read_all(
    text: &str,
    read: impl Fn(&Body<'_>) -> Result<Session, ReadError>,
) -> Result<Vec<Session>, ReadError> {
    let found = bodies(text)?;
    let mut sessions = found.bodies.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    if let Some(first) = sessions.first_mut() {
        for (line, detail) in found.damaged {
            first.warn("damaged-line", format!("line {line}"), detail);
        }
    }
    Ok(sessions)
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
    let recorded: Value = serde_json::from_str(recorded).ok()?;
    let converted: Option<Vec<Value>> = recorded
        .as_array()?
        .iter()
        .map(|tool| {
            let function = tool.get("function").unwrap_or(tool);
            let name = value::text(function, "name")?;
            let schema = ["parameters", "input_schema"].iter().find_map(|key| function.get(key));
            let (outer, inner, key) = match shape {
                ToolShape::OpenAi if tool.get("function").is_some() => return Some(tool.clone()),
                ToolShape::Anthropic if tool.get("input_schema").is_some() => {
                    return Some(tool.clone());
                }
                ToolShape::OpenAi => {
                    (Some(json!({"type": "function"})), json!({"name": name}), "parameters")
                }
                ToolShape::Anthropic => (None, json!({"name": name}), "input_schema"),
            };
            let mut inner = inner;
            if let Some(description) = value::text(function, "description") {
                inner["description"] = description.into();
            }
            inner[key] = schema.cloned().unwrap_or_else(|| json!({"type": "object"}));
            Some(match outer {
                Some(mut outer) => {
                    outer["function"] = inner;
                    outer
                }
                None => inner,
            })
        })
        .collect();
    converted.map(Value::from)
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
