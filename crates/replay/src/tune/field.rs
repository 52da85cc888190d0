//! Fields of a strategy by the path that a user writes, and files that set them.

use foldback_core::config::{Compiled, Node, NodeKind};
use foldback_core::registry::{Registry, StageKind};
use serde_json::Value;

/// A field of a strategy, such as `pruner.protect_tokens` or `filter.shares.residuals`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// As it was written.
    pub path: String,
    /// Section of the file.
    section: &'static str,
    /// `use` of the pruner, where the section is a list of them.
    stage: Option<String>,
    /// Keys inside the section.
    keys: Vec<String>,
}

/// Sections that are no stage and have fields to vary.
const OTHERS: [&str; 2] = ["window", "guards"];

impl Field {
    /// Finds the section of a path: `SECTION.field`; for pruners `pruner.field` if there is one,
    /// `pruner[1].field` or `pruner.NAME.field` if there are several. Whether the stage has the field is
    /// for the compiler to say. The error says which fields of that name there are.
    pub fn find(registry: &Registry, strategy: &Compiled, path: &str) -> Result<Self, String> {
        let (head, rest) = path.split_once('.').unwrap_or((path, ""));
        let (name, index) = match head.split_once('[') {
            Some((name, index)) => (name, Some(index.trim_end_matches(']'))),
            None => (head, None),
        };
        let section = sections().find(|section| *section == name);
        let node = section.and_then(|section| strategy.root.get(section));
        let known = section.is_some_and(|section| OTHERS.contains(&section)) || node.is_some();
        let (Some(section), true, false) = (section, known, rest.is_empty()) else {
            return Err(unknown(registry, strategy, path));
        };
        let (stage, rest) = match node.map(|node| &node.kind) {
            Some(NodeKind::List(pruners)) => {
                let (stage, rest) = pruner(pruners, index, rest)
                    .map_err(|why| format!("{}: {why}", strategy.strategy.name))?;
                (Some(stage), rest)
            }
            _ if index.is_some() => return Err(unknown(registry, strategy, path)),
            _ => (None, rest),
        };
        Ok(Self {
            path: path.to_owned(),
            section,
            stage,
            keys: rest.split('.').map(str::to_owned).collect(),
        })
    }

    /// The last key: what a table has room for.
    pub fn short(&self) -> &str {
        self.keys.last().map_or(&self.path, String::as_str)
    }

    /// The value that the field has in a strategy; `None` where it has none.
    pub(super) fn value(&self, root: &Node) -> Option<Value> {
        let section = root.get(self.section)?;
        let start = match &self.stage {
            None => section,
            Some(stage) => section
                .elements()
                .iter()
                .find(|node| node.get("use").and_then(Node::as_str) == Some(stage))?,
        };
        let found = self.keys.iter().try_fold(start, |node, key| node.get(key));
        found.map(Node::to_value)
    }

    /// Sets the field in a file that extends the strategy.
    pub(super) fn set(&self, file: &mut toml::Table, value: &Value) {
        let Ok(value) = toml::Value::try_from(value) else {
            return;
        };
        let section = match &self.stage {
            None => table(file, self.section),
            Some(stage) => {
                let list =
                    file.entry(self.section).or_insert_with(|| toml::Value::Array(Vec::new()));
                list.as_array_mut().and_then(|list| of_stage(list, stage))
            }
        };
        let Some(mut at) = section else {
            return;
        };
        let Some((last, above)) = self.keys.split_last() else {
            return;
        };
        for key in above {
            match table(at, key) {
                Some(next) => at = next,
                None => return,
            }
        }
        at.insert(last.clone(), value);
    }
}

fn table<'t>(file: &'t mut toml::Table, key: &str) -> Option<&'t mut toml::Table> {
    file.entry(key).or_insert_with(|| toml::Value::Table(toml::Table::new())).as_table_mut()
}

