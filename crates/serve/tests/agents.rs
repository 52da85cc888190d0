//! Real agents from the registries through the proxy, as they are released: a task of a hundred calls each, under a
//! preset that folds. What the person pins stands word for word in every request. Run by
//! `cargo xtask test-external agents:`, which installs them.
//!
//! An agent talks to a tap, which notes what it sends and passes it to the proxy. The provider refuses a request that is
//! larger than the window, so an agent without the proxy does not get to the end.

use crate::support::{Proxy, folding, http};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::HeaderValue;
use axum::response::Response;
use foldback::Limits;
use foldback::core::validity::{caused_by_strategy, validate};
use foldback::core::view::ShownMessage;
use foldback::wire::{self, Dialect};
use foldback_fake_provider::{Answer, Call, FakeProvider, Recorded, Reply, Script};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::process::Command;

/// Calls of a task: files that are read, and the end.
const CALLS: usize = 100;

/// Longest time for a task. The agents take 9 to 35 seconds.
const MOST: Duration = Duration::from_secs(300);

/// What tells a request apart on its way.
const NUMBER: &str = "x-number";

/// An agent and how it is run.
struct Agent {
    /// What it speaks.
    dialect: Dialect,
    /// The window that the preset folds for, and that the provider refuses more than.
    window: u64,
    /// The model that is asked.
    model: &'static str,
    /// What the last call is, for an agent that ends by one.
    end: Option<&'static str>,
    /// What a person types, for an agent that calls no tools.
    typed: fn() -> String,
    /// The command, in an empty home, asking at this address.
    command: fn(installed: &Path, home: &Path, url: &str, model: &str) -> Command,
}

/// What the person pins.
const PINNED: &str = "Never touch the folder migrations.";

const TASK: &str = "<pin>Never touch the folder migrations.</pin> Read all files of this folder, one after the other, and say that you are done.";

/// A preset that hides the first prompt and whose summaries do not say it again.
const HIDES: &str = "langchain-summarization";

/// A command that sees nothing of the environment but where programs are.
fn bare(program: PathBuf) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command
}

/// A request of the agent's, the status of its answer, and what the proxy said that it did.
struct Sent {
    body: String,
    status: u16,
    outcome: String,
}

type Tapped = Arc<Mutex<BTreeMap<usize, Sent>>>;

/// Notes requests and passes them on; its URL.
async fn tap(upstream: String) -> (String, Tapped) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (tapped, count) = (Tapped::default(), Arc::new(Mutex::new(0)));
    let noted = Arc::clone(&tapped);
    let all = move |request: Request| {
        let (upstream, noted, count) = (upstream.clone(), Arc::clone(&noted), Arc::clone(&count));
        async move {
            let (mut head, body) = request.into_parts();
            let body: Bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
            let number = {
                let mut count = count.lock().unwrap();
                *count += 1;
                *count
            };
            head.headers.remove("host");
            head.headers.insert(NUMBER, HeaderValue::from(number));
            let asked = http().request(head.method, format!("{upstream}{}", head.uri));
            let answer = asked.headers(head.headers).body(body.clone()).send().await.unwrap();
            let status = answer.status().as_u16();
            let outcome = answer.headers().get("x-foldback");
            let outcome = outcome.map(|value| value.to_str().unwrap().to_owned());
            let body = String::from_utf8_lossy(&body).into_owned();
            let sent = Sent { body, status, outcome: outcome.unwrap_or_default() };
            noted.lock().unwrap().insert(number, sent);
            Response::from(axum::http::Response::from(answer).map(Body::new))
        }
    };
    tokio::spawn(async move { axum::serve(listener, Router::new().fallback(all)).await.unwrap() });
    (url, tapped)
}

/// What makes the text of a file its own.
fn mark(number: usize) -> String {
    format!("mark-{}-", number * 7_919)
}

/// The call of a command, by the name that the agent's tool for it has.
fn run(request: &Recorded, number: usize, command: &str) -> Option<Call> {
    let tools = request.body["tools"].as_array()?;
    let declared = |tool: &Value| match tool["functionDeclarations"].as_array() {
        Some(functions) => functions.clone(),
        None => vec![tool.clone()],
    };
    let name = |tool: Value| {
        let name = tool["name"].as_str().or(tool["function"]["name"].as_str())?;
        Some(name.to_owned())
    };
    let known = ["bash", "Bash", "exec_command", "shell_command", "run_shell_command"];
    let mut names = tools.iter().flat_map(declared).filter_map(name);
    let name = names.find(|name| known.contains(&&**name))?;
    let member = if name == "exec_command" { "cmd" } else { "command" };
    Some(Call::new(format!("call_{number}"), name, json!({ member: command })))
}

