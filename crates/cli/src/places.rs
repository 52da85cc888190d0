//! Where agents keep their sessions in a user's home, on Linux, macOS and Windows.

use crate::endings::unpacked;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An operating system, as far as its folders differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), allow(dead_code, reason = "the others are those of other machines"))]
pub(crate) enum System {
    Linux,
    Mac,
    Windows,
}

impl System {
    const HERE: Self = match () {
        () if cfg!(target_os = "macos") => Self::Mac,
        () if cfg!(windows) => Self::Windows,
        () => Self::Linux,
    };
}

/// A folder in which an agent keeps sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) agent: &'static str,
    pub(crate) path: PathBuf,
    /// The last components of the paths of its sessions; in each, `*` stands for any text.
    files: &'static [&'static str],
}

/// The folder above another one.
enum Base {
    /// The user's home, or the folder that a variable names.
    Home(&'static str, Option<&'static str>),
    /// The folder that a variable names in place of the home, and so has what the home has.
    Moved(&'static str),
    /// The user's settings.
    Settings,
    /// The storage of an extension, in every editor that is a VS Code.
    Editors,
}

/// Agent, base, folder below it, files.
type Row = (&'static str, Base, &'static str, &'static [&'static str]);

const LINES: &[&str] = &["*.jsonl"];
const CHATS: &[&str] = &["chats/session-*.json", "chats/session-*.jsonl"];
const QWEN_CHATS: &[&str] = &["chats/*.jsonl", "chats/archive/*.jsonl"];
const TASK: &[&str] = &["api_conversation_history.json"];

const ROWS: &[Row] = &[
    ("Claude Code", Base::Home(".claude", Some("CLAUDE_CONFIG_DIR")), "projects", LINES),
    ("Claude Code", Base::Settings, "claude/projects", LINES),
    ("Codex", Base::Home(".codex", Some("CODEX_HOME")), "sessions", &["rollout-*.jsonl"]),
    ("Codex", Base::Home(".codex", Some("CODEX_HOME")), "archived_sessions", &["rollout-*.jsonl"]),
    ("pi", Base::Home(".pi/agent", Some("PI_CODING_AGENT_DIR")), "sessions", LINES),
    ("oh-my-pi", Base::Home(".omp/agent", None), "sessions", LINES),
    (
        "OpenClaw",
        Base::Home(".openclaw", Some("OPENCLAW_STATE_DIR")),
        "agents",
        &["sessions/*.jsonl"],
    ),
    ("DeepSeek Harness", Base::Home(".dsh", Some("DSH_HOME")), "sessions", &["session.jsonl"]),
    (
        "Kimi Code",
        Base::Home(".kimi-code", Some("KIMI_CODE_HOME")),
        "sessions",
        &["agents/*/wire.jsonl"],
    ),
    ("Gemini CLI", Base::Moved("GEMINI_CLI_HOME"), ".gemini/tmp", CHATS),
    ("Qwen Code", Base::Home(".qwen", Some("QWEN_RUNTIME_DIR")), "projects", QWEN_CHATS),
    ("Qwen Code", Base::Home(".qwen", Some("QWEN_HOME")), "projects", QWEN_CHATS),
    // As Gemini CLI has them, in older versions.
    ("Qwen Code", Base::Home(".qwen", Some("QWEN_HOME")), "tmp", CHATS),
    (
        "Copilot CLI",
        Base::Home(".copilot", Some("COPILOT_HOME")),
        "session-state",
        // Older versions have no folder for each session.
        &["events.jsonl", "session-state/*.jsonl"],
    ),
    ("Cline", Base::Editors, "saoudrizwan.claude-dev/tasks", TASK),
    ("Cline", Base::Home(".cline", None), "data/tasks", TASK),
    ("Cline", Base::Home(".cline", None), "data/sessions", &["*.messages.json"]),
    ("Roo Code", Base::Editors, "rooveterinaryinc.roo-cline/tasks", TASK),
    ("Kilo Code", Base::Editors, "kilocode.kilo-code/tasks", TASK),
    (
        "OpenHands",
        Base::Home(".openhands", Some("OPENHANDS_PERSISTENCE_DIR")),
        "conversations",
        // It is read with the events beside it.
        &["base_state.json"],
    ),
    ("mini-swe-agent", Base::Settings, "mini-swe-agent", &["*.traj.json"]),
];

