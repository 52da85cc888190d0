//! Classifies a single word.

use super::class::{Class, Identifier};
use rustc_hash::FxHashSet;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// A list of words, one a line.
pub(super) type Words = LazyLock<FxHashSet<&'static str>>;

/// Which kinds of bytes a word has, a bit for each. Most rules are settled by it, without another pass over the word.
pub(super) type Kinds = u16;

const LOWER: Kinds = 1;
const UPPER: Kinds = 1 << 1;
const DIGIT: Kinds = 1 << 2;
const UNDERSCORE: Kinds = 1 << 3;
const DOT: Kinds = 1 << 4;
const SLASH: Kinds = 1 << 5;
const DASH: Kinds = 1 << 6;
pub(super) const COLON: Kinds = 1 << 7;
const HASH: Kinds = 1 << 8;
/// `~ @ + % $`
const SIGN: Kinds = 1 << 9;
/// What is not ASCII belongs to words, except that arrows and typographic signs are cut off when the word is classified.
const NOT_ASCII: Kinds = 1 << 10;

/// The kind of each byte; nothing for those that are in no word. Every byte of a session passes here.
static KIND: [Kinds; 256] = {
    let mut kind = [0; 256];
    let mut byte = 0u8;
    loop {
        kind[byte as usize] = match byte {
            b'a'..=b'z' => LOWER,
            b'A'..=b'Z' => UPPER,
            b'0'..=b'9' => DIGIT,
            b'_' => UNDERSCORE,
            b'.' => DOT,
            b'/' => SLASH,
            b'-' => DASH,
            b':' => COLON,
            b'#' => HASH,
            b'~' | b'@' | b'+' | b'%' | b'$' => SIGN,
            0x80.. => NOT_ASCII,
            _ => 0,
        };
        if byte == u8::MAX {
            break kind;
        }
        byte += 1;
    }
};

/// Whether a byte is one of a word.
pub(super) fn in_word(byte: u8) -> bool {
    KIND[usize::from(byte)] != 0
}

fn kinds(word: &str) -> Kinds {
    word.bytes().fold(0, |kinds, byte| kinds | KIND[usize::from(byte)])
}

/// The length of the word that bytes begin with, and the kinds of its bytes.
pub(super) fn first(bytes: &[u8]) -> (usize, Kinds) {
    let mut all = 0;
    let end = bytes.iter().position(|byte| {
        let kind = KIND[usize::from(*byte)];
        all |= kind;
        kind == 0
    });
    (end.unwrap_or(bytes.len()), all)
}

/// Stop identifiers: strings that have the shape of a reference and occur in so many sessions that finding one in a
/// context says nothing about what the context still knows.
static STOP: Words = LazyLock::new(|| include_str!("../../../data/stop.txt").lines().collect());

/// Adds an identifier unless it is a stop identifier.
pub(super) fn push<'a>(found: &mut VecDeque<Identifier<'a>>, class: Class, text: &'a str) {
    if !text.is_empty() && !STOP.contains(text) {
        found.push_back(Identifier { class, text });
    }
}

/// What a position, a sentence or a list leaves at the end of a word.
const ENDS: [char; 8] = ['.', ':', '-', '+', '%', '#', '$', '@'];

/// Whether a word is one of those without identifiers that can be told at a glance, as most words are: a
/// lower-case word, with a capital or without, or one or two figures; a sign after it.
pub(super) fn says_nothing(word: &str, kinds: Kinds) -> bool {
    if kinds == LOWER {
        return true;
    }
    if kinds & (UNDERSCORE | SLASH | NOT_ASCII) != 0 {
        return false;
    }
    let bytes = word.as_bytes();
    let end = bytes.iter().rposition(|byte| !ENDS.contains(&char::from(*byte)));
    let Some((first, rest)) = end.and_then(|end| bytes[..=end].split_first()) else {
        return true;
    };
    match first {
        b'0'..=b'9' => rest.len() < 2 && rest.iter().all(u8::is_ascii_digit),
        _ => first.is_ascii_alphabetic() && rest.iter().all(u8::is_ascii_lowercase),
    }
}

/// Takes the identifiers of a word. `call` says that an opening bracket follows it.
pub(super) fn classify<'a>(word: &'a str, call: bool, found: &mut VecDeque<Identifier<'a>>) {
    if word.is_ascii() {
        return plain(word, call, found);
    }
    // Arrows, dashes, typographic quotes and other signs that are not ASCII separate.
    for piece in word.split(|c: char| !c.is_ascii() && !c.is_alphanumeric()) {
        let last =
            std::ptr::eq(piece.as_bytes().as_ptr_range().end, word.as_bytes().as_ptr_range().end);
        plain(piece, call && last, found);
    }
}

