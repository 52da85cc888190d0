//! What a tool call reads: the files and lines that it names, and the command that it is.
//!
//! | call | what it reads |
//! |---|---|
//! | a reading tool (`Read`, `view`, `read_file`, …) | its files, with `offset` and `limit`, `start_line` and `end_line` or `view_range` |
//! | `cat`, `nl`, `less`, `bat`, `tail`, `wc` in a shell | each argument that looks like a file, whole |
//! | `head -n N F`, `sed -n 'A,Bp' F` | the lines that it prints; a `head` or `sed` without a file cuts what the command before it printed |
//! | `grep`, `rg` with a file for an argument | the file, whole: which lines it printed is not looked at |
//! | `git show REV:F` | the file, whole |
//! | an edit, a write, a patch | nothing; its result *shows* the files |
//! | any call | itself: the same tool with the same arguments gives the same again |
//!
//! A path in a shell is taken relative to `cd` in the same command line, else to the `workdir` or
//! `cwd` of the call. A search in a folder (`grep -r`, `rg`, `Grep`, `Glob`, `ls`, `find`) is only read
//! again by the same search: a listing that happens to hold the same lines is not recognized. Nor is a file that
//! a script, a variable or a glob names.

use crate::identifiers::{components, suffixes};
use crate::index::LogPart;
use foldback_core::log::ToolCall;
use foldback_stages::extractive::files::{self, Tool, Touch};
use foldback_stages::extractive::shell::{looks_like_path, simple_commands};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;

/// What kind of result it is: how likely it is to be got again differs between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The content of files, or what an edit says about them.
    File,
    /// A search or a listing.
    Search,
    /// Any other command.
    Command,
    /// Any other tool.
    Other,
}

impl Kind {
    /// All kinds, in the order of reports.
    pub const ALL: [Self; 4] = [Self::File, Self::Search, Self::Command, Self::Other];

    /// The word that reports use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Search => "search",
            Self::Command => "command",
            Self::Other => "other",
        }
    }
}

/// Lines of a file, from 1, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    from: u64,
    to: u64,
}

impl Lines {
    const ALL: Self = Self { from: 1, to: u64::MAX };

    /// Whether one of them has at least half of the other: consecutive windows of a file that share a line
    /// are no re-read.
    fn overlaps(self, other: Self) -> bool {
        let (from, to) = (self.from.max(other.from), self.to.min(other.to));
        let length = |lines: Self| lines.to.saturating_sub(lines.from).saturating_add(1);
        let shorter = length(self).min(length(other));
        from <= to && (to - from).saturating_add(1) >= shorter.div_ceil(2)
    }
}

/// A file that a call reads, or whose content its result shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FileLines {
    path: String,
    lines: Lines,
    /// It is read; an edit only shows something of it.
    read: bool,
}

/// What a call gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Access {
    pub(super) kind: Kind,
    /// Tool and arguments in one spelling.
    run: String,
    files: Vec<FileLines>,
}

impl Access {
    pub(super) fn of(call: &ToolCall) -> Self {
        let arguments = call.arguments_value();
        let mut files = Vec::new();
        let tool = files::tool(&call.tool);
        let command = match tool {
            Tool::Shell => files::command(&arguments),
            // A tool without names for its arguments: text actions are commands.
            Tool::Other if arguments.is_string() => files::command(&arguments),
            _ => None,
        };
        let touched = files::touches(call, &arguments);
        let is_patch = command.as_ref().is_some_and(|command| command.contains("*** Begin Patch"));
        if let (Some(command), false) = (&command, is_patch) {
            let folder = ["workdir", "cwd"].iter().find_map(|name| arguments.get(name)?.as_str());
            shell(command, folder, &mut files);
        } else {
            let lines = lines_of(&arguments);
            files.extend(touched.into_iter().map(|(path, touch)| FileLines {
                path: plain(&path),
                lines: if touch == Touch::Read { lines } else { Lines::ALL },
                read: touch == Touch::Read,
            }));
        }
        let kind = match (&command, files.is_empty()) {
            (_, false) => Kind::File,
            (Some(command), true) if searches(command) => Kind::Search,
            (Some(_), true) => Kind::Command,
            (None, true) if is_search(&call.tool) => Kind::Search,
            (None, true) => Kind::Other,
        };
        let run = match &command {
            Some(command) => words(command),
            None => format!("{} {arguments}", call.tool.to_ascii_lowercase()),
        };
        Self { kind, run, files }
    }

