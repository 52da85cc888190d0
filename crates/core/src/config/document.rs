//! What the user wrote.

use super::error::{ConfigError, ConfigErrors};
use super::node::{Lines, Node};
use std::sync::Arc;
use toml::de::DeTable;

/// A strategy file, parsed but not understood yet.
#[derive(Clone, Debug)]
pub struct Document {
    /// The file, or the name of the preset.
    pub source: Arc<str>,
    /// The values with their places.
    pub root: Node,
}

impl Document {
    /// Parses a text. Reports every syntax error, not only the first.
    ///
    /// # Errors
    ///
    /// The text is no TOML.
    pub fn parse(source: &str, text: &str) -> Result<Self, ConfigErrors> {
        let source: Arc<str> = source.into();
        let lines = Lines::new(Arc::clone(&source), text);
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            let errors = errors.iter().map(|error| {
                let place = lines.place(error.span().map_or(0, |span| span.start));
                ConfigError {
                    source: source.to_string(),
                    line: place.line,
                    column: place.column,
                    path: String::new(),
                    message: error.message().to_owned(),
                }
            });
            return Err(ConfigErrors(errors.collect()));
        }
        let root = Node::of_table(&lines, table.span(), table.get_ref());
        Ok(Self { source, root })
    }
}