fn plain<'a>(word: &'a str, call: bool, found: &mut VecDeque<Identifier<'a>>) {
    let word = word.trim_end_matches(ENDS);
    let word = word.trim_start_matches([':', '+', '%', '#', '$', '@']);
    if word.len() < 2 {
        return;
    }
    let kinds = kinds(word);
    if kinds & COLON != 0 && word.contains("://") {
        push(found, Class::Url, word.trim_end_matches([',', ';', '!', '?', '*', '/']));
        return;
    }
    if word.starts_with('-') {
        if is_flag(word) {
            push(found, Class::Flag, word);
        } else {
            plain(word.trim_start_matches('-'), call, found);
        }
        return;
    }
    if kinds & (DOT | SLASH | DASH | COLON | HASH) == 0 {
        // A bare name, or several with signs between them.
        word.split(['+', '%', '$', '@', '~']).for_each(|part| name_parts(part, found));
        return;
    }
    let bare = if kinds & (COLON | HASH) == 0 { word } else { without_position(word) };
    let joined = kinds & (COLON | DASH) != 0;
    if let Some((path, rest)) = joined.then(|| behind_path(bare)).flatten() {
        plain(&word[..path], false, found);
        plain(&word[rest..], call, found);
        return;
    }
    if is_path(bare) {
        let path = bare.trim_start_matches("./");
        let down = path.trim_start_matches("../");
        let path = if is_path(down) { down } else { path };
        let path = if path.len() > 1 { path.trim_end_matches('/') } else { path };
        push(found, Class::Path, path);
        return;
    }
    if let Some(class) = whole(bare) {
        push(found, class, bare);
        return;
    }
    for part in word.split(['/', '-', '+', '%', '#', '$', '@', '~']) {
        dotted(part, call, found);
    }
}

fn has(word: &str, byte: u8) -> bool {
    word.as_bytes().contains(&byte)
}

/// Hashes, numbers and the error codes that have a hyphen in them.
fn whole(word: &str) -> Option<Class> {
    if word.len() != UUID && !word.bytes().any(|byte| byte.is_ascii_digit()) {
        None
    } else if is_uuid(word) || is_hash(word) || is_ticket(word) {
        Some(Class::Hash)
    } else if is_number(word) {
        Some(Class::Number)
    } else {
        None
    }
}

/// A word with `::`, `:` or `.` in it, or a plain one.
fn dotted<'a>(word: &'a str, call: bool, found: &mut VecDeque<Identifier<'a>>) {
    // One colon separates (`localhost:8080`, `key:value`), two belong to a symbol.
    let colon = has(word, b':');
    if let Some(cut) = colon.then(|| single_colon(word)).flatten() {
        plain(&word[..cut], false, found);
        plain(&word[cut + 1..], call, found);
        return;
    }
    if colon && word.contains("::") {
        let parts = || word.split("::");
        let name = parts().all(|part| !part.is_empty() && part.bytes().all(in_name));
        if name {
            push(found, Class::Symbol, word);
        }
        for part in parts() {
            name_parts(part, found);
        }
        return;
    }
    if has(word, b'.') {
        let parts = || word.split('.').filter(|part| !part.is_empty());
        let names = parts().count() >= 2 && parts().all(is_name);
        let shaped = call || parts().all(|part| part.len() >= 2);
        if names && shaped {
            push(found, Class::Symbol, word.trim_matches('.'));
        }
        for part in parts() {
            name_parts(part, found);
        }
        return;
    }
    name_parts(word, found);
}

/// A word without any separator in it.
fn name_parts<'a>(word: &'a str, found: &mut VecDeque<Identifier<'a>>) {
    if kinds(word) & !LOWER == 0 {
        return;
    }
    if let Some(class) = whole(word) {
        push(found, class, word);
    } else if is_error(word) {
        push(found, Class::Error, word);
    } else if is_name(word) && (is_snake(word) || is_camel(word)) {
        push(found, Class::Symbol, word);
    } else {
        // A figure with its unit: `8080ms`, `512k`.
        let figures = word.bytes().take_while(u8::is_ascii_digit).count();
        let unit = word.len() - figures;
        if figures >= 3 && unit <= 2 && word.is_ascii() {
            push(found, Class::Number, &word[..figures]);
        }
    }
}

/// Takes a position off the end: `:12`, `:12:5`, `:12-20`, `#L12`, `#L12-L20`.
fn without_position(word: &str) -> &str {
    let mut rest = word;
    for _ in 0..2 {
        let figures = rest.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | 'L'));
        let cut = figures
            .strip_suffix(':')
            .or_else(|| figures.strip_suffix('#'))
            .filter(|_| rest.ends_with(|c: char| c.is_ascii_digit()));
        match cut {
            Some(cut) if !cut.is_empty() => rest = cut,
            _ => break,
        }
    }
    rest
}

