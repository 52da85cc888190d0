//! Presets as a list to choose from: by family, and in groups that one name takes.
//!
//! The file of a preset says which family and which group it belongs to. The groups are those that the files name.

use crate::error::Error;
use foldback::{Options, Registry};
use foldback_core::config::Header;
use foldback_core::strategy::Kind;

/// What is compared where no preset is named: one current preset of each family that people use, and those that began
/// here.
const DEFAULT: [&str; 12] = [
    "opencode-1.18",
    "claude-code",
    "codex",
    "gemini-cli",
    "pi",
    "openhands",
    "openhands-80",
    "langchain-summarization",
    "tunacode",
    "window",
    "indexed",
    "indexed-large",
];

/// The group of what agents do now.
const TODAY: &str = "today";

/// The name of all strategies together.
const ALL: &str = "all";

/// What names the presets that are not compared by default.
pub(crate) const OTHERS: &str = "--preset all";

/// The registered presets by name, with what their files say of them.
pub(crate) struct Listed(Vec<(&'static str, Header)>);

impl Listed {
    pub(crate) fn new(registry: &Registry) -> Result<Self, Error> {
        let mut listed = Vec::new();
        for preset in registry.presets() {
            let name = preset.item.name;
            let compiled = foldback::config::compile_preset(registry, name, Options::default())?;
            listed.push((name, compiled.header));
        }
        Ok(Self(listed))
    }

    /// All names, those of a family together, controls last.
    pub(crate) fn by_family(&self) -> Vec<&'static str> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, header)| (header.kind == Kind::Control, &header.family, *name));
        all.into_iter().map(|(name, _)| *name).collect()
    }

    /// The names of the controls.
    pub(crate) fn controls(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().filter(|(_, header)| header.kind == Kind::Control).map(|(name, _)| *name)
    }

    /// The preset that reproduces what an agent does today, by the format of its sessions.
    pub(crate) fn replica(&self, format: &str) -> Option<&'static str> {
        let of_agent = self.0.iter().filter(|(_, header)| {
            header.kind == Kind::Strategy && header.group == TODAY && header.family == format
        });
        // Where there are several, the one that is compared by default, else the one with the agent's own name.
        let rank = |name: &str| (!DEFAULT.contains(&name), name != format);
        of_agent.map(|(name, _)| *name).min_by_key(|name| rank(name))
    }

    /// The strategies of a group; without a name, those that are compared by default.
    fn members(&self, group: Option<&str>) -> Vec<&'static str> {
        let is_in = |name: &str, header: &Header| match group {
            None => DEFAULT.contains(&name),
            Some(ALL) => true,
            Some(group) => !group.is_empty() && header.group == group,
        };
        let strategies = self.0.iter().filter(|(_, header)| header.kind == Kind::Strategy);
        strategies.filter(|(name, header)| is_in(name, header)).map(|(name, _)| *name).collect()
    }

    /// The strategies of a group, if that is what is named: presets go before groups.
    fn group(&self, name: &str) -> Vec<&'static str> {
        match self.0.iter().any(|(preset, _)| *preset == name) {
            true => Vec::new(),
            false => self.members(Some(name)),
        }
    }

    /// The names with every group replaced by its presets, each once; without names, those that are compared
    /// by default. What is neither a group nor a preset stays, for whoever looks it up to refuse.
    pub(crate) fn expand(&self, names: &[String]) -> Vec<String> {
        if names.is_empty() {
            return self.members(None).into_iter().map(str::to_owned).collect();
        }
        let mut expanded: Vec<String> = Vec::new();
        for name in names {
            let members = self.group(name);
            if members.is_empty() {
                expanded.push(name.clone());
            }
            for member in members {
                if ![names, &expanded].iter().any(|there| there.iter().any(|name| name == member)) {
                    expanded.push(member.to_owned());
                }
            }
        }
        expanded
    }

    /// Whether a preset is compared because of a group or by default, and not by a name of its own.
    pub(crate) fn is_by_group(&self, names: &[String], preset: &str) -> bool {
        let in_group = || names.iter().any(|name| self.group(name).contains(&preset));
        match names {
            [] => self.members(None).contains(&preset),
            names => in_group() && !names.iter().any(|name| name == preset),
        }
    }

    /// Whether one of the names is that of a preset or a file, not of a group.
    pub(crate) fn names_one(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.group(name).is_empty())
    }
}
