//! Who writes summaries: a strategy's own choice, or another one for every strategy that uses summaries.

use crate::error::Error;
use crate::input;
use foldback::config::{Node, NodeKind, in_words};
use foldback::{Compiled, Document, Options, Registry};
use foldback_core::config::nearest;
use foldback_core::registry::StageKind;
use foldback_replay::recorder::Recorded;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::Path;

/// The form of a file for `--summarizer`, for errors.
const FORM: &str = "a file for --summarizer has a [summarizer] section as in strategy files, and, if no model table lists the model, [price] with input and output in USD per million tokens";

/// The summarizer that asks a model.
const MODEL: &str = "llm";

/// Most tokens of an answer of a model that is named without a file, its reasoning included.
#[cfg(feature = "llm")]
const ANSWER: u64 = 1_024;

/// A summarizer other than the strategies' own.
#[derive(Clone, Debug)]
pub(crate) struct Choice {
    section: Node,
    /// The recorders' own summaries come first, where a strategy cuts at the same message.
    pub(crate) recorded: bool,
    /// Price of its model.
    #[cfg_attr(not(feature = "llm"), expect(dead_code, reason = "no model is asked"))]
    pub(crate) price: Option<ChosenPrice>,
}

/// Prices in USD per million tokens, for models that are in no table.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChosenPrice {
    pub(crate) input: f64,
    pub(crate) output: f64,
    pub(crate) cache_read: Option<f64>,
    pub(crate) cache_write: Option<f64>,
}

impl Choice {
    /// The model that it asks.
    #[cfg(feature = "llm")]
    pub(crate) fn model(&self) -> String {
        let named = self.section.get("model").map(|name| name.to_value());
        let named = named.as_ref().and_then(Value::as_str).map(str::to_owned);
        named.unwrap_or_else(|| foldback::llm::LlmConfig::default().model)
    }

    /// Reads the value of `--ask`: the name of a model with its window, or a file as for `--summarizer`.
    #[cfg(feature = "llm")]
    pub(crate) fn of_model(name: &str, window: Option<u64>) -> Result<Self, Error> {
        if name.ends_with(".toml") {
            let read = Self::read(name)?;
            if read.section.get("use").is_some_and(|used| used.to_value() == json!(MODEL)) {
                return Ok(read);
            }
            let why =
                format!("{name}: [summarizer] asks no model; set use = \"llm\" and its model");
            return Err(Error::Usage(why));
        }
        let mut chosen = Self::named("--ask", MODEL);
        let mut set = |field: &str, value: Value| {
            chosen.section.set(field, Node::from_value("--ask", value));
        };
        set("model", json!(name));
        set("max_output_tokens", json!(ANSWER));
        if let Some(window) = window.filter(|window| *window > ANSWER) {
            set("context_tokens", json!(window));
        }
        chosen.config()?.endpoint().map_err(|why| {
            let message = why.message;
            Error::Usage(format!("--ask: {message}; a file for --ask has them in [summarizer]"))
        })?;
        Ok(chosen)
    }

    /// A model of the provider of a proxy's client, which is asked as the client asks it. Without a summary nothing is folded.
    #[cfg(feature = "serve")]
    pub(crate) fn of_client(model: &str) -> Result<Self, Error> {
        let mut chosen = Self::read(MODEL)?;
        let fields = [
            ("provider", json!("client")),
            ("model", json!(model)),
            ("on_failure", json!("keep")),
            ("extractive", json!(false)),
        ];
        for (field, value) in fields {
            chosen.section.set(field, Node::from_value("--summarizer", value));
        }
        Ok(chosen)
    }

    /// The settings of a model for questions. `alone` has checked them.
    #[cfg(feature = "llm")]
    pub(crate) fn config(&self) -> Result<foldback::llm::LlmConfig, Error> {
        let mut section = self.section.clone();
        for field in ["use", "on_failure", "shares_prefix"] {
            let _ = section.take(field);
        }
        Ok(serde_json::from_value(section.to_value())?)
    }

