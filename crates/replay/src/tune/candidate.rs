//! A configuration: a strategy with some of its fields changed, as a file that extends it.

use super::Field;
use crate::run::setup::Preset;
use foldback_core::Limits;
use foldback_core::config::{self, Compiled, Document, Options};
use foldback_core::registry::{Registry, StageKind};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;

/// A configuration that can be replayed.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Name of the strategy that it changes.
    pub of: String,
    /// What `extends` says: the name of a preset, or the path of a file.
    pub extends: String,
    /// What it sets; nothing for the strategy's own values.
    pub settings: Vec<(Field, Value)>,
    /// Those of the settings that are not the strategy's own values: what a file has to say.
    pub changes: Vec<(Field, Value)>,
    /// Ready to replay.
    pub preset: Preset,
}

/// A configuration that can't be replayed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rejected {
    /// Its name.
    pub name: String,
    /// What is wrong with it.
    pub why: String,
}

/// What a file says besides the settings.
#[derive(Clone, Copy, Debug, Default)]
pub struct Header<'a> {
    /// Name of the strategy.
    pub name: &'a str,
    /// What it does, in a sentence.
    pub description: Option<&'a str>,
    /// Model whose limits apply.
    pub model: Option<&'a str>,
    /// Limits in tokens; zero where not given.
    pub limits: Limits,
}

impl Candidate {
    /// The strategy with its own values.
    pub(crate) fn own(strategy: &Compiled, extends: &str) -> Self {
        Self {
            of: strategy.strategy.name.clone(),
            extends: extends.to_owned(),
            settings: Vec::new(),
            changes: Vec::new(),
            preset: Preset::new(strategy.strategy.clone(), strategy.root.to_value().to_string()),
        }
    }

    /// Name of the configuration: `tunacode[protect_tokens=2000,minimum_tokens=500]`.
    pub fn name(&self) -> String {
        name_of(&self.of, &self.settings)
    }

    /// Whether it is the strategy with its own values.
    pub(crate) fn is_own(&self) -> bool {
        self.settings.is_empty()
    }

    /// A strategy file that extends what the configuration is made of and sets what differs.
    pub fn toml(&self, header: Header<'_>) -> String {
        file(&self.extends, &self.changes, header)
    }
}

fn name_of(of: &str, settings: &[(Field, Value)]) -> String {
    if settings.is_empty() {
        return of.to_owned();
    }
    let shorts: Vec<&str> = settings.iter().map(|(field, _)| field.short()).collect();
    let settings: Vec<String> = settings
        .iter()
        .map(|(field, value)| {
            let once = shorts.iter().filter(|short| **short == field.short()).count() == 1;
            let field = if once { field.short() } else { &field.path };
            format!("{field}={}", plain(value))
        })
        .collect();
    format!("{of}[{}]", settings.join(","))
}

/// A value without quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn file(extends: &str, settings: &[(Field, Value)], header: Header<'_>) -> String {
    let mut out = String::new();
    let mut line = |key: &str, value: &str| {
        let _ = writeln!(out, "{key} = {}", toml::Value::from(value));
    };
    line("schema", "foldback/strategy/1");
    line("name", header.name);
    if let Some(description) = header.description {
        line("description", description);
    }
    line("extends", extends);
    if let Some(model) = header.model {
        line("model", model);
    }
    let mut table = toml::Table::new();
    let mut window = toml::Table::new();
    for (key, tokens) in [("context", header.limits.context), ("output", header.limits.output)] {
        // A window beyond 2^63 tokens is not one.
        if let Ok(tokens @ 1..) = i64::try_from(tokens) {
            window.insert(key.to_owned(), tokens.into());
        }
    }
    if !window.is_empty() {
        table.insert("window".to_owned(), window.into());
    }
    for (field, value) in settings {
        field.set(&mut table, value);
    }
    if !table.is_empty() {
        let _ = write!(out, "\n{table}");
    }
    out
}

/// The strategy with its own values, then every combination of values that makes a strategy and that differs
/// from them; beside it what had to be left out.
///
/// A combination is compiled from a file such as [`Candidate::toml`] writes. `limits` are those of the
/// command line: a window in which nothing could ever fit is refused.
pub fn candidates(
    registry: &Registry,
    strategy: &Compiled,
    extends: &str,
    fields: &[Field],
    combinations: &[Vec<Value>],
    limits: Limits,
    options: Options<'_>,
) -> (Vec<Candidate>, Vec<Rejected>) {
    let own = Candidate::own(strategy, extends);
    let (mut kept, mut rejected) = (Vec::new(), Vec::new());
    for values in combinations {
        let settings: Vec<(Field, Value)> =
            fields.iter().cloned().zip(values.iter().cloned()).collect();
        let name = name_of(&own.of, &settings);
        match compile(registry, extends, &name, &settings, limits, options) {
            Ok(compiled) if behaves_as(&compiled, strategy) => {}
            Ok(compiled) => {
                let fingerprint = compiled.root.to_value().to_string();
                kept.push(Candidate {
                    of: own.of.clone(),
                    extends: extends.to_owned(),
                    changes: changes(strategy, &settings),
                    settings,
                    preset: Preset::new(compiled.strategy, fingerprint),
                });
            }
            Err(why) => rejected.push(Rejected { name, why }),
        }
    }
    kept.insert(0, own);
    (kept, rejected)
}

fn changes(strategy: &Compiled, settings: &[(Field, Value)]) -> Vec<(Field, Value)> {
    let changed =
        |(field, value): &&(Field, Value)| field.value(&strategy.root).as_ref() != Some(value);
    settings.iter().filter(changed).cloned().collect()
}

/// The strategy that a file with these settings makes.
pub(super) fn compile(
    registry: &Registry,
    extends: &str,
    name: &str,
    settings: &[(Field, Value)],
    limits: Limits,
    options: Options<'_>,
) -> Result<Compiled, String> {
    let header = Header { name, ..Header::default() };
    let text = file(extends, settings, header);
    let document = Document::parse(name, &text);
    let compiled = document.and_then(|document| config::compile(registry, document, options));
    // The lines of this file are never visible, so the path must be enough.
    let compiled = compiled.map_err(|errors| {
        let each = errors.0.iter().map(|error| match error.path.is_empty() {
            true => error.message.clone(),
            false => format!("`{}`: {}", error.path, error.message),
        });
        each.collect::<Vec<_>>().join("; ")
    })?;
    match compiled.strategy.refuses(limits) {
        Some(why) => Err(why),
        None => Ok(compiled),
    }
}

/// Whether two strategies differ in nothing that a stage, the window or a guard says.
fn behaves_as(one: &Compiled, other: &Compiled) -> bool {
    let sections = StageKind::ALL.map(StageKind::section).into_iter();
    sections.chain(["window", "guards"]).all(|section| {
        let of = |compiled: &Compiled| compiled.root.get(section).map(|node| node.to_value());
        of(one) == of(other)
    })
}
