//! From command-line values to a conversation.

use crate::tools::Tools;
use foldback::live::AgentLoop;
use foldback::{AgentBuilder, Document, Limits, Options, Services, Strategy, config};
use serde_json::Value;
use std::fs;

/// What the model is told before anything else.
pub const SYSTEM: &str = "You work on the files of one directory with the tools that you have. Look before you \
change anything, change as little as needed, check what you did, and end with a short account of it.";

/// Compiles a preset, or a strategy file where the name is no preset's.
///
/// # Errors
///
/// What is wrong with the name or the file, as text for the user.
pub fn strategy(name: &str) -> Result<Strategy, String> {
    let registry = foldback::registry().map_err(|error| error.to_string())?;
    if registry.preset(name).is_some() || !name.ends_with(".toml") {
        return foldback::preset(&registry, name).map_err(|error| error.to_string());
    }
    let text = fs::read_to_string(name).map_err(|error| format!("{name}: {error}"))?;
    compile(name, &text)
}

/// Compiles a strategy file from its text.
///
/// # Errors
///
/// What is wrong with it, as text for the user.
pub fn compile(source: &str, text: &str) -> Result<Strategy, String> {
    let registry = foldback::registry().map_err(|error| error.to_string())?;
    let document = Document::parse(source, text).map_err(|error| error.to_string())?;
    config::compile(&registry, document, Options::default())
        .map(|compiled| compiled.strategy)
        .map_err(|error| error.to_string())
}

/// The loop around a strategy. It is told what is sent besides the messages, so that its counts are those of the
/// whole request.
///
/// # Errors
///
/// The strategy can't work within these limits.
pub fn context(
    strategy: Strategy,
    limits: Limits,
    tools: &Tools,
    services: Services,
) -> Result<AgentLoop, String> {
    let builder = AgentBuilder::with_strategy(strategy)
        .window(limits.context)
        .max_output(limits.output)
        .system(SYSTEM)
        .tools(Value::from(tools.definitions()).to_string())
        .services(services);
    builder.build().map_err(|error| error.to_string())
}
