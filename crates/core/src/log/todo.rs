//! Todo lists, as tools of many agents are given them.

use serde_json::Value;

/// Open items of a todo list as a tool was given it, those in progress first. `None` where the
/// arguments hold no list.
#[doc(hidden)]
pub fn open_items(arguments: &Value) -> Option<Vec<String>> {
    let fields = arguments.as_object()?;
    let list = ["todos", "plan", "items", "tasks", "todoList", "todo_list", "newTodos", "steps"]
        .iter()
        .find_map(|name| fields.get(*name))?;
    match list {
        Value::Array(items) => {
            let mut open: Vec<(bool, String)> = items.iter().filter_map(item).collect();
            open.sort_by_key(|(active, _)| !active);
            Some(open.into_iter().map(|(_, text)| text).collect())
        }
        Value::String(checklist) => Some(checklist.lines().filter_map(unchecked).collect()),
        _ => None,
    }
}

/// Text of an item that is not done, and whether it is in progress.
fn item(item: &Value) -> Option<(bool, String)> {
    if let Value::String(text) = item {
        return Some((false, text.clone()));
    }
    let text = ["content", "step", "title", "text", "description", "task"]
        .iter()
        .find_map(|name| item.get(*name)?.as_str())?;
    let done = ["done", "completed"].iter().any(|name| item.get(*name) == Some(&Value::Bool(true)));
    let status = item.get("status").and_then(Value::as_str).unwrap_or("");
    let over = matches!(status, "completed" | "complete" | "done" | "cancelled" | "canceled");
    let active = matches!(status, "in_progress" | "in-progress" | "active");
    (!done && !over).then(|| (active, text.to_owned()))
}

/// The text of a line of a Markdown checklist whose box is not ticked.
fn unchecked(line: &str) -> Option<String> {
    let line = line.trim().trim_start_matches(['-', '*', ' ']);
    let open = ["[ ]", "[-]", "[~]"].iter();
    open.filter_map(|mark| line.strip_prefix(mark))
        .map(|text| text.trim().to_owned())
        .find(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_as_a_table() {
        let cases = [
            (
                json!({"todos": [
                    {"content": "a", "status": "completed"},
                    {"content": "b", "status": "pending"},
                    {"content": "c", "status": "in_progress"},
                    {"content": "d", "status": "cancelled"},
                ]}),
                Some(vec!["c", "b"]),
            ),
            (json!({"plan": [{"step": "a", "status": "pending"}]}), Some(vec!["a"])),
            (
                json!({"items": [{"text": "a", "done": true}, {"text": "b", "done": false}]}),
                Some(vec!["b"]),
            ),
            (json!({"todos": "[x] a\n- [ ] b\n[-] c"}), Some(vec!["b", "c"])),
            (json!({"todos": ["a"]}), Some(vec!["a"])),
            (json!({"todos": []}), Some(vec![])),
            (json!({"path": "a"}), None),
        ];
        for (arguments, expected) in cases {
            let found = open_items(&arguments);
            let found =
                found.as_ref().map(|items| items.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found, expected, "{arguments}");
        }
    }
}