    /// Whether this call, made later, gets again what `earlier` got: the same call, or one that reads a
    /// file whose lines the other had shown.
    pub(super) fn gets_again(&self, earlier: &Self) -> bool {
        if self.run == earlier.run && self.files.iter().all(|file| file.read) {
            return true;
        }
        let reads = self.files.iter().filter(|file| file.read);
        reads.into_iter().any(|now| {
            earlier
                .files
                .iter()
                .any(|then| same_file(&now.path, &then.path) && now.lines.overlaps(then.lines))
        })
    }

    /// Whether everything that `earlier` got is got by this call too, so that the earlier result is out
    /// of date.
    pub(super) fn supersedes(&self, earlier: &Self) -> bool {
        if self.run == earlier.run {
            return true;
        }
        !earlier.files.is_empty()
            && earlier.files.iter().all(|then| {
                self.files.iter().any(|now| {
                    same_file(&now.path, &then.path)
                        && now.lines.from <= then.lines.from
                        && now.lines.to >= then.lines.to
                        && now.read
                })
            })
    }

    /// What reports call it: its files, else the beginning of the call.
    pub(super) fn label(&self) -> String {
        const LONGEST: usize = 80;
        let mut label = match self.files.as_slice() {
            [] => self.run.clone(),
            [file] => file.path.clone(),
            [file, rest @ ..] => format!("{} and {} more", file.path, rest.len()),
        };
        if label.chars().count() > LONGEST {
            label = label.chars().take(LONGEST - 1).collect();
            label.push('…');
        }
        label
    }
}

/// Accesses by what they are and name, so that what has to do with another one is found without looking at all.
#[derive(Debug, Default)]
pub(super) struct Alike<'a> {
    by_run: HashMap<&'a str, Vec<LogPart>>,
    /// By a file that they read.
    reads: HashMap<&'a str, Vec<LogPart>>,
    /// By a file that they read or show.
    shows: HashMap<&'a str, Vec<LogPart>>,
}

impl<'a> Alike<'a> {
    pub(super) fn add(&mut self, access: &'a Access, what: LogPart) {
        self.by_run.entry(&access.run).or_default().push(what);
        for file in &access.files {
            self.shows.entry(tail(&file.path)).or_default().push(what);
            if file.read {
                self.reads.entry(tail(&file.path)).or_default().push(what);
            }
        }
    }

    /// All that may supersede an earlier access, some more than once.
    pub(super) fn superseding(&self, earlier: &Access) -> impl Iterator<Item = LogPart> {
        let first = earlier.files.first().and_then(|file| self.reads.get(tail(&file.path)));
        counted(self.by_run.get(&*earlier.run).into_iter().chain(first))
    }

    /// All that a later access may get again, some more than once.
    pub(super) fn got_by(&self, later: &Access) -> impl Iterator<Item = LogPart> {
        let read = later.files.iter().filter(|file| file.read);
        let files = read.filter_map(|file| self.shows.get(tail(&file.path)));
        counted(self.by_run.get(&*later.run).into_iter().chain(files))
    }
}

fn counted<'l>(lists: impl Iterator<Item = &'l Vec<LogPart>>) -> impl Iterator<Item = LogPart> {
    lists.flatten().copied().inspect(|_| foldback_core::work::count(1))
}

/// What two spellings of one file have in common: the last two components, or the whole of a shorter path.
fn tail(path: &str) -> &str {
    suffixes(path).take_while(|suffix| components(suffix) >= 2).last().unwrap_or(path)
}

