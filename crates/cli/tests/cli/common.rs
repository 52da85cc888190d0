//! Runs the command as a user would.

use foldback_test_support::deadline::deadline;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What a run gave.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The same, of a run that did what it was asked.
    pub(crate) fn done(self) -> Self {
        assert_eq!(self.code, 0, "{}", self.stderr);
        self
    }
}

/// Runs `foldback` with arguments that hold no blank, in the workspace's root.
pub(crate) fn line(args: &str) -> Ran {
    foldback(&args.split_whitespace().collect::<Vec<_>>())
}

/// Runs `foldback` with these arguments in the workspace's root.
pub(crate) fn foldback(args: &[&str]) -> Ran {
    run(args, "", &[])
}

/// The same with a text on standard input and environment variables set for the process.
pub(crate) fn run(args: &[&str], input: &str, env: &[(&str, &str)]) -> Ran {
    let _deadline = deadline();
    let mut child = start(args, env);
    // A command that fails before it reads closes the pipe; that is not the test's business.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    Ran {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Starts `foldback` with these arguments and environment variables in the workspace's root, all three streams piped.
pub(crate) fn start(args: &[&str], env: &[(&str, &str)]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(args).current_dir(root()).stdin(Stdio::piped());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for name in ["OPENCODE_DISABLE_AUTOCOMPACT", "OPENCODE_DISABLE_PRUNE"] {
        command.env_remove(name);
    }
    // Results that the user keeps are none of the tests' business.
    for folder in ["XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env(folder, env!("CARGO_TARGET_TMPDIR"));
    }
    command.envs(env.iter().copied());
    command.spawn().expect("the command starts")
}

/// The workspace's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Writes a file and gives its path.
pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> String {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path.to_str().unwrap().to_owned()
}

/// What a row of `refused.toml` says.
#[derive(serde::Deserialize)]
struct Refused {
    args: Vec<String>,
    says: Vec<String>,
    #[serde(default)]
    lacks: Vec<String>,
}

/// Runs a table of `refused.toml`. `names` are what stands in braces there, several arguments by lines.
pub(crate) fn refused(table: &str, names: &[(&str, String)]) {
    let tables: BTreeMap<String, BTreeMap<String, Refused>> =
        toml::from_str(include_str!("refused.toml")).unwrap();
    for (what, Refused { args, says, lacks }) in &tables[table] {
        let named = |arg: &str| {
            let name = arg.strip_prefix('{')?.strip_suffix('}')?;
            names.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
        };
        let args: Vec<&str> =
            args.iter().flat_map(|arg| named(arg).unwrap_or(arg).split('\n')).collect();
        let ran = run(&args, "", &[("ANTHROPIC_API_KEY", "")]);
        assert_eq!(ran.code, 2, "{what}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stdout.is_empty(), "{what} printed a result:\n{}", ran.stdout);
        for text in says {
            assert!(ran.stderr.contains(text), "{what}:\n{}\nlacks {text:?}", ran.stderr);
        }
        for text in lacks {
            assert!(!ran.stderr.contains(text), "{what}:\n{}\nhas {text:?}", ran.stderr);
        }
        assert!(!ran.stderr.contains("panicked"), "{what}: {}", ran.stderr);
        let errors = ran.stderr.lines().filter(|line| line.starts_with("error:")).count();
        assert_eq!(errors, 1, "{what}: {}", ran.stderr);
    }
}

/// Lines of a Claude Code session, one call after the other.
pub(crate) struct Recording {
    id: String,
    /// Input of the first request, and by how much each is larger than the one before.
    usage: [u32; 2],
    lines: Vec<Value>,
    calls: u32,
}

impl Recording {
    pub(crate) fn new(id: &str, first: u32, more: u32) -> Self {
        Self { id: id.to_owned(), usage: [first, more], lines: Vec::new(), calls: 0 }
    }

    /// Four files are read; `first` is the input of the first request.
    pub(crate) fn of_reads(first: u32) -> Self {
        let mut recording = Self::new("s", first, 10);
        recording.user("Read it");
        for number in 0..4 {
            recording.call("Read", &json!({ "path": number }), "text");
        }
        recording
    }

    fn line(&mut self, mut line: Value) {
        let number = self.lines.len();
        // Ids are unique: two files with the same ones hold the same history.
        line["uuid"] = json!(format!("{}-line-{number}", self.id));
        line["sessionId"] = json!(self.id);
        line["timestamp"] = json!(format!("2026-01-01T00:{:02}:{:02}Z", number / 60, number % 60));
        if line["parentUuid"].is_null() && number > 0 && line["subtype"].is_null() {
            line["parentUuid"] = json!(format!("{}-line-{}", self.id, number - 1));
        }
        self.lines.push(line);
    }

    pub(crate) fn user(&mut self, text: &str) {
        self.line(json!({"type": "user", "message": {"role": "user", "content": text}}));
    }

    pub(crate) fn call(&mut self, tool: &str, input: &Value, result: &str) {
        let [first, more] = self.usage;
        let id = format!("toolu_{}", self.calls);
        self.line(json!({"type": "assistant", "message": {
            "id": format!("msg_{}", self.calls), "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [{"type": "tool_use", "id": id, "name": tool, "input": input}],
            "usage": {"input_tokens": first + more * self.calls, "output_tokens": 5}}}));
        self.line(json!({"type": "user", "message": {"role": "user", "content":
            [{"type": "tool_result", "tool_use_id": id, "content": result}]}}));
        self.calls += 1;
    }

    pub(crate) fn compaction(&mut self, summary: &str) {
        self.line(json!({"type": "system", "subtype": "compact_boundary", "parentUuid": null,
            "content": "Conversation compacted",
            "compactMetadata": {"trigger": "auto", "preTokens": 5_000}}));
        self.line(json!({"type": "user", "isCompactSummary": true,
            "message": {"role": "user", "content": summary}}));
    }

    pub(crate) fn write(&self, folder: &Path, name: &str) -> String {
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        write(folder, name, lines.join("\n") + "\n")
    }
}

/// Sessions of four user turns of six calls, each asking for a name that stood in the middle of what a much
/// earlier call was given.
pub(crate) fn planted(folder: &Path, count: usize) -> String {
    let sessions = folder.join("sessions");
    std::fs::create_dir(&sessions).unwrap();
    for number in 0..count {
        let id = format!("planted-{number}");
        let mut recording = Recording::new(&id, 500, 700);
        for call in 0..24_u32 {
            if call % 6 == 0 {
                recording.user(&format!("go on with part {call} of {id}"));
            }
            let mut text = format!("import part_{call} from /app/{id}/part_{call}.py\n");
            for line in 0..60 {
                text += &format!("def helper_{call}_{line}(value): return value\n");
            }
            let pattern = format!("helper_{}_30", call / 3);
            recording.call("Grep", &json!({ "pattern": pattern }), &text);
        }
        recording.write(&sessions, &format!("{id}.jsonl"));
    }
    sessions.to_str().unwrap().to_owned()
}
