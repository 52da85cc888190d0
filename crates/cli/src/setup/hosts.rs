//! The hosts: a table of data.

use super::members::Members;
use serde::Deserialize;
use serde_json::Value;
use std::path::PathBuf;
use std::sync::LazyLock;

/// An agent that people run.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Host {
    /// Its name on the command line.
    pub(crate) name: String,
    /// Its name in texts.
    pub(crate) title: String,
    folder: String,
    moved: Option<String>,
    program: Option<String>,
    #[serde(default)]
    pub(crate) files: Vec<String>,
    pub(crate) needs: Needs,
}

/// What a host needs.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Needs {
    Members(serde_json::Map<String, Value>),
    Lines(String),
    Variables(Vec<String>),
    ByHand(String),
}

/// The hosts that are known.
pub(crate) static HOSTS: LazyLock<Vec<Host>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        host: Vec<Host>,
    }
    let table = toml::from_str(include_str!("../../data/hosts.toml"));
    table.map_or_else(|error| panic!("hosts.toml: {error}"), |Table { host }| host)
});

/// The names of all hosts on the command line.
pub(crate) fn names() -> String {
    HOSTS.iter().map(|host| &*host.name).collect::<Vec<_>>().join(", ")
}

impl Host {
    /// The host of this name.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// The members that its file needs for a proxy at this address; `None` where it needs something else.
    pub(super) fn members(&self, url: &str) -> Option<Members<'_>> {
        let Needs::Members(members) = &self.needs else { return None };
        let members = members.iter().map(|(place, value)| {
            let text = value.as_str().map(|text| text.replace("{url}", url));
            (place.split('.').collect(), text.map_or_else(|| value.clone(), Value::from))
        });
        Some(Members(members.collect()))
    }

    /// The folder of its settings under these variables, whether it exists or not.
    pub(crate) fn folder(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        folder(&self.folder, self.moved.as_deref(), variable)
    }

    /// Whether it needs the proxy.
    pub(crate) fn needs_proxy(&self) -> bool {
        self.program.is_some()
    }

    /// Whether the agent is installed: the folder of its settings exists, or its program is in one of these folders.
    pub(crate) fn is_installed(
        &self,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
        programs: &[PathBuf],
    ) -> bool {
        let Some(program) = &self.program else { return false };
        let names = [program.clone(), format!("{program}.exe"), format!("{program}.cmd")];
        self.folder(variable).is_some_and(|folder| folder.is_dir())
            || programs.iter().any(|folder| names.iter().any(|name| folder.join(name).is_file()))
    }
}

/// A folder below the home, or where a variable moves it.
pub(super) fn folder(
    usual: &str,
    moved: Option<&str>,
    variable: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<PathBuf> {
    // Where settings are by XDG's rules, they are at the usual place on macOS, too.
    let xdg = usual.strip_prefix(".config/");
    let xdg = xdg.and_then(|rest| Some(variable("XDG_CONFIG_HOME")?.join(rest)));
    let usual = || Some(crate::places::home(variable)?.join(usual));
    moved.and_then(variable).or(xdg).or_else(usual)
}
