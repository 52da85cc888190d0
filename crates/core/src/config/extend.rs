//! Merges a file with what it extends, and with the environment.

use super::document::Document;
use super::error::{ConfigError, ConfigErrors, nearest, three_nearest};
use super::header::EnvFlag;
use super::merge::merge;
use super::node::{Node, NodeKind};
use crate::registry::Registry;
use serde_json::Value;
use std::fmt;

/// Gives the text of a file, or says why it can't be read.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Gives the value of an environment variable that is set.
pub type ReadEnv<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What a compilation may use in addition to the registry.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Reads a file that `extends` names and that is not a preset; `None` if files can't be read.
    pub read_file: Option<&'a ReadFile<'a>>,
    /// Looks up an environment variable of the original system. `None` if the environment is not read.
    pub env: Option<&'a ReadEnv<'a>>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

pub(super) fn preset_document(registry: &Registry, name: &str) -> Result<Document, ConfigErrors> {
    if let Some(preset) = registry.preset(name) {
        return Document::parse(preset.item.name, preset.item.toml);
    }
    for preset in registry.presets() {
        let document = Document::parse(preset.item.name, preset.item.toml)?;
        let aliases = document.root.get("aliases").map(Node::elements).unwrap_or_default();
        if aliases.iter().any(|alias| alias.as_str() == Some(name)) {
            return Ok(document);
        }
    }
    let known: Vec<&str> = registry.presets().map(|preset| preset.item.name).collect();
    let all = "`foldback presets` lists all; or give the path of a .toml file";
    let message = match &*nearest(name, known.iter().copied()) {
        "" => {
            let near = three_nearest(name, known.iter().copied()).join(", ");
            format!("no preset has this name; the nearest of {} are {near}, and {all}", known.len())
        }
        nearest => format!("no preset has this name; {all}{nearest}"),
    };
    Err(ConfigErrors(vec![ConfigError {
        source: name.to_owned(),
        line: 0,
        column: 0,
        path: String::new(),
        message,
    }]))
}

pub(super) fn extend(
    registry: &Registry,
    document: Document,
    options: Options<'_>,
    chain: &mut Vec<String>,
) -> Result<Node, ConfigErrors> {
    let Some(node) = document.root.get("extends").cloned() else {
        return Ok(document.root);
    };
    let fail = |message: String| {
        Err(ConfigErrors(vec![ConfigError {
            source: document.source.to_string(),
            line: node.place.line,
            column: node.place.column,
            path: "extends".to_owned(),
            message,
        }]))
    };
    let Some(name) = node.as_str().map(str::to_owned) else {
        return fail("takes the name of a preset or the path of a .toml file".to_owned());
    };
    if chain.contains(&name) {
        return fail(format!("comes back to itself: {} -> {name}", chain.join(" -> ")));
    }
    chain.push(name.clone());
    let base = if name.ends_with(".toml") {
        let Some(read) = options.read_file else {
            return fail(format!("`{name}` is a file, and files can't be read here"));
        };
        match read(&name) {
            Ok(text) => Document::parse(&name, &text)?,
            Err(error) => return fail(format!("`{name}` can't be read: {error}")),
        }
    } else {
        match preset_document(registry, &name) {
            Ok(base) => base,
            Err(error) => {
                return fail(
                    error.0.first().map_or(String::new(), |e| format!("`{name}`: {}", e.message)),
                );
            }
        }
    };
    let mut base = extend(registry, base, options, chain)?;
    // What describes the base does not describe what extends it.
    for key in ["aliases", "extends"] {
        base.take(key);
    }
    Ok(merge(base, document.root))
}

/// Sets what the environment variables of the original set, and returns those found.
pub(super) fn apply_env(root: &mut Node, options: Options<'_>) -> Vec<(EnvFlag, String)> {
    let Some(lookup) = options.env else {
        return Vec::new();
    };
    let flags: Vec<EnvFlag> = root
        .get("env")
        .map(Node::elements)
        .unwrap_or_default()
        .iter()
        .filter_map(|node| serde_json::from_value(node.to_value()).ok())
        .collect();
    let mut found = Vec::new();
    for flag in flags {
        let Some(value) = lookup(&flag.name) else {
            continue;
        };
        let matches = match &flag.when {
            Some(wanted) => *wanted == value,
            None => flag.to.is_none() || value == "1" || value.eq_ignore_ascii_case("true"),
        };
        if !matches {
            continue;
        }
        let set = flag.to.clone().unwrap_or_else(|| {
            serde_json::from_str(&value).unwrap_or_else(|_| Value::String(value.clone()))
        });
        set_path(
            root,
            &flag.sets,
            Node::from_value(&format!("environment variable {}", flag.name), set),
        );
        found.push((flag, value));
    }
    found
}

fn set_path(root: &mut Node, path: &str, value: Node) {
    if let Some(rest) = path.strip_prefix("pruner.") {
        let Some((stage, key)) = rest.rsplit_once('.') else {
            return;
        };
        if let Some(Node { kind: NodeKind::List(pruners), .. }) = root.get_mut("pruner") {
            for pruner in pruners {
                if pruner.get("use").and_then(Node::as_str) == Some(stage) {
                    pruner.set(key, value.clone());
                }
            }
        }
        return;
    }
    let Some((section, key)) = path.split_once('.') else {
        root.set(path, value);
        return;
    };
    if let Some(node) = root.get_mut(section) {
        set_path(node, key, value);
    }
}
