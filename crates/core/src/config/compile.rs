//! From a document to a strategy: presets merged, stages bound, all errors at once.

use super::bind::{Binder, NoEstimator, Summaries};
use super::document::Document;
use super::error::ConfigErrors;
use super::extend::{Options, apply_env, extend, preset_document};
use super::header::{EnvFlag, Header};
use super::node::{Node, NodeKind};
use super::read::{Errors, read_struct};
use crate::limits::Limits;
use crate::registry::{Registry, StageKind};
use crate::strategy::Strategy;
use std::sync::Arc;

/// A strategy with the tree that it was made from.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Ready to run.
    pub strategy: Strategy,
    /// Everything except the stages.
    pub header: Header,
    /// All values after merging, each with its place, and the defaults of the stages.
    pub root: Node,
    /// Environment variables that were found, and what they set.
    pub env: Vec<(EnvFlag, String)>,
}

/// Compiles a registered preset, by name or alias.
///
/// # Errors
///
/// There is no such preset, or it has errors.
pub fn compile_preset(
    registry: &Registry,
    name: &str,
    options: Options<'_>,
) -> Result<Compiled, ConfigErrors> {
    let document = preset_document(registry, name)?;
    compile(registry, document, options)
}

/// Compiles a document. Collects every error instead of stopping at the first.
///
/// # Errors
///
/// Everything that is wrong with the document, each with its place.
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

    let mut binder = Binder { registry, errors: &mut errors, estimators: Vec::new() };
    let estimator = binder.estimator_section(&root);
    binder.estimators.push(estimator.unwrap_or_else(|| Arc::new(NoEstimator::default())));
    let overflow = binder.overflow(&root);
    let pruners = binder.pruners(&root);
    let filter = binder.filter(&root);
    let Summaries { summarizer, on_failure, shares_prefix } = binder.summarizer(&root);
    let fallback = binder.default_summarizer();
    let estimators = binder.estimators;

    if header.name.is_empty() {
        errors.push_at(&root, "name", "is missing: every strategy has a name");
    }
    let (user_limits, preset_limits) =
        if is_preset { (Limits::default(), header.window) } else { (own_window, header.window) };
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
    add_defaults(registry, &mut root);
    let strategy = Strategy {
        name: header.name.clone(),
        description: header.description.clone(),
        reproduces: header.reproduces.clone(),
        not_for: header.not_for.clone(),
        kind: header.kind,
        estimators,
        overflow,
        pruners,
        filter,
        summarizer,
        fallback,
        on_failure,
        shares_prefix,
        user_limits,
        preset_limits,
        model: header.model.clone(),
        guards: header.guards,
        carry: header.carry.clone(),
        idle: header.idle,
        deviations: header.deviation.clone(),
    };
    Ok(Compiled { strategy, header, root, env })
}

/// Adds what the sections leave to the defaults of their stages.
fn add_defaults(registry: &Registry, root: &mut Node) {
    for kind in StageKind::ALL {
        let sections = match root.get_mut(kind.section()) {
            Some(Node { kind: NodeKind::List(sections), .. }) => sections.as_mut_slice(),
            Some(section) => std::slice::from_mut(section),
            None => continue,
        };
        for section in sections {
            let name = section.get("use").and_then(Node::as_str);
            let stage = name.and_then(|name| registry.stage(kind, name));
            for field in stage.iter().flat_map(|stage| stage.item.fields()) {
                if let (None, Some(default)) = (section.get(&field.name), field.default) {
                    section.set(&field.name, Node::from_value("default", default));
                }
            }
        }
    }
}

fn window_of(root: &Node) -> Limits {
    let field = |name: &str| {
        root.at(&format!("window.{name}")).and_then(|node| node.to_value().as_u64()).unwrap_or(0)
    };
    Limits { context: field("context"), input: field("input"), output: field("output") }
}
