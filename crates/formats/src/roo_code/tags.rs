//! Calls that a model wrote as XML tags, and results that the harness gave back as text.

use crate::prelude::*;
use foldback_core::work;
use std::ops::Range;

/// Tools of Roo Code and Cline. Only these tags are calls: answers are full of other markup.
const TOOLS: &[&str] = &[
    "access_mcp_resource",
    "apply_diff",
    "apply_patch",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "edit_file",
    "execute_command",
    "fetch_instructions",
    "generate_image",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_rule",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "report_bug",
    "run_slash_command",
    "search_and_replace",
    "search_files",
    "search_replace",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "web_fetch",
    "write_to_file",
];

/// Parameters whose values may hold any text, their own closing tag included.
const FREE: &[&str] = &["content", "diff", "result", "write_to_file", "attempt_completion"];

/// What the harness puts after a call whose answer it cut off.
const INTERRUPTED: &str = "\n\n[Response interrupted";

/// A call in a text.
#[derive(Debug, PartialEq)]
pub(super) struct Tag<'a> {
    /// From the opening tag to the end of the closing one, or of what there is of it.
    pub range: Range<usize>,
    pub tool: &'a str,
    /// A JSON object of the parameters.
    pub arguments: String,
}

/// The calls in a text, in order. A call begins on a line of its own.
pub(super) fn tags(text: &str) -> Vec<Tag<'_>> {
    let mut found = Vec::new();
    let mut from = 0;
    let mut open = HashSet::new();
    while let Some((range, tool, inner)) = next(text, from, &mut open) {
        from = range.end;
        found.push(Tag { range, tool, arguments: parameters(inner).to_string() });
    }
    found
}

/// A text without its calls.
pub(super) fn around(text: &str, tags: &[Tag<'_>]) -> String {
    let mut out = String::new();
    let mut from = 0;
    for tag in tags {
        out.push_str(text.get(from..tag.range.start).unwrap_or_default());
        from = tag.range.end;
    }
    out.push_str(text.get(from..).unwrap_or_default());
    out.trim().to_owned()
}

/// The next call after `from`: where it is, its tool, and what stands between its tags. `open` are the tools
/// that no closing tag comes for.
fn next<'a>(
    text: &'a str,
    from: usize,
    open: &mut HashSet<&'a str>,
) -> Option<(Range<usize>, &'a str, &'a str)> {
    let mut at = from;
    // Whether nothing but blanks stands on the line before `at`.
    let line = text[..from].rfind('\n').map_or(0, |end| end + 1);
    let mut blank = text[line..from].trim().is_empty();
    loop {
        let before = at;
        let start = at + text.get(at..)?.find('<')?;
        at = start + 1;
        work::count((at - before) as u64);
        let (line, same) = match text[before..start].rfind('\n') {
            Some(end) => (before + end + 1, true),
            None => (before, blank),
        };
        let begins = same && text[line..start].trim().is_empty();
        // After this sign the line is not blank any more.
        blank = false;
        let name = opening(&text[start..]).filter(|name| begins && TOOLS.contains(name));
        let Some(tool) = name else {
            continue;
        };
        let inside = start + tool.len() + 2;
        let (inner, end) = closed(&text[inside..], tool, open);
        return Some((start..inside + end, tool, inner));
    }
}

/// The name in an opening tag that a text begins with.
fn opening(text: &str) -> Option<&str> {
    let inside = text.strip_prefix('<')?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    let length = inside.bytes().take_while(|byte| word(*byte)).count();
    work::count(length as u64);
    (length > 0 && inside[length..].starts_with('>')).then(|| &inside[..length])
}

/// The text up to the closing tag, and where that ends. A tag that is never closed reaches to the end
/// of what the model wrote; its name is added to `open`, so that the rest is not searched again.
fn closed<'a>(text: &'a str, name: &'a str, open: &mut HashSet<&'a str>) -> (&'a str, usize) {
    let close = format!("</{name}>");
    let at = match FREE.contains(&name) {
        _ if open.contains(name) => None,
        true => text.rfind(&close),
        false => text.find(&close),
    };
    if at.is_none() && open.insert(name) {
        work::count(text.len() as u64);
    }
    match at {
        Some(at) => (&text[..at], at + close.len()),
        None => {
            let end = text.find(INTERRUPTED).unwrap_or(text.len());
            (&text[..end], end)
        }
    }
}

