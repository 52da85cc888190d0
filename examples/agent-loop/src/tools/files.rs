//! Tools that look at and change files.

use std::fs;
use std::path::{Component, Path, PathBuf};

/// Most lines that a search returns.
const MOST_HITS: usize = 100;

/// A file, or `lines` lines of it beginning with line `from`.
pub(super) fn read(
    directory: &Path,
    path: &str,
    from: Option<u64>,
    lines: Option<u64>,
) -> Result<String, String> {
    let text = load(&inside(directory, path)?, path)?;
    if from.is_none() && lines.is_none() {
        return Ok(text);
    }
    let skip = usize::try_from(from.unwrap_or(1).max(1) - 1).unwrap_or(usize::MAX);
    let take = lines.map_or(usize::MAX, |lines| usize::try_from(lines).unwrap_or(usize::MAX));
    let some: Vec<&str> = text.lines().skip(skip).take(take).collect();
    Ok(some.join("\n"))
}

/// Lines that contain a text, as `path:line: text`, in the order of the paths.
pub(super) fn search(directory: &Path, text: &str, path: Option<&str>) -> Result<String, String> {
    if text.is_empty() {
        return Err("`text` is empty".to_owned());
    }
    let mut files = Vec::new();
    collect(&inside(directory, path.unwrap_or("."))?, &mut files)?;
    files.sort();
    let mut hits = Vec::new();
    for file in files {
        // What is no text has no lines.
        let Ok(content) = fs::read_to_string(&file) else {
            continue;
        };
        let name = file.strip_prefix(directory).unwrap_or(&file).display();
        let lines = content.lines().enumerate();
        let found = lines.filter(|(_, line)| line.contains(text));
        hits.extend(found.map(|(index, line)| format!("{name}:{}: {line}", index + 1)));
    }
    let more = hits.len().saturating_sub(MOST_HITS);
    hits.truncate(MOST_HITS);
    if more > 0 {
        hits.push(format!("[{more} more lines]"));
    }
    if hits.is_empty() {
        return Ok(format!("nothing contains {text:?}"));
    }
    Ok(hits.join("\n"))
}

/// Replaces a text that occurs once; with an empty `old` writes a new file.
pub(super) fn edit(directory: &Path, path: &str, old: &str, new: &str) -> Result<String, String> {
    let file = inside(directory, path)?;
    if old.is_empty() {
        if file.exists() {
            return Err(format!("{path} exists; say what to replace in `old`"));
        }
        write(&file, path, new)?;
        return Ok(format!("{path} written"));
    }
    let text = load(&file, path)?;
    match text.matches(old).count() {
        1 => {
            write(&file, path, &text.replacen(old, new, 1))?;
            Ok(format!("{path} changed"))
        }
        0 => Err(format!("{path} does not contain the text of `old`")),
        count => Err(format!("{path} contains the text of `old` {count} times")),
    }
}

/// The path inside the directory. Links that lead out of it are refused with it.
fn inside(directory: &Path, path: &str) -> Result<PathBuf, String> {
    let relative = Path::new(path);
    let plain =
        relative.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let outside = || format!("{path} is not a path inside the working directory");
    if !plain {
        return Err(outside());
    }
    let full = directory.join(relative);
    if let (Ok(root), Ok(real)) = (directory.canonicalize(), full.canonicalize())
        && !real.starts_with(root)
    {
        return Err(outside());
    }
    Ok(full)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).map_err(|error| format!("{}: {error}", path.display()))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("{}: {error}", path.display()))?;
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        // Neither links, which may lead out or in circles, nor what version control keeps.
        let kind = entry.file_type().map_err(|error| error.to_string())?;
        if hidden || kind.is_symlink() {
            continue;
        }
        collect(&entry.path(), files)?;
    }
    Ok(())
}

fn load(file: &Path, path: &str) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{path}: {error}"))
}

fn write(file: &Path, path: &str, text: &str) -> Result<(), String> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(|error| format!("{path}: {error}"))?;
    }
    fs::write(file, text).map_err(|error| format!("{path}: {error}"))
}
