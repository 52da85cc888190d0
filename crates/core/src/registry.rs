//! What is there to put a strategy together from: stages and presets, registered at link time.
//!
//! A crate that owns stages has one constant [`Registration`] and submits it once:
//!
//! ```
//! use foldback_core::registry::Registration;
//!
//! pub const REGISTRATION: Registration = Registration {
//!     package: env!("CARGO_PKG_NAME"),
//!     version: env!("CARGO_PKG_VERSION"),
//!     stages: &[],
//!     presets: &[],
//! };
//! foldback_core::inventory::submit! { REGISTRATION }
//! ```
//!
//! A crate that is only listed in `Cargo.toml` and never named registers nothing, silently: the
//! linker never meets it. A binary says `use the_crate as _;`.

mod field;

pub use field::Field;

use crate::stage::{Estimator, Filter, OverflowPolicy, Pruner, Summarizer};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use thiserror::Error;

/// The five kinds of stage; also the sections of a strategy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageKind {
    /// `[estimator]`
    Estimator,
    /// `[overflow]`
    Overflow,
    /// `[[pruner]]`
    Pruner,
    /// `[filter]`
    Filter,
    /// `[summarizer]`
    Summarizer,
}

impl StageKind {
    /// Every kind, in the order of the sections.
    pub const ALL: [Self; 5] =
        [Self::Estimator, Self::Overflow, Self::Pruner, Self::Filter, Self::Summarizer];

    /// Name of the section.
    pub fn section(self) -> &'static str {
        match self {
            Self::Estimator => "estimator",
            Self::Overflow => "overflow",
            Self::Pruner => "pruner",
            Self::Filter => "filter",
            Self::Summarizer => "summarizer",
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.section())
    }
}

/// A value of a stage's configuration that can't be used, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Path of the value inside the stage's section, e.g. `protect_tokens`; empty for the whole section.
    pub path: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

impl Invalid {
    /// A value that can't be used.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// The typed configuration of a stage.
///
/// Derive `Deserialize` and `JsonSchema`, with `#[serde(default, deny_unknown_fields)]`, a doc
/// comment on every field and a `Default`: the catalogue (`foldback stages NAME`) and the error
/// messages are made from the schema.
pub trait StageConfig<S: ?Sized>: DeserializeOwned + JsonSchema {
    /// Checks the values and makes the stage.
    fn build(self) -> Result<Arc<S>, Invalid>;
}

/// Makes a stage from its section, `use` and the other common keys taken out.
#[derive(Clone, Copy, Debug)]
pub enum Build {
    /// An estimator.
    Estimator(fn(Value) -> Result<Arc<dyn Estimator>, Invalid>),
    /// A policy.
    Overflow(fn(Value) -> Result<Arc<dyn OverflowPolicy>, Invalid>),
    /// A pruner.
    Pruner(fn(Value) -> Result<Arc<dyn Pruner>, Invalid>),
    /// A filter.
    Filter(fn(Value) -> Result<Arc<dyn Filter>, Invalid>),
    /// A summarizer.
    Summarizer(fn(Value) -> Result<Arc<dyn Summarizer>, Invalid>),
}

/// A stage as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct StageDescriptor {
    /// The name that `use` takes, e.g. `tunacode.placeholder`.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// Makes it.
    pub build: Build,
    /// Schema of its configuration: fields, types, defaults, docs.
    pub schema: fn() -> Schema,
}

impl StageDescriptor {
    /// Describes an estimator configured by `C`.
    pub const fn estimator<C: StageConfig<dyn Estimator>>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, build: Build::Estimator(make::<C, _>), schema: schema_of::<C> }
    }

    /// Describes a policy configured by `C`.
    pub const fn overflow<C: StageConfig<dyn OverflowPolicy>>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, build: Build::Overflow(make::<C, _>), schema: schema_of::<C> }
    }

    /// Describes a pruner configured by `C`.
    pub const fn pruner<C: StageConfig<dyn Pruner>>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, build: Build::Pruner(make::<C, _>), schema: schema_of::<C> }
    }

    /// Describes a filter configured by `C`.
    pub const fn filter<C: StageConfig<dyn Filter>>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, build: Build::Filter(make::<C, _>), schema: schema_of::<C> }
    }

    /// Describes a summarizer configured by `C`.
    pub const fn summarizer<C: StageConfig<dyn Summarizer>>(
        name: &'static str,
        summary: &'static str,
    ) -> Self {
        Self { name, summary, build: Build::Summarizer(make::<C, _>), schema: schema_of::<C> }
    }

    /// Which kind of stage it is.
    pub fn kind(&self) -> StageKind {
        match self.build {
            Build::Estimator(_) => StageKind::Estimator,
            Build::Overflow(_) => StageKind::Overflow,
            Build::Pruner(_) => StageKind::Pruner,
            Build::Filter(_) => StageKind::Filter,
            Build::Summarizer(_) => StageKind::Summarizer,
        }
    }

    /// The fields of its configuration, in the order of the struct.
    pub fn fields(&self) -> Vec<Field> {
        let schema = (self.schema)();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let root = schema.as_value();
        properties.iter().map(|(name, property)| Field::of(root, name, property)).collect()
    }
}