fn of_stage<'t>(list: &'t mut Vec<toml::Value>, stage: &str) -> Option<&'t mut toml::Table> {
    let is_it = |value: &toml::Value| value.get("use").and_then(toml::Value::as_str) == Some(stage);
    let at = list.iter().position(is_it).unwrap_or_else(|| {
        let named = toml::Table::from_iter([("use".to_owned(), toml::Value::from(stage))]);
        list.push(toml::Value::Table(named));
        list.len() - 1
    });
    list.get_mut(at)?.as_table_mut()
}

/// Which pruner, and the path inside it.
fn pruner<'p>(
    pruners: &[Node],
    index: Option<&str>,
    rest: &'p str,
) -> Result<(String, &'p str), String> {
    let names: Vec<&str> = pruners
        .iter()
        .map(|node| node.get("use").and_then(Node::as_str).unwrap_or_default())
        .collect();
    let inside = |name: &str| rest.strip_prefix(name)?.strip_prefix('.');
    let (stage, rest) = match index {
        Some(index) => match index.parse().ok().and_then(|at: usize| names.get(at)) {
            Some(stage) => (*stage, rest),
            None => {
                return Err(format!("there is no pruner[{index}]; there are {}", names.len()));
            }
        },
        None => match names.iter().find_map(|name| Some((*name, inside(name)?))) {
            Some(found) => found,
            None if names.len() == 1 => (names[0], rest),
            None => {
                return Err(format!(
                    "there are {} pruners; say which: pruner.{}.{rest}",
                    names.len(),
                    names.first().copied().unwrap_or_default()
                ));
            }
        },
    };
    // A file that extends another finds its pruners by name.
    if names.iter().filter(|name| **name == stage).count() > 1 {
        return Err(format!(
            "two pruners are called {stage}, and a file that extends this one can't address them"
        ));
    }
    Ok((stage.to_owned(), rest))
}

fn sections() -> impl Iterator<Item = &'static str> {
    StageKind::ALL.map(StageKind::section).into_iter().chain(OTHERS)
}

/// Every field that a strategy's stages have, by the shortest path that finds it.
pub(crate) fn fields(registry: &Registry, strategy: &Compiled) -> Vec<String> {
    let mut paths = Vec::new();
    for kind in StageKind::ALL {
        let Some(node) = strategy.root.get(kind.section()) else {
            continue;
        };
        let several = node.elements().len() > 1;
        let single = std::slice::from_ref(node);
        let stages = match &node.kind {
            NodeKind::List(elements) => elements.as_slice(),
            _ => single,
        };
        for node in stages {
            let Some(name) = node.get("use").and_then(Node::as_str) else {
                continue;
            };
            let stage = registry.stage(kind, name);
            for field in stage.iter().flat_map(|stage| stage.item.fields()) {
                paths.push(match several {
                    true => format!("{kind}.{name}.{}", field.name),
                    false => format!("{kind}.{}", field.name),
                });
            }
        }
    }
    paths
}

fn unknown(registry: &Registry, strategy: &Compiled, path: &str) -> String {
    let last = |path: &str| path.rsplit('.').next().unwrap_or_default().to_owned();
    let wanted = last(path);
    let all = fields(registry, strategy);
    let same = all.iter().filter(|known| last(known) == wanted);
    let close = all.iter().filter(|known| {
        let known = last(known);
        known.contains(&wanted) || wanted.contains(&known)
    });
    let near: Vec<String> = match same.clone().next() {
        Some(_) => same.map(|path| format!("`{path}`")).collect(),
        None => close.map(|path| format!("`{path}`")).collect(),
    };
    let name = &strategy.strategy.name;
    match near.is_empty() {
        false => format!(
            "the preset `{name}` has no field `{path}`; similar names are {}",
            near.join(", ")
        ),
        true => {
            let there = sections().filter(|section| strategy.root.get(section).is_some());
            format!(
                "the preset `{name}` has no field `{path}`; a path is SECTION.field, its sections are {}, and `foldback \
                 presets {name}` shows all fields",
                there.collect::<Vec<_>>().join(", ")
            )
        }
    }
}
