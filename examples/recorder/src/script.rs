//! The scripts: what the agent says and which tools it calls, as plain text.
//!
//! A script opens with `key: value` lines; `project` is a folder of `projects/`, `folder` where it seems to be in the
//! recording. Then come turns and steps:
//!
//! ```text
//! @user pause 41m          a user message; the pause before it is optional
//! What the user writes.
//! @compact                 before the next answer the recorder's own compaction puts this summary
//! The summary.             in place of everything but what the user wrote
//! @step                    one answer of the agent, that is one call of the model
//! ~ A thought.
//! What the agent says.
//! $ read PATH [FROM-TO]    tools; several in one step are parallel calls
//! $ search TEXT[|TEXT…] [in PATH]
//! $ list [PATH]
//! $ test [ARGS]            python3 -m unittest ARGS
//! $ run ARGS [| tail -n N | head -n N | grep TEXT]
//! $ edit PATH              the lines below: ` ` context, `-` old, `+` new, `_` an empty line of context
//! $ write PATH             the lines below, each after a `|`
//! $! run ARGS              the same, but the session ends before there is a result
//! ```

use std::collections::BTreeMap;

/// A whole script.
#[derive(Debug)]
pub struct Script {
    /// The `key: value` lines.
    pub header: BTreeMap<String, String>,
    /// The turns, in order.
    pub turns: Vec<Turn>,
}

impl Script {
    /// A value of the opening lines; empty where there is none.
    pub fn header(&self, key: &str) -> String {
        self.header.get(key).cloned().unwrap_or_default()
    }
}

/// A user message and the agent's answers to it.
#[derive(Debug)]
pub struct Turn {
    /// Seconds between the last answer and this message; drawn by the recorder when not given.
    pub pause: Option<u64>,
    /// What the user writes.
    pub text: String,
    /// The answers.
    pub steps: Vec<Step>,
    /// A summary that is being read and will belong to the next answer.
    compacting: Option<String>,
}

/// One answer.
#[derive(Debug, Default)]
pub struct Step {
    /// Summary of a compaction that was made just before; empty when there was none.
    pub compacted: String,
    /// Reasoning that came before the text.
    pub thought: String,
    /// What the agent says.
    pub text: String,
    /// The tools it calls, all at once.
    pub calls: Vec<Call>,
}

/// One tool call.
#[derive(Clone, Debug)]
pub struct Call {
    /// What is called.
    pub tool: Tool,
    /// The session ends before there is a result.
    pub interrupted: bool,
}

/// The tools of the agent.
#[derive(Clone, Debug)]
pub enum Tool {
    /// Shows a file, or the lines `from..=to` of it.
    Read {
        /// Path inside the project.
        path: String,
        /// First and last line, counted from 1.
        lines: Option<(usize, usize)>,
    },
    /// Finds lines that hold one of several texts.
    Search {
        /// Alternatives, separated by `|`.
        pattern: String,
        /// A file or a folder; the whole project when empty.
        path: String,
    },
    /// Names the files below a folder.
    List {
        /// The folder; the whole project when empty.
        path: String,
    },
    /// Runs `python3` with these arguments.
    Run {
        /// Everything after `python3`.
        args: String,
        /// Filters behind the pipe, e.g. `tail -n 20`.
        filters: Vec<String>,
    },
    /// Replaces one text of a file by another.
    Edit {
        /// Path inside the project.
        path: String,
        /// The lines as written in the script.
        hunk: Vec<(Side, String)>,
    },
    /// Writes a whole file.
    Write {
        /// Path inside the project.
        path: String,
        /// The text of the file.
        text: String,
    },
}

/// To which side of an edit a line belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The line stays.
    Both,
    /// The line is taken out.
    Old,
    /// The line is put in.
    New,
}

impl Tool {
    /// The text to look for and the text to put in its place.
    pub fn replacement(hunk: &[(Side, String)]) -> (String, String) {
        let side = |drop: Side| {
            let kept = hunk.iter().filter(|(side, _)| *side != drop);
            let lines: Vec<&str> = kept.map(|(_, line)| line.as_str()).collect();
            lines.join("\n")
        };
        (side(Side::New), side(Side::Old))
    }
}

/// Reads a script. Errors name the line.
pub fn parse(text: &str) -> Result<Script, String> {
    let mut script = Script { header: BTreeMap::new(), turns: Vec::new() };
    let mut lines = text.lines().enumerate().peekable();
    while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with('@')) {
        if let Some((key, value)) = line.split_once(": ")
            && !line.starts_with('#')
        {
            script.header.insert(key.to_owned(), value.trim().to_owned());
        }
    }
    for (index, line) in lines {
        take(&mut script, line).map_err(|error| format!("line {}: {error}", index + 1))?;
    }
    for turn in &mut script.turns {
        turn.text = turn.text.trim().to_owned();
        for step in &mut turn.steps {
            step.text = step.text.trim().to_owned();
            step.thought = step.thought.trim().to_owned();
        }
    }
    Ok(script)
}

