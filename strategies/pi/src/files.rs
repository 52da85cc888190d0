//! The files that the calls of the summarized messages read and changed, which pi lists below every summary.
//!
//! The lists of the earlier summary are taken over, so that they grow from fold to fold. pi stores them beside the summary. The
//! text of the summary has them as well, and here they are read from that text.

use foldback_core::log::{Message, ToolCall};
use std::collections::BTreeSet;

/// Paths by what was done to them, in the order of JavaScript's `sort`: by UTF-16 units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    read: BTreeSet<Vec<u16>>,
    changed: BTreeSet<Vec<u16>>,
}

impl Files {
    /// Takes over what the text of an earlier summary lists.
    pub fn listed_in(&mut self, summary: &str) {
        for path in listed(summary, "read-files") {
            self.read.insert(path.encode_utf16().collect());
        }
        for path in listed(summary, "modified-files") {
            self.changed.insert(path.encode_utf16().collect());
        }
    }

    /// Notes what the calls of a message do: `read`, `write` and `edit`, by their argument `path`.
    pub fn called_in(&mut self, message: &Message) {
        for call in message.parts.iter().filter_map(|part| part.as_call()) {
            let list = match call.tool.as_str() {
                "read" => &mut self.read,
                "write" | "edit" => &mut self.changed,
                _ => continue,
            };
            list.extend(path(call).map(|path| path.encode_utf16().collect::<Vec<u16>>()));
        }
    }

    /// The lists below a summary; empty if there are none. Changed files are not listed as read.
    pub fn below(&self) -> String {
        let read = self.read.difference(&self.changed);
        let mut text = String::new();
        let lists = [
            ("read-files", read.collect::<Vec<_>>()),
            ("modified-files", self.changed.iter().collect()),
        ];
        for (tag, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
            let paths: Vec<String> =
                paths.iter().map(|path| String::from_utf16_lossy(path)).collect();
            text += &format!("\n\n<{tag}>\n{}\n</{tag}>", paths.join("\n"));
        }
        text
    }
}

fn path(call: &ToolCall) -> Option<String> {
    let arguments = call.arguments_value();
    let path = arguments.get("path")?.as_str()?;
    (!path.is_empty()).then(|| path.to_owned())
}

/// The lines of the last list of this name in a text.
fn listed<'t>(text: &'t str, tag: &str) -> impl Iterator<Item = &'t str> {
    let (open, close) = (format!("\n\n<{tag}>\n"), format!("\n</{tag}>"));
    let list = text.rfind(&open).map(|at| &text[at + open.len()..]);
    let list = list.and_then(|rest| rest.find(&close).map(|end| &rest[..end]));
    list.into_iter().flat_map(str::lines)
}
