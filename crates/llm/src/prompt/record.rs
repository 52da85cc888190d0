//! A conversation as text: lines such as `[user]: …`, `[assistant call]: read({"path":"a.rs"})`,
//! `[tool read]: …`, `[Attached image/png: shot.png]`.
//!
//! Who speaks is said by the harness's own words for it, so that what a person asked for can be told from
//! what a tool brought along. Files appear by name, never by content, and runs of base64 in any text by
//! their size.

use crate::quote::without_base64;
use foldback_core::log::{
    EntryKind, Media, Message, Origin, Part, PartKind, ResultStatus, ToolResult,
};
use std::sync::Arc;

/// Characters that a piece of reasoning keeps: what came of it was said or done afterwards.
const REASONING_MAX: usize = 500;

/// Characters that a part keeps which no importer knows.
const UNKNOWN_MAX: usize = 500;

/// One text per message that has anything to show, in order. `tool_output_max` limits the characters of
/// tool outputs and arguments.
pub fn blocks(messages: &[Arc<Message>], tool_output_max: Option<usize>) -> Vec<String> {
    messages
        .iter()
        .map(|message| block(message, tool_output_max))
        .filter(|block| !block.is_empty())
        .collect()
}

/// Whether no message has anything to show.
pub fn is_empty(messages: &[Arc<Message>]) -> bool {
    messages
        .iter()
        .all(|message| block(message, None).is_empty())
}

fn block(message: &Message, tool_output_max: Option<usize>) -> String {
    let lines: Vec<String> = message
        .parts
        .iter()
        .filter_map(|part| line(message, part, tool_output_max))
        .collect();
    lines.join("\n")
}

fn line(message: &Message, part: &Part, tool_output_max: Option<usize>) -> Option<String> {
    let role = message.role.as_str();
    let (who, text) = match &part.kind {
        PartKind::Text { ignored: true, .. } => return None,
        PartKind::Text {
            text, synthetic, ..
        } => {
            let who = match message.origin {
                Origin::Entry(EntryKind::Summary) => "earlier summary".to_owned(),
                Origin::Log if *synthetic => format!("{role}, by the harness"),
                Origin::Log | Origin::Entry(_) => role.to_owned(),
            };
            (who, without_base64(text).into_owned())
        }
        PartKind::Reasoning { text, .. } => (
            format!("{role} reasoning"),
            cut(&without_base64(text), Some(REASONING_MAX)),
        ),
        PartKind::Call(call) => {
            let arguments = cut(&without_base64(&call.arguments), tool_output_max);
            (
                format!("{role} call"),
                format!("{}({arguments})", call.tool),
            )
        }
        PartKind::Result(result) => return Some(outcome(result, tool_output_max)),
        PartKind::File(media) => return Some(attached(media)),
        PartKind::Marker(marker) => (role.to_owned(), marker.text.clone()),
        PartKind::Unknown { name, raw } => (
            format!("{role} {name}"),
            cut(&without_base64(&raw.to_string()), Some(UNKNOWN_MAX)),
        ),
    };
    (!text.trim().is_empty()).then(|| format!("[{who}]: {text}"))
}

fn outcome(result: &ToolResult, tool_output_max: Option<usize>) -> String {
    let how = match result.status {
        ResultStatus::Completed => "",
        ResultStatus::Error => " failed",
        ResultStatus::Retry => " refused",
        ResultStatus::Pending | ResultStatus::Running => " did not finish",
    };
    let text = cut(&without_base64(&result.text), tool_output_max);
    let mut out = format!("[tool {}{how}]: {text}", result.tool);
    for media in &result.media {
        out.push('\n');
        out.push_str(&attached(media));
    }
    out
}

/// The URL is left out: it may be the file itself.
fn attached(media: &Media) -> String {
    match &media.name {
        Some(name) => format!("[Attached {}: {name}]", media.mime),
        None => format!("[Attached {}]", media.mime),
    }
}

