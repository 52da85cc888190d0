//! The tools, which really run: on a copy of the code base in a folder of its own.

use crate::script::Tool;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};
use tempfile::TempDir;

/// A copy of the code base, removed when dropped.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    /// Where it seems to be in the recording.
    shown: String,
    _folder: TempDir,
}

/// What a tool did.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What it found, printed or complained about, without any format's wrapping.
    pub found: Found,
    /// Whether it did what was asked. A failing test run did not.
    pub ok: bool,
}

/// The result of a tool in a form that every format can wrap in its own way.
#[derive(Clone, Debug)]
pub enum Found {
    /// Lines of a file with their numbers, and how many lines the file has.
    Lines(Vec<(usize, String)>, usize),
    /// Hits of a search: path, line, text.
    Hits(Vec<(String, usize, String)>),
    /// Paths.
    Paths(Vec<String>),
    /// Output of a command and its exit code.
    Output(String, i32),
    /// The file was changed.
    Changed,
    /// The tool could not do its work.
    Failed(Failure),
}

/// Why a tool could not do its work.
#[derive(Clone, Debug)]
pub enum Failure {
    /// There is no such file.
    NoFile,
    /// The text to replace is not in the file.
    NoMatch(String),
    /// The text to replace is in the file this many times.
    ManyMatches(usize),
}

impl Workspace {
    /// Copies `project` to a new folder that recordings call `shown`.
    pub fn copy_of(project: &Path, shown: String) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("foldback-recorder-").tempdir()?;
        copy(project, folder.path())?;
        Ok(Self { root: folder.path().canonicalize()?, shown, _folder: folder })
    }

    /// Runs a tool. An error means that the recorder itself could not go on.
    pub fn run(&self, tool: &Tool) -> io::Result<Outcome> {
        let found = match tool {
            Tool::Read { path, lines } => self.read(path, *lines),
            Tool::Search { pattern, path } => self.search(pattern, path)?,
            Tool::List { path } => Found::Paths(self.files(path)?),
            Tool::Run { args, filters } => self.python(args, filters)?,
            Tool::Edit { path, hunk } => self.edit(path, hunk)?,
            Tool::Write { path, text } => {
                let path = self.root.join(path);
                if let Some(folder) = path.parent() {
                    fs::create_dir_all(folder)?;
                }
                fs::write(path, text)?;
                Found::Changed
            }
        };
        let ok = !matches!(found, Found::Failed(_) | Found::Output(_, 1..));
        Ok(Outcome { found, ok })
    }

    fn read(&self, path: &str, range: Option<(usize, usize)>) -> Found {
        let Ok(text) = fs::read_to_string(self.root.join(path)) else {
            return Found::Failed(Failure::NoFile);
        };
        let (from, to) = range.unwrap_or((1, usize::MAX));
        let all: Vec<(usize, String)> = (1..).zip(text.lines().map(str::to_owned)).collect();
        let total = all.len();
        let shown = all.into_iter().filter(|(number, _)| (from..=to).contains(number));
        Found::Lines(shown.collect(), total)
    }

    fn search(&self, pattern: &str, path: &str) -> io::Result<Found> {
        let needles: Vec<&str> = pattern.split('|').collect();
        let mut hits = Vec::new();
        for file in self.files(path)? {
            let text = fs::read_to_string(self.root.join(&file))?;
            for (number, line) in (1..).zip(text.lines()) {
                if needles.iter().any(|needle| line.contains(needle)) {
                    hits.push((file.clone(), number, line.to_owned()));
                }
            }
        }
        Ok(Found::Hits(hits))
    }

    fn edit(&self, path: &str, hunk: &[(crate::script::Side, String)]) -> io::Result<Found> {
        let full = self.root.join(path);
        let Ok(text) = fs::read_to_string(&full) else {
            return Ok(Found::Failed(Failure::NoFile));
        };
        let (old, new) = Tool::replacement(hunk);
        match text.matches(&old).count() {
            0 => Ok(Found::Failed(Failure::NoMatch(old))),
            1 => {
                fs::write(full, text.replacen(&old, &new, 1))?;
                Ok(Found::Changed)
            }
            many => Ok(Found::Failed(Failure::ManyMatches(many))),
        }
    }

    /// Files below a path, sorted, as paths inside the project.
    fn files(&self, path: &str) -> io::Result<Vec<String>> {
        let start = self.root.join(path);
        let mut found = Vec::new();
        let mut open = vec![start];
        while let Some(next) = open.pop() {
            if next.is_dir() {
                for entry in fs::read_dir(&next)? {
                    let entry = entry?.path();
                    if !entry.ends_with("__pycache__") {
                        open.push(entry);
                    }
                }
            } else if let Ok(inside) = next.strip_prefix(&self.root) {
                found.push(inside.to_string_lossy().into_owned());
            }
        }
        found.sort();
        Ok(found)
    }

    fn python(&self, args: &str, filters: &[String]) -> io::Result<Found> {
        // Code is one argument; no other argument holds a blank.
        let args: Vec<&str> = match args.strip_prefix("-c ") {
            Some(code) => vec!["-c", code],
            None => args.split_whitespace().collect(),
        };
        let output = Command::new("python3")
            .arg("-B")
            .args(args)
            .current_dir(&self.root)
            .env("PYTHONHASHSEED", "0")
            .env("PYTHONUTF8", "1")
            .env("NO_COLOR", "1")
            .env("COLUMNS", "100")
            .env_remove("PYTHONPATH")
            .output()?;
        let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
        text.push_str(&String::from_utf8_lossy(&output.stderr));
        let mut lines = settle(&text, &self.root.to_string_lossy(), &self.shown);
        for filter in filters {
            lines = through(lines, filter)?;
        }
        // A pipe answers with the exit code of its last command.
        let code = if filters.is_empty() { output.status.code().unwrap_or(1) } else { 0 };
        Ok(Found::Output(lines.join("\n"), code))
    }
}

