//! The hosts, as data.

use std::path::PathBuf;

/// An agent that people run.
#[derive(Debug)]
pub(crate) struct Host {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What people call it.
    pub(crate) title: &'static str,
    /// The folder of its settings below the home, and the variable that moves it.
    folder: (&'static str, Option<&'static str>),
    /// Its program.
    program: &'static str,
    pub(crate) needs: Needs,
}

/// What a host needs; `{url}` is the proxy's address.
#[derive(Debug)]
pub(crate) enum Needs {
    /// Members of a settings file of JSON, the first of these names that exists or else the last; each with the place and the
    /// text.
    Members(&'static [&'static str], &'static [(&'static [&'static str], &'static str)]),
    /// Lines at the beginning of a settings file of TOML.
    Block(&'static [&'static str], &'static str),
    /// No file: variables of its environment.
    Variables(&'static [&'static str]),
    /// There is nothing to set, and this is why.
    Nothing(&'static str),
}

pub(crate) const HOSTS: &[Host] = &[
    Host {
        name: "claude-code",
        title: "Claude Code",
        folder: (".claude", Some("CLAUDE_CONFIG_DIR")),
        program: "claude",
        needs: Needs::Members(&["settings.json"], &[(&["env", "ANTHROPIC_BASE_URL"], "{url}")]),
    },
    Host {
        name: "codex",
        title: "Codex",
        folder: (".codex", Some("CODEX_HOME")),
        program: "codex",
        // Its login with ChatGPT asks another server.
        needs: Needs::Block(
            &["config.toml"],
            r#"model_provider = "foldback"
model_providers.foldback = { name = "OpenAI through foldback", base_url = "{url}/v1", wire_api = "responses", env_key = "OPENAI_API_KEY" }
"#,
        ),
    },
    Host {
        name: "opencode",
        title: "OpenCode",
        folder: (".config/opencode", Some("OPENCODE_CONFIG_DIR")),
        program: "opencode",
        needs: Needs::Members(
            &["opencode.jsonc", "opencode.json"],
            &[
                (&["provider", "anthropic", "options", "baseURL"], "{url}/v1"),
                (&["provider", "openai", "options", "baseURL"], "{url}/v1"),
            ],
        ),
    },
    Host {
        name: "pi",
        title: "pi",
        folder: (".pi/agent", Some("PI_CODING_AGENT_DIR")),
        program: "pi",
        needs: Needs::Members(
            &["models.json"],
            &[
                (&["providers", "anthropic", "baseUrl"], "{url}"),
                (&["providers", "openai", "baseUrl"], "{url}/v1"),
            ],
        ),
    },
    Host {
        name: "mini-swe-agent",
        title: "mini-swe-agent",
        folder: (".config/mini-swe-agent", None),
        program: "mini",
        needs: Needs::Variables(&["ANTHROPIC_API_BASE={url}", "OPENAI_API_BASE={url}/v1"]),
    },
    Host {
        name: "aider",
        title: "aider",
        folder: (".aider", None),
        program: "aider",
        needs: Needs::Variables(&["ANTHROPIC_API_BASE={url}", "OPENAI_API_BASE={url}/v1"]),
    },
    Host {
        name: "gemini-cli",
        title: "Gemini CLI",
        folder: (".gemini", None),
        program: "gemini",
        needs: Needs::Nothing(
            "the proxy passes Gemini's protocol on unread, so nothing would be folded",
        ),
    },
];

/// What all hosts are called on the command line.
pub(crate) fn names() -> String {
    HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", ")
}

impl Host {
    /// By its name.
    pub(crate) fn of(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// The names that its settings file may have.
    pub(crate) fn files(&self) -> &'static [&'static str] {
        match self.needs {
            Needs::Members(names, _) | Needs::Block(names, _) => names,
            Needs::Variables(_) | Needs::Nothing(_) => &[],
        }
    }

    /// The folder of its settings under these variables, whether it exists or not.
    pub(crate) fn folder(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let (usual, moved) = self.folder;
        // Where settings are by XDG's rules, they are at the usual place on macOS, too.
        let xdg = usual.strip_prefix(".config/");
        let xdg = xdg.and_then(|rest| Some(variable("XDG_CONFIG_HOME")?.join(rest)));
        let usual = || Some(crate::places::home(variable)?.join(usual));
        moved.and_then(variable).or(xdg).or_else(usual)
    }

    /// Whether it is there: the folder of its settings, or its program in one of these folders.
    pub(crate) fn is_installed(
        &self,
        variable: &dyn Fn(&str) -> Option<PathBuf>,
        programs: &[PathBuf],
    ) -> bool {
        let names = [
            self.program.to_owned(),
            format!("{}.exe", self.program),
            format!("{}.cmd", self.program),
        ];
        self.folder(variable).is_some_and(|folder| folder.is_dir())
            || programs.iter().any(|folder| names.iter().any(|name| folder.join(name).is_file()))
    }
}
