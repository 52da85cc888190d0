//! A session file as it lies on a disk: some are not whole without another.

use crate::sqlite::STORE;
use crate::{bytes, limit, raw};
use foldback_providers::wire::shared::raw::Change;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// All bytes of a session file, with what lies beside it: the rollouts that a rollout of Codex continues stand in front, as if
/// their history had been copied. Of a store they are what [`read`](crate::read) needs of it, with the last changes, which are in a file
/// of their own while its agent runs. The file is as it is where these are not found, and the reader says what is missing.
///
/// # Errors
///
/// It can't be read, or it holds more than the limit; the error says how to raise it.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    // A pipe can be read once.
    let mut opening = Vec::new();
    file.by_ref().take(STORE.magic.len() as u64).read_to_end(&mut opening)?;
    #[cfg(feature = "sqlite")]
    if opening == STORE.magic
        && let Some(documents) = crate::sqlite::store::documents_of(path)?
    {
        return Ok(documents);
    }
    let own = limit::read(opening.as_slice().chain(file))?;
    Ok(continued(path, &own).unwrap_or(own))
}

fn continued(path: &Path, own: &[u8]) -> Option<Vec<u8>> {
    let own = bytes::unpacked(own).ok()?;
    let (header, rest) = split(&own)?;
    let mut base = base(header)?;
    let changes =
        [("/payload/history_base", Change::Remove), ("/ordinal", Change::Set("0".into()))];
    let changes = changes.map(|(pointer, change)| (pointer.to_owned(), change));
    let header = raw::patch(std::str::from_utf8(header).ok()?, &changes).ok()?;
    let mut files = vec![path.to_owned()];
    let mut pieces = vec![rest.to_vec()];
    loop {
        let file = rollout(path, &base.thread).filter(|file| !files.contains(file))?;
        let held = limit::read(File::open(&file).ok()?).ok()?;
        let held = bytes::unpacked(&held).ok()?;
        let (header, rest) = split(held.get(..base.end)?)?;
        pieces.push(rest.to_vec());
        let sum: usize = pieces.iter().map(Vec::len).sum();
        limit::largest().ok().filter(|largest| sum as u64 <= *largest)?;
        match self::base(header) {
            Some(further) => base = further,
            None => break,
        }
        files.push(file);
    }
    pieces.push(format!("{header}\n").into_bytes());
    pieces.reverse();
    Some(pieces.concat())
}

/// What a rollout continues: another, up to a byte of it.
struct Base {
    thread: String,
    end: usize,
}

fn base(header: &[u8]) -> Option<Base> {
    let header =
        std::str::from_utf8(header).ok().filter(|line| line.contains("\"history_base\""))?;
    let header = raw::parse(header).ok()?;
    let base = header.pointer("/payload/history_base")?;
    let end = usize::try_from(base["end_byte_offset"].as_u64()?).ok()?;
    let thread = base["thread_id"].as_str().filter(|thread| !thread.is_empty())?.to_owned();
    Some(Base { thread, end })
}

/// The first line, and what comes behind it.
fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|byte| *byte == b'\n')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

/// The rollout with this id: beside another, or in the folder of another day.
fn rollout(beside: &Path, id: &str) -> Option<PathBuf> {
    let endings = [".jsonl", ".jsonl.zst"].map(|end| format!("{id}{end}"));
    let is_it = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| endings.iter().any(|end| name.ends_with(end)))
    };
    let inside = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let day = beside.parent()?;
    let found = inside(day).into_iter().find(is_it);
    let elsewhere = || {
        let months = day.ancestors().nth(3).map(inside)?.into_iter().flat_map(|year| inside(&year));
        months.flat_map(|month| inside(&month)).flat_map(|day| inside(&day)).find(is_it)
    };
    let is_dated = || {
        let numbers = day.iter().rev().take(3);
        numbers.filter(|name| name.to_str().is_some_and(|n| n.parse::<u16>().is_ok())).count() == 3
    };
    found.or_else(|| if is_dated() { elsewhere() } else { None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rollout_has_those_in_front_that_it_continues() {
        let home = std::env::temp_dir().join(format!("foldback-lineage-{}", std::process::id()));
        let path = |day: &str, id: &str| home.join(format!("2026/11/{day}/rollout-x-{id}.jsonl"));
        let line = |ordinal: u32, base: Option<(&str, usize)>, text: &str| {
            let base = base.map_or(String::new(), |(id, end)| {
                format!(r#","history_base":{{"thread_id":"{id}","end_byte_offset":{end}}}"#)
            });
            format!(
                r#"{{"ordinal":{ordinal},"type":"session_meta","payload":{{"id":"{text}"{base}}}}}"#
            )
        };
        let first = format!("{}\n1\n2\n3\n", line(0, None, "a"));
        let end = first.find("3").unwrap();
        let second = format!("{}\n4\n5\n", line(3, Some(("a", end)), "b"));
        let whole = format!("{}\n1\n2\n4\n5\n", line(0, None, "b"));
        let third = format!("{}\n6\n", line(5, Some(("b", second.len())), "c"));
        let missing = format!("{}\n7\n", line(5, Some(("z", 9)), "d"));
        let circle = format!("{}\n8\n", line(5, Some(("e", 9)), "e"));
        let files = [("26", "a", &first), ("27", "b", &second), ("27", "c", &third)];
        let damaged = [("27", "d", &missing), ("27", "e", &circle)];
        for (day, id, text) in files.iter().chain(&damaged) {
            std::fs::create_dir_all(path(day, id).parent().unwrap()).unwrap();
            std::fs::write(path(day, id), text).unwrap();
        }
        let table = [
            ("26", "a", first.clone()),
            ("27", "b", whole.clone()),
            ("27", "c", format!("{}\n1\n2\n4\n5\n6\n", line(0, None, "c"))),
            ("27", "d", missing.clone()),
            ("27", "e", circle.clone()),
        ];
        for (day, id, expected) in table {
            let read = read_file(&path(day, id)).unwrap();
            assert_eq!(String::from_utf8(read).unwrap(), expected, "{id}");
        }
        std::fs::remove_dir_all(home).unwrap();
    }
}
