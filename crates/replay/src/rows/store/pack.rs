//! A pack: a file with a head followed by entries.
//!
//! An entry is its key (32 bytes), the length of its content (8, little-endian), the hash of key, length and
//! content (32), the first 8 bytes of the hash of all that, and the content. A length is therefore trusted only
//! after it was checked, and a content only as the content of its key. Entries are appended and never
//! changed.

use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom, Write as _};

/// The first bytes of a pack of any version.
const KIND: &[u8] = b"foldback results ";

/// The first bytes of a pack that this program reads and writes.
const HEAD: &[u8] = b"foldback results 2\n";

/// Bytes of an entry before its content.
const ENTRY_HEAD: usize = 32 + 8 + 32 + 8;

/// Key of an entry.
pub(super) type Name = [u8; 32];

/// What a pack holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// In their order, each with where it begins; of two with one name, the later counts.
    pub(super) entries: Vec<(Name, u64)>,
    /// Where the last whole entry ends.
    pub(super) end: u64,
    /// Whether what comes then is damaged, and not only unfinished.
    pub(super) damaged: bool,
}

/// The bytes of an entry.
pub(super) fn entry(name: Name, content: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ENTRY_HEAD + content.len());
    bytes.extend(name);
    bytes.extend((content.len() as u64).to_le_bytes());
    bytes.extend(hash(&bytes, content).as_bytes());
    bytes.extend(&blake3::hash(&bytes).as_bytes()[..8]);
    bytes.extend(content);
    bytes
}

/// Hash of a content with the name and the length before it.
fn hash(before: &[u8], content: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(before).update(content).finalize()
}

/// Name and content length in an entry's head; `None` where it is damaged.
fn entry_head(bytes: &[u8; ENTRY_HEAD]) -> Option<(Name, u64)> {
    let (fields, check) = bytes.split_at(ENTRY_HEAD - 8);
    if blake3::hash(fields).as_bytes()[..8] != *check {
        return None;
    }
    Some((fields[..32].try_into().ok()?, u64::from_le_bytes(fields[32..40].try_into().ok()?)))
}

/// Whether a file is a pack of any version.
pub(super) fn is_pack(file: &mut File) -> bool {
    let mut start = [0; KIND.len()];
    file.read_exact(&mut start).is_ok() && start == KIND
}

/// Reads what a file holds; `None` where it is no pack of this version. A file that ends in its head is one
/// that was just begun.
pub(super) fn scan(file: &mut File) -> io::Result<Option<Scan>> {
    let length = file.metadata()?.len();
    file.rewind()?;
    let mut file = BufReader::new(file);
    let mut head = Vec::new();
    file.by_ref().take(HEAD.len() as u64).read_to_end(&mut head)?;
    if head != HEAD {
        return Ok(HEAD.starts_with(&head).then(Scan::default));
    }
    let mut scan = Scan { end: HEAD.len() as u64, ..Scan::default() };
    let mut bytes = [0; ENTRY_HEAD];
    while scan.end + ENTRY_HEAD as u64 <= length {
        file.read_exact(&mut bytes)?;
        let Some((name, content)) = entry_head(&bytes) else {
            scan.damaged = true;
            break;
        };
        let end = scan.end.saturating_add(content).saturating_add(ENTRY_HEAD as u64);
        if end > length {
            break;
        }
        file.seek_relative(i64::try_from(content).map_err(io::Error::other)?)?;
        scan.entries.push((name, scan.end));
        scan.end = end;
    }
    Ok(Some(scan))
}

/// Appends an entry after `end`, or what is left of the head where the pack was just begun. Gives back where the
/// entry begins and where it ends.
pub(super) fn append(file: &mut File, end: u64, entry: &[u8]) -> io::Result<(u64, u64)> {
    let start = if end < HEAD.len() as u64 { 0 } else { end };
    let head = if start == 0 { HEAD } else { &[] };
    file.seek(SeekFrom::Start(start))?;
    let written = file.write_all(&[head, entry].concat());
    if written.is_err() {
        // What could not be finished would be read as damage.
        let _ = file.set_len(end);
    }
    written?;
    let at = start + head.len() as u64;
    Ok((at, at + entry.len() as u64))
}

/// The content of an entry that begins at a place; an error of the kind `InvalidData` where it is not what was written.
pub(super) fn read(file: &mut File, at: u64, name: &Name) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(at))?;
    let wrong = || io::Error::from(ErrorKind::InvalidData);
    let mut head = [0; ENTRY_HEAD];
    file.read_exact(&mut head).map_err(|_| wrong())?;
    let (found, length) = entry_head(&head).ok_or_else(wrong)?;
    let mut content = Vec::new();
    file.take(length).read_to_end(&mut content)?;
    let whole = found == *name
        && content.len() as u64 == length
        && head[40..72] == *hash(&head[..40], &content).as_bytes();
    if whole { Ok(content) } else { Err(wrong()) }
}
