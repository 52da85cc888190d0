//! Presets by name, and strategies from TOML.

use super::error::CompactError;
use crate::config::{self, Compiled};
use crate::{Document, Options, Strategy};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

/// A strategy. Two are equal if they were made of equal values.
#[derive(Clone, Debug)]
pub struct Preset {
    /// The strategy.
    pub strategy: Arc<Strategy>,
    values: Value,
}

impl PartialEq for Preset {
    fn eq(&self, other: &Self) -> bool {
        self.values == other.values
    }
}

impl From<Compiled> for Preset {
    fn from(compiled: Compiled) -> Self {
        Self { values: compiled.root.to_value(), strategy: Arc::new(compiled.strategy) }
    }
}

/// A preset by its name or one of its aliases.
///
/// # Errors
///
/// For a name that is not known.
pub fn preset(name: &str) -> Result<Preset, CompactError> {
    let registry = crate::registry().map_err(CompactError::text)?;
    let compiled = config::compile_preset(&registry, name, Options::default());
    Ok(compiled.map_err(CompactError::text)?.into())
}

/// The presets, in the order of the registry.
///
/// # Errors
///
/// Where one does not compile.
pub fn presets() -> Result<Vec<Preset>, CompactError> {
    let registry = crate::registry().map_err(CompactError::text)?;
    registry.presets().map(|known| preset(known.item.name)).collect()
}

/// A strategy from a strategy file: its path, which ends with `.toml`, or its text.
///
/// # Errors
///
/// For a file that can't be read, and text that is no strategy.
pub fn from_toml(text_or_path: &str) -> Result<Preset, CompactError> {
    if text_or_path.contains('\n') || !text_or_path.ends_with(".toml") {
        return compiled("<toml>", text_or_path, Path::new(""));
    }
    from_file(Path::new(text_or_path))
}

/// A strategy from a strategy file.
///
/// # Errors
///
/// As with [`from_toml`].
pub fn from_file(path: &Path) -> Result<Preset, CompactError> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|why| CompactError::Text(format!("{name}: {why}")))?;
    compiled(&name, &text, path)
}

fn compiled(name: &str, text: &str, path: &Path) -> Result<Preset, CompactError> {
    let registry = crate::registry().map_err(CompactError::text)?;
    let read = crate::read_beside(path);
    let options = Options { read_file: Some(&read), env: None };
    let document = Document::parse(name, text).map_err(CompactError::text)?;
    if let Some(node) =
        document.root.at("summarizer.use").filter(|node| node.as_str() == Some("llm"))
    {
        return Err(CompactError::Text(format!(
            "{name}:{}:{}: summarizer.use: this package asks no model; leave [summarizer] out or set use = \"extractive\", \
             or have the command `foldback compact` write the summaries",
            node.place.line, node.place.column
        )));
    }
    let compiled = config::compile(&registry, document, options).map_err(CompactError::text)?;
    Ok(compiled.into())
}