/// The beginning of a text, and how much of it is missing.
fn cut(text: &str, most: Option<usize>) -> String {
    let end = most.and_then(|most| text.char_indices().nth(most));
    let Some((end, _)) = end else {
        return text.to_owned();
    };
    let (kept, rest) = text.split_at(end);
    let gap = if kept.is_empty() { "" } else { " " };
    format!("{kept}{gap}[{} characters left out]", rest.chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foldback_core::log::{Marker, Role};
    use serde_json::json;

    fn result(status: ResultStatus, text: &str) -> Part {
        Part::new(PartKind::Result(ToolResult {
            tool: "bash".to_owned(),
            status,
            text: text.to_owned(),
            ..ToolResult::default()
        }))
    }

    #[test]
    fn parts_as_a_table() {
        let media = Media {
            mime: "image/png".to_owned(),
            name: Some("cat.png".to_owned()),
            url: "data:image/png;base64,AAAA".to_owned(),
        };
        let with_media = Part::new(PartKind::Result(ToolResult {
            tool: "shot".to_owned(),
            text: "done".to_owned(),
            media: vec![media.clone()],
            ..ToolResult::default()
        }));
        let reasoning = |text: &str, opaque: Option<&str>| {
            Part::new(PartKind::Reasoning {
                text: text.to_owned(),
                opaque: opaque.map(str::to_owned),
            })
        };
        let ignored = Part::new(PartKind::Text {
            text: "never sent".to_owned(),
            synthetic: false,
            ignored: true,
        });
        let marker = Part::new(PartKind::Marker(Marker {
            text: "What did we do so far?".to_owned(),
            ..Marker::default()
        }));
        let unknown = Part::new(PartKind::Unknown {
            name: "step".to_owned(),
            raw: json!({"a": 1}),
        });
        let long = "r".repeat(600);
        let short = format!(
            "[assistant reasoning]: {} [100 characters left out]",
            "r".repeat(500)
        );
        use Role::{Assistant, Tool, User};
        let cases = [
            (User, Part::text("hello"), Some("[user]: hello")),
            (User, Part::text(" \n"), None),
            (
                User,
                Part::synthetic("be brief"),
                Some("[user, by the harness]: be brief"),
            ),
            (User, ignored, None),
            (User, marker, Some("[user]: What did we do so far?")),
            (
                User,
                Part::new(PartKind::File(media)),
                Some("[Attached image/png: cat.png]"),
            ),
            (Assistant, Part::text("hi"), Some("[assistant]: hi")),
            (Assistant, reasoning(&long, None), Some(&*short)),
            (Assistant, reasoning("", Some("sealed")), None),
            (
                Assistant,
                Part::call("c", "read", "{\"p\":1}"),
                Some("[assistant call]: read({\"p\":1})"),
            ),
            (Assistant, unknown, Some("[assistant step]: {\"a\":1}")),
            (
                Tool,
                result(ResultStatus::Completed, "ok"),
                Some("[tool bash]: ok"),
            ),
            (
                Tool,
                result(ResultStatus::Error, "no"),
                Some("[tool bash failed]: no"),
            ),
            (
                Tool,
                result(ResultStatus::Retry, "no"),
                Some("[tool bash refused]: no"),
            ),
            (
                Tool,
                result(ResultStatus::Running, ""),
                Some("[tool bash did not finish]: "),
            ),
            (
                Tool,
                with_media,
                Some("[tool shot]: done\n[Attached image/png: cat.png]"),
            ),
        ];
        for (role, part, expected) in cases {
            let message = Arc::new(Message::new("m", role, vec![part.clone()]));
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(blocks(&[message], None), expected, "{part:?}");
        }
    }

    #[test]
    fn outputs_and_arguments_are_cut_words_are_not() {
        let message = |part| Arc::new(Message::new("m", Role::Assistant, vec![part]));
        let messages = [
            message(Part::text("äöüäöü")),
            message(Part::call("c", "write", "äöüäöü")),
            message(result(ResultStatus::Completed, "äöüäöü")),
            message(result(ResultStatus::Completed, "äöü")),
        ];
        let cut = |most| blocks(&messages, Some(most)).join("|");
        assert_eq!(
            cut(3),
            "[assistant]: äöüäöü|[assistant call]: write(äöü [3 characters left out])|\
             [tool bash]: äöü [3 characters left out]|[tool bash]: äöü"
        );
        assert_eq!(
            cut(0),
            "[assistant]: äöüäöü|[assistant call]: write([6 characters left out])|\
             [tool bash]: [6 characters left out]|[tool bash]: [3 characters left out]"
        );
    }
}
