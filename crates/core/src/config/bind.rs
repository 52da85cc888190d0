//! Binding the sections of a file to registered stages.

use super::error::{in_words, nearest};
use super::node::{Node, NodeKind};
use super::read::{Errors, join, reject_unknown};
use crate::meter::MeterId;
use crate::moment::Moment;
use crate::registry::{Build, Invalid, Registered, Registry, StageDescriptor, StageKind};
use crate::stage::{Estimator, Filter, OverflowPolicy, Pruner, Summarizer};
use crate::strategy::{Bound, OnFailure};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Keys that every section may have in addition to the fields of its stage.
const COMMON: [&str; 4] = ["use", "when", "enabled", "estimator"];

/// What the summarizer's section says.
#[derive(Default)]
pub(super) struct Summaries {
    pub(super) summarizer: Option<Arc<dyn Summarizer>>,
    pub(super) on_failure: OnFailure,
    pub(super) shares_prefix: bool,
}

/// Makes stages from sections.
pub(super) struct Binder<'a, 'e> {
    pub(super) registry: &'a Registry,
    pub(super) errors: &'e mut Errors,
    pub(super) estimators: Vec<Arc<dyn Estimator>>,
}

/// A section with its common keys taken out.
struct Section<'a> {
    stage: &'a Registered<StageDescriptor>,
    path: String,
    fields: Node,
    when: Option<Vec<Moment>>,
    meter: MeterId,
}