/// Where a path ends that a tool has put before a line (`a.rs:12:text`, `a.rs-12-text`) or that something else has been
/// put before (`HEAD:src/a.rs`), and where the rest begins.
fn behind_path(word: &str) -> Option<(usize, usize)> {
    let figures = |from: usize| word[from..].bytes().take_while(u8::is_ascii_digit).count();
    let bytes = word.as_bytes();
    for (at, _) in word.match_indices('-') {
        let end = at + 1 + figures(at + 1);
        let numbered = end > at + 1 && bytes.get(end).is_none_or(|byte| *byte == b'-');
        let name = || word[..at].rsplit('/').next().is_some_and(has_extension);
        if numbered && name() && is_path(&word[..at]) {
            return Some((at, word.len().min(end + 1)));
        }
    }
    let colon = if has(word, b':') { single_colon(word)? } else { return None };
    let mut rest = colon + 1;
    if is_path(&word[..colon]) {
        loop {
            let end = rest + figures(rest);
            match bytes.get(end) {
                _ if end == rest => break,
                None => rest = end,
                Some(b':' | b'-') => rest = end + 1,
                Some(_) => break,
            }
        }
        return Some((colon, rest));
    }
    let path = word[rest..].contains('/') && !bytes[rest].is_ascii_digit();
    path.then_some((colon, rest))
}

/// Letters that make an escape with a backslash before them.
const ESCAPES: &[u8] = b"abfnrtuvx0";

/// The path with backslashes that a text begins with, its first word being `first` bytes long: `src\prompt\x.go`.
/// Not where every backslash may begin an escape.
pub(super) fn windows(text: &str, first: usize) -> Option<&str> {
    let bytes = text.as_bytes();
    if bytes.get(first) != Some(&b'\\') {
        return None;
    }
    let in_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.@".contains(byte);
    let run = |from: usize| bytes[from..].iter().take_while(|byte| in_part(byte)).count();
    let mut end = run(0);
    if end != first {
        return None;
    }
    let mut plain = false;
    while bytes.get(end) == Some(&b'\\') {
        let doubled = bytes.get(end + 1) == Some(&b'\\');
        let part = end + 1 + usize::from(doubled);
        let length = run(part);
        if length == 0 {
            break;
        }
        plain |= doubled || !ESCAPES.contains(&bytes[part]);
        end = part + length;
    }
    let path = text[..end].trim_end_matches(['.', '-', '@']);
    (plain && path.rsplit('\\').next().is_some_and(has_extension)).then_some(path)
}

/// Extensions that make a bare name a file. Only those that hardly ever follow a dot in code.
pub(super) const EXTENSIONS: [&str; 74] = [
    "astro", "bash", "bat", "bin", "bmp", "c", "cc", "cfg", "cjs", "conf", "cpp", "cs", "css",
    "csv", "cts", "cu", "db", "diff", "ex", "exs", "gif", "go", "gz", "h", "hpp", "hs", "htm",
    "html", "ico", "ini", "ipynb", "java", "jpeg", "jpg", "js", "json", "jsonl", "jsx", "kt",
    "less", "lock", "lua", "md", "mdx", "mjs", "mts", "patch", "pdf", "php", "png", "proto", "py",
    "pyi", "rb", "rs", "rst", "scala", "scss", "sh", "sql", "sqlite", "svelte", "svg", "swift",
    "tf", "toml", "ts", "tsx", "txt", "vue", "xml", "yaml", "yml", "zip",
];

/// Bytes of `sqlite` and `svelte`.
const LONGEST_EXTENSION: usize = 6;

fn has_extension(name: &str) -> bool {
    let dot = name.bytes().rev().take(LONGEST_EXTENSION + 1).position(|byte| byte == b'.');
    dot.map(|back| name.split_at(name.len() - back)).is_some_and(|(stem, extension)| {
        EXTENSIONS.binary_search(&extension).is_ok() && stem.contains(|c: char| c.is_alphanumeric())
    })
}

fn is_path(word: &str) -> bool {
    let kinds = kinds(word);
    if kinds & COLON != 0 {
        return false;
    }
    if kinds & SLASH == 0 {
        return kinds & DOT != 0 && has_extension(word);
    }
    if word.as_bytes().windows(2).any(|two| two == b"//") {
        return false;
    }
    let rooted = ["/", "~/", "./", "../"].iter().any(|root| word.starts_with(root));
    let spelled = kinds & (LOWER | UPPER) != 0 || word.contains(char::is_alphabetic);
    let (mut count, mut short, mut command) = (0, false, false);
    for part in word.split('/').filter(|part| !part.is_empty() && *part != "~") {
        command |= count == 0 && matches!(part, "s" | "y" | "tr");
        short |= part.len() == 1;
        count += 1;
    }
    // `s/old/new/` is an edit of a stream, `3/4` a fraction.
    let expression = !rooted && count > 2 && command;
    spelled && !expression && if rooted { count >= 1 } else { count > 2 || (count == 2 && !short) }
}