/// Editors that are a VS Code, by the name of their folder.
const EDITORS: [&str; 5] = ["Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf"];

/// Where they are on a machine that is worked on from another, below the home.
const SERVERS: [&str; 3] =
    [".vscode-server/data", ".vscode-server-insiders/data", ".cursor-server/data"];

impl Place {
    /// Whether a file in the folder is a session, by its name.
    pub(crate) fn holds(&self, file: &Path) -> bool {
        let file = unpacked(file);
        self.files.iter().any(|pattern| {
            let mut names = file.components().rev();
            pattern.rsplit('/').all(|pattern| {
                let name = names.next().and_then(|name| name.as_os_str().to_str());
                name.is_some_and(|name| is_named(name, pattern))
            })
        })
    }
}

/// Whether a name is the pattern, in which one `*` stands for any text.
fn is_named(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        Some((begin, end)) => name.strip_prefix(begin).is_some_and(|rest| rest.ends_with(end)),
        None => name == pattern,
    }
}

/// The user's home.
pub(crate) fn home_here() -> Option<PathBuf> {
    home(&absolute)
}

/// The folder that a variable names. An empty or relative one would depend on where the command runs.
pub(crate) fn absolute(variable: &str) -> Option<PathBuf> {
    let value = std::env::var_os(variable).map(PathBuf::from);
    value.filter(|path| path.is_absolute())
}

/// The places on this machine, whether they exist or not.
pub(crate) fn here() -> Vec<Place> {
    all(System::HERE, &absolute)
}

/// The files in which agents on this machine keep all their sessions, whether they exist or not.
pub(crate) fn stores_here() -> Vec<(&'static str, PathBuf)> {
    stores(System::HERE, &absolute)
}

/// The stores under these variables. Crush has one for each folder that it was used in, and a list of those.
fn stores(
    system: System,
    variable: &dyn Fn(&str) -> Option<PathBuf>,
) -> Vec<(&'static str, PathBuf)> {
    let below = |usual: &str| Some(home(variable)?.join(usual));
    let data = || variable("XDG_DATA_HOME").or_else(|| below(".local/share"));
    let local = || variable("LOCALAPPDATA").or_else(|| below("AppData/Local"));
    let windows = system == System::Windows;
    let goose = match (variable("GOOSE_PATH_ROOT"), windows) {
        (Some(root), _) => Some(root.join("data")),
        (None, false) => data().map(|data| data.join("goose")),
        (None, true) => variable("APPDATA")
            .or_else(|| below("AppData/Roaming"))
            .map(|data| data.join("Block/goose/data")),
    };
    let crush = variable("CRUSH_GLOBAL_DATA")
        .or_else(|| variable("XDG_DATA_HOME").map(|data| data.join("crush")))
        .or_else(
            || if windows { Some(local()?.join("crush")) } else { below(".local/share/crush") },
        );
    let cursor = settings(system, variable).map(|settings| settings.join("Cursor/User"));
    let hermes = variable("HERMES_HOME")
        .or_else(|| if windows { Some(local()?.join("hermes")) } else { below(".hermes") });
    let mut stores = Vec::new();
    let mut add = |agent, folder: Option<PathBuf>, file: &str| {
        stores.extend(folder.map(|folder| (agent, folder.join(file))));
    };
    add("OpenCode", data(), "opencode/opencode.db");
    add("Kilo Code", data(), "kilo/kilo.db");
    add("Goose", goose, "sessions/sessions.db");
    add("Hermes", hermes, "state.db");
    add("Cursor", cursor, "globalStorage/state.vscdb");
    for folder in crush.map(|folder| crush_folders(&folder)).unwrap_or_default() {
        add("Crush", Some(folder), "crush.db");
    }
    stores
}

