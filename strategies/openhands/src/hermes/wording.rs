//! What stands in place of an old result: one line that says what the call was.

use crate::preview::cut;
use foldback_core::plain::grouped;
use foldback_stages::python::{self, repr};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// One line in place of a result.
pub fn line(tool: &str, arguments: &str, result: &str) -> String {
    let arguments = match python::arguments(arguments) {
        Value::Object(fields) => Arguments(fields),
        _ => Arguments(Map::new()),
    };
    let size = grouped(result.chars().count() as u64);
    let lines = match result.trim().is_empty() {
        true => 0,
        false => lines(result),
    };
    let get = |name: &str| arguments.or(name, "?");
    match tool {
        "terminal" => {
            let command = cut(&arguments.or("command", ""), 80, 77);
            let exit = number_behind(result, "\"exit_code\"", true).unwrap_or("?");
            format!("[terminal] ran `{command}` -> exit {exit}, {lines} lines output")
        }
        "read_file" => {
            let (path, from) = (get("path"), arguments.or("offset", "1"));
            format!("[read_file] read {path} from line {from} ({size} chars)")
        }
        "write_file" => {
            let content = arguments.given("content").map(text);
            let written = content.map_or("?".to_owned(), |text| self::lines(&text).to_string());
            format!("[write_file] wrote to {} ({written} lines)", get("path"))
        }
        "search_files" => {
            let (target, pattern) = (arguments.or("target", "content"), get("pattern"));
            let (path, count) =
                (arguments.or("path", "."), number_behind(result, "\"total_count\"", false));
            let count = count.unwrap_or("?");
            format!("[search_files] {target} search for '{pattern}' in {path} -> {count} matches")
        }
        "patch" => {
            let (mode, path) = (arguments.or("mode", "replace"), get("path"));
            format!("[patch] {mode} in {path} ({size} chars result)")
        }
        "browser_navigate" | "browser_click" | "browser_snapshot" | "browser_type"
        | "browser_scroll" | "browser_vision" => {
            let url = arguments.given("url").map(|url| format!(" {}", text(url)));
            let place = || arguments.given("ref").map(|at| format!(" ref={}", text(at)));
            format!("[{tool}]{} ({size} chars)", url.or_else(place).unwrap_or_default())
        }
        "web_search" => format!("[web_search] query='{}' ({size} chars result)", get("query")),
        "web_extract" => format!("[web_extract] {} ({size} chars)", arguments.addresses()),
        "delegate_task" => {
            let goal = cut(&arguments.or("goal", ""), 60, 57);
            format!("[delegate_task] '{goal}' ({size} chars result)")
        }
        "execute_code" => {
            let code = cut(&arguments.or("code", ""), 60, 60).replace('\n', " ");
            format!("[execute_code] `{code}` ({lines} lines output)")
        }
        "skill_view" | "skills_list" | "skill_manage" => {
            format!("[{tool}] name={} ({size} chars)", get("name"))
        }
        "vision_analyze" => {
            let question: String = arguments.or("question", "").chars().take(50).collect();
            format!("[vision_analyze] '{question}' ({size} chars)")
        }
        "memory" => format!("[memory] {} on {}", get("action"), get("target")),
        "todo" => "[todo] updated task list".to_owned(),
        "clarify" => "[clarify] asked user a question".to_owned(),
        "text_to_speech" => format!("[text_to_speech] generated audio ({size} chars)"),
        "cronjob" => format!("[cronjob] {}", get("action")),
        "process" => format!("[process] {} session={}", get("action"), get("session_id")),
        _ => {
            let two = arguments.0.iter().take(2).map(|(name, value)| {
                let value: String = text(value).chars().take(40).collect();
                format!(" {name}={value}")
            });
            format!("[{tool}]{} ({size} chars result)", two.collect::<String>())
        }
    }
}

/// The arguments of a call.
struct Arguments(Map<String, Value>);

impl Arguments {
    /// An argument as text, or `missing` if the call does not have it.
    fn or<'a>(&'a self, name: &str, missing: &'a str) -> Cow<'a, str> {
        self.0.get(name).map_or(Cow::Borrowed(missing), text)
    }

    /// An argument that says something.
    fn given(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| match value {
            Value::Null => false,
            Value::Bool(given) => *given,
            Value::Number(number) => number.as_f64() != Some(0.0),
            Value::String(text) => !text.is_empty(),
            Value::Array(items) => !items.is_empty(),
            Value::Object(fields) => !fields.is_empty(),
        })
    }

    /// The first address that was asked for, and how many more were.
    fn addresses(&self) -> String {
        let all = self.0.get("urls").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let first = match all.first() {
            Some(Value::Object(fields)) => {
                let of = |name| fields.get(name).and_then(Value::as_str);
                let said = |text: &&str| !text.is_empty();
                of("url").filter(said).or(of("href").filter(said))
            }
            first => first.and_then(Value::as_str),
        };
        let more = match all.len() {
            0 | 1 => String::new(),
            count => format!(" (+{} more)", count - 1),
        };
        format!("{}{more}", first.unwrap_or("?"))
    }
}

/// A value as Python's `str` writes it.
fn text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        value => Cow::Owned(repr(value)),
    }
}

fn lines(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// The first number that stands behind a name and a colon.
fn number_behind<'a>(text: &'a str, name: &str, signed: bool) -> Option<&'a str> {
    text.match_indices(name).find_map(|(at, _)| {
        let rest = text[at + name.len()..].trim_start().strip_prefix(':')?.trim_start();
        let sign = usize::from(signed && rest.starts_with('-'));
        let digits = rest[sign..].find(|c: char| !c.is_ascii_digit());
        let digits = digits.unwrap_or(rest.len() - sign);
        (digits > 0).then(|| &rest[..sign + digits])
    })
}
