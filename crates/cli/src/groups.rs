//! Presets as a list to choose from: by family, and in groups that one name takes.
//!
//! The file of a preset says which family and which group it belongs to. The groups are those that the files name.

use crate::error::Error;
use foldback::{Options, Registry};
use foldback_core::config::Header;
use foldback_core::strategy::Kind;

/// The group that is compared where no preset is named, together with the presets that have no group.
const DEFAULT: &str = "seeds";

/// The name of all strategies together.
const ALL: &str = "all";

/// The registered presets by name, with what their files say of them.
pub(crate) struct Listed(Vec<(&'static str, Header)>);

impl Listed {
    pub(crate) fn of(registry: &Registry) -> Result<Self, Error> {
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

    /// The strategies of a group; without a name, those that are compared by default.
    fn members(&self, group: Option<&str>) -> Vec<&'static str> {
        let is_in = |header: &Header| match group {
            None => [DEFAULT, ""].contains(&header.group.as_str()),
            Some(ALL) => true,
            Some(group) => !group.is_empty() && header.group == group,
        };
        let strategies = self.0.iter().filter(|(_, header)| header.kind == Kind::Strategy);
        strategies.filter(|(_, header)| is_in(header)).map(|(name, _)| *name).collect()
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

    /// Whether one of the names is that of a preset or a file, not of a group.
    pub(crate) fn names_one(&self, names: &[String]) -> bool {
        names.iter().any(|name| self.group(name).is_empty())
    }

    /// What else there is, for a comparison of the default presets: how to name the others.
    pub(crate) fn others(&self) -> Option<String> {
        let by_default = self.members(None);
        let all = self.members(Some(ALL));
        let mut groups: Vec<&str> = self.0.iter().map(|(_, header)| &*header.group).collect();
        groups.sort_unstable();
        groups.dedup();
        let other = groups.into_iter().filter(|group| ![DEFAULT, "", ALL].contains(group));
        let more: Vec<String> = other
            .chain([ALL])
            .map(|group| format!("--preset {group} ({})", self.members(Some(group)).len()))
            .collect();
        (all.len() > by_default.len()).then(|| format!("more systems: {}", more.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(presets: [(&'static str, &str, &str); 5]) -> Listed {
        let header = |(name, family, group): (&'static str, &str, &str)| {
            let kind = if family == "control" { Kind::Control } else { Kind::Strategy };
            let (family, group) = (family.to_owned(), group.to_owned());
            (name, Header { family, group, kind, ..Header::default() })
        };
        Listed(presets.map(header).into())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_group_stands_for_its_presets_and_every_preset_comes_once() {
        let listed = listed([
            ("a", "z", "seeds"),
            ("b", "y", "today"),
            ("mine", "x", ""),
            ("none", "control", ""),
            ("today-too", "x", "today"),
        ]);
        for (given, expanded) in [
            (&[][..], &["a", "mine"][..]),
            (&["seeds"], &["a"]),
            (&["today"], &["b", "today-too"]),
            (&["all"], &["a", "b", "mine", "today-too"]),
            (&["today", "b", "seeds", "all"], &["today-too", "b", "a", "mine"]),
            (&["tody", "", "x.toml", "none"], &["tody", "", "x.toml", "none"]),
        ] {
            assert_eq!(listed.expand(&names(given)), names(expanded), "{given:?}");
        }
        assert!(listed.names_one(&names(&["today", "b"])));
        assert!(!listed.names_one(&names(&["today", "all"])));
        assert_eq!(listed.by_family(), ["mine", "today-too", "b", "a", "none"]);
        let others = listed.others();
        assert_eq!(others.as_deref(), Some("more systems: --preset today (2), --preset all (4)"));
    }

    #[test]
    fn a_preset_goes_before_a_group_of_its_name() {
        let listed = listed([
            ("today", "a", "seeds"),
            ("b", "a", "today"),
            ("c", "a", "seeds"),
            ("d", "a", "seeds"),
            ("e", "a", "seeds"),
        ]);
        assert_eq!(listed.expand(&names(&["today"])), ["today"]);
    }
}
