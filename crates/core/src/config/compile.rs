//! From a document to a strategy: presets merged, stages bound, all errors at once.

use super::document::Document;
use super::error::{ConfigError, ConfigErrors, nearest};
use super::header::{EnvFlag, Header};
use super::merge::merge;
use super::node::{Node, NodeKind};
use crate::limits::Limits;
use crate::moment::Moment;
use crate::registry::{Build, Invalid, Registered, Registry, StageDescriptor, StageKind};
use crate::stage::{Estimator, Filter, OverflowPolicy, Summarizer};
use crate::strategy::{Bound, OnFailure, Strategy};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Gives the text of a file, or says why it can't be read.
pub type ReadFile<'a> = dyn Fn(&str) -> Result<String, String> + 'a;

/// Gives the value of an environment variable that is set.
pub type ReadEnv<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// What a compilation may draw on besides the registry.
#[derive(Clone, Copy, Default)]
pub struct Options<'a> {
    /// Reads a file that `extends` names and that is no preset; `None` where files can't be read.
    pub read_file: Option<&'a ReadFile<'a>>,
    /// Looks up an environment variable of the original; `None` where the environment is not read.
    pub env: Option<&'a ReadEnv<'a>>,
}

impl fmt::Debug for Options<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options").finish_non_exhaustive()
    }
}

/// A strategy with the tree that it was made from.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Ready to run.
    pub strategy: Strategy,
    /// Everything besides the stages.
    pub header: Header,
    /// All values after merging, each with its place.
    pub root: Node,
    /// Environment variables that were found, and what they set.
    pub env: Vec<(EnvFlag, String)>,
}

/// Compiles a registered preset, by name or alias.
pub fn compile_preset(
    registry: &Registry,
    name: &str,
    options: Options<'_>,
) -> Result<Compiled, ConfigErrors> {
    let document = preset_document(registry, name)?;
    compile(registry, document, options)
}

/// Compiles a document. Collects every error instead of stopping at the first.
pub fn compile(
    registry: &Registry,
    document: Document,
    options: Options<'_>,
) -> Result<Compiled, ConfigErrors> {
    let is_preset = registry.preset(&document.source).is_some();
    let own_window = window_of(&document.root);
    let mut chain = vec![document.source.to_string()];
    let mut root = extend(registry, document, options, &mut chain)?;
    let env = apply_env(&mut root, options);
    let mut errors = Errors::default();

    let mut header_node = root.clone();
    for kind in StageKind::ALL {
        header_node.take(kind.section());
    }
    let known_sections = StageKind::ALL.map(StageKind::section);
    let header: Header = read_struct(&header_node, "", &known_sections, &mut errors);

    let mut binder = Binder {
        registry,
        errors: &mut errors,
        estimators: Vec::new(),
    };
    let estimator = binder.estimator_section(&root);
    binder
        .estimators
        .push(estimator.unwrap_or_else(|| Arc::new(NoEstimator::default())));
    let overflow = binder.overflow(&root);
    let pruners = binder.pruners(&root);
    let filter = binder.filter(&root);
    let (summarizer, on_failure) = binder.summarizer(&root);
    let fallback = binder.default_summarizer();
    let estimators = binder.estimators;

    if header.name.is_empty() {
        errors.push_at(&root, "name", "is missing: every strategy has a name");
    }
    let (user_limits, preset_limits) = if is_preset {
        (Limits::default(), header.window)
    } else {
        (own_window, header.window)
    };
    if let Some(policy) = &overflow {
        let limits = user_limits.or(preset_limits);
        if limits.context > 0
            && let Some(why) = policy.stage.refuses(limits)
        {
            let node = root.get("window").unwrap_or(&root);
            errors.push(node, "window", why);
        }
    }
    errors.finish()?;
    let strategy = Strategy {
        name: header.name.clone(),
        description: header.description.clone(),
        reproduces: header.reproduces.clone(),
        kind: header.kind,
        estimators,
        overflow,
        pruners,
        filter,
        summarizer,
        fallback,
        on_failure,
        user_limits,
        preset_limits,
        model: header.model.clone(),
        guards: header.guards,
        deviations: header.deviation.clone(),
    };
    Ok(Compiled {
        strategy,
        header,
        root,
        env,
    })
}