/// Has every file read and ends then. What does not offer a tool for commands is not the task.
fn script(end: Option<&'static str>) -> Script {
    let mut calls = 0;
    Script::answer(move |request| {
        if request.path.contains("count_tokens") {
            return Reply::status(200, r#"{"input_tokens": 7}"#);
        }
        // Gemini CLI asks another model now and then whether it turns in circles.
        if request.body["generationConfig"]["responseMimeType"] == "application/json" {
            let text = r#"{"unproductive_state_analysis": "It reads on.", "unproductive_state_confidence": 0}"#;
            return Reply::text(text);
        }
        let command = match (calls + 1 < CALLS, end) {
            (true, _) => format!("cat part_{}.txt", calls + 1),
            (false, Some(end)) => end.to_owned(),
            (false, None) => String::new(),
        };
        let call = run(request, calls + 1, &command);
        calls += usize::from(call.is_some());
        match call.filter(|_| !command.is_empty()) {
            Some(call) => Reply::answer(Answer {
                text: format!("I read part {calls}."),
                calls: vec![call],
                ..Answer::default()
            }),
            None => Reply::text("Done."),
        }
    })
}

/// A folder with the files of the task.
fn files() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for number in 1..CALLS {
        let lines = (0..60).map(|line| format!("let value_{line} = \"{}{line}\";\n", mark(number)));
        let file = folder.path().join(format!("part_{number}.txt"));
        std::fs::write(file, lines.collect::<String>()).unwrap();
    }
    folder
}

/// The rules of the provider that a request breaks and the one that it was made of does not.
fn broken(dialect: Dialect, sent: &str, client: &str) -> Vec<&'static str> {
    let violations = |body: &str| {
        let request = wire::Request::parse(dialect, body).unwrap();
        validate(request.messages().iter().map(ShownMessage::plain), dialect)
    };
    let (sent, client) = (violations(sent), violations(client));
    caused_by_strategy(&sent, &client).iter().map(|violation| violation.rule).collect()
}

