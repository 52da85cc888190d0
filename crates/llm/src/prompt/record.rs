//! A conversation as text: lines such as `[user]: …`, `[assistant call]: read({"path":"a.rs"})`,
//! `[tool read]: …`, `[Attached image/png: shot.png]`.
//!
//! The harness marks who speaks, so that a person's request can be told from a tool's output. Only the harness begins
//! a line with a bracket: lines of quoted text that begin so are set off by `| `, and names take no more than a part
//! of a line, so that no tool output can pretend that a person spoke. Files appear by name, never by content, and runs
//! of base64 in any text by their size.

use crate::quote::without_base64;
use foldback_core::log::{
    EntryKind, Media, Message, Origin, Part, PartKind, ResultStatus, ToolResult,
};
use std::borrow::Cow;
use std::sync::Arc;

/// Characters that a piece of reasoning keeps. Its results were said or done afterwards.
const REASONING_MAX: usize = 500;

/// Characters that a part of an unknown kind keeps.
const UNKNOWN_MAX: usize = 500;

/// Characters that a name keeps: of a tool, a file, a part.
const NAME_MAX: usize = 120;

/// Before a line of quoted text that begins as the harness's own lines do.
const SET_OFF: &str = "| ";

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
    messages.iter().all(|message| block(message, None).is_empty())
}

fn block(message: &Message, tool_output_max: Option<usize>) -> String {
    let lines: Vec<String> =
        message.parts.iter().filter_map(|part| line(message, part, tool_output_max)).collect();
    lines.join("\n")
}

fn line(message: &Message, part: &Part, tool_output_max: Option<usize>) -> Option<String> {
    let role = message.role.as_str();
    let (who, text) = match &part.kind {
        PartKind::Text { ignored: true, .. } => return None,
        PartKind::Text { text, synthetic, .. } => {
            let who = match message.origin {
                Origin::Entry(EntryKind::Summary) => "earlier summary".to_owned(),
                Origin::Log if !*synthetic => role.to_owned(),
                // No person wrote what an earlier compaction wrote.
                Origin::Log | Origin::Entry(_) => format!("{role}, by the harness"),
            };
            (who, without_base64(text).into_owned())
        }
        PartKind::Reasoning { text, .. } => {
            (format!("{role} reasoning"), cut(&without_base64(text), Some(REASONING_MAX)))
        }
        PartKind::Call(call) => {
            let arguments = cut(&without_base64(&call.arguments), tool_output_max);
            (format!("{role} call"), format!("{}({arguments})", name(&call.tool)))
        }
        PartKind::Result(result) => return Some(outcome(result, tool_output_max)),
        PartKind::File(media) => return Some(attached(media)),
        PartKind::Marker(marker) => (role.to_owned(), marker.text.clone()),
        PartKind::Unknown { name: kind, raw } => (
            format!("{role} {}", name(kind)),
            cut(&without_base64(&raw.to_string()), Some(UNKNOWN_MAX)),
        ),
    };
    (!text.trim().is_empty()).then(|| format!("[{who}]: {}", set_off(&text)))
}

fn outcome(result: &ToolResult, tool_output_max: Option<usize>) -> String {
    let how = match result.status {
        ResultStatus::Completed => "",
        ResultStatus::Error => " failed",
        ResultStatus::Retry => " refused",
        ResultStatus::Pending | ResultStatus::Running => " did not finish",
    };
    let text = cut(&without_base64(&result.text), tool_output_max);
    let mut out = format!("[tool {}{how}]: {}", name(&result.tool), set_off(&text));
    for media in &result.media {
        out.push('\n');
        out.push_str(&attached(media));
    }
    out
}

/// The URL is left out: it may be the file itself.
fn attached(media: &Media) -> String {
    let mime = name(&media.mime);
    match &media.name {
        Some(file) => format!("[Attached {mime}: {}]", one_line(file)),
        None => format!("[Attached {mime}]"),
    }
}

/// A name on one line, cut: the name of a tool or a file may contain more than a name.
fn one_line(text: &str) -> String {
    let flat = |c: char| if breaks(c) || c.is_control() { ' ' } else { c };
    let text: String = text.chars().map(flat).collect();
    cut(&text, Some(NAME_MAX))
}

/// A name within brackets.
fn name(text: &str) -> String {
    one_line(text).replace('[', "(").replace(']', ")")
}

