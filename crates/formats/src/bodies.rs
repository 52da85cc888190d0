//! Request bodies and message lists: the shapes in which conversations in a provider's own form come.
//!
//! One body `{messages, …}`, a bare list of messages, a list of bodies, or one body or list a line.

use crate::session::{Shape, Source};
use crate::{ReadError, Session, cluster, raw, value};
use foldback_core::log::PartKind;
use foldback_core::{Part, SegmentKind};
use serde_json::{Value, json};

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
        self.root.pointer(self.list).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// A session without messages, with model, tool definitions and source.
    pub(crate) fn session(&self, format: &'static str) -> Result<Session, ReadError> {
        let source = Source {
            text: self.text.into(),
            shape: Shape::Document,
            records: raw::elements(self.text, self.list)
                .map_err(|error| value::malformed(self.list, error.to_string()))?,
        };
        let id = ["session_id", "id"]
            .iter()
            .find_map(|key| value::string(&self.root, key))
            .unwrap_or_else(|| value::content_id(self.text));
        let mut session = Session::new(id, format, source);
        session.model = value::string(&self.root, "model");
        // Training sets keep the task beside the messages.
        session.cluster = ["instance_id", "task_id"]
            .iter()
            .find_map(|key| cluster::task(None, value::text(&self.root, key)?));
        let tools = self.root.get("tools").or_else(|| self.root.get("functions"));
        if let Some(tools) = tools.filter(|tools| tools.as_array().is_some_and(|t| !t.is_empty())) {
            session.frame.push_text(SegmentKind::Tools, tools.to_string());
        }
        Ok(session)
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
                raw::elements(text, "")
                    .map_err(|error| value::malformed("", error.to_string()))?
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