fn is_flag(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    let dashes = word.len() - name.len();
    let spelled = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|byte| in_name(byte) || byte == b'-');
    spelled
        && match dashes {
            1 => name.len() >= 2 && !name.contains('-'),
            2 => name.len() >= 2,
            _ => false,
        }
}

/// Bytes of a UUID.
const UUID: usize = 36;

fn is_uuid(word: &str) -> bool {
    word.len() == UUID
        && word.bytes().enumerate().all(|(index, byte)| match index {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// Hex with a figure and a letter in it, at least seven digits; or `0x` and at least four.
fn is_hash(word: &str) -> bool {
    if let Some(digits) = word.strip_prefix("0x") {
        return digits.len() >= 4 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    word.len() >= 7
        && word.bytes().all(|byte| byte.is_ascii_hexdigit())
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// `ABC-123`, `CVE-2024-1234`.
fn is_ticket(word: &str) -> bool {
    word.split_once('-').is_some_and(|(name, number)| {
        name.len() >= 2
            && name.bytes().all(|byte| byte.is_ascii_uppercase())
            && number.bytes().filter(u8::is_ascii_digit).count() >= 2
            && number
                .split('-')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

fn is_number(word: &str) -> bool {
    word.bytes().filter(u8::is_ascii_digit).count() >= 3
        && word
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Names of system errors; a pattern would take `EXPECT` and `EVERY` as well.
static SYSTEM_ERRORS: Words =
    LazyLock::new(|| include_str!("../../../data/errors.txt").lines().collect());

fn is_error(word: &str) -> bool {
    // All of them begin so. Hardly any word does, and every word comes by here.
    if !word.starts_with(|c: char| c.is_ascii_uppercase()) {
        return false;
    }
    let named = ["Error", "Exception", "Warning", "Panic", "Fault"]
        .iter()
        .any(|ending| word.len() > ending.len() && word.ends_with(ending));
    if named && is_name(word) {
        return true;
    }
    if SYSTEM_ERRORS.contains(word) {
        return true;
    }
    let upper = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_uppercase());
    if word.strip_prefix("ERR_").is_some_and(|rest| {
        rest.bytes().all(|byte| byte == b'_' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
    }) {
        return word.len() > 4;
    }
    if word
        .strip_prefix("SIG")
        .is_some_and(|rest| rest.len() >= 3 && rest.len() <= 5 && upper(rest))
    {
        return !matches!(word, "SIGNAL" | "SIGNED" | "SIGNIN" | "SIGNUP");
    }
    // `E0308`, `TS2345`, `F401`, `SC2086`.
    let letters = word.bytes().take_while(u8::is_ascii_uppercase).count();
    let figures = word.len() - letters;
    (1..=4).contains(&letters)
        && (3..=5).contains(&figures)
        && word[letters..].bytes().all(|byte| byte.is_ascii_digit())
}

fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && word.bytes().all(in_name)
}

/// An underscore between two letters or figures.
fn is_snake(word: &str) -> bool {
    let inner = word.trim_matches('_');
    inner.len() >= 3 && inner.contains('_')
}

/// A capital after a small letter (`fooBar`), or after capitals and before a small letter
/// (`HTTPServer`; not `URLs`).
fn is_camel(word: &str) -> bool {
    let bytes = word.as_bytes();
    let joint = bytes.windows(2).any(|pair| {
        (pair[0].is_ascii_lowercase() || pair[0].is_ascii_digit()) && pair[1].is_ascii_uppercase()
    });
    let acronym = bytes.windows(4).any(|four| {
        four[0].is_ascii_uppercase()
            && four[1].is_ascii_uppercase()
            && four[2].is_ascii_lowercase()
            && four[3].is_ascii_lowercase()
    });
    word.len() >= 3 && bytes.iter().any(u8::is_ascii_lowercase) && (joint || acronym)
}

/// Offset of a colon that has no other beside it.
fn single_colon(word: &str) -> Option<usize> {
    let bytes = word.as_bytes();
    (0..bytes.len()).find(|at| {
        bytes[*at] == b':'
            && (*at == 0 || bytes[*at - 1] != b':')
            && bytes.get(*at + 1) != Some(&b':')
    })
}
