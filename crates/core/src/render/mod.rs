//! A view as numbered lines, for review and for snapshots.
//!
//! One line per part, titled sections, long texts cut in the middle with their length, so that a
//! reviewer can read a whole context in a minute and a change shows up as a changed line.

mod lists;
mod names;
mod plans;
mod redact;
mod review;

pub use lists::lists;
pub use plans::{plans, reports};
pub use review::review;

use crate::conversation::Conversation;
use crate::log::{Origin, PartKind};
use crate::meter::MeterId;
use crate::plain;
use crate::view::{EditKind, Pos, ShownMessage};
use names::Names;
use std::fmt::Write as _;

/// Longest text shown in full; longer ones are cut in the middle.
const SHOWN: usize = 120;

/// The view of a conversation, with a title.
pub fn view(title: &str, conversation: &Conversation) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}", plain::line(title));
    size(&mut out, conversation);
    let frame = conversation.frame();
    if !frame.segments().is_empty() {
        out.push_str("\n## Frame\n");
        for segment in frame.segments() {
            let size = segment.tokens.map_or_else(
                || format!("{} characters", segment.text.chars().count()),
                |tokens| format!("{tokens} tokens by usage"),
            );
            let _ = writeln!(out, "{}: {size}", segment.kind.as_str());
        }
    }
    if !conversation.pins().is_empty() {
        out.push_str("\n## Pinned\n");
        for pin in conversation.pins().iter() {
            let _ = writeln!(out, "{}", plain::line(&pin.text));
        }
    }
    sections(&mut out, conversation, &Names::default());
    out
}

/// How much is shown.
fn size(out: &mut String, conversation: &Conversation) {
    let meter = conversation.meter(MeterId::OWN);
    let _ = writeln!(
        out,
        "{} messages in the view, {} in the history; {} tokens ({})",
        conversation.view().places().len(),
        conversation.history().len(),
        meter.view_tokens(),
        meter.estimator().id(),
    );
}

/// What is shown, message by message, and which messages are not.
fn sections(out: &mut String, conversation: &Conversation, names: &Names) {
    out.push_str("\n## View\n");
    for (index, shown) in conversation.sent().iter().enumerate() {
        message(out, index + 1, shown, names, |part| {
            match shown.edit(part).map(|edit| edit.kind) {
                None => "",
                Some(EditKind::Clear) => " (cleared)",
                Some(EditKind::Truncate) => " (cut)",
            }
        });
    }
    let stored = conversation.stored();
    let hidden = stored.iter().filter(|stored| !stored.visible);
    let hidden: Vec<Pos> = hidden.filter_map(|stored| stored.shown.pos).collect();
    if !hidden.is_empty() {
        let (ranges, count) = (ranges(&hidden, Pos::to_string), hidden.len());
        let _ = writeln!(out, "\n## Hidden\nmessages {ranges} of the history ({count} messages)");
    }
}

/// A message, with a mark for each part that is not as it was.
fn message(
    out: &mut String,
    number: usize,
    shown: &ShownMessage<'_>,
    names: &Names,
    mark: impl Fn(usize) -> &'static str,
) {
    let message = shown.message;
    let origin = match message.origin {
        Origin::Log => String::new(),
        Origin::Entry(kind) => format!(" [{}]", kind.as_str()),
    };
    let id = plain::line(names.shown(&message.id));
    let _ = writeln!(out, "{number:03} {}{origin} {id}", message.role.as_str());
    for (index, part) in message.parts.iter().enumerate() {
        let mark = mark(index);
        let head = match &part.kind {
            PartKind::Call(call) => format!("call {} {}", call.tool, names.shown(&call.call_id)),
            PartKind::Result(result) => {
                format!("result {} {}", result.tool, names.shown(&result.call_id))
            }
            PartKind::Text { ignored: true, .. } => "text, never sent".to_owned(),
            PartKind::Text { synthetic: true, .. } => "synthetic text".to_owned(),
            PartKind::File(media) => format!("file {}", media.mime),
            _ => part.kind_name().to_owned(),
        };
        let text = names.text(shown.text_of(index));
        let _ = writeln!(out, "    {}{mark}: {}", plain::line(&head), brief(&text));
    }
}

/// A text on one line: line breaks as `⏎`, the middle of a long one left out.
pub fn brief(text: &str) -> String {
    let flat: Vec<char> = text
        .chars()
        .map(|c| match c {
            '\n' => '⏎',
            c if c.is_control() => '·',
            c => c,
        })
        .collect();
    if flat.len() <= SHOWN {
        return flat.into_iter().collect();
    }
    let head: String = flat[..SHOWN * 2 / 3].iter().collect();
    let tail: String = flat[flat.len() - SHOWN / 3..].iter().collect();
    format!("{head} … {tail} ({} characters)", flat.len())
}

/// Positions of messages as ranges: `0-12, 15, 17-20`.
fn ranges(hidden: &[Pos], name: impl Fn(&Pos) -> String) -> String {
    let mut runs: Vec<(Pos, Pos)> = Vec::new();
    for pos in hidden.iter().copied() {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == pos => *end = pos,
            _ => runs.push((pos, pos)),
        }
    }
    let runs: Vec<String> = runs
        .iter()
        .map(|(from, to)| match from == to {
            true => name(from),
            false => format!("{}-{}", name(from), name(to)),
        })
        .collect();
    runs.join(", ")
}
