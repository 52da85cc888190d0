//! The documents as one book. Its chapters stay where they belong, beside the code that they are about, and link to each
//! other as files of the repository; `docs/SUMMARY.md` lists them. They are put together in `target/book` and built by
//! `mdbook`. A link to a file that does not exist, or to a page that is not a chapter, is an error.

use crate::files::{copy, read, write};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

const SUMMARY: &str = "docs/SUMMARY.md";

/// Puts the chapters together, which checks their links; gives the folder of the book.
pub(crate) fn stage() -> Result<PathBuf, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    let book = root.join(target).join("book");
    let _ = std::fs::remove_dir_all(&book);
    let mut staged = Staged { root, source: book.join("src"), problems: Vec::new() };
    staged.all()?;
    if !staged.problems.is_empty() {
        return Err(staged.problems.join("\n"));
    }
    copy(&staged.root.join("docs/book.toml"), &book.join("book.toml"))?;
    Ok(book)
}

/// Builds the book; gives its first page.
pub(crate) fn build() -> Result<PathBuf, String> {
    let book = stage()?;
    let ran = Command::new("mdbook").arg("build").arg(&book).output();
    let ran = ran.map_err(|error| format!("mdbook: {error} (cargo install mdbook)"))?;
    let said = String::from_utf8_lossy(&ran.stderr);
    if !ran.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(format!("mdbook:\n{said}"));
    }
    Ok(book.join("html/index.html"))
}

struct Staged {
    root: PathBuf,
    source: PathBuf,
    problems: Vec<String>,
}

impl Staged {
    fn all(&mut self) -> Result<(), String> {
        let text = read(&self.root.join(SUMMARY))?;
        let listed = links(&text).map(|link| resolve(Path::new(SUMMARY), link.target));
        let chapters: BTreeSet<PathBuf> = listed.collect();
        // In the book the list stands at the top.
        let summary = rewritten(&text, |link| {
            Some(resolve(Path::new(SUMMARY), link).to_string_lossy().into_owned())
        });
        write(&self.source.join("SUMMARY.md"), &summary)?;
        for chapter in &chapters {
            let text = read(&self.root.join(chapter))?;
            let text = rewritten(&text, |link| self.link(chapter, link, &chapters));
            write(&self.source.join(chapter), &text)?;
        }
        Ok(())
    }

    /// A link of a chapter as it stands in the book; `None` where only its text stays. Files that are no chapters come along.
    fn link(&mut self, page: &Path, link: &str, chapters: &BTreeSet<PathBuf>) -> Option<String> {
        let (path, _) = link.split_once('#').unwrap_or((link, ""));
        if path.is_empty() || link.contains("://") || link.starts_with("mailto:") {
            return Some(link.to_owned());
        }
        let target = resolve(page, path);
        let file = self.root.join(&target);
        if chapters.contains(&target) {
            return Some(link.to_owned());
        }
        // The list of chapters stands beside each page.
        if file.is_dir() || target == Path::new(SUMMARY) {
            return None;
        }
        let is_page = target.extension().is_some_and(|ending| ending == "md");
        if is_page || !file.is_file() {
            let problem = if is_page { "which is not a chapter" } else { "which does not exist" };
            self.problems.push(format!("{}: a link to {link}, {problem}", page.display()));
        } else if let Err(error) = copy(&file, &self.source.join(&target)) {
            self.problems.push(error);
        }
        Some(link.to_owned())
    }
}

/// A link in Markdown, `[text](target)`, and where it stands.
struct Link<'t> {
    start: usize,
    text: &'t str,
    target: &'t str,
    end: usize,
}

/// All links of a text, but for those in code.
fn links(text: &str) -> impl Iterator<Item = Link<'_>> {
    let code = code(text);
    text.match_indices("](").filter_map(move |(middle, _)| {
        let start = text[..middle].rfind('[')?;
        let end = middle + 2 + text[middle + 2..].find(')')?;
        let inside = code.iter().any(|(from, to)| (*from..*to).contains(&middle));
        (!inside).then_some(Link {
            start,
            text: &text[start + 1..middle],
            target: &text[middle + 2..end],
            end: end + 1,
        })
    })
}

/// Where a text is code: fences, and spans within a line.
fn code(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut fence, mut at) = (Vec::new(), false, 0);
    for line in text.split_inclusive('\n') {
        if line.trim_start().starts_with("```") {
            fence = !fence;
            found.push((at, at + line.len()));
        } else if fence {
            found.push((at, at + line.len()));
        } else {
            let marks: Vec<usize> = line.match_indices('`').map(|(place, _)| at + place).collect();
            found.extend(marks.chunks_exact(2).map(|pair| (pair[0], pair[1])));
        }
        at += line.len();
    }
    found
}

/// A text with its links changed; of a link that becomes `None` the text stays.
fn rewritten(text: &str, mut to: impl FnMut(&str) -> Option<String>) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for link in links(text) {
        out.push_str(&text[at..link.start]);
        match to(link.target) {
            Some(target) => out.push_str(&format!("[{}]({target})", link.text)),
            None => out.push_str(link.text),
        }
        at = link.end;
    }
    out + &text[at..]
}

/// The file that a link of `page` means, from the root.
fn resolve(page: &Path, link: &str) -> PathBuf {
    let mut path = page.parent().unwrap_or(Path::new("")).to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::Normal(name) => path.push(name),
            _ => {}
        }
    }
    path
}