impl<'a> Binder<'a, '_> {
    /// Takes a section apart. `None` if it is absent, switched off or wrong.
    fn section(&mut self, kind: StageKind, node: &Node, path: &str) -> Option<Section<'a>> {
        if !matches!(node.kind, NodeKind::Table(_)) {
            self.errors.push(node, path, "takes a table with at least `use`");
            return None;
        }
        let mut fields = node.clone();
        let name = fields.take("use");
        let Some(name) = name.as_ref().and_then(Node::as_str) else {
            self.errors.push(node, path, format!("lacks `use`, the name of a {kind} stage"));
            return None;
        };
        let enabled = fields.take("enabled");
        if name == "none"
            || enabled.is_some_and(|node| node.kind == NodeKind::Leaf(Value::Bool(false)))
        {
            return None;
        }
        let Some(stage) = self.registry.stage(kind, name) else {
            let known: Vec<&str> = self
                .registry
                .stages()
                .filter(|stage| stage.item.kind() == kind)
                .map(|stage| stage.item.name)
                .chain(["none"])
                .collect();
            let hint = nearest(name, known.iter().copied());
            let at = node.get("use").unwrap_or(node);
            let message = format!(
                "no {kind} stage is called `{name}`{hint} (known: {}); a stage of another crate \
                 must be linked: name the crate in the binary",
                known.join(", ")
            );
            self.errors.push(at, &join(path, "use"), message);
            return None;
        };
        let when = fields.take("when").and_then(|node| self.moments(&node, path));
        let meter = match (kind, fields.take("estimator")) {
            (StageKind::Estimator, _) | (_, None) => MeterId::OWN,
            (_, Some(own)) => self.own_estimator(&own, &join(path, "estimator")),
        };
        Some(Section { stage, path: path.to_owned(), fields, when, meter })
    }

    fn moments(&mut self, node: &Node, path: &str) -> Option<Vec<Moment>> {
        let value = match node.to_value() {
            Value::Array(list) => Value::Array(list),
            single => Value::Array(vec![single]),
        };
        match serde_json::from_value(value) {
            Ok(moments) => Some(moments),
            Err(_) => {
                let known: Vec<_> = Moment::ALL.iter().map(|moment| moment.as_str()).collect();
                let hint = node.as_str().map_or(String::new(), |name| nearest(name, known.clone()));
                let message = format!("is no moment{hint} (known: {})", known.join(", "));
                self.errors.push(node, &join(path, "when"), message);
                None
            }
        }
    }

    fn own_estimator(&mut self, node: &Node, path: &str) -> MeterId {
        let Some(section) = self.section(StageKind::Estimator, node, path) else {
            return MeterId::OWN;
        };
        match self.build_estimator(section) {
            Some(estimator) => {
                self.estimators.push(estimator);
                MeterId(self.estimators.len() - 1)
            }
            None => MeterId::OWN,
        }
    }

    /// Checks the names of the fields, then builds; an error is reported at its value.
    fn checked<T: ?Sized>(
        &mut self,
        section: Section<'a>,
        also_known: &[&str],
        build: fn(Value) -> Result<Arc<T>, Invalid>,
    ) -> Option<Arc<T>> {
        let Section { stage, path, mut fields, .. } = section;
        let known = stage.item.fields();
        let missing =
            known.iter().filter(|field| field.required && fields.get(&field.name).is_none());
        let missing: Vec<&str> = missing.map(|field| field.name.as_str()).collect();
        let known: Vec<String> = known.iter().map(|field| field.name.clone()).collect();
        let extra: Vec<&str> = COMMON.into_iter().chain(also_known.iter().copied()).collect();
        let had = self.errors.count();
        reject_unknown(&mut fields, &path, &known, &extra, self.errors);
        if !missing.is_empty() {
            let message = self.lacks(stage, &missing);
            self.errors.push(&fields, &path, message);
        }
        // A wrong value is taken out and the section tried again, until only the defaults are left.
        loop {
            let value = match fields.to_value() {
                Value::Object(map) => Value::Object(map),
                _ => Value::Object(Map::new()),
            };
            match build(value) {
                Ok(stage) if self.errors.count() == had => return Some(stage),
                Ok(_) => return None,
                // Reported above, or taken out for its value.
                Err(Invalid { path: at, message })
                    if at.is_empty() && message.starts_with("missing field") =>
                {
                    return None;
                }
                Err(Invalid { path: at, message }) => {
                    let bad = fields.at(&at).cloned().unwrap_or_else(|| fields.clone());
                    self.errors.push(&bad, &join(&path, &at), message);
                    let first = at.split(['.', '[']).next().unwrap_or_default().to_owned();
                    fields.take(&first)?;
                }
            }
        }
    }

    /// What a section says that leaves out fields without a default, and which preset states them.
    fn lacks(&self, stage: &Registered<StageDescriptor>, missing: &[&str]) -> String {
        let uses = format!("use = \"{}\"\n", stage.item.name);
        let preset = self.registry.presets().find(|preset| preset.item.toml.contains(&uses));
        let way_out = preset.map_or_else(String::new, |preset| {
            let name = preset.item.name;
            format!("; say `extends = \"{name}\"`, or copy them from `foldback presets {name}`")
        });
        format!(
            "lacks `{}`, which `{}` has no default for{way_out}",
            missing.join("`, `"),
            stage.item.name
        )
    }

    /// A stage in its place; it runs at the moments of its section, else when it says itself.
    fn bound<T: ?Sized>(
        &mut self,
        mut section: Section<'a>,
        build: fn(Value) -> Result<Arc<T>, Invalid>,
        usual: impl FnOnce(&T) -> Vec<Moment>,
    ) -> Option<Bound<T>> {
        let (name, meter) = (section.stage.item.name.to_owned(), section.meter);
        let when = section.when.take();
        let stage = self.checked(section, &[], build)?;
        let when = when.unwrap_or_else(|| usual(&stage));
        Some(Bound { name, stage, when, meter })
    }

    fn build_estimator(&mut self, section: Section<'a>) -> Option<Arc<dyn Estimator>> {
        match section.stage.item.build {
            Build::Estimator(build) => self.checked(section, &[], build),
            _ => None,
        }
    }

    pub(super) fn estimator_section(&mut self, root: &Node) -> Option<Arc<dyn Estimator>> {
        let Some(node) = root.get("estimator") else {
            self.errors.push(root, "estimator", "is missing: every strategy counts with something");
            return None;
        };
        let section = self.section(StageKind::Estimator, node, "estimator")?;
        self.build_estimator(section)
    }

    pub(super) fn overflow(&mut self, root: &Node) -> Option<Bound<dyn OverflowPolicy>> {
        let section = self.section(StageKind::Overflow, root.get("overflow")?, "overflow")?;
        let Build::Overflow(build) = section.stage.item.build else {
            return None;
        };
        self.bound(section, build, |stage| stage.moments().to_vec())
    }

    pub(super) fn pruners(&mut self, root: &Node) -> Vec<Bound<dyn Pruner>> {
        let Some(list) = root.get("pruner") else {
            return Vec::new();
        };
        if !matches!(list.kind, NodeKind::List(_)) {
            self.errors.push(list, "pruner", "takes a list: write [[pruner]]");
            return Vec::new();
        }
        let mut pruners = Vec::new();
        for (index, node) in list.elements().iter().enumerate() {
            let Some(section) = self.section(StageKind::Pruner, node, &format!("pruner[{index}]"))
            else {
                continue;
            };
            let Build::Pruner(build) = section.stage.item.build else {
                continue;
            };
            pruners.extend(self.bound(section, build, |stage| vec![stage.moment()]));
        }
        pruners
    }

    pub(super) fn filter(&mut self, root: &Node) -> Option<Bound<dyn Filter>> {
        let section = self.section(StageKind::Filter, root.get("filter")?, "filter")?;
        let Build::Filter(build) = section.stage.item.build else {
            return None;
        };
        self.bound(section, build, |_| Vec::new())
    }

    pub(super) fn summarizer(&mut self, root: &Node) -> Summaries {
        let Some(node) = root.get("summarizer") else {
            return Summaries { summarizer: self.default_summarizer(), ..Summaries::default() };
        };
        let mut node = node.clone();
        let on_failure = self.of_summarizer(&mut node, "on_failure");
        let shares_prefix = self.of_summarizer(&mut node, "shares_prefix");
        let section = self.section(StageKind::Summarizer, &node, "summarizer");
        let summarizer = section.and_then(|section| match section.stage.item.build {
            Build::Summarizer(build) => {
                self.checked(section, &["on_failure", "shares_prefix"], build)
            }
            _ => None,
        });
        Summaries { summarizer, on_failure, shares_prefix }
    }

    /// A field of the summarizer's section that is not the summarizer's own.
    fn of_summarizer<T: Default + DeserializeOwned>(&mut self, node: &mut Node, field: &str) -> T {
        let Some(value) = node.take(field) else { return T::default() };
        serde_json::from_value(value.to_value()).unwrap_or_else(|error| {
            let path = format!("summarizer.{field}");
            self.errors.push(&value, &path, in_words(&error.to_string()));
            T::default()
        })
    }

    /// The default summarizer if a file names none: the embedded extractive one.
    pub(super) fn default_summarizer(&self) -> Option<Arc<dyn Summarizer>> {
        match self.registry.stage(StageKind::Summarizer, "extractive")?.item.build {
            Build::Summarizer(build) => build(Value::Object(Map::new())).ok(),
            _ => None,
        }
    }
}

/// Stands in while errors are collected; a strategy with errors is never handed out.
#[derive(Debug)]
pub(super) struct NoEstimator(Arc<str>);

impl Default for NoEstimator {
    fn default() -> Self {
        Self("none".into())
    }
}

impl Estimator for NoEstimator {
    fn id(&self) -> &Arc<str> {
        &self.0
    }

    fn text(&self, _: &str) -> u64 {
        0
    }
}
