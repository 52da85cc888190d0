//! Merges one file into another.

use super::node::{Node, NodeKind};
use crate::registry::StageKind;

/// Lays `over` over `base`: the file that says `extends` over what it extends.
///
/// A section whose `use` changes inherits nothing. Pruners are matched by `use`; one that the base
/// does not have is added after its own. Tables are merged key by key, everything else is replaced.
pub(super) fn merge(base: Node, over: Node) -> Node {
    let NodeKind::Table(mut entries) = base.kind else {
        return over;
    };
    let NodeKind::Table(over_entries) = over.kind else {
        return Node { kind: over.kind, ..over };
    };
    for (key, node) in over_entries {
        match entries.iter().position(|(name, _)| *name == key) {
            None => entries.push((key, node)),
            Some(index) => {
                let old = entries[index].1.clone();
                entries[index].1 = match key.as_str() {
                    "pruner" => merge_pruners(old, node),
                    "env" | "deviation" => append(old, node),
                    _ if is_section(&key) => merge_section(old, node),
                    _ => merge(old, node),
                };
            }
        }
    }
    Node { kind: NodeKind::Table(entries), ..over_place(over.place, over.key_place) }
}

fn over_place(place: super::node::Location, key_place: super::node::Location) -> Node {
    Node { place, key_place, kind: NodeKind::Table(Vec::new()) }
}

fn is_section(key: &str) -> bool {
    StageKind::ALL.iter().any(|kind| kind.section() == key)
}

fn merge_section(base: Node, over: Node) -> Node {
    let changed = match (base.get("use"), over.get("use")) {
        (Some(old), Some(new)) => old.kind != new.kind,
        _ => false,
    };
    if changed { over } else { merge(base, over) }
}

fn merge_pruners(base: Node, over: Node) -> Node {
    let (NodeKind::List(mut pruners), NodeKind::List(changes)) = (base.kind, over.kind.clone())
    else {
        return over;
    };
    for change in changes {
        let name = change.get("use").and_then(Node::as_str).map(str::to_owned);
        let known = pruners.iter().position(|pruner| {
            name.is_some() && pruner.get("use").and_then(Node::as_str) == name.as_deref()
        });
        match known {
            Some(index) => pruners[index] = merge(pruners[index].clone(), change),
            None => pruners.push(change),
        }
    }
    Node { kind: NodeKind::List(pruners), ..over }
}

fn append(base: Node, over: Node) -> Node {
    let (NodeKind::List(mut all), NodeKind::List(more)) = (base.kind, over.kind.clone()) else {
        return over;
    };
    all.extend(more);
    Node { kind: NodeKind::List(all), ..over }
}
