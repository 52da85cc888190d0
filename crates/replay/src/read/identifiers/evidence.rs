//! Whether an identifier in the arguments of a call refers to something that was seen before, or is there
//! by coincidence.
//!
//! An earlier occurrence alone does not make a string a reference: `400` is a color in one place and a
//! status in another, and `--name` comes from knowing `find`. A reference needs *evidence*:
//!
//! 1. *It says enough for its class* ([`telling`]).
//! 2. *It is not in the tools' own schema*: it is no name of a tool and no name of an argument of the session's
//!    calls. Constants of well-known tools are stop identifiers.
//! 3. *Chance does not explain it*. A whole number carries no information where a third of all whole numbers
//!    with as many digits were in the session before (`Numbers`): in a log full of line numbers every
//!    number of three figures is found. A flag counts only if a tool or a user was first to say it.
//!
//! This decides what calls are asked for. What a text makes present is not touched by it.

use super::class::Class;
use super::word::Words;
use std::sync::LazyLock;

/// One in so many of all numbers with as many figures: from there on, finding one is no evidence.
const COMMON: usize = 3;

/// Figures of a number without the zeros at its ends, and letters and figures of a quoted string, that say something.
const FIGURES: usize = 3;
const SIGNS: usize = 8;

/// Beginnings of symbols that belong to languages and their libraries, not to a project.
static LIBRARY: Words =
    LazyLock::new(|| include_str!("../../../data/library.txt").lines().collect());

/// Beginnings of URLs that name a standard.
const STANDARDS: [&str; 3] =
    ["http://www.w3.org/", "http://json-schema.org/", "https://json-schema.org/"];

/// Whether an identifier says enough for its class that finding it again is more than coincidence:
///
/// | class | what it needs |
/// |---|---|
/// | number | three figures, zeros at the ends aside; or two points |
/// | flag | `--` and two words or more |
/// | quoted | eight letters and figures, and something besides letters, a slash at the end aside |
/// | path | an extension, a root, a third component, or something besides small letters |
/// | URL | not the name of a standard |
/// | symbol | not from the library of a language |
/// | error, hash | nothing |
pub(crate) fn telling(class: Class, text: &str) -> bool {
    match class {
        Class::Number => {
            let points = text.bytes().filter(|byte| *byte == b'.').count();
            let figures = text.trim_matches(['0', '.']).bytes().filter(u8::is_ascii_digit);
            points > 1 || figures.count() >= FIGURES
        }
        Class::Flag => text.strip_prefix("--").is_some_and(|name| name.contains('-')),
        Class::Quoted => {
            text.trim_end_matches('/').contains(|c: char| !c.is_alphabetic())
                && text.chars().filter(|c| c.is_alphanumeric()).count() >= SIGNS
        }
        Class::Path => {
            let word =
                |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase());
            !text.split_once(['/', '\\']).is_some_and(|(one, two)| word(one) && word(two))
        }
        Class::Url => !STANDARDS.iter().any(|standard| text.starts_with(standard)),
        Class::Symbol => {
            let first = text.split(['.', ':']).next().unwrap_or(text);
            !LIBRARY.contains(first)
        }
        Class::Error | Class::Hash => true,
    }
}

/// How many figures a whole number has; `None` for what is none.
pub(crate) fn figures(class: Class, text: &str) -> Option<usize> {
    (class == Class::Number && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text.len())
}

/// The whole numbers that a session has said so far, by how many figures they have.
#[derive(Clone, Debug, Default)]
pub(crate) struct Numbers {
    seen: Vec<usize>,
}

impl Numbers {
    /// One more number of so many figures, not said before.
    pub(crate) fn add(&mut self, figures: usize) {
        if self.seen.len() <= figures {
            self.seen.resize(figures + 1, 0);
        }
        self.seen[figures] += 1;
    }

    /// Whether so many numbers of so many figures were said that finding one of them is no evidence.
    pub(crate) fn common(&self, figures: usize) -> bool {
        let all = u32::try_from(figures).ok().and_then(|figures| 10usize.checked_pow(figures));
        let seen = self.seen.get(figures).copied().unwrap_or(0);
        // Nine in ten begin with another figure than 0.
        all.is_some_and(|all| seen * COMMON >= all / 10 * 9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_needs_its_minimum() {
        let table = [
            (Class::Number, "742", true),
            (Class::Number, "120", false),
            (Class::Number, "12000", false),
            (Class::Number, "0.0.1", true),
            (Class::Number, "0.50", false),
            (Class::Flag, "--with-guards", true),
            (Class::Flag, "--name", false),
            (Class::Flag, "-rf", false),
            (Class::Quoted, "my-kebab-name", true),
            (Class::Quoted, "providers", false),
            (Class::Quoted, "services/", false),
            (Class::Quoted, "} else {", false),
            (Class::Path, "presenters/builders", false),
            (Class::Path, "src/features/chat", true),
            (Class::Path, "src/main.rs", true),
            (Class::Path, "/tmp2", true),
            (Class::Url, "http://www.w3.org/2000/svg", false),
            (Class::Url, "http://localhost:8080", true),
            (Class::Symbol, "JSON.parse", false),
            (Class::Symbol, "std::fs::read_dir", false),
            (Class::Symbol, "parse_args", true),
            (Class::Error, "E0308", true),
            (Class::Hash, "5d0191d", true),
        ];
        for (class, text, expected) in table {
            assert_eq!(telling(class, text), expected, "{text}");
        }
    }

    #[test]
    fn a_third_of_all_numbers_is_common() {
        let mut numbers = Numbers::default();
        for _ in 0..299 {
            numbers.add(3);
        }
        assert!(!numbers.common(3));
        numbers.add(3);
        assert!(numbers.common(3));
        assert!(!numbers.common(4) && !numbers.common(200));
    }
}