/// The parameters of a call, each with the text between its tags.
fn parameters(inner: &str) -> Value {
    let mut out = Map::new();
    let mut rest = inner.trim();
    let mut open = HashSet::new();
    while let Some(name) = opening(rest) {
        let (value, end) = closed(&rest[name.len() + 2..], name, &mut open);
        out.insert(name.to_owned(), value.trim().into());
        rest = rest[name.len() + 2 + end..].trim_start();
    }
    if out.is_empty() && !rest.is_empty() {
        out.insert("input".to_owned(), rest.into());
    }
    Value::Object(out)
}

/// A call as the model would write it, from a JSON object of its parameters or from free text.
pub(super) fn render(tool: &str, arguments: &str) -> String {
    let inner = match serde_json::from_str(arguments) {
        Ok(Value::Object(parameters)) => parameters
            .iter()
            .map(|(name, value)| {
                let value = crate::value::shown(value);
                format!("<{name}>{value}</{name}>\n")
            })
            .collect(),
        _ => format!("{arguments}\n"),
    };
    format!("<{tool}>\n{inner}</{tool}>")
}

/// The tool that a text block announces the result of, and what follows in the same block:
/// `[read_file for 'a.c'] Result:`.
pub(super) fn header(text: &str) -> Option<(&str, &str)> {
    let (before, after) = text.strip_prefix('[')?.split_once("] Result:")?;
    let tool = before.split(' ').next()?;
    let word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (!tool.is_empty() && tool.bytes().all(word)).then(|| (tool, after.trim_start_matches('\n')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_in_texts() {
        type Row = (&'static str, &'static str, &'static [(&'static str, &'static str)]);
        let table: &[Row] = &[
            (
                "Look.\n\n<read_file>\n<path>a.c</path>\n</read_file>",
                "Look.",
                &[("read_file", r#"{"path":"a.c"}"#)],
            ),
            (
                "<read_file>\n<args>\n<file>\n<path>a</path>\n</file>\n</args>\n</read_file>",
                "",
                &[("read_file", r#"{"args":"<file>\n<path>a</path>\n</file>"}"#)],
            ),
            (
                "<write_to_file>\n<path>x</path>\n<content>\n</content> in it\n</content>\n</write_to_file>",
                "",
                &[("write_to_file", r#"{"path":"x","content":"</content> in it"}"#)],
            ),
            (
                "Go.\n<execute_command>\n<command>ls\n\n[Response interrupted by a tool use result.]",
                "Go.\n\n\n[Response interrupted by a tool use result.]",
                &[("execute_command", r#"{"command":"ls"}"#)],
            ),
            (
                "<list_files>\n</list_files>\nand\n<search_files>x</search_files>",
                "and",
                &[("list_files", "{}"), ("search_files", r#"{"input":"x"}"#)],
            ),
            ("Use `<read_file>` for that.", "Use `<read_file>` for that.", &[]),
            ("<div>\n</div> a < b", "<div>\n</div> a < b", &[]),
            ("<read_file", "<read_file", &[]),
        ];
        for (text, rest, expected) in table {
            let found = tags(text);
            let calls: Vec<(&str, &str)> =
                found.iter().map(|tag| (tag.tool, tag.arguments.as_str())).collect();
            assert_eq!(calls, *expected, "{text}");
            assert_eq!(around(text, &found), *rest, "{text}");
        }
    }

    #[test]
    fn a_rendered_call_is_read_again() {
        for arguments in [r#"{"path":"a.c","line":"1"}"#, "{}", r#"{"input":"free"}"#] {
            let text = render("read_file", arguments);
            assert_eq!(tags(&text)[0].arguments, arguments, "{text}");
        }
        assert_eq!(
            tags(&render("read_file", "[cleared]"))[0].arguments,
            r#"{"input":"[cleared]"}"#
        );
    }

    #[test]
    fn announcements() {
        let table = [
            ("[read_file for 'a.c'] Result:", Some(("read_file", ""))),
            ("[execute_command for 'ls [x]'] Result:\nok", Some(("execute_command", "ok"))),
            ("[attempt_completion] Result:\n\nThanks", Some(("attempt_completion", "Thanks"))),
            ("[ERROR] You did not use a tool", None),
            ("[1] Result", None),
            ("Result:", None),
        ];
        for (text, expected) in table {
            assert_eq!(header(text), expected, "{text}");
        }
    }
}
