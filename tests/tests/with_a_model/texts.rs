//! Messages and texts of the rows.

use foldback_core::Role;
use foldback_core::log::{Answer, Finish, Media, Message, Part, PartKind};

/// What the marker of a checkpoint shows.
pub(crate) const MARKER: &str = "What did we do so far?";

/// What OpenCode 1.17 tells a model after a compaction.
pub(crate) const GO_ON: &str = "Continue if you have next steps, or stop and ask for clarification if you are unsure how to proceed.";

/// Headings of an anchored summary.
pub(crate) const HEADINGS: [&str; 7] = [
    "## Goal",
    "## Constraints & Preferences",
    "## Progress",
    "## Key Decisions",
    "## Next Steps",
    "## Critical Context",
    "## Relevant Files",
];

/// An anchored summary that says this.
pub(crate) fn anchored(text: &str) -> String {
    let [first, rest @ ..] = HEADINGS;
    format!("{first}\n{text}\n{}", rest.join("\n"))
}

pub(crate) fn x(length: usize) -> String {
    "x".repeat(length)
}

/// Long enough that a summary makes the view smaller.
pub(crate) fn long(text: &str) -> String {
    format!("{text}: {}", "and so on ".repeat(200).trim_end())
}

pub(crate) fn prompt(id: &str, text: &str) -> Message {
    Message::user(id, text)
}

/// An answer that ended its turn.
pub(crate) fn answer(id: &str, text: &str) -> Message {
    Message::assistant(id, vec![Part::text(text)])
        .with_answer(Answer { finish: Some(Finish::Stop), ..Answer::default() })
}

/// An image of so many characters of base64.
pub(crate) fn png(name: &str, length: usize) -> Media {
    Media {
        mime: "image/png".to_owned(),
        name: Some(name.to_owned()),
        url: format!("data:image/png;base64,{}", "iVBORw0K".repeat(length / 8)),
    }
}

/// A prompt with an image.
pub(crate) fn image(id: &str, text: &str, name: &str, length: usize) -> Message {
    let file = Part::new(PartKind::File(png(name, length)));
    Message::new(id, Role::User, vec![Part::text(text), file])
}

/// A call and its result.
pub(crate) fn tool(name: &str, output: &str) -> (Message, Message) {
    let (id, call_id) = (format!("{name}-answer"), format!("{name}-call"));
    let call = Message::assistant(id, vec![Part::call(&call_id, name, "{}")]);
    let result = Message::tool(format!("{name}-result"), &call_id, name, output);
    (call, result)
}

/// A call, and a result with an image.
pub(crate) fn screenshot(name: &str, length: usize) -> (Message, Message) {
    let (call, mut result) = tool("screenshot", "taken");
    for part in &mut result.parts {
        if let PartKind::Result(result) = &mut part.kind {
            result.media = vec![png(name, length)];
        }
    }
    (call, result)
}