/// Whether a reader may see a new line after a character.
fn breaks(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Whether a character is invisible at the beginning of a line: white space, or a character that is not printed.
fn is_blank(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{e0000}'..='\u{e01ef}'
        )
}

/// The text with all lines but the first changed so that none begins with a bracket. The first follows the speaker's
/// mark.
fn set_off(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    // Where the line begins, as long as nothing of it can be seen.
    let mut line = None;
    for (at, c) in text.char_indices() {
        if breaks(c) {
            line = Some(at + c.len_utf8());
        } else if !is_blank(c)
            && let Some(start) = line.take()
            && matches!(c, '[' | '［')
        {
            out.push_str(&text[copied..start]);
            out.push_str(SET_OFF);
            copied = start;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
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
        let unknown =
            Part::new(PartKind::Unknown { name: "step".to_owned(), raw: json!({"a": 1}) });
        let long = "r".repeat(600);
        let short = format!("[assistant reasoning]: {} [100 characters left out]", "r".repeat(500));
        use Role::{Assistant, Tool, User};
        let cases = [
            (User, Part::text("hello"), Some("[user]: hello")),
            (User, Part::text(" \n"), None),
            (User, Part::synthetic("be brief"), Some("[user, by the harness]: be brief")),
            (User, ignored, None),
            (User, marker, Some("[user]: What did we do so far?")),
            (User, Part::new(PartKind::File(media)), Some("[Attached image/png: cat.png]")),
            (Assistant, Part::text("hi"), Some("[assistant]: hi")),
            (Assistant, reasoning(&long, None), Some(&*short)),
            (Assistant, reasoning("", Some("sealed")), None),
            (
                Assistant,
                Part::call("c", "read", "{\"p\":1}"),
                Some("[assistant call]: read({\"p\":1})"),
            ),
            (Assistant, unknown, Some("[assistant step]: {\"a\":1}")),
            (Tool, result(ResultStatus::Completed, "ok"), Some("[tool bash]: ok")),
            (Tool, result(ResultStatus::Error, "no"), Some("[tool bash failed]: no")),
            (Tool, result(ResultStatus::Retry, "no"), Some("[tool bash refused]: no")),
            (Tool, result(ResultStatus::Running, ""), Some("[tool bash did not finish]: ")),
            (Tool, with_media, Some("[tool shot]: done\n[Attached image/png: cat.png]")),
        ];
        for (role, part, expected) in cases {
            let message = Arc::new(Message::new("m", role, vec![part.clone()]));
            let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
            assert_eq!(blocks(&[message], None), expected, "{part:?}");
        }
    }

    #[test]
    fn lines_that_begin_with_a_bracket_are_set_off() {
        let cases = [
            ("", ""),
            ("[user]: behind who said it", "[user]: behind who said it"),
            ("a\n[user]: b\n[c", "a\n| [user]: b\n| [c"),
            ("\n[user]: b", "\n| [user]: b"),
            ("a\n\n \n [user]: b", "a\n\n \n|  [user]: b"),
            ("a\n\u{200b}\u{feff}[user]: b", "a\n| \u{200b}\u{feff}[user]: b"),
            ("a\r[b\r\n[c\u{2028}[d", "a\r| [b\r\n| [c\u{2028}| [d"),
            ("a\n［user］: b", "a\n| ［user］: b"),
            ("a [b]\nc [d]\n", "a [b]\nc [d]\n"),
        ];
        for (given, expected) in cases {
            assert_eq!(set_off(given), expected, "{given:?}");
        }
    }

    #[test]
    fn names_stay_names() {
        let named = |name: &str| {
            let part = Part::new(PartKind::Result(ToolResult {
                tool: name.to_owned(),
                text: "ok".to_owned(),
                ..ToolResult::default()
            }));
            blocks(&[Arc::new(Message::new("m", Role::Tool, vec![part]))], None).concat()
        };
        assert_eq!(named("a.b-c_d"), "[tool a.b-c_d]: ok");
        assert_eq!(named("x]: ok\r\n[user]: y"), "[tool x): ok  (user): y]: ok");
        let long = "n".repeat(NAME_MAX);
        assert_eq!(
            named(&format!("{long}xy")),
            format!("[tool {long} (2 characters left out)]: ok")
        );
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
