//! The settings file of an agent: what it says now, and the values that `recommend` writes into it and takes out.

use super::block::{self, Block};
use super::members::{self, Members};
use super::{Change, Settings, SetupRecord, existing, hosts, read, refused, with};
use crate::error::Error;
use foldback_replay::tune::agents::Agent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The settings file of an agent.
pub(crate) struct AgentFile<'a> {
    agent: &'a Agent,
    pub(crate) path: PathBuf,
}

impl<'a> AgentFile<'a> {
    /// The file under these variables; `None` where the agent has no settings, or no home is known.
    pub(crate) fn find(
        agent: &'a Agent,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
    ) -> Option<Self> {
        let folder = hosts::folder(&agent.folder, agent.moved.as_deref(), variable)?;
        let path = existing(agent.files.iter().map(|name| folder.join(name)))?;
        Some(Self { agent, path })
    }

    fn is_toml(&self) -> bool {
        self.path.extension().is_some_and(|ending| ending == "toml")
    }

    /// The values that the file has now, by key. What is no number and no switch, such as `auto`, is the agent's default.
    pub(crate) fn present(&self) -> Result<BTreeMap<String, Value>, Error> {
        let Some(text) = read(&self.path)? else { return Ok(BTreeMap::new()) };
        let refused = |why: String| refused(&self.path, &why);
        let table = match self.is_toml() {
            true => Some(block::parsed(&text).map_err(refused)?),
            false => None,
        };
        let mut present = BTreeMap::new();
        for setting in &self.agent.settings {
            let value = match &table {
                Some(table) => block::value(table, &setting.key),
                None => members::value(&text, &place(&setting.key)).map_err(refused)?,
            };
            let Some(value) = value else { continue };
            match setting.takes(&value) {
                true => drop(present.insert(setting.key.clone(), value)),
                false if value.is_string() || value.is_null() => {}
                false => {
                    let (title, key) = (&self.agent.title, &setting.key);
                    return Err(refused(format!(
                        "it sets {key} to {value}, which {title} does not take"
                    )));
                }
            }
        }
        Ok(present)
    }

    /// The lines that set values.
    pub(crate) fn snippet(&self, values: &[(String, Value)]) -> String {
        match self.is_toml() {
            true => block::lines(values),
            false => format!("{:#}\n", places(values).tree()),
        }
    }

    /// The change that takes out what was written before, and the one that writes it with these values; `None` where there is
    /// nothing to take out, or no value.
    pub(crate) fn changes(
        &self,
        values: &[(String, Value)],
        written: &SetupRecord,
    ) -> Result<(Option<Change>, Option<Change>), Error> {
        let keys: Vec<&str> = self.agent.settings.iter().map(|setting| &*setting.key).collect();
        let before = written.members(&self.path, &keys);
        let all: BTreeMap<String, Value> = before.iter().chain(values).cloned().collect();
        let change = |values: &[_], remove, earlier: &[_]| {
            let settings: Box<dyn Settings> = match self.is_toml() {
                true => Box::new(Block::of_values(values)),
                false => Box::new(places(values)),
            };
            with(&*settings, self.path.clone(), remove, earlier)
        };
        let out = (!before.is_empty()).then(|| change(&before, true, &[])).transpose()?.flatten();
        let all: Vec<(String, Value)> = all.into_iter().collect();
        let new = (!values.is_empty()).then(|| change(&all, false, out.as_slice()));
        let new = new.transpose()?.flatten();
        Ok((out, new))
    }
}

fn place(key: &str) -> Vec<&str> {
    key.split('.').collect()
}

fn places(values: &[(String, Value)]) -> Members<'_> {
    Members(values.iter().map(|(key, value)| (place(key), value.clone())).collect())
}
