//! Request bodies and message lists: the shapes in which conversations in a provider's own form come.
//!
//! One body `{messages, …}`, a bare list of messages, a list of bodies, or one body or list a line.

use crate::builder::Damage;
use crate::prelude::*;

pub(crate) use foldback_providers::wire::shared::made::{
    FileContent, ToolShape, data_url, held, mime_of, object, results, runs, text_of, tools,
};

/// One conversation of a file.
pub(crate) struct Body<'a> {
    /// The conversation's own text; the file's if it is the only conversation.
    text: &'a str,
    /// The parsed text.
    pub(crate) root: Value,
    /// JSON pointer to the list of messages.
    pub(crate) list: &'static str,
}

impl Body<'_> {
    /// A session without messages, with model and source.
    pub(crate) fn session(&self, format: FormatId) -> Result<Session, ReadError> {
        let source = value::source(self.text, self.list)?;
        let id = value::first_string(&self.root, &["session_id", "id"]);
        let id = id.unwrap_or_else(|| value::content_id(self.text));
        let mut session = Session::new(id, format, source);
        session.model = value::string(&self.root, "model");
        // Training sets keep the task beside the messages.
        session.cluster = ["instance_id", "task_id"]
            .iter()
            .find_map(|key| cluster::task(None, value::text(&self.root, key)?));
        Ok(session)
    }
}

/// The conversations of a file, at least one, and the lines without a conversation, with the reason.
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
/// [`ReadError::Malformed`] if the text is neither a document nor lines of one of the shapes.
pub(crate) fn read_all(
    text: &str,
    read: impl Fn(&Body<'_>) -> Result<Session, ReadError>,
) -> Result<Vec<Session>, ReadError> {
    let (bodies, damaged) = bodies(text)?;
    with_damage(bodies.iter().map(read).collect::<Result<_, _>>()?, damaged)
}

/// The tool definitions of a frame in a provider's shape; noted as lost if their shape is not known.
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
