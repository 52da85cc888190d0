//! Paths as oh-my-pi's tools write them, and the list of files below its summaries.

use foldback_core::log::{Message, ToolCall};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Most files that a list names.
const LISTED: usize = 20;

/// A path and the selector of lines behind it (`:50-200`, `:raw`, `:1-50:raw`), if there is one.
pub fn split_selector(path: &str) -> (&str, Option<&str>) {
    let at = |text: &str| text.rfind(':').filter(|colon| *colon > 0);
    let Some(colon) = at(path) else { return (path, None) };
    let last = &path[colon + 1..];
    let (raw, range) = (last.eq_ignore_ascii_case("raw"), is_range(last));
    if !raw && !range && !last.eq_ignore_ascii_case("conflicts") {
        return (path, None);
    }
    let begin = at(&path[..colon]).filter(|inner| {
        let first = &path[inner + 1..colon];
        raw && is_range(first) || range && first.eq_ignore_ascii_case("raw")
    });
    let begin = begin.unwrap_or(colon);
    (&path[..begin], Some(&path[begin + 1..]))
}

/// Ranges of lines: `50`, `50-200`, `50+10`, `L5..L9`, and lists of them.
fn is_range(text: &str) -> bool {
    text.split(',').all(|chunk| {
        let Some((_, rest)) = line(chunk) else { return false };
        let until = rest.strip_prefix("..").or_else(|| rest.strip_prefix(['-', '+']));
        match until {
            None => rest.is_empty(),
            Some("") => !rest.starts_with('+'),
            Some(until) => line(until).is_some_and(|(_, rest)| rest.is_empty()),
        }
    })
}

/// The number of a line at the beginning of a text, and what comes behind.
fn line(text: &str) -> Option<(&str, &str)> {
    let digits = text.strip_prefix(['L', 'l']).unwrap_or(text);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    (end > 0).then(|| digits.split_at(end))
}

/// Whether a path is an address (`https://…`, `artifact://3`, also behind a path) and no file.
pub fn is_address(path: &str) -> bool {
    let scheme = |c: char| c.is_ascii_alphanumeric() || "+.-".contains(c);
    path.match_indices("://").any(|(at, _)| {
        let before = path[..at].trim_end_matches(scheme);
        path[before.len()..at].contains(|c: char| c.is_ascii_alphabetic())
    })
}

/// The argument `path` of a call.
pub(super) fn path(call: &ToolCall) -> Option<String> {
    let arguments = call.arguments_value();
    Some(arguments.get("path")?.as_str()?.to_owned())
}

/// Files by what was done to them, in the order of JavaScript's `sort`: by UTF-16 units.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    read: BTreeSet<Vec<u16>>,
    changed: BTreeSet<Vec<u16>>,
}

const READ: &str = "read-files";
const CHANGED: &str = "modified-files";

impl Touched {
    /// Takes over what an earlier summary notes.
    pub fn noted_on(&mut self, summary: &Message) {
        for (name, list) in [(READ, &mut self.read), (CHANGED, &mut self.changed)] {
            let noted = summary.annotations.get(name).into_iter().flat_map(|noted| noted.lines());
            list.extend(noted.map(|path| path.encode_utf16().collect::<Vec<u16>>()));
        }
    }

    /// Notes the files on a summary. Those that were changed are not noted as read.
    pub fn note_on(&self, summary: &mut Message) {
        let only_read = self.read.difference(&self.changed).collect();
        for (name, paths) in [(READ, only_read), (CHANGED, self.changed.iter().collect::<Vec<_>>())]
        {
            if !paths.is_empty() {
                let paths: Vec<String> = paths.into_iter().map(|path| text(path)).collect();
                summary.annotations.insert(name.to_owned(), paths.join("\n"));
            }
        }
    }

    /// Notes what the calls of a message do: `read`, `write` and `edit`.
    pub fn called_in(&mut self, message: &Message) {
        for call in message.parts.iter().filter_map(|part| part.as_call()) {
            let path = path(call).filter(|path| !path.is_empty() && !is_address(path));
            let Some(path) = path else { continue };
            match call.tool.as_str() {
                "read" => self.read.insert(split_selector(&path).0.encode_utf16().collect()),
                "write" | "edit" => self.changed.insert(path.encode_utf16().collect()),
                _ => continue,
            };
        }
    }

    /// A summary with the list of the files below it, in place of one that it has.
    pub fn below(&self, summary: &str) -> String {
        let mut out = summary.to_owned();
        for tag in ["files", READ, CHANGED] {
            out = without(&out, tag);
        }
        out.truncate(out.trim_end().len());
        let all: BTreeSet<&Vec<u16>> = self.read.union(&self.changed).collect();
        if all.is_empty() {
            return out;
        }
        let mark = |path: &Vec<u16>| match (self.read.contains(path), self.changed.contains(path)) {
            (true, true) => "RW",
            (_, true) => "Write",
            _ => "Read",
        };
        let mut tree = Folder::default();
        for path in all.iter().take(LISTED) {
            tree.add(&text(path), mark(path));
        }
        let mut lines = Vec::new();
        tree.list(1, &mut lines);
        if all.len() > LISTED {
            lines.push(format!("[…{} files elided…]", all.len() - LISTED));
        }
        let gap = if out.is_empty() { "" } else { "\n\n" };
        let _ = write!(out, "{gap}<files>\n{}\n</files>", lines.join("\n"));
        out
    }
}

fn text(path: &[u16]) -> String {
    String::from_utf16_lossy(path)
}

/// A text without its elements of this name, and without the white space behind each.
fn without(text: &str, tag: &str) -> String {
    let (open, close) = (format!("<{tag}>"), format!("</{tag}>"));
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, (_, behind))) = rest
        .split_once(&open)
        .and_then(|(before, inside)| Some((before, inside.split_once(&close)?)))
    {
        out += before;
        rest = behind.trim_start();
    }
    out + rest
}

/// A folder of the list, in the order in which its members came.
#[derive(Default)]
struct Folder {
    files: Vec<(String, &'static str)>,
    folders: Vec<(String, Self)>,
}

impl Folder {
    fn add(&mut self, path: &str, mark: &'static str) {
        let path = path.replace('\\', "/");
        let is_folder = path.ends_with('/');
        let path = path.strip_suffix('/').unwrap_or(&path);
        let mut names: Vec<&str> = path.split('/').collect();
        let file = if is_folder { None } else { names.pop() };
        if path.is_empty() {
            return;
        }
        let mut here = self;
        for name in names {
            let at = here.folders.iter().position(|(one, _)| one == name);
            let at = at.unwrap_or_else(|| {
                here.folders.push((name.to_owned(), Self::default()));
                here.folders.len() - 1
            });
            here = &mut here.folders[at].1;
        }
        if let Some(file) = file.filter(|file| here.files.iter().all(|(one, _)| one != file)) {
            here.files.push((file.to_owned(), mark));
        }
    }

    /// The lines of a folder: its files, then the folders in it. A chain of folders with nothing else is one heading.
    fn list(&self, depth: usize, lines: &mut Vec<String>) {
        lines.extend(self.files.iter().map(|(name, mark)| format!("{name} ({mark})")));
        for (name, folder) in &self.folders {
            let (mut name, mut folder) = (name.clone(), folder);
            while let ([], [(next, inner)]) = (&*folder.files, &*folder.folders) {
                name = format!("{name}/{next}");
                folder = inner;
            }
            lines.push(format!("{} {name}/", "#".repeat(depth)));
            folder.list(depth + 1, lines);
        }
    }
}
