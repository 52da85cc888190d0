//! A session file as it lies on a disk: some are not whole without another.

use crate::sqlite::MAGIC;
use crate::{bytes, limit, pieces, raw};
use foldback_providers::wire::shared::raw::Change;
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashSet};
use std::fs::{DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// All bytes of a session file, with what lies beside it: the rollouts that a rollout of Codex continues stand in front, as if
/// their history had been copied. Of a store they are what [`read`](crate::read) needs of it, with the last changes, which are in a file
/// of their own while its agent runs. The events of a conversation of OpenHands' SDK, each a file, stand behind its state. The file is as it is where these are not found, and the reader says what is missing.
///
/// # Errors
///
/// It can't be read, or it holds more than the limit; the error says how to raise it.
pub fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if let Some(joined) = pieces::joined(path)? {
        return Ok(joined);
    }
    let mut file = File::open(path)?;
    // A pipe can be read once.
    let mut opening = Vec::new();
    file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut opening)?;
    #[cfg(feature = "sqlite")]
    if opening == MAGIC
        && let Some(documents) = crate::sqlite::store::packed(path, crate::table::STORES)?
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
    let rollouts = Rollouts::around(path);
    let largest = limit::largest().ok()?;
    let mut files = HashSet::from([path.to_owned()]);
    let mut pieces = vec![rest.to_vec()];
    let mut size = rest.len() as u64;
    loop {
        let file = rollouts.find(&base.thread).filter(|file| files.insert((*file).to_owned()))?;
        let held = beginning(file, base.end, largest.checked_sub(size)?)?;
        let (header, rest) = split(&held)?;
        pieces.push(rest.to_vec());
        size += rest.len() as u64;
        match self::base(header) {
            Some(further) => base = further,
            None => break,
        }
    }
    pieces.push(format!("{header}\n").into_bytes());
    pieces.reverse();
    Some(pieces.concat())
}

/// The rollout that another continues, up to a byte of it.
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

/// The first `size` bytes of a file, unpacked; `None` where it has fewer, or where they are more than the limit.
fn beginning(file: &Path, size: usize, largest: u64) -> Option<Vec<u8>> {
    if size as u64 > largest {
        return None;
    }
    let mut file = File::open(file).ok()?;
    let mut held = Vec::new();
    file.by_ref().take(size as u64).read_to_end(&mut held).ok()?;
    if bytes::is_packed(&held) {
        held = bytes::unpacked(&limit::read(held.chain(file)).ok()?).ok()?.into_owned();
    }
    held.truncate(size);
    (held.len() == size).then_some(held)
}

/// The rollouts beside another, and in the folders of other days. Their ids end their names.
struct Rollouts {
    beside: Names,
    day: PathBuf,
    elsewhere: OnceCell<Names>,
}

/// Files by the letters of their names, from the last to the first.
type Names = BTreeMap<Vec<u8>, PathBuf>;

impl Rollouts {
    fn around(path: &Path) -> Self {
        let day = path.parent().filter(|day| *day != Path::new("")).unwrap_or(Path::new("."));
        let day = day.to_owned();
        Self { beside: names([day.clone()]), day, elsewhere: OnceCell::new() }
    }

    fn find(&self, id: &str) -> Option<&Path> {
        named(&self.beside, id)
            .or_else(|| named(self.elsewhere.get_or_init(|| self.other_days()), id))
    }

    fn other_days(&self) -> Names {
        let numbers = self.day.iter().rev().take(3);
        let numbers = numbers.filter(|n| n.to_str().is_some_and(|n| n.parse::<u16>().is_ok()));
        let root = self.day.ancestors().nth(3).filter(|_| numbers.count() == 3);
        let inside = |folder: PathBuf| entries(&folder).map(|entry| entry.path());
        let days = root.into_iter().flat_map(|root| inside(root.to_owned()));
        names(days.flat_map(inside).flat_map(inside))
    }
}

/// The first file whose name ends with the id.
fn named<'a>(names: &'a Names, id: &str) -> Option<&'a Path> {
    [".jsonl", ".jsonl.zst"].iter().find_map(|end| {
        let ending: Vec<u8> = format!("{id}{end}").bytes().rev().collect();
        let (name, file) = names.range(ending.clone()..).next()?;
        name.starts_with(&ending).then_some(&**file)
    })
}

/// The ordinary files in these folders. A link may lead anywhere, and a pipe never ends.
fn names(folders: impl IntoIterator<Item = PathBuf>) -> Names {
    let entries = folders.into_iter().flat_map(|folder| entries(&folder));
    let files = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
    files
        .map(|file| {
            (file.file_name().as_encoded_bytes().iter().rev().copied().collect(), file.path())
        })
        .collect()
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> + use<> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
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