fn schema_of<C: JsonSchema>() -> Schema {
    schemars::schema_for!(C)
}

fn make<C: StageConfig<S>, S: ?Sized>(section: Value) -> Result<Arc<S>, Invalid> {
    let config: C = serde_path_to_error::deserialize(section).map_err(|error| {
        let path = error.path().to_string();
        Invalid::new(if path == "." { String::new() } else { path }, error.into_inner().to_string())
    })?;
    config.build()
}

/// A preset as it is registered.
#[derive(Clone, Copy, Debug)]
pub struct PresetDescriptor {
    /// Its name; the file's `name` says the same.
    pub name: &'static str,
    /// The TOML file, embedded.
    pub toml: &'static str,
}

/// What one crate registers.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// Name of the crate.
    pub package: &'static str,
    /// Version of the crate.
    pub version: &'static str,
    /// Its stages.
    pub stages: &'static [StageDescriptor],
    /// Its presets.
    pub presets: &'static [PresetDescriptor],
}

inventory::collect!(Registration);

/// A registered stage or preset with the crate that it comes from.
#[derive(Clone, Copy, Debug)]
pub struct Registered<T> {
    /// What was registered.
    pub item: T,
    /// Name of the crate.
    pub package: &'static str,
    /// Version of the crate.
    pub version: &'static str,
}

/// Why the registry can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RegistryError {
    /// Nothing is registered.
    #[error(
        "no stage is registered: a strategy crate that is only listed in Cargo.toml is never linked; \
         name it once, e.g. `use foldback as _;`"
    )]
    Empty,
    /// Two different stages or presets have one name.
    #[error("{kind} `{name}` is registered by both {first} and {second}; rename one of them")]
    Conflict {
        /// `stage` or `preset`, with the kind.
        kind: String,
        /// The name.
        name: String,
        /// One crate.
        first: String,
        /// The other crate.
        second: String,
    },
}

/// Stages and presets by name, in a fixed order.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    stages: BTreeMap<(StageKind, &'static str), Registered<StageDescriptor>>,
    presets: BTreeMap<&'static str, Registered<PresetDescriptor>>,
}

impl Registry {
    /// Everything that was linked into this binary.
    pub fn discover() -> Result<Self, RegistryError> {
        Self::of(inventory::iter::<Registration>())
    }

    /// What these registrations hold. The same registration may come twice.
    pub fn of<'a>(
        registrations: impl IntoIterator<Item = &'a Registration>,
    ) -> Result<Self, RegistryError> {
        let mut registrations: Vec<&Registration> = registrations.into_iter().collect();
        registrations.sort_by_key(|registration| (registration.package, registration.version));
        registrations.dedup_by_key(|registration| (registration.package, registration.version));
        let mut registry = Self::default();
        for &Registration { package, version, stages, presets } in registrations {
            for stage in stages {
                let entry = Registered { item: *stage, package, version };
                if let Some(other) = registry.stages.insert((stage.kind(), stage.name), entry) {
                    return Err(RegistryError::Conflict {
                        kind: format!("{} stage", stage.kind()),
                        name: stage.name.to_owned(),
                        first: other.package.to_owned(),
                        second: package.to_owned(),
                    });
                }
            }
            for preset in presets {
                let entry = Registered { item: *preset, package, version };
                if let Some(other) = registry.presets.insert(preset.name, entry) {
                    return Err(RegistryError::Conflict {
                        kind: "preset".to_owned(),
                        name: preset.name.to_owned(),
                        first: other.package.to_owned(),
                        second: package.to_owned(),
                    });
                }
            }
        }
        if registry.stages.is_empty() { Err(RegistryError::Empty) } else { Ok(registry) }
    }

    /// All stages, by kind and name.
    pub fn stages(&self) -> impl Iterator<Item = &Registered<StageDescriptor>> {
        self.stages.values()
    }

    /// All presets, by name.
    pub fn presets(&self) -> impl Iterator<Item = &Registered<PresetDescriptor>> {
        self.presets.values()
    }

    /// A stage by kind and name.
    pub fn stage(&self, kind: StageKind, name: &str) -> Option<&Registered<StageDescriptor>> {
        // The key borrows for 'static, so the lookup goes through the range of the kind.
        self.stages
            .range((kind, "")..)
            .take_while(|((k, _), _)| *k == kind)
            .find_map(|((_, candidate), entry)| (*candidate == name).then_some(entry))
    }

    /// A preset by name.
    pub fn preset(&self, name: &str) -> Option<&Registered<PresetDescriptor>> {
        self.presets.get(name)
    }
}