    /// Reads the value of `--summarizer`: a summarizer, or a file.
    pub(crate) fn read(name: &str) -> Result<Self, Error> {
        if name == MODEL && cfg!(not(feature = "llm")) {
            return Err(Error::left_out("--summarizer llm", "llm"));
        }
        if !name.ends_with(".toml") {
            let registry = foldback::registry()?;
            let known = Self::known(&registry);
            return match known.contains(&name) {
                true => Ok(Self::named("--summarizer", name)),
                false => Err(Error::Usage(format!(
                    "no summarizer is called `{name}`{}; known are {}; or give the path of a .toml file",
                    nearest(name, known.iter().copied()),
                    known.join(", ")
                ))),
            };
        }
        let mut root = Document::parse(name, &input::text(Path::new(name))?)?.root;
        let wrong =
            |line: usize, what: &str| Error::Usage(format!("{name}:{line}: {what}; {FORM}"));
        let Some(mut section) = root.take("summarizer") else {
            return Err(wrong(1, "there is no [summarizer] section"));
        };
        if section.get("use").is_none() {
            section.set("use", Node::from_value(name, json!(MODEL)));
        }
        let price = match root.take("price") {
            None => None,
            Some(node) => {
                let price = serde_json::from_value(node.to_value());
                Some(price.map_err(|error| {
                    wrong(node.place.line, &format!("price: {}", in_words(&error.to_string())))
                })?)
            }
        };
        if let Some((key, node)) = root.entries().first() {
            return Err(wrong(node.key_place.line, &format!("unknown key `{key}`")));
        }
        Ok(Self { section, recorded: false, price })
    }

    /// The names that a summarizer may go by.
    fn known(registry: &Registry) -> Vec<&'static str> {
        let stages = registry.stages().map(|stage| stage.item);
        let summarizers = stages.filter(|stage| stage.kind() == StageKind::Summarizer);
        summarizers.map(|stage| stage.name).chain([Recorded::ID, "none"]).collect()
    }

    /// Whether a value of `--summarizer` is the name of a model: it is neither that of a summarizer nor a file.
    #[cfg(feature = "serve")]
    pub(crate) fn is_model(name: &str, registry: &Registry) -> bool {
        !name.ends_with(".toml") && !Self::known(registry).contains(&name)
    }

    /// A summarizer by its name, which an option gave.
    fn named(option: &str, name: &str) -> Self {
        let recorded = name == Recorded::ID;
        let chosen = Node::from_value(option, json!(if recorded { "extractive" } else { name }));
        let kind = NodeKind::Table(vec![("use".to_owned(), chosen)]);
        let section = Node { kind, ..Node::from_value(option, Value::Null) };
        Self { section, recorded, price: None }
    }

    /// The section for a strategy. Without a model, the strategy's own `on_failure` holds. A model may be too small or too
    /// slow: then the extractive summary stands in, so that nothing is lost.
    pub(crate) fn section(&self, compiled: &Compiled) -> Node {
        let mut section = self.section.clone();
        // How the original asks does not depend on who answers.
        if let Some(shares) = compiled.root.at("summarizer.shares_prefix").cloned() {
            section.set("shares_prefix", shares);
        }
        if section.get("on_failure").is_some() {
            return section;
        }
        let extractive = json!("extractive");
        let on_failure = match section.get("use") {
            Some(name) if name.to_value() == extractive => {
                compiled.root.at("summarizer.on_failure").cloned()
            }
            _ => Some(Node::from_value("--summarizer", extractive)),
        };
        if let Some(on_failure) = on_failure {
            section.set("on_failure", on_failure);
        }
        section
    }

    /// Whether a file is one for `--summarizer`: it says who writes summaries, and names no strategy.
    pub(crate) fn is_one(document: &Document) -> bool {
        let root = &document.root;
        let section = root.get("summarizer");
        section.is_some_and(|section| matches!(section.kind, NodeKind::Table(_)))
            && ["name", "extends", "schema"].iter().all(|key| root.get(key).is_none())
    }

    /// The summarizer alone, as a strategy that does nothing else.
    pub(crate) fn alone(&self, registry: &Registry, name: &str) -> Result<Compiled, Error> {
        let mut document = Document::parse(name, "[estimator]\nuse = \"chars\"\n")?;
        document.root.set("name", Node::from_value(name, json!(name)));
        document.root.set("summarizer", self.section.clone());
        let options = Options { read_file: None, env: None };
        Ok(foldback::config::compile(registry, document, options)?)
    }
}
