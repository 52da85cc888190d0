//! The stages and presets that strategies are built from, registered at link time.
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
//! linker drops it. A binary says `use the_crate as _;`.

mod field;

pub use field::Field;

use crate::config::in_words;
use crate::stage::{Estimator, Filter, OverflowPolicy, Pruner, Summarizer};
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use strum::{Display, IntoStaticStr};
use thiserror::Error;

/// The five kinds of stage; also the sections of a strategy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Display, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
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
    #[doc(hidden)]
    pub const ALL: [Self; 5] =
        [Self::Estimator, Self::Overflow, Self::Pruner, Self::Filter, Self::Summarizer];

    /// Name of the section.
    #[doc(hidden)]
    pub fn section(self) -> &'static str {
        self.into()
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
/// Derive `Deserialize` and `JsonSchema`, with `#[serde(deny_unknown_fields)]` and a doc comment on every field: the catalog
/// (`foldback stages NAME`) and the error messages are made from the schema. A stage that several strategies use has a `Default`
/// and `#[serde(default)]`; one that a strategy owns has none, so that its presets state every number.
pub trait StageConfig<S: ?Sized>: DeserializeOwned + JsonSchema {
    /// Checks what depends on several fields, and makes the stage.
    ///
    /// # Errors
    ///
    /// A value that can't be used.
    fn build(self) -> Result<Arc<S>, Invalid>;
}

/// Makes a stage from its section, `use` and the other common keys taken out.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
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

/// One function a kind, since each takes the configuration of another trait.
macro_rules! describes {
    ($($doc:literal $name:ident $kind:ident $stage:ident,)*) => {$(
        #[doc = concat!("Describes ", $doc, " configured by `C`.")]
        pub const fn $name<C: StageConfig<dyn $stage>>(
            name: &'static str,
            summary: &'static str,
        ) -> Self {
            Self { name, summary, build: Build::$kind(make::<C, _>), schema: schema_of::<C> }
        }
    )*};
}

impl StageDescriptor {
    describes! {
        "an estimator" estimator Estimator Estimator,
        "a policy" overflow Overflow OverflowPolicy,
        "a pruner" pruner Pruner Pruner,
        "a filter" filter Filter Filter,
        "a summarizer" summarizer Summarizer Summarizer,
    }

    /// The kind of the stage.
    #[doc(hidden)]
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
    #[doc(hidden)]
    pub fn fields(&self) -> Vec<Field> {
        let schema = (self.schema)();
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Vec::new();
        };
        let root = schema.as_value();
        properties.iter().map(|(name, property)| Field::new(root, name, property)).collect()
    }
}

fn schema_of<C: JsonSchema>() -> Schema {
    schemars::schema_for!(C)
}

fn make<C: StageConfig<S>, S: ?Sized>(section: Value) -> Result<Arc<S>, Invalid> {
    let config: C = serde_path_to_error::deserialize(section).map_err(|error| {
        let path = error.path().to_string();
        let message = in_words(&error.into_inner().to_string());
        Invalid::new(if path == "." { String::new() } else { path }, message)
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

/// The presets of a crate by their names, each a file `presets/NAME.toml` beside its `src`.
#[macro_export]
macro_rules! presets {
    ($($name:literal),* $(,)?) => {
        &[$($crate::registry::PresetDescriptor {
            name: $name,
            toml: include_str!(concat!("../presets/", $name, ".toml")),
        }),*]
    };
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
#[doc(hidden)]
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
#[non_exhaustive]
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
    ///
    /// # Errors
    ///
    /// Nothing is registered, or two stages or presets have one name.
    pub fn discover() -> Result<Self, RegistryError> {
        Self::from_registrations(inventory::iter::<Registration>())
    }

    /// What these registrations hold. The same registration may come twice.
    ///
    /// # Errors
    ///
    /// No stage is registered, or two stages or presets have one name.
    pub fn from_registrations<'a>(
        registrations: impl IntoIterator<Item = &'a Registration>,
    ) -> Result<Self, RegistryError> {
        let mut registrations: Vec<&Registration> = registrations.into_iter().collect();
        registrations.sort_by_key(|registration| (registration.package, registration.version));
        registrations.dedup_by_key(|registration| (registration.package, registration.version));
        let mut registry = Self::default();
        for &Registration { package, version, stages, presets } in registrations {
            let conflict = |kind: String, name: &str, first: &str| RegistryError::Conflict {
                kind,
                name: name.to_owned(),
                first: first.to_owned(),
                second: package.to_owned(),
            };
            for stage in stages {
                let (kind, item) = (stage.kind(), Registered { item: *stage, package, version });
                if let Some(other) = registry.stages.insert((kind, stage.name), item) {
                    return Err(conflict(format!("{kind} stage"), stage.name, other.package));
                }
            }
            for preset in presets {
                let item = Registered { item: *preset, package, version };
                if let Some(other) = registry.presets.insert(preset.name, item) {
                    return Err(conflict("preset".to_owned(), preset.name, other.package));
                }
            }
        }
        if registry.stages.is_empty() { Err(RegistryError::Empty) } else { Ok(registry) }
    }

    /// All stages, by kind and name.
    #[doc(hidden)]
    pub fn stages(&self) -> impl Iterator<Item = &Registered<StageDescriptor>> {
        self.stages.values()
    }

    /// All presets, by name.
    pub fn presets(&self) -> impl Iterator<Item = &Registered<PresetDescriptor>> {
        self.presets.values()
    }

    /// A stage by kind and name.
    #[doc(hidden)]
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