/// Has an agent do the task under a preset. How many conversations the proxy took it to be.
async fn task(agent: &Agent, preset: &str) -> u64 {
    let installed = std::env::var_os("PACKAGE_HOME").map(PathBuf::from);
    let installed = installed.expect("`cargo xtask test-external agents:` installs the agents");
    let provider = FakeProvider::builder(script(agent.end)).input_window(agent.window).pairs();
    let provider = provider.everywhere().start().await.unwrap();
    let limits = Limits::new(agent.window, 2_000);
    let proxy = Proxy::folding(&provider, folding(preset, limits)).await;
    let (url, tapped) = tap(proxy.url.clone()).await;
    let (home, work) = (tempfile::tempdir().unwrap(), files());
    let mut command = (agent.command)(&installed, home.path(), &url, agent.model);
    let typed = home.path().join("typed");
    std::fs::write(&typed, (agent.typed)()).unwrap();
    let typed = Stdio::from(std::fs::File::open(typed).unwrap());
    command.env("HOME", home.path()).current_dir(work.path()).stdin(typed);
    let ended = tokio::time::timeout(MOST, command.kill_on_drop(true).output()).await;
    let asked = provider.requests().len();
    let output = ended.unwrap_or_else(|_| panic!("no end after {asked} requests")).unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));

    let metrics = proxy.metrics().await;
    let conversations = metrics.split("\nfoldback_proxy_conversations ").nth(1).unwrap();
    let conversations = conversations.lines().next().unwrap().parse().unwrap();
    let tapped = tapped.lock().unwrap();
    let count = |name: &str| tapped.values().filter(|sent| sent.outcome.starts_with(name)).count();
    let [unchanged, folded, recovered, passed] =
        ["unchanged", "folded", "recovered", "passed"].map(count);
    println!(
        "{conversations} conversations: {unchanged} unchanged, {folded} folded, {recovered} recovered, {passed} passed"
    );
    let said = String::from_utf8_lossy(&said);
    assert!(unchanged + folded + recovered >= CALLS && folded > CALLS / 5, "{said}");
    assert_eq!(unchanged + folded + recovered + passed, tapped.len(), "nothing failed");
    let unanswered = tapped.iter().filter(|(_, sent)| sent.status != 200);
    let unanswered: Vec<_> = unanswered.map(|(number, sent)| (number, sent.status)).collect();
    assert!(unanswered.is_empty(), "{unanswered:?}");
    let of_task = tapped.values().rfind(|sent| sent.body.contains(TASK));
    let last = &of_task.expect("the task was sent").body;
    let unread: Vec<usize> = (1..CALLS).filter(|file| !last.contains(&mark(*file))).collect();
    assert!(unread.is_empty(), "{unread:?}");

    let folds = tapped.values().filter_map(|sent| sent.outcome.rsplit_once("folds="));
    let folds = folds.map(|(_, folds)| folds.parse::<usize>().unwrap()).max();
    println!("{preset}: {folds:?} folds");
    assert!(preset != HIDES || folds >= Some(3), "{preset}: {folds:?} folds");
    let upstream = provider.requests();
    assert_eq!(upstream.len(), tapped.len() + recovered);
    for request in &upstream {
        let number = request.header(NUMBER).unwrap().parse::<usize>().unwrap();
        let sent = &tapped[&number];
        if sent.body.contains(PINNED) {
            assert!(request.text.contains(PINNED), "request {number}, {}", sent.outcome);
        }
        if ["unchanged", "passed"].iter().any(|name| sent.outcome.starts_with(name)) {
            assert_eq!(request.text, sent.body, "request {number}");
        } else {
            let broken = broken(agent.dialect, &request.text, &sent.body);
            assert!(broken.is_empty(), "request {number}: {broken:?}");
        }
    }
    conversations
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn mini_swe_agent() {
    let command = |installed: &Path, home: &Path, url: &str, model: &str| {
        let mut command = bare(installed.join("bin/mini"));
        command.args(["--yolo", "--exit-immediately", "--task", TASK, "--model", model]);
        command.args(["--config", "mini.yaml", "--config"]);
        command.arg(format!("model.model_kwargs.api_base={url}/v1"));
        command.arg("--output").arg(home.join("trajectory.json"));
        // It asks nobody for its settings or for the prices of models, and tries once.
        command.env("OPENAI_API_KEY", "k").env("MSWEA_CONFIGURED", "true");
        command.env("MSWEA_COST_TRACKING", "ignore_errors");
        command.env("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "1");
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        command
    };
    let end = Some("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT");
    let (dialect, model) = (Dialect::OpenAiChat, "openai/m");
    let typed = String::new;
    task(&Agent { dialect, window: 24_000, model, end, typed, command }, "tiered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn claude_code() {
    let command = |installed: &Path, _: &Path, url: &str, model: &str| {
        let program = "node_modules/@anthropic-ai/claude-code/cli-wrapper.cjs";
        let mut command = bare("node".into());
        command.arg(installed.join(program));
        command.args(["--print", TASK, "--allowedTools", "Bash(cat:*)"]);
        command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "k");
        command.env("ANTHROPIC_MODEL", model).env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        command
    };
    let (dialect, model) = (Dialect::Anthropic, "claude-sonnet-4-5");
    let typed = String::new;
    for (preset, window) in [("tiered", 60_000), (HIDES, 45_000)] {
        task(&Agent { dialect, window, model, end: None, typed, command }, preset).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn codex() {
    let command = |installed: &Path, _: &Path, url: &str, model: &str| {
        let mut command = bare(installed.join("node_modules/.bin/codex"));
        command.args(["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access"]);
        let provider = format!(
            r#"model_providers.here={{name="here", base_url="{url}/v1", wire_api="responses", env_key="KEY"}}"#
        );
        command.args(["-c", &provider, "-c", "model_provider=here", "--model", model, TASK]);
        command.env("KEY", "k");
        command
    };
    let (dialect, model) = (Dialect::OpenAiResponses, "gpt-5.4");
    let typed = String::new;
    task(&Agent { dialect, window: 40_000, model, end: None, typed, command }, "tiered").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn pi() {
    let command = |installed: &Path, home: &Path, url: &str, model: &str| {
        // It compacts for the window that it is told of, which is not that of the provider.
        let provider = json!({
            "baseUrl": format!("{url}/v1"), "api": "openai-completions", "apiKey": "k",
            "models": [{"id": model, "contextWindow": 1_000_000, "maxTokens": 2_000}],
        });
        let settings = json!({"providers": {"here": provider}});
        std::fs::create_dir_all(home.join(".pi/agent")).unwrap();
        std::fs::write(home.join(".pi/agent/models.json"), settings.to_string()).unwrap();
        let program = "node_modules/@mariozechner/pi-coding-agent/dist/cli.js";
        let mut command = bare("node".into());
        command.arg(installed.join(program)).args(["--print", "--offline", "--no-session"]);
        command.args(["--provider", "here", "--model", model, TASK]);
        command
    };
    let (dialect, model) = (Dialect::OpenAiChat, "m");
    let typed = String::new;
    for preset in ["tiered", HIDES] {
        task(&Agent { dialect, window: 24_000, model, end: None, typed, command }, preset).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn opencode() {
    let command = |installed: &Path, home: &Path, url: &str, model: &str| {
        // It compacts for the window that it is told of, which is not that of the provider.
        let limit = json!({"context": 1_000_000, "output": 2_000});
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "k"},
            "models": {model: {"limit": limit}},
        });
        let settings = json!({
            "autoupdate": false, "share": "disabled", "snapshot": false, "permission": "allow",
            "small_model": format!("here/{model}"), "provider": {"here": provider},
        });
        std::fs::create_dir_all(home.join(".config/opencode")).unwrap();
        std::fs::write(home.join(".config/opencode/opencode.json"), settings.to_string()).unwrap();
        let mut command = bare(installed.join("node_modules/opencode-linux-x64/bin/opencode"));
        command.args(["run", "--model", &format!("here/{model}"), TASK]);
        for name in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"] {
            command.env(format!("OPENCODE_DISABLE_{name}"), "1");
        }
        command
    };
    let (dialect, model) = (Dialect::OpenAiChat, "m");
    let typed = String::new;
    task(&Agent { dialect, window: 24_000, model, end: None, typed, command }, "tiered").await;
}

/// It calls no tools: a person has it run each command and asks a question then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn aider() {
    let typed = || {
        let file = |number| format!("/run cat part_{number}.txt\nWhat is in part {number}?\n");
        format!("{TASK}\n") + &(1..CALLS).map(file).collect::<String>()
    };
    let command = |installed: &Path, _: &Path, url: &str, model: &str| {
        let mut command = bare(installed.join("bin/aider"));
        command.args(["--model", model, "--chat-mode", "ask", "--yes-always", "--no-git"]);
        command.args(["--map-tokens", "0", "--no-pretty", "--no-fancy-input", "--no-detect-urls"]);
        command.args(["--no-check-update", "--no-show-release-notes", "--analytics-disable"]);
        // It would have the model summarize what is behind that.
        command.args(["--no-show-model-warnings", "--max-chat-history-tokens", "1000000"]);
        command.env("OPENAI_API_BASE", format!("{url}/v1")).env("OPENAI_API_KEY", "k");
        command.env("LITELLM_LOCAL_MODEL_COST_MAP", "True");
        command
    };
    let (dialect, model) = (Dialect::OpenAiChat, "openai/m");
    let agent = Agent { dialect, window: 24_000, model, end: None, typed, command };
    // Its newest message ends with blank lines, which the next request leaves out.
    assert_eq!(task(&agent, "tiered").await, 1, "conversations");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "runs the released agent: cargo xtask test-external agents:"]
async fn gemini_cli() {
    let command = |installed: &Path, home: &Path, url: &str, model: &str| {
        let settings = json!({
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": false},
            "general": {"disableAutoUpdate": true},
        });
        std::fs::create_dir_all(home.join(".gemini")).unwrap();
        std::fs::write(home.join(".gemini/settings.json"), settings.to_string()).unwrap();
        let mut command = bare("node".into());
        command.arg(installed.join("node_modules/@google/gemini-cli/bundle/gemini.js"));
        command.args(["--yolo", "--model", model, "--prompt", TASK]);
        command.env("GOOGLE_GEMINI_BASE_URL", url).env("GEMINI_API_KEY", "k");
        command.env("GEMINI_CLI_TRUST_WORKSPACE", "true");
        command
    };
    let typed = String::new;
    let (dialect, model) = (Dialect::Gemini, "gemini-2.5-pro");
    task(&Agent { dialect, window: 36_000, model, end: None, typed, command }, "tiered").await;
}
