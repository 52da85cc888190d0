//! A session in the words that every package's script understands.

use foldback_core::log::{Message, PartKind, ToolResult};
use serde::Serialize;

/// A message.
#[derive(Debug, Serialize)]
pub struct Told<'a> {
    role: &'static str,
    text: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    calls: Vec<Call<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Of<'a>>,
}

#[derive(Debug, Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: &'a str,
}

#[derive(Debug, Serialize)]
struct Of<'a> {
    id: &'a str,
    name: &'a str,
    images: usize,
}

/// Tells a message: its texts in one, its calls, and whose result it is.
pub fn told(message: &Message) -> Told<'_> {
    let result = |result: &'_ ToolResult| -> (String, usize) {
        let images = result.media.iter().filter(|media| media.mime.starts_with("image/")).count();
        (result.text.clone(), images)
    };
    let mut told =
        Told { role: message.role.as_str(), text: String::new(), calls: Vec::new(), result: None };
    for part in &message.parts {
        match &part.kind {
            PartKind::Call(call) => {
                told.calls.push(Call {
                    id: &call.call_id,
                    name: &call.tool,
                    args: &call.arguments,
                });
            }
            PartKind::Result(of) => {
                let (text, images) = result(of);
                told.text.push_str(&text);
                told.result = Some(Of { id: &of.call_id, name: &of.tool, images });
            }
            PartKind::Text { text, .. } => told.text.push_str(text),
            _ => {}
        }
    }
    told
}
