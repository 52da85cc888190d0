//! The hosts, as data.

use serde_json::{Value, json};
use std::path::PathBuf;

/// An agent that people run.
#[derive(Debug)]
pub(crate) struct Host {
    /// Its name on the command line.
    pub(crate) name: &'static str,
    /// Its name in texts.
    pub(crate) title: &'static str,
    /// The folder of its settings below the home, and the variable that moves it.
    folder: (&'static str, Option<&'static str>),
    /// Its program; `None` where people ask for it by name.
    program: Option<&'static str>,
    pub(crate) needs: Needs,
}

/// What a host needs; `{url}` is the proxy's address.
#[derive(Debug)]
pub(crate) enum Needs {
    /// Members of a settings file of JSON, the first of these names that exists or else the last; each with the place and the
    /// value.
    Members(&'static [&'static str], &'static [(&'static [&'static str], Member)]),
    /// Lines at the beginning of a settings file of TOML.
    Block(&'static [&'static str], &'static str),
    /// No file: variables of its environment.
    Variables(&'static [&'static str]),
    /// A change that only its user can make, in words; `{url}` is the proxy's address.
    ByHand(&'static str),
}

/// The value of a member.
#[derive(Debug)]
pub(crate) enum Member {
    Text(&'static str),
    /// Its hooks of Claude Code: the matcher of their event. Code 2 of a hook would block a compaction, also where a program that
    /// knows no hooks gives it.
    Hook(&'static str),
}

impl Member {
    pub(super) fn value(&self, url: &str) -> Value {
        match self {
            Self::Text(text) => Value::from(text.replace("{url}", url)),
            Self::Hook(matcher) => {
                let hook =
                    json!({"type": "command", "command": "foldback hook || exit 1", "timeout": 60});
                json!([{"matcher": matcher, "hooks": [hook]}])
            }
        }
    }
}

pub(crate) const HOSTS: &[Host] = &[
    Host {
        name: "claude-code",
        title: "Claude Code",
        folder: (".claude", Some("CLAUDE_CONFIG_DIR")),
        program: Some("claude"),
        needs: Needs::Members(
            &["settings.json"],
            &[(&["env", "ANTHROPIC_BASE_URL"], Member::Text("{url}"))],
        ),
    },
    Host {
        name: "claude-code-hooks",
        title: "Claude Code, its hooks",
        folder: (".claude", Some("CLAUDE_CONFIG_DIR")),
        program: None,
        needs: Needs::Members(
            &["settings.json"],
            &[
                (&["hooks", "PreCompact"], Member::Hook("manual|auto")),
                (&["hooks", "SessionStart"], Member::Hook("compact")),
            ],
        ),
    },
    Host {
        name: "codex",
        title: "Codex",
        folder: (".codex", Some("CODEX_HOME")),
        program: Some("codex"),
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
        program: Some("opencode"),
        needs: Needs::Members(
            &["opencode.jsonc", "opencode.json"],
            &[
                (&["provider", "anthropic", "options", "baseURL"], Member::Text("{url}/v1")),
                (&["provider", "openai", "options", "baseURL"], Member::Text("{url}/v1")),
            ],
        ),
    },
    Host {
        name: "pi",
        title: "pi",
        folder: (".pi/agent", Some("PI_CODING_AGENT_DIR")),
        program: Some("pi"),
        needs: Needs::Members(
            &["models.json"],
            &[
                (&["providers", "anthropic", "baseUrl"], Member::Text("{url}")),
                (&["providers", "openai", "baseUrl"], Member::Text("{url}/v1")),
            ],
        ),
    },
    Host {
        name: "mini-swe-agent",
        title: "mini-swe-agent",
        folder: (".config/mini-swe-agent", None),
        program: Some("mini"),
        needs: Needs::Variables(&["ANTHROPIC_API_BASE={url}", "OPENAI_API_BASE={url}/v1"]),
    },
    Host {
        name: "aider",
        title: "aider",
        folder: (".aider", None),
        program: Some("aider"),
        needs: Needs::Variables(&["ANTHROPIC_API_BASE={url}", "OPENAI_API_BASE={url}/v1"]),
    },
    Host {
        name: "qwen-code",
        title: "Qwen Code",
        folder: (".qwen", Some("QWEN_HOME")),
        program: Some("qwen"),
        needs: Needs::Variables(&["OPENAI_BASE_URL={url}/v1", "ANTHROPIC_BASE_URL={url}"]),
    },
    Host {
        name: "kimi-code",
        title: "Kimi Code",
        folder: (".kimi-code", Some("KIMI_CODE_HOME")),
        program: Some("kimi"),
        needs: Needs::ByHand(
            "an address belongs to one of your providers: write {url}/v1 as its base_url into config.toml",
        ),
    },
    Host {
        name: "cline",
        title: "Cline",
        folder: (".cline", None),
        program: Some("cline"),
        // It takes no address for its other providers.
        needs: Needs::ByHand(
            "an address belongs to one of your providers: cline auth --provider openai-native --baseurl {url}/v1 --apikey KEY --modelid MODEL",
        ),
    },
    Host {
        name: "gemini-cli",
        title: "Gemini CLI",
        folder: (".gemini", None),
        program: Some("gemini"),
        // Its login with Google asks another server.
        needs: Needs::Variables(&["GOOGLE_GEMINI_BASE_URL={url}"]),
    },
];

/// The names of all hosts on the command line.
pub(crate) fn names() -> String {
    HOSTS.iter().map(|host| host.name).collect::<Vec<_>>().join(", ")
}

impl Host {
    /// The host of this name.
    pub(crate) fn from_name(name: &str) -> Option<&'static Self> {
        HOSTS.iter().find(|host| host.name == name)
    }

    /// The names that its settings file may have.
    pub(crate) fn files(&self) -> &'static [&'static str] {
        match self.needs {
            Needs::Members(names, _) | Needs::Block(names, _) => names,
            Needs::Variables(_) | Needs::ByHand(_) => &[],
        }
    }

    /// The folder of its settings under these variables, whether it exists or not.
    pub(crate) fn folder(&self, variable: &dyn Fn(&str) -> Option<PathBuf>) -> Option<PathBuf> {
        let (usual, moved) = self.folder;
        folder(usual, moved, variable)
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
        let Some(program) = self.program else { return false };
        let names = [program.to_owned(), format!("{program}.exe"), format!("{program}.cmd")];
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