fn take(script: &mut Script, line: &str) -> Result<(), String> {
    if let Some(rest) = line.strip_prefix("@user") {
        script.turns.push(Turn {
            pause: rest.trim().strip_prefix("pause ").map(seconds).transpose()?,
            text: String::new(),
            steps: Vec::new(),
            compacting: None,
        });
        return Ok(());
    }
    let turn = script.turns.last_mut().ok_or("nothing stands before the first @user")?;
    if line.trim() == "@step" {
        turn.steps.push(Step {
            compacted: turn.compacting.take().unwrap_or_default().trim().to_owned(),
            ..Step::default()
        });
        return Ok(());
    }
    if line.trim() == "@compact" {
        turn.compacting = Some(String::new());
        return Ok(());
    }
    if let Some(summary) = &mut turn.compacting {
        summary.push_str(line);
        summary.push('\n');
        return Ok(());
    }
    let Some(step) = turn.steps.last_mut() else {
        turn.text.push_str(line);
        turn.text.push('\n');
        return Ok(());
    };
    if let Some(call) = line.strip_prefix("$! ") {
        step.calls.push(Call { tool: tool(call)?, interrupted: true });
    } else if let Some(call) = line.strip_prefix("$ ") {
        step.calls.push(Call { tool: tool(call)?, interrupted: false });
    } else if let Some(call) = step.calls.last_mut() {
        body(&mut call.tool, line)?;
    } else if let Some(thought) = line.strip_prefix("~ ") {
        step.thought.push_str(thought);
        step.thought.push('\n');
    } else {
        step.text.push_str(line);
        step.text.push('\n');
    }
    Ok(())
}

/// A line below a tool call: a part of its edit or of its file.
fn body(tool: &mut Tool, line: &str) -> Result<(), String> {
    match tool {
        Tool::Edit { hunk, .. } => {
            let (side, text) = match line.chars().next() {
                None => return Ok(()),
                Some(' ') => (Side::Both, &line[1..]),
                Some('-') => (Side::Old, &line[1..]),
                Some('+') => (Side::New, &line[1..]),
                Some('_') => (Side::Both, ""),
                Some(other) => {
                    return Err(format!("an edit has no lines that begin with {other:?}"));
                }
            };
            hunk.push((side, text.to_owned()));
            Ok(())
        }
        Tool::Write { text, .. } => match line.strip_prefix('|') {
            Some(rest) => {
                text.push_str(rest);
                text.push('\n');
                Ok(())
            }
            None if line.is_empty() => Ok(()),
            None => Err("lines of a file begin with |".to_owned()),
        },
        _ if line.is_empty() => Ok(()),
        _ => Err(format!("text after a tool call: {line:?}")),
    }
}

fn tool(text: &str) -> Result<Tool, String> {
    let (name, rest) = text.split_once(' ').unwrap_or((text, ""));
    let rest = rest.trim();
    Ok(match name {
        "read" => match rest.split_once(' ') {
            None => Tool::Read { path: rest.to_owned(), lines: None },
            Some((path, range)) => {
                let bounds = range
                    .split_once('-')
                    .and_then(|(from, to)| Some((from.parse().ok()?, to.parse().ok()?)));
                Tool::Read {
                    path: path.to_owned(),
                    lines: Some(bounds.ok_or(format!("not a range of lines: {range}"))?),
                }
            }
        },
        "search" => {
            let (pattern, path) = rest.rsplit_once(" in ").unwrap_or((rest, ""));
            Tool::Search { pattern: pattern.to_owned(), path: path.to_owned() }
        }
        "list" => Tool::List { path: rest.to_owned() },
        "test" => run(format!("-m unittest {rest}").trim()),
        "run" => run(rest),
        "edit" => Tool::Edit { path: rest.to_owned(), hunk: Vec::new() },
        "write" => Tool::Write { path: rest.to_owned(), text: String::new() },
        other => return Err(format!("no tool is called {other}")),
    })
}

fn run(text: &str) -> Tool {
    let mut parts = text.split(" | ").map(|part| part.trim().to_owned());
    Tool::Run { args: parts.next().unwrap_or_default(), filters: parts.collect() }
}

fn seconds(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.len().saturating_sub(1));
    let number: u64 = number.parse().map_err(|_| format!("not a pause: {text}"))?;
    match unit {
        "s" => Ok(number),
        "m" => Ok(number * 60),
        "h" => Ok(number * 3600),
        _ => Err(format!("a pause ends in s, m or h: {text}")),
    }
}
