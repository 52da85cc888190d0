//! Keys of providers: their source, and how they are kept out of everything that is written.
//!
//! A configuration names the variable that holds a key, never the key. The builder of a client says how a
//! variable is looked up, so that nothing here reads the environment on its own.

use std::fmt;
use std::sync::Arc;

/// What replaces a key.
const REDACTED: &str = "[key]";

/// Shorter values are stand-ins for servers that take no key (`none`, `x`, `ollama`). Removing them would only make
/// messages unreadable.
const SHORTEST_SECRET: usize = 8;

/// A key. It can be sent, and nothing else: neither `Debug` nor `Display` shows it.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key without the white space around it (a file's last newline can't go into a header); `None`
    /// if nothing is left.
    pub fn new(value: &str) -> Option<Self> {
        let value = value.trim();
        (!value.is_empty()).then(|| Self(value.to_owned()))
    }

    /// The key itself, for the header of a request.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }

    /// The text with `[key]` in place of the key, in plain text and in JSON. Providers quote keys in their
    /// errors.
    pub fn scrub(&self, text: &str) -> String {
        if self.0.len() < SHORTEST_SECRET {
            return text.to_owned();
        }
        let mut clean = text.replace(&self.0, REDACTED);
        if let Ok(quoted) = serde_json::to_string(&self.0) {
            let escaped = quoted.trim_matches('"');
            if escaped != self.0 {
                clean = clean.replace(escaped, REDACTED);
            }
        }
        clean
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Looks keys up by the name of a variable.
#[derive(Clone)]
pub struct Keys(Arc<Lookup>);

impl Keys {
    /// Keys as `lookup` gives them.
    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lookup))
    }

    /// Keys from the environment of the process.
    pub fn from_env() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    /// The key under this name, if there is one that is not blank.
    pub fn get(&self, variable: &str) -> Option<Key> {
        (self.0)(variable).as_deref().and_then(Key::new)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_trimmed_and_a_blank_one_is_none() {
        let table = [
            ("sk-abcdefgh", Some("sk-abcdefgh")),
            (" sk-abcdefgh\n", Some("sk-abcdefgh")),
            ("", None),
            (" \n", None),
        ];
        for (given, expected) in table {
            let key = Key::new(given);
            assert_eq!(key.as_ref().map(Key::expose), expected, "{given:?}");
        }
    }

    #[test]
    fn a_key_is_blotted_out_as_it_is_and_as_json_writes_it() {
        let key = Key::new("se\"cret-1234").unwrap();
        let text = r#"plain se"cret-1234, quoted {"key":"se\"cret-1234"}"#;
        assert_eq!(key.scrub(text), r#"plain [key], quoted {"key":"[key]"}"#);
        let placeholder = Key::new("none").unwrap();
        assert_eq!(placeholder.scrub("none of it"), "none of it");
        assert_eq!(format!("{key:?}"), "Key(…)");
    }
}