/// The folders with a store of Crush.
fn crush_folders(data: &Path) -> Vec<PathBuf> {
    let list = std::fs::read_to_string(data.join("projects.json")).unwrap_or_default();
    let list: serde_json::Value = serde_json::from_str(&list).unwrap_or_default();
    let projects = list["projects"].as_array().map_or(&[][..], Vec::as_slice).iter();
    let folders = projects.filter_map(|project| {
        let folder = Path::new(project["path"].as_str()?).join(project["data_dir"].as_str()?);
        folder.is_absolute().then_some(folder)
    });
    folders.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The user's home under these variables.
pub(crate) fn home(variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    variable("HOME").or_else(|| variable("USERPROFILE"))
}

/// The user's settings under these variables.
fn settings(system: System, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
    let below = |usual: &str| Some(home(variable)?.join(usual));
    match system {
        System::Linux => variable("XDG_CONFIG_HOME").or_else(|| below(".config")),
        System::Mac => below("Library/Application Support"),
        System::Windows => variable("APPDATA").or_else(|| below("AppData/Roaming")),
    }
}

/// The places under these variables, each once.
fn all(system: System, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Vec<Place> {
    let home = home(variable);
    let below = |usual: &str| home.as_ref().map(|home| home.join(usual));
    let settings = settings(system, variable);
    let editors = EDITORS.iter().filter_map(|editor| Some(settings.as_ref()?.join(editor)));
    let servers = SERVERS.iter().filter_map(|server| below(server));
    let editors: Vec<PathBuf> =
        editors.chain(servers).map(|editor| editor.join("User/globalStorage")).collect();
    let mut seen = BTreeSet::new();
    let mut places = Vec::new();
    for (agent, base, folder, files) in ROWS {
        let bases = match base {
            Base::Home(usual, moved) => {
                moved.and_then(variable).or_else(|| below(usual)).into_iter().collect()
            }
            Base::Moved(moved) => variable(moved).or_else(|| home.clone()).into_iter().collect(),
            Base::Settings => settings.iter().cloned().collect(),
            Base::Editors => editors.clone(),
        };
        for path in bases.iter().map(|base| base.join(folder)) {
            if seen.insert(path.clone()) {
                places.push(Place { agent, path, files });
            }
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder;
    use serde_json::json;

    /// Files in a home, and which of them are sessions.
    const EVERYWHERE: &[(&str, bool)] = &[
        (".claude/projects/-home-me-app/1f.jsonl", true),
        (".claude/projects/-home-me-app/1f/subagents/agent-a.jsonl", true),
        (".claude/projects/-home-me-app/sessions-index.json", false),
        (".claude/history.jsonl", false),
        (".codex/sessions/2026/11/26/rollout-2026-11-26T10-00-00-x.jsonl", true),
        (".codex/sessions/2026/11/26/rollout-2026-11-26T11-00-00-y.jsonl.zst", true),
        (".codex/archived_sessions/rollout-z.jsonl", true),
        (".codex/sessions/notes.json", false),
        (".codex/history.jsonl", false),
        (".pi/agent/sessions/--home-me-app--/2026_a.jsonl", true),
        (".pi/agent/settings.json", false),
        (".omp/agent/sessions/--home-me-app--/b.jsonl", true),
        (".openclaw/agents/main/sessions/c.jsonl", true),
        (".openclaw/agents/main/sessions/sessions.json", false),
        (".openclaw/agents/main/agent/models.json", false),
        (".dsh/sessions/--home-me-app--/1b/session.jsonl.zstd", true),
        (".dsh/sessions/--home-me-app--/2c/session.jsonl", true),
        (".dsh/sessions/--home-me-app--/2c/notes.jsonl", false),
        (".kimi-code/sessions/wd_app_1f/session_3d/agents/main/wire.jsonl", true),
        (".kimi-code/sessions/wd_app_1f/session_3d/agents/agent-0/wire.jsonl", true),
        (".kimi-code/sessions/wd_app_1f/session_3d/upcoming-goals.json", false),
        (".gemini/tmp/abc/chats/session-2026-11-26T10-00-d.json", true),
        (".gemini/tmp/abc/chats/session-2026-11-26T10-00-e.jsonl", true),
        (".gemini/tmp/abc/logs.json", false),
        (".qwen/tmp/abc/chats/session-f.json", true),
        (".qwen/projects/-home-me-app/chats/1f.jsonl", true),
        (".qwen/usage/token-usage-2026-11.jsonl", false),
        (".copilot/session-state/9a/events.jsonl", true),
        (".copilot/session-state/old.jsonl", true),
        (".copilot/session-state/9a/plan.json", false),
        (".openhands/conversations/7f/base_state.json", true),
        (".openhands/conversations/7f/events/event-00000-0f9248d3.json", false),
        (".openhands/settings.json", false),
        (".cline/data/tasks/17/api_conversation_history.json", true),
        (".cline/data/sessions/17_a/17_a.messages.json", true),
        (".cline/data/sessions/17_a/17_a.json", false),
        (
            ".vscode-server/data/User/globalStorage/rooveterinaryinc.roo-cline/tasks/18/api_conversation_history.json",
            true,
        ),
    ];

    const SETTINGS: &[(&str, bool)] = &[
        (
            "Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/api_conversation_history.json",
            true,
        ),
        ("Code/User/globalStorage/saoudrizwan.claude-dev/tasks/1/ui_messages.json", false),
        (
            "Cursor/User/globalStorage/kilocode.kilo-code/tasks/2/api_conversation_history.json",
            true,
        ),
        (
            "VSCodium/User/globalStorage/rooveterinaryinc.roo-cline/tasks/3/api_conversation_history.json",
            true,
        ),
        ("VSCodium/User/globalStorage/someone.else/tasks/3/api_conversation_history.json", false),
        ("mini-swe-agent/last_mini_run.traj.json", true),
        ("mini-swe-agent/settings.json", false),
    ];

    fn lay(base: &Path, files: &[(&str, bool)], sessions: &mut BTreeSet<PathBuf>) {
        for (name, is_session) in files {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "{}").unwrap();
            if *is_session {
                assert!(sessions.insert(path));
            }
        }
    }

    fn found(places: &[Place]) -> Vec<PathBuf> {
        let sources = places.iter().flat_map(|place| folder::sources_of(place, &[]));
        sources.map(|source| PathBuf::from(source.name())).collect()
    }

    #[test]
    fn every_session_of_a_home_is_found_once_and_nothing_else() {
        for (system, settings) in [
            (System::Linux, ".config"),
            (System::Mac, "Library/Application Support"),
            (System::Windows, "AppData/Roaming"),
        ] {
            let home = tempfile::tempdir().unwrap();
            let mut sessions = BTreeSet::new();
            lay(home.path(), EVERYWHERE, &mut sessions);
            lay(&home.path().join(settings), SETTINGS, &mut sessions);
            let variable = |name: &str| (name == "HOME").then(|| home.path().to_owned());
            let found = found(&all(system, &variable));
            assert_eq!(found.len(), sessions.len(), "{system:?}: {found:#?}");
            assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sessions, "{system:?}");
        }
    }

    #[test]
    fn variables_move_places() {
        let root = tempfile::tempdir().unwrap();
        let mut sessions = BTreeSet::new();
        let rows = [
            ("CLAUDE_CONFIG_DIR", "projects/p/a.jsonl"),
            ("CODEX_HOME", "sessions/rollout-a.jsonl"),
            ("PI_CODING_AGENT_DIR", "sessions/p/a.jsonl"),
            ("DSH_HOME", "sessions/p/a/session.jsonl"),
            ("KIMI_CODE_HOME", "sessions/wd/s/agents/main/wire.jsonl"),
            ("OPENCLAW_STATE_DIR", "agents/main/sessions/a.jsonl"),
            ("GEMINI_CLI_HOME", ".gemini/tmp/p/chats/session-a.json"),
            ("QWEN_HOME", "projects/p/chats/a.jsonl"),
            ("QWEN_RUNTIME_DIR", "projects/p/chats/archive/a.jsonl"),
            ("OPENHANDS_PERSISTENCE_DIR", "conversations/7f/base_state.json"),
            ("COPILOT_HOME", "session-state/a/events.jsonl"),
            ("XDG_CONFIG_HOME", "mini-swe-agent/a.traj.json"),
        ];
        for (name, file) in rows {
            lay(&root.path().join(name), &[(file, true)], &mut sessions);
        }
        // The usual places are not searched.
        lay(
            &root.path().join("HOME"),
            &[(".claude/projects/p/b.jsonl", true)],
            &mut BTreeSet::new(),
        );
        let known = |name: &str| name == "HOME" || rows.iter().any(|(row, _)| *row == name);
        let variable = |name: &str| known(name).then(|| root.path().join(name));
        let found = found(&all(System::Linux, &variable));
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), sessions);
    }

    #[test]
    fn stores_are_where_agents_and_variables_say() {
        let root = tempfile::tempdir().unwrap();
        let home = root.path().join("home");
        let list = json!({"projects": [
            {"path": root.path().join("app"), "data_dir": ".crush"},
            {"path": root.path().join("app"), "data_dir": root.path().join("app/.crush")},
            {"path": "app", "data_dir": ".crush"},
        ]});
        for folder in ["home/.local/share/crush", "home/AppData/Local/crush", "moved/crush"] {
            let folder = root.path().join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("projects.json"), list.to_string()).unwrap();
        }
        let usual = |name: &str| (name == "HOME").then(|| home.clone());
        let all = |name: &str| {
            let moved =
                ["GOOSE_PATH_ROOT", "HERMES_HOME"].contains(&name) || name.starts_with("XDG_");
            moved.then(|| root.path().join("moved"))
        };
        type Variables<'v> = &'v dyn Fn(&str) -> Option<PathBuf>;
        let rows: [(System, Variables<'_>, [&str; 5]); 4] = [
            (
                System::Linux,
                &usual,
                [
                    "home/.local/share/opencode/opencode.db",
                    "home/.local/share/kilo/kilo.db",
                    "home/.local/share/goose/sessions/sessions.db",
                    "home/.hermes/state.db",
                    "home/.config/Cursor/User/globalStorage/state.vscdb",
                ],
            ),
            (
                System::Mac,
                &usual,
                [
                    "home/.local/share/opencode/opencode.db",
                    "home/.local/share/kilo/kilo.db",
                    "home/.local/share/goose/sessions/sessions.db",
                    "home/.hermes/state.db",
                    "home/Library/Application Support/Cursor/User/globalStorage/state.vscdb",
                ],
            ),
            (
                System::Windows,
                &usual,
                [
                    "home/.local/share/opencode/opencode.db",
                    "home/.local/share/kilo/kilo.db",
                    "home/AppData/Roaming/Block/goose/data/sessions/sessions.db",
                    "home/AppData/Local/hermes/state.db",
                    "home/AppData/Roaming/Cursor/User/globalStorage/state.vscdb",
                ],
            ),
            (
                System::Linux,
                &all,
                [
                    "moved/opencode/opencode.db",
                    "moved/kilo/kilo.db",
                    "moved/data/sessions/sessions.db",
                    "moved/state.db",
                    "moved/Cursor/User/globalStorage/state.vscdb",
                ],
            ),
        ];
        for (system, variable, expected) in rows {
            let found: Vec<PathBuf> =
                stores(system, variable).into_iter().map(|(_, path)| path).collect();
            let crush = std::iter::once("app/.crush/crush.db");
            let expected: Vec<PathBuf> =
                expected.into_iter().chain(crush).map(|path| root.path().join(path)).collect();
            assert_eq!(found, expected, "{system:?}");
        }
        assert_eq!(stores(System::Linux, &|_| None), []);
    }

    #[test]
    fn two_names_of_one_folder_are_one_place() {
        let variable = |name: &str| match name {
            "HOME" => Some(PathBuf::from("/home/me")),
            "CLAUDE_CONFIG_DIR" => Some(PathBuf::from("/home/me/.config/claude")),
            _ => None,
        };
        let places = all(System::Linux, &variable);
        let claude = places.iter().filter(|place| place.agent == "Claude Code");
        assert_eq!(claude.count(), 1);
        assert_eq!(all(System::Linux, &|_| None), []);
    }
}