/// Takes out what differs from run to run and between machines and versions of Python: the folder, where Python is,
/// durations, and the lines that underline a place in a traceback.
fn settle(text: &str, root: &str, shown: &str) -> Vec<String> {
    text.lines()
        .filter(|line| !line.contains('^') || !line.chars().all(|c| matches!(c, ' ' | '^' | '~')))
        .map(|line| duration(&library(&line.replace(root, shown))))
        .collect()
}

/// A line of a traceback with the usual place of Python's library.
fn library(line: &str) -> String {
    let (start, end) = ("File \"", "/lib/python3.");
    let place = line.split_once(start).and_then(|(before, path)| {
        let (_, rest) = path.split_once(end)?;
        let (version, file) = rest.split_once('/')?;
        Some(format!("{before}{start}/usr{end}{version}/{file}"))
    });
    place.unwrap_or_else(|| line.to_owned())
}

/// `Ran 41 tests in 0.017s` with a duration that follows from the number of tests.
fn duration(line: &str) -> String {
    let tests =
        line.strip_prefix("Ran ").and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    match (tests, line.rsplit_once(" in ")) {
        (Some(tests), Some((head, _))) => format!("{head} in 0.{:03}s", 4 + tests / 5),
        _ => line.to_owned(),
    }
}

fn through(lines: Vec<String>, filter: &str) -> io::Result<Vec<String>> {
    let unknown = || io::Error::other(format!("no filter is written {filter:?}"));
    if let Some(needle) = filter.strip_prefix("grep ") {
        return Ok(lines.into_iter().filter(|line| line.contains(needle)).collect());
    }
    let (name, count) = filter.split_once(" -n ").ok_or_else(unknown)?;
    let count: usize = count.trim().parse().map_err(|_| unknown())?;
    let skip = lines.len().saturating_sub(count);
    match name {
        "tail" => Ok(lines.into_iter().skip(skip).collect()),
        "head" => Ok(lines.into_iter().take(count).collect()),
        _ => Err(unknown()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_name() == "__pycache__" {
            continue;
        } else if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}