/// A command line with single blanks, so that spacing does not make it another one.
fn words(command: &str) -> String {
    command.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn plain(path: &str) -> String {
    path.trim_start_matches("./").replace('\\', "/")
}

/// Whether two spellings mean one file: equal, or the shorter one ends the longer one and has at least
/// two components. A bare `mod.rs` does not tell which.
fn same_file(a: &str, b: &str) -> bool {
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    long == short || (components(short) >= 2 && suffixes(long).any(|suffix| suffix == short))
}

fn is_search(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["grep", "glob", "search", "list", "find", "ls"].iter().any(|word| tool.contains(word))
}

/// Whether all that a command line does is to look for something.
fn searches(command: &str) -> bool {
    let commands = simple_commands(command);
    let mut programs = commands.iter().filter_map(|words| {
        let program = words.first()?.rsplit('/').next()?;
        let git = program == "git";
        Some(if git { words.get(1)?.as_str() } else { program })
    });
    programs.any(|program| matches!(program, "grep" | "rg" | "ls" | "find" | "fd" | "tree"))
        && programs.all(|program| {
            matches!(
                program,
                "grep"
                    | "rg"
                    | "ls"
                    | "find"
                    | "fd"
                    | "tree"
                    | "cd"
                    | "head"
                    | "tail"
                    | "sort"
                    | "uniq"
                    | "wc"
                    | "cut"
                    | "sed"
                    | "awk"
                    | "xargs"
                    | "echo"
            )
        })
}

/// The lines that the arguments of a reading tool ask for.
fn lines_of(arguments: &Value) -> Lines {
    let number = |names: &[&str]| {
        names.iter().find_map(|name| {
            let value = arguments.get(*name)?;
            value.as_u64().or_else(|| value.as_str()?.parse().ok())
        })
    };
    if let Some([from, to]) =
        arguments.get("view_range").and_then(Value::as_array).map(Vec::as_slice)
    {
        return Lines {
            from: from.as_u64().unwrap_or(1).max(1),
            // -1 stands for the end.
            to: to.as_u64().unwrap_or(u64::MAX),
        };
    }
    let from = number(&["offset", "start_line", "startLine", "line_start"]).unwrap_or(1).max(1);
    let last = number(&["end_line", "endLine", "line_end"]);
    let limit = number(&["limit"]).filter(|limit| *limit > 0);
    let to = last.or_else(|| limit.map(|limit| from.saturating_add(limit - 1)));
    Lines { from, to: to.unwrap_or(u64::MAX) }
}

/// The files that the simple commands of a command line print.
fn shell(command: &str, folder: Option<&str>, out: &mut Vec<FileLines>) {
    let mut folder = folder.map(str::to_owned);
    // Files that the command before printed, for a `sed` or `head` after a pipe.
    let mut printed = 0..0;
    for words in simple_commands(command) {
        let Some((program, words)) = words.split_first() else {
            continue;
        };
        let program = program.rsplit('/').next().unwrap_or(program);
        let operands = || words.iter().filter(|word| !word.starts_with('-'));
        let start = out.len();
        let mut push = |path: &str, lines: Lines| {
            out.push(FileLines { path: joined(folder.as_deref(), path), lines, read: true });
        };
        let is_file = |word: &&String| looks_like_path(word) && named(word);
        let mut cut = None;
        match program {
            "cd" => {
                if let Some(to) = words.first() {
                    folder = Some(joined(folder.as_deref(), to));
                }
            }
            "cat" | "nl" | "less" | "more" | "bat" | "tail" | "wc" => {
                operands()
                    .filter(|word| looks_like_path(word))
                    .for_each(|path| push(path, Lines::ALL));
            }
            "head" => {
                let lines = head(words);
                operands().filter(|word| looks_like_path(word)).for_each(|path| push(path, lines));
                cut = Some(lines);
            }
            "sed" if words.iter().any(|word| word == "-n") => {
                let mut operands = operands();
                let lines = operands.next().and_then(|script| sed(script));
                let lines = lines.unwrap_or(Lines::ALL);
                operands.filter(|word| looks_like_path(word)).for_each(|path| push(path, lines));
                cut = Some(lines);
            }
            // The first operand is the pattern.
            "grep" | "egrep" | "rg" | "awk" => {
                operands().skip(1).filter(is_file).for_each(|path| push(path, Lines::ALL));
            }
            "git" if words.first().is_some_and(|word| word == "show") => {
                let files = operands().filter_map(|word| word.split_once(':'));
                files
                    .filter(|(_, path)| looks_like_path(path))
                    .for_each(|(_, path)| push(path, Lines::ALL));
            }
            _ => {}
        }
        match cut {
            Some(lines) if out.len() == start => {
                for file in &mut out[printed.clone()] {
                    file.lines = lines;
                }
            }
            _ => {}
        }
        printed = start..out.len();
    }
}

/// Whether the last component has an ending: a folder has none.
fn named(word: &str) -> bool {
    word.rsplit('/').next().is_some_and(|last| last.trim_start_matches('.').contains('.'))
}

fn joined(folder: Option<&str>, path: &str) -> String {
    let absolute = path.starts_with(['/', '~']) || path.get(1..2) == Some(":");
    match folder {
        Some(folder) if !absolute => {
            format!("{}/{}", plain(folder).trim_end_matches('/'), plain(path))
        }
        _ => plain(path),
    }
}

/// The lines that `head` prints: `-n 20`, `-n20`, `-20`, ten without a number.
fn head(words: &[String]) -> Lines {
    let after = |flag: &str| {
        let at = words.iter().position(|word| word == flag)?;
        words.get(at + 1)?.parse().ok()
    };
    let glued = words.iter().find_map(|word| {
        let rest = word.strip_prefix("-n").or_else(|| word.strip_prefix('-'))?;
        rest.parse().ok()
    });
    Lines { from: 1, to: after("-n").or(glued).unwrap_or(10) }
}

/// The lines that a `sed -n` script prints, if it is one range or one line: `1,80p`, `12p`, `80,$p`.
fn sed(script: &str) -> Option<Lines> {
    let range = script.strip_suffix('p')?;
    let (from, to) = range.split_once(',').unwrap_or((range, range));
    Some(Lines {
        from: from.parse().ok()?,
        to: match to {
            "$" => u64::MAX,
            to => to.parse().ok()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn access(tool: &str, arguments: Value) -> Access {
        Access::of(&ToolCall {
            call_id: "c".to_owned(),
            tool: tool.to_owned(),
            arguments: arguments.to_string(),
        })
    }

    #[test]
    fn what_a_command_reads_as_a_table() {
        type Case = (&'static str, &'static [(&'static str, u64, u64)]);
        const END: u64 = u64::MAX;
        let cases: [Case; 16] = [
            ("cat a.rs b/c.rs", &[("a.rs", 1, END), ("b/c.rs", 1, END)]),
            ("sed -n '10,20p' a.rs", &[("a.rs", 10, 20)]),
            ("sed -n 7p a.rs", &[("a.rs", 7, 7)]),
            ("sed -n '80,$p' a.rs", &[("a.rs", 80, END)]),
            ("sed -i 's/a/b/' a.rs", &[]),
            ("nl -ba src/a.rs | sed -n '1,40p'", &[("src/a.rs", 1, 40)]),
            ("cat a.rs | head -n 5", &[("a.rs", 1, 5)]),
            ("head -20 a.rs", &[("a.rs", 1, 20)]),
            ("head a.rs", &[("a.rs", 1, 10)]),
            ("cd /w/x && cat a.rs", &[("/w/x/a.rs", 1, END)]),
            ("cd /w && cd x; cat ./a.rs", &[("/w/x/a.rs", 1, END)]),
            ("grep -n 'fn main' src/a.rs", &[("src/a.rs", 1, END)]),
            ("grep -rn foo src/lib", &[]),
            ("git show HEAD:src/a.rs", &[("src/a.rs", 1, END)]),
            ("cat > a.rs <<'E'\ncat b.rs\nE", &[]),
            ("cargo test", &[]),
        ];
        for (command, expected) in cases {
            let files = access("bash", json!({ "command": command })).files;
            let found: Vec<_> = files
                .iter()
                .map(|file| (file.path.as_str(), file.lines.from, file.lines.to))
                .collect();
            assert_eq!(found, expected, "{command}");
        }
    }

    #[test]
    fn kinds_as_a_table() {
        let cases = [
            ("Read", json!({"file_path": "/w/a.rs"}), Kind::File),
            ("Edit", json!({"file_path": "/w/a.rs"}), Kind::File),
            ("Grep", json!({"pattern": "x", "path": "src"}), Kind::Search),
            ("bash", json!({"command": "cd w && rg x | head -3"}), Kind::Search),
            ("bash", json!({"command": "git grep x"}), Kind::Search),
            ("bash", json!({"command": "ls && cargo test"}), Kind::Command),
            ("bash", json!({"command": "cat a.rs"}), Kind::File),
            ("WebFetch", json!({"url": "https://a.b"}), Kind::Other),
        ];
        for (tool, arguments, expected) in cases {
            assert_eq!(access(tool, arguments.clone()).kind, expected, "{arguments}");
        }
    }

    #[test]
    fn getting_again_as_a_table() {
        let read = |path: &str| access("Read", json!({ "file_path": path }));
        let part = |offset: u64, limit: u64| {
            access("Read", json!({"file_path": "/w/src/a.rs", "offset": offset, "limit": limit}))
        };
        let bash = |command: &str| access("bash", json!({ "command": command }));
        let edit = || access("Edit", json!({"file_path": "/w/src/a.rs", "old_string": "x"}));
        let cases = [
            ("the same file", read("/w/src/a.rs"), read("/w/src/a.rs"), true),
            ("a suffix of it", read("src/a.rs"), read("/w/src/a.rs"), true),
            ("a bare name", read("a.rs"), read("/w/src/a.rs"), false),
            ("another file", read("/w/src/b.rs"), read("/w/src/a.rs"), false),
            ("a tail of a component", read("c/a.rs"), read("/w/src/a.rs"), false),
            ("by a command", bash("cat src/a.rs"), read("/w/src/a.rs"), true),
            ("from a folder", bash("cd /w/src && cat a.rs"), read("/w/src/a.rs"), true),
            ("a part of the whole", part(10, 20), read("/w/src/a.rs"), true),
            ("the whole of a part", read("/w/src/a.rs"), part(10, 20), true),
            ("the next window", part(100, 100), part(1, 100), false),
            ("most of a window", part(30, 100), part(1, 100), true),
            ("what an edit showed", read("/w/src/a.rs"), edit(), true),
            ("an edit reads nothing", edit(), read("/w/src/a.rs"), false),
            ("an edit again", edit(), edit(), false),
            ("the same command", bash("cargo  test"), bash("cargo test"), true),
            ("another command", bash("cargo test -q"), bash("cargo test"), false),
            ("Windows", read("C:\\w\\a.rs"), bash("cat C:/w/a.rs"), true),
        ];
        for (name, now, then, expected) in cases {
            assert_eq!(now.gets_again(&then), expected, "{name}");
        }
    }

    #[test]
    fn superseding_as_a_table() {
        let whole = access("Read", json!({"file_path": "/w/a.rs"}));
        let part = access("Read", json!({"file_path": "/w/a.rs", "limit": 5}));
        let edit = access("Edit", json!({"file_path": "/w/a.rs", "old_string": "x"}));
        let run = access("bash", json!({"command": "make"}));
        let cases = [
            ("whole over part", &whole, &part, true),
            ("part over whole", &part, &whole, false),
            ("whole over edit", &whole, &edit, true),
            ("edit over whole", &edit, &whole, false),
            ("a run over itself", &run, &run, true),
            ("a run over a file", &run, &whole, false),
        ];
        for (name, now, then, expected) in cases {
            assert_eq!(now.supersedes(then), expected, "{name}");
        }
    }
}
