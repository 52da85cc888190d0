//! A session in the words that every package's script understands.

use foldback_core::log::{Media, Message, PartKind};
use serde::Serialize;

/// A message.
#[derive(Debug, Serialize)]
pub(crate) struct Told<'a> {
    role: &'static str,
    text: String,
    images: usize,
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
}

impl Told<'_> {
    /// All that it says.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// Tells a message: its texts in one, its images, its calls, and whose result it is.
pub(crate) fn told(message: &Message) -> Told<'_> {
    let mut told = Told {
        role: message.role.as_str(),
        text: String::new(),
        images: 0,
        calls: Vec::new(),
        result: None,
    };
    let is_image = |media: &&Media| media.mime.starts_with("image/");
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
                told.text.push_str(&of.text);
                told.images += of.media.iter().filter(is_image).count();
                told.result = Some(Of { id: &of.call_id, name: &of.tool });
            }
            PartKind::Text { text, .. } => told.text.push_str(text),
            PartKind::File(media) => told.images += usize::from(is_image(&media)),
            _ => {}
        }
    }
    told
}
