//! Presets by name, and strategies from TOML.

use crate::error::Unusable;
use foldback::{Document, Options, Strategy, config};
use std::path::Path;
use std::sync::Arc;

/// A preset by its name or one of its aliases.
///
/// # Errors
///
/// For a name that is not known.
pub fn preset(name: &str) -> Result<Arc<Strategy>, Unusable> {
    let registry = foldback::registry().map_err(Unusable::text)?;
    Ok(Arc::new(foldback::preset(&registry, name).map_err(Unusable::text)?))
}

/// The presets, in the order of the registry.
///
/// # Errors
///
/// Where one does not compile.
pub fn presets() -> Result<Vec<Arc<Strategy>>, Unusable> {
    let registry = foldback::registry().map_err(Unusable::text)?;
    let made = registry.presets().map(|preset| foldback::preset(&registry, preset.item.name));
    made.map(|made| Ok(Arc::new(made.map_err(Unusable::text)?))).collect()
}

/// A strategy from a strategy file: its path, which ends with `.toml`, or its text.
///
/// # Errors
///
/// For a file that can't be read, and text that is no strategy.
pub fn from_toml(text_or_path: &str) -> Result<Arc<Strategy>, Unusable> {
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
pub fn from_file(path: &Path) -> Result<Arc<Strategy>, Unusable> {
    let name = path.display().to_string();
    let text =
        std::fs::read_to_string(path).map_err(|why| Unusable::Text(format!("{name}: {why}")))?;
    compiled(&name, &text, path)
}

fn compiled(name: &str, text: &str, path: &Path) -> Result<Arc<Strategy>, Unusable> {
    let registry = foldback::registry().map_err(Unusable::text)?;
    let read = foldback::read_beside(path);
    let options = Options { read_file: Some(&read), env: None };
    let document = Document::parse(name, text).map_err(Unusable::text)?;
    let compiled = config::compile(&registry, document, options).map_err(Unusable::text)?;
    Ok(Arc::new(compiled.strategy))
}