fn window_of(root: &Node) -> Limits {
    let field = |name: &str| {
        root.at(&format!("window.{name}"))
            .and_then(|node| node.to_value().as_u64())
            .unwrap_or(0)
    };
    Limits {
        context: field("context"),
        input: field("input"),
        output: field("output"),
    }
}

fn preset_document(registry: &Registry, name: &str) -> Result<Document, ConfigErrors> {
    if let Some(preset) = registry.preset(name) {
        return Document::parse(preset.item.name, preset.item.toml);
    }
    for preset in registry.presets() {
        let document = Document::parse(preset.item.name, preset.item.toml)?;
        let aliases = document
            .root
            .get("aliases")
            .map(Node::elements)
            .unwrap_or_default();
        if aliases.iter().any(|alias| alias.as_str() == Some(name)) {
            return Ok(document);
        }
    }
    let known: Vec<&str> = registry.presets().map(|preset| preset.item.name).collect();
    Err(ConfigErrors(vec![ConfigError {
        source: name.to_owned(),
        line: 0,
        column: 0,
        path: String::new(),
        message: format!(
            "no preset has this name{}; known are {}, or give the path of a .toml file",
            nearest(name, known.iter().copied()),
            known.join(", ")
        ),
    }]))
}

fn extend(
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
        return fail(format!(
            "comes back to itself: {} -> {name}",
            chain.join(" -> ")
        ));
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
                    error
                        .0
                        .first()
                        .map_or(String::new(), |e| format!("`{name}`: {}", e.message)),
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

/// Sets what the environment variables of the original set, and tells which were found.
fn apply_env(root: &mut Node, options: Options<'_>) -> Vec<(EnvFlag, String)> {
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
            Node::leaf(&format!("environment variable {}", flag.name), set),
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
        if let NodeKind::Table(entries) = &mut root.kind
            && let Some((
                _,
                Node {
                    kind: NodeKind::List(pruners),
                    ..
                },
            )) = entries.iter_mut().find(|(name, _)| name == "pruner")
        {
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
    if let NodeKind::Table(entries) = &mut root.kind
        && let Some((_, node)) = entries.iter_mut().find(|(name, _)| name == section)
    {
        set_path(node, key, value);
    }
}

#[derive(Default)]
struct Errors(Vec<ConfigError>);

impl Errors {
    fn push(&mut self, node: &Node, path: &str, message: impl Into<String>) {
        self.push_place(&node.place, path, message);
    }

    fn push_place(&mut self, place: &super::node::Place, path: &str, message: impl Into<String>) {
        self.0.push(ConfigError {
            source: place.source.to_string(),
            line: place.line,
            column: place.column,
            path: path.to_owned(),
            message: message.into(),
        });
    }

    fn push_at(&mut self, root: &Node, path: &str, message: &str) {
        self.push(root.at(path).unwrap_or(root), path, message);
    }

    fn finish(mut self) -> Result<(), ConfigErrors> {
        self.0
            .sort_by(|a, b| (&a.source, a.line, a.column).cmp(&(&b.source, b.line, b.column)));
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(ConfigErrors(self.0))
        }
    }
}

fn join(path: &str, field: &str) -> String {
    match (path.is_empty(), field.is_empty()) {
        (true, _) => field.to_owned(),
        (_, true) => path.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

/// Reads a struct field by field: an error takes its field out and the rest is read on, so that all
/// errors come at once.
fn read_struct<T: DeserializeOwned + Default + schemars::JsonSchema>(
    node: &Node,
    path: &str,
    also_known: &[&str],
    errors: &mut Errors,
) -> T {
    let schema = schemars::schema_for!(T);
    let known: Vec<String> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().cloned().collect())
        .unwrap_or_default();
    let mut node = node.clone();
    reject_unknown(&mut node, path, &known, also_known, errors);
    loop {
        match serde_path_to_error::deserialize::<_, T>(node.to_value()) {
            Ok(value) => return value,
            Err(error) => {
                let at = error.path().to_string();
                let bad = node.at(&at).cloned().unwrap_or_else(|| node.clone());
                errors.push(&bad, &join(path, &at), error.into_inner().to_string());
                let first = at.split(['.', '[']).next().unwrap_or_default().to_owned();
                if node.take(&first).is_none() {
                    return T::default();
                }
            }
        }
    }
}

fn reject_unknown(
    node: &mut Node,
    path: &str,
    known: &[String],
    also_known: &[&str],
    errors: &mut Errors,
) {
    let unknown: Vec<(String, Node)> = node
        .entries()
        .iter()
        .filter(|(key, _)| !known.contains(key))
        .cloned()
        .collect();
    for (key, value) in unknown {
        node.take(&key);
        let candidates = known
            .iter()
            .map(String::as_str)
            .chain(also_known.iter().copied());
        let hint = nearest(&key, candidates);
        let mut all: Vec<&str> = known
            .iter()
            .map(String::as_str)
            .chain(also_known.iter().copied())
            .collect();
        all.sort_unstable();
        let message = format!("is not known here{hint} (known: {})", all.join(", "));
        errors.push_place(&value.key_place, &join(path, &key), message);
    }
}

/// Keys that every section may have besides the fields of its stage.
const COMMON: [&str; 4] = ["use", "when", "enabled", "estimator"];

struct Binder<'a, 'e> {
    registry: &'a Registry,
    errors: &'e mut Errors,
    estimators: Vec<Arc<dyn Estimator>>,
}

/// A section with its common keys taken out.
struct Section<'a> {
    stage: &'a Registered<StageDescriptor>,
    path: String,
    fields: Node,
    when: Option<Vec<Moment>>,
    estimator: usize,
}

impl<'a> Binder<'a, '_> {
    /// Takes a section apart; `None` where it is absent, switched off or wrong.
    fn section(&mut self, kind: StageKind, node: &Node, path: &str) -> Option<Section<'a>> {
        if !matches!(node.kind, NodeKind::Table(_)) {
            self.errors
                .push(node, path, "takes a table with at least `use`");
            return None;
        }
        let mut fields = node.clone();
        let name = fields.take("use");
        let Some(name) = name.as_ref().and_then(Node::as_str) else {
            self.errors.push(
                node,
                path,
                format!("lacks `use`, the name of a {kind} stage"),
            );
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
        let when = fields
            .take("when")
            .and_then(|node| self.moments(&node, path));
        let estimator = match (kind, fields.take("estimator")) {
            (StageKind::Estimator, _) | (_, None) => 0,
            (_, Some(own)) => self.own_estimator(&own, &join(path, "estimator")),
        };
        Some(Section {
            stage,
            path: path.to_owned(),
            fields,
            when,
            estimator,
        })
    }

    fn moments(&mut self, node: &Node, path: &str) -> Option<Vec<Moment>> {
        let value = match node.to_value() {
            Value::Array(list) => Value::Array(list),
            single => Value::Array(vec![single]),
        };
        match serde_json::from_value(value) {
            Ok(moments) => Some(moments),
            Err(_) => {
                let known = Moment::ALL.map(Moment::as_str);
                let hint = node
                    .as_str()
                    .map_or(String::new(), |name| nearest(name, known));
                let message = format!("is no moment{hint} (known: {})", known.join(", "));
                self.errors.push(node, &join(path, "when"), message);
                None
            }
        }
    }

    fn own_estimator(&mut self, node: &Node, path: &str) -> usize {
        let Some(section) = self.section(StageKind::Estimator, node, path) else {
            return 0;
        };
        match self.build_estimator(section) {
            Some(estimator) => {
                self.estimators.push(estimator);
                self.estimators.len() - 1
            }
            None => 0,
        }
    }

    /// Checks the names of the fields, then builds; an error is reported at its value.
    fn checked<T: ?Sized>(
        &mut self,
        section: Section<'a>,
        also_known: &[&str],
        build: fn(Value) -> Result<Arc<T>, Invalid>,
    ) -> Option<Arc<T>> {
        let Section {
            stage,
            path,
            mut fields,
            ..
        } = section;
        let known: Vec<String> = stage
            .item
            .fields()
            .into_iter()
            .map(|field| field.name)
            .collect();
        let extra: Vec<&str> = COMMON
            .into_iter()
            .chain(also_known.iter().copied())
            .collect();
        let had = self.errors.0.len();
        reject_unknown(&mut fields, &path, &known, &extra, self.errors);
        // A wrong value is taken out and the section tried again, until only the defaults are left.
        loop {
            let value = match fields.to_value() {
                Value::Object(map) => Value::Object(map),
                _ => Value::Object(Map::new()),
            };
            match build(value) {
                Ok(stage) if self.errors.0.len() == had => return Some(stage),
                Ok(_) => return None,
                Err(Invalid { path: at, message }) => {
                    let bad = fields.at(&at).cloned().unwrap_or_else(|| fields.clone());
                    self.errors.push(&bad, &join(&path, &at), message);
                    let first = at.split(['.', '[']).next().unwrap_or_default().to_owned();
                    fields.take(&first)?;
                }
            }
        }
    }

    fn build_estimator(&mut self, section: Section<'a>) -> Option<Arc<dyn Estimator>> {
        match section.stage.item.build {
            Build::Estimator(build) => self.checked(section, &[], build),
            _ => None,
        }
    }

    fn estimator_section(&mut self, root: &Node) -> Option<Arc<dyn Estimator>> {
        let Some(node) = root.get("estimator") else {
            self.errors.push(
                root,
                "estimator",
                "is missing: every strategy counts with something",
            );
            return None;
        };
        let section = self.section(StageKind::Estimator, node, "estimator")?;
        self.build_estimator(section)
    }

    fn overflow(&mut self, root: &Node) -> Option<Bound<dyn OverflowPolicy>> {
        let section = self.section(StageKind::Overflow, root.get("overflow")?, "overflow")?;
        let Build::Overflow(build) = section.stage.item.build else {
            return None;
        };
        let (name, when, estimator) = bound_of(&section);
        let stage = self.checked(section, &[], build)?;
        let when = when.unwrap_or_else(|| stage.moments().to_vec());
        Some(Bound {
            name,
            stage,
            when,
            estimator,
        })
    }

    fn pruners(&mut self, root: &Node) -> Vec<Bound<dyn crate::stage::Pruner>> {
        let Some(list) = root.get("pruner") else {
            return Vec::new();
        };
        if !matches!(list.kind, NodeKind::List(_)) {
            self.errors
                .push(list, "pruner", "takes a list: write [[pruner]]");
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
            let (name, when, estimator) = bound_of(&section);
            if let Some(stage) = self.checked(section, &[], build) {
                let when = when.unwrap_or_else(|| vec![stage.moment()]);
                pruners.push(Bound {
                    name,
                    stage,
                    when,
                    estimator,
                });
            }
        }
        pruners
    }

    fn filter(&mut self, root: &Node) -> Option<Bound<dyn Filter>> {
        let section = self.section(StageKind::Filter, root.get("filter")?, "filter")?;
        let Build::Filter(build) = section.stage.item.build else {
            return None;
        };
        let (name, when, estimator) = bound_of(&section);
        let stage = self.checked(section, &[], build)?;
        Some(Bound {
            name,
            stage,
            when: when.unwrap_or_default(),
            estimator,
        })
    }

    fn summarizer(&mut self, root: &Node) -> (Option<Arc<dyn Summarizer>>, OnFailure) {
        let Some(node) = root.get("summarizer") else {
            return (self.default_summarizer(), OnFailure::default());
        };
        let mut node = node.clone();
        let on_failure = match node.take("on_failure") {
            None => OnFailure::default(),
            Some(value) => serde_json::from_value(value.to_value()).unwrap_or_else(|error| {
                self.errors
                    .push(&value, "summarizer.on_failure", error.to_string());
                OnFailure::default()
            }),
        };
        let Some(section) = self.section(StageKind::Summarizer, &node, "summarizer") else {
            return (None, on_failure);
        };
        let Build::Summarizer(build) = section.stage.item.build else {
            return (None, on_failure);
        };
        (self.checked(section, &["on_failure"], build), on_failure)
    }

    /// The summarizer that stands in where a file names none: the embedded extractive one.
    fn default_summarizer(&self) -> Option<Arc<dyn Summarizer>> {
        match self
            .registry
            .stage(StageKind::Summarizer, "extractive")?
            .item
            .build
        {
            Build::Summarizer(build) => build(Value::Object(Map::new())).ok(),
            _ => None,
        }
    }
}

fn bound_of(section: &Section<'_>) -> (String, Option<Vec<Moment>>, usize) {
    (
        section.stage.item.name.to_owned(),
        section.when.clone(),
        section.estimator,
    )
}

/// Stands in while errors are collected; a strategy with errors is never handed out.
#[derive(Debug)]
struct NoEstimator(Arc<str>);

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
