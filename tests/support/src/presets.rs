//! Presets beside each other.

use foldback_core::config::{Compiled, Node, NodeKind};
use foldback_core::registry::StageKind;
use std::collections::BTreeSet;

/// What the stages and guards of the first of two strategies have and those of the second do not: paths and values, in
/// order.
pub fn own(one: &Compiled, other: &Compiled) -> Vec<String> {
    values(one).difference(&values(other)).cloned().collect()
}

fn values(strategy: &Compiled) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for section in StageKind::ALL.map(StageKind::section).into_iter().chain(["guards"]) {
        if let Some(node) = strategy.root.get(section) {
            collect(section, node, &mut found);
        }
    }
    found
}

fn collect(path: &str, node: &Node, found: &mut BTreeSet<String>) {
    match &node.kind {
        NodeKind::Table(entries) => {
            for (key, value) in entries {
                collect(&format!("{path}.{key}"), value, found);
            }
        }
        _ => _ = found.insert(format!("{path} = {}", node.to_value())),
    }
}
