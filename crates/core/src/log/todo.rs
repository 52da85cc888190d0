//! Todo lists, as tools of many agents are given them: whole, or item by item.
//!
//! | agent | tool | form |
//! |---|---|---|
//! | Claude Code, OpenCode | `TodoWrite`, `todowrite` | `todos`: `content`, `status` |
//! | Claude Code | `TaskCreate`, `TaskUpdate` | an item each: `subject`; `taskId`, `status` |
//! | Codex | `update_plan` | `plan`: `step`, `status` |
//! | Gemini CLI, deepagents | `write_todos` | `todos`: `description` or `content`, `status` |
//! | Kimi | `SetTodoList`, `TodoList` | `todos`: `title`, `status` such as `In Progress` |
//! | OpenHands | `task_tracker` | `task_list`: `title`, `status` |
//! | Copilot | `manage_todo_list` | `todoList`: `title`, `status` such as `in-progress` |
//! | Cline, Roo Code | `update_todo_list` | `todos`: a checklist in Markdown |

use super::ToolCall;
use serde_json::Value;

/// The list that a model keeps by calls of tools.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct TodoList {
    /// Numbers, as results name them, and texts of items that are open; those in progress first.
    open: Vec<(usize, String)>,
    /// Items that were created one by one.
    created: usize,
}

impl TodoList {
    /// Takes in a call. `None` if it is of no list, else whether it gives a list whole, or begins one.
    pub fn take(&mut self, call: &ToolCall) -> Option<bool> {
        let name: String = call.tool.chars().filter(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        if name.ends_with("taskcreate") {
            let arguments = call.arguments_value();
            let subject = arguments.get("subject")?.as_str()?.to_owned();
            self.created += 1;
            self.open.push((self.created, subject));
            return Some(self.open.len() == 1);
        }
        if name.ends_with("taskupdate") {
            self.update(&call.arguments_value())?;
            return Some(false);
        }
        let lists = ["todo", "plan", "tasktracker"].iter().any(|word| name.contains(word));
        let items = (lists && !name.contains("planmode"))
            .then(|| open_items(&call.arguments_value()))
            .flatten()?;
        self.open = items.into_iter().map(|text| (0, text)).collect();
        Some(true)
    }

    fn update(&mut self, arguments: &Value) -> Option<()> {
        let number = match arguments.get("taskId")? {
            Value::String(number) => number.parse().ok()?,
            number => usize::try_from(number.as_u64()?).ok()?,
        };
        let at = self.open.iter().position(|(of, _)| *of == number);
        let text = |name| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        // What was over is open again.
        let (_, before) = at.map_or_else(|| (number, String::new()), |at| self.open.remove(at));
        let subject = text("subject").unwrap_or(before);
        let (over, active) = status(arguments);
        if !over && !subject.is_empty() {
            let at = if active { 0 } else { at.unwrap_or(self.open.len()).min(self.open.len()) };
            self.open.insert(at, (number, subject));
        }
        Some(())
    }

    /// The texts of what is open.
    pub fn open(&self) -> Vec<String> {
        self.open.iter().map(|(_, text)| text.clone()).collect()
    }
}

/// Open items of a todo list as a tool was given it, those in progress first. `None` where the
/// arguments hold no list.
#[doc(hidden)]
pub fn open_items(arguments: &Value) -> Option<Vec<String>> {
    const LISTS: [&str; 9] = [
        "todos",
        "plan",
        "items",
        "tasks",
        "todoList",
        "todo_list",
        "task_list",
        "newTodos",
        "steps",
    ];
    let fields = arguments.as_object()?;
    let list = LISTS.iter().find_map(|name| fields.get(*name))?;
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
    let (over, active) = status(item);
    (!done && !over).then(|| (active, text.to_owned()))
}

/// Whether an item is over, and whether it is in progress.
fn status(item: &Value) -> (bool, bool) {
    let status = item.get("status").and_then(Value::as_str).unwrap_or("");
    let status = status.to_ascii_lowercase().replace([' ', '-'], "_");
    let over =
        ["completed", "complete", "done", "cancelled", "canceled", "deleted"].contains(&&*status);
    (over, ["in_progress", "active"].contains(&&*status))
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
    fn the_list_of_every_agent() {
        // Calls, and what is open behind them.
        type Case<'a> = (&'a [(&'a str, Value)], &'a [&'a str]);
        let table: [Case<'_>; 9] = [
            (
                &[
                    ("TaskCreate", json!({"subject": "a", "description": "x"})),
                    ("TaskCreate", json!({"subject": "b"})),
                    ("TaskCreate", json!({"subject": "c"})),
                    ("TaskUpdate", json!({"taskId": "1", "status": "completed"})),
                    ("TaskUpdate", json!({"taskId": "3", "status": "in_progress"})),
                ],
                &["c", "b"],
            ),
            (
                &[
                    ("TaskCreate", json!({"subject": "a"})),
                    ("TaskUpdate", json!({"taskId": "1", "status": "deleted"})),
                    ("TaskCreate", json!({"subject": "b"})),
                    ("TaskUpdate", json!({"taskId": 2, "subject": "b2"})),
                    ("TaskUpdate", json!({"taskId": "x", "status": "completed"})),
                ],
                &["b2"],
            ),
            (
                &[
                    ("TodoWrite", json!({"todos": [{"content": "a", "status": "pending"}]})),
                    ("ExitPlanMode", json!({"plan": "# All of it"})),
                ],
                &["a"],
            ),
            (&[("update_plan", json!({"plan": [{"step": "a", "status": "pending"}]}))], &["a"]),
            (
                &[(
                    "SetTodoList",
                    json!({"todos": [{"title": "a", "status": "Pending"}, {"title": "b", "status": "Done"},
                        {"title": "c", "status": "In Progress"}]}),
                )],
                &["c", "a"],
            ),
            (
                &[(
                    "write_todos",
                    json!({"todos": [{"description": "a", "status": "in_progress"}]}),
                )],
                &["a"],
            ),
            (
                &[(
                    "task_tracker",
                    json!({"command": "plan", "task_list": [{"title": "a", "status": "todo"}]}),
                )],
                &["a"],
            ),
            (
                &[(
                    "manage_todo_list",
                    json!({"todoList": [{"id": 1, "title": "a", "status": "not-started"}]}),
                )],
                &["a"],
            ),
            (&[("update_todo_list", json!({"todos": "[x] a\n[ ] b"}))], &["b"]),
        ];
        for (calls, expected) in table {
            let mut list = TodoList::default();
            for (tool, arguments) in calls {
                let (tool, arguments) = ((*tool).to_owned(), arguments.to_string());
                list.take(&ToolCall { call_id: "c".to_owned(), tool, arguments });
            }
            assert_eq!(list.open(), expected, "{calls:?}");
        }
    }

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
