//! A small project, the same every time: files large enough that reading a few fills a window.

use std::fs;
use std::path::Path;

/// Files of the project.
pub(crate) const PARTS: u64 = 24;
/// Lines of the smallest file.
const LINES: u64 = 70;

/// Lines that an edit replaces, the first one aside.
const OPENING: u64 = 8;

/// Path of a part, inside the project.
pub(crate) fn path(part: u64) -> String {
    format!("src/part_{part:02}.rs")
}

/// The line that a part ends with: who sees it sees the whole file.
pub(crate) fn ending(part: u64) -> String {
    format!("// part {part:02} ends here")
}

/// How a part begins, in its revision: what an edit replaces.
pub(crate) fn opening(part: u64, revision: u64) -> String {
    let mut text = format!("// part {part:02}, revision {revision}\n");
    for step in 0..OPENING {
        text.push_str(&line(part, step));
    }
    text
}

/// Writes the project.
pub(crate) fn write(directory: &Path) {
    fs::create_dir(directory.join("src")).unwrap();
    for part in 0..PARTS {
        let mut text = opening(part, 0);
        for step in OPENING..LINES + part * 3 % 50 {
            text.push_str(&line(part, step));
        }
        text.push_str(&ending(part));
        text.push('\n');
        fs::write(directory.join(path(part)), text).unwrap();
    }
}

fn line(part: u64, step: u64) -> String {
    let salt = (part * 7_919 + step * 104_729) % 99_991;
    format!(
        "pub fn part_{part:02}_step_{step:03}(entry: u64) -> u64 {{ entry.rotate_left(3) ^ {salt} }} // ledger {salt}\n"
    )
}
