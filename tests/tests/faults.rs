//! A stage that panics costs what it was asked for and nothing more, in every command that folds: the error says under which preset, in
//! which session and where, no half of an output is left, and what other presets did is there.

use foldback_fake_provider::{Background, Reply};
use foldback_test_support::deadline::deadline;
use foldback_test_support::proxy_address;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const SESSION: &str = "examples/sessions/refunds-pydantic-ai.json";

/// What every error about it says.
const FAULT: [&str; 4] =
    [SESSION, "under faulty", "panicked at tests/src/bin/faulty/main.rs:", "a planned fault"];

/// A run of a command: its arguments, where `OUT` is a file or a folder that does not exist; the exit code; and whether `OUT` exists
/// afterwards.
type Row = (&'static str, i32, bool);

/// What a command has to do with stages.
enum Folds {
    /// They run in it.
    Rows(&'static [Row]),
    /// They run in it, and a test of its own below covers it.
    Below,
    /// None runs in it.
    No,
}

fn folds(command: &str) -> Folds {
    use Folds::{Below, No, Rows};
    match command {
        "compare" => Rows(&[
            ("SESSION --preset faulty,window --json OUT", 1, true),
            ("SESSION --preset faulty --html OUT --reader 1", 1, true),
        ]),
        "compact" => Rows(&[
            ("SESSION --preset faulty -o OUT", 2, false),
            ("SESSION --preset faulty --when live -o OUT", 2, false),
            ("SESSION --preset faulty --when live --show plan-json -o OUT", 2, false),
            ("SESSION --preset faulty --show view -o OUT", 2, false),
        ]),
        "explain" => Rows(&[("SESSION --preset faulty,window", 1, false)]),
        "probe" => Rows(&[
            ("SESSION --preset faulty,window --ask claude-haiku-4-5 --batch OUT", 1, true),
            ("SESSION --preset faulty --ask claude-haiku-4-5 --batch OUT", 1, true),
        ]),
        "recommend" => Rows(&[
            ("ALL --preset faulty,window --window 200000 --budget cost=9 -o OUT", 1, true),
            ("FOUR --preset faulty --budget cost=9 -o OUT", 2, false),
        ]),
        "score" => Rows(&[("SESSION --preset faulty,window --store OUT", 1, true)]),
        "snapshot" => Rows(&[
            ("SESSION --preset faulty,window --write -o OUT", 1, true),
            ("SESSION --preset faulty --write -o OUT", 2, false),
        ]),
        "tune" => Rows(&[("FOUR --preset faulty --vary pruner.after=0..2 --json OUT", 1, true)]),
        "mcp" | "serve" => Below,
        // They take no preset by name.
        "audit" | "trial" => No,
        "hook" | "inspect" | "convert" | "presets" | "schema" | "setup" | "stages" | "check"
        | "cache" | "completions" | "man" => No,
        other => panic!("{other} is no command that this table knows: does it fold?"),
    }
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_faulty"));
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join(".."));
    for folder in ["XDG_CACHE_HOME", "XDG_STATE_HOME"] {
        command.env(folder, env!("CARGO_TARGET_TMPDIR"));
    }
    command
}

/// Exit code, standard output and standard error.
fn run(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap_or(-1), text(output.stdout), text(output.stderr))
}

/// The commands, by the help of the command itself.
fn commands() -> Vec<String> {
    let (_, help, _) = run(command().arg("--help"));
    let (_, commands) = help.split_once("Commands:\n").unwrap();
    let lines = commands.lines().take_while(|line| !line.is_empty());
    let names = lines.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names = names.filter_map(|line| line.split_whitespace().next()).map(str::to_owned);
    names.filter(|name| name != "help").collect()
}

/// What is wrong with what was said of it.
fn unsaid(text: &str) -> Option<String> {
    // In a search other sessions are replayed.
    let is_search =
        text.contains("tests/four-sessions/") || text.matches("under faulty").count() > 1;
    let lacks = FAULT.iter().filter(|words| **words != SESSION || !is_search);
    let lacks: Vec<_> = lacks.filter(|words| !text.contains(**words)).collect();
    let reported = text.matches("please report it").count();
    // That is how a panic is printed that nobody caught.
    let loud = text.contains("thread '") || text.contains("RUST_BACKTRACE");
    (!lacks.is_empty() || reported != 1 || loud).then(|| {
        format!("lacks {lacks:?}, asks {reported} times for a report, printed {loud}:\n{text}")
    })
}

#[test]
fn a_stage_that_panics_ends_no_command_otherwise_than_an_error() {
    let commands = commands();
    assert!(commands.len() > 12, "{commands:?}");
    let mut wrong = Vec::new();
    for name in &commands {
        let Folds::Rows(rows) = folds(name) else { continue };
        for (args, code, written) in rows {
            let folder = tempfile::tempdir().unwrap();
            let out = folder.path().join("out");
            let mut run_of = command();
            run_of.arg(name);
            for arg in args.split(' ') {
                match arg {
                    "SESSION" => run_of.arg(SESSION),
                    "ALL" => run_of.arg("examples/sessions"),
                    "FOUR" => run_of.arg("tests/four-sessions"),
                    "OUT" => run_of.arg(&out),
                    other => run_of.arg(other),
                };
            }
            if !args.contains("--window") {
                run_of.args(["--window", "32000"]);
            }
            run_of.args(["--max-output", "2000"]);
            let (got, _, stderr) = run(&mut run_of);
            if (got, out.exists()) != (*code, *written) {
                wrong.push(format!("{name} {args}: {got}, written {}: {stderr}", out.exists()));
            }
            wrong.extend(unsaid(&stderr).map(|why| format!("{name} {args} {why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What fails only where a session is walked once more is reported as well: its records were kept by a run without the fault.
#[test]
fn a_walk_that_fails_ends_with_1() {
    let rows = [
        (&["compare", SESSION, "--preset", "faulty"][..], &["--reader", "1", "--html"][..]),
        (&["compare", SESSION, "--preset", "faulty"], &["--reader=all", "--html"]),
    ];
    for (compare, written) in rows {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let with = |faulty: &str, more: &[&str], out: &str| {
            let mut command = command();
            command.args(compare).arg("--store").arg(&store).env("FAULTY", faulty);
            run(command.args(more).arg(folder.path().join(out)))
        };
        let (code, _, stderr) = with("off", &["--json"], "kept.json");
        assert_eq!(code, 0, "{stderr}");
        let (code, _, stderr) = with("on", written, "page.html");
        assert_eq!(code, 1, "{written:?}: {stderr}");
        assert_eq!(unsaid(&stderr), None, "{written:?}");
        assert!(folder.path().join("page.html").exists());
        // It was not kept.
        let (code, _, stderr) = with("off", written, "page.html");
        assert_eq!(code, 0, "{written:?}: {stderr}");
    }
}

#[test]
fn a_tool_of_the_server_answers_with_the_fault_and_the_next_call_is_answered() {
    let _deadline = deadline();
    let mut server = command();
    server.args(["mcp", "examples/sessions"]);
    let mut server = piped(&mut server);
    let call = |id: u64, tool: &str, arguments: Value| {
        let params = json!({ "name": tool, "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
    };
    let about = |preset: &str| json!({ "path": SESSION, "preset": preset, "window": 32_000 });
    let recall = json!({ "path": SESSION, "preset": "faulty", "query": "refund", "cleared": true });
    let started = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" } });
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": started }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        call(1, "compact", about("faulty")),
        call(2, "recall", recall),
        call(3, "explain", about("faulty")),
        call(4, "compact", about("window")),
    ];
    let mut input = server.stdin.take().unwrap();
    lines.iter().for_each(|line| writeln!(input, "{line}").unwrap());
    let answers = BufReader::new(server.stdout.take().unwrap()).lines().take(5);
    let mut answers: Vec<Value> =
        answers.map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    drop(input);
    assert!(server.wait().unwrap().success());
    answers.sort_by_key(|answer| answer["id"].as_u64());
    for (id, is_error) in [(1, true), (2, true), (3, false), (4, false)] {
        let result = &answers[id]["result"];
        assert_eq!(result["isError"].as_bool().unwrap_or(false), is_error, "{}", answers[id]);
        let text = result["content"][0]["text"].as_str().unwrap();
        for words in FAULT.iter().skip(2).filter(|_| id < 4) {
            assert!(text.contains(words), "{id}: {text}");
        }
        assert!(!is_error || unsaid(text).is_none(), "{id}: {text}");
    }
    let mut said = String::new();
    server.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!(said, "");
}

#[test]
fn a_proxy_sends_on_what_it_got_where_a_stage_panics() {
    let _deadline = deadline();
    let provider = Background::start(|_| Reply::text("Good.")).unwrap();
    let mut proxy = command();
    proxy.args(["serve", "--listen", "localhost:0", "--preset", "faulty", "--window", "16k"]);
    proxy.args(["--max-output", "1k", "--upstream", &provider.url()]);
    let mut proxy = piped(&mut proxy);
    let mut said = BufReader::new(proxy.stderr.take().unwrap());
    let address = proxy_address(&mut said);
    let address = address.trim_end().trim_end_matches("/v1").to_owned();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"Hello."}]}"#;
    for _ in 0..2 {
        let mut connection = TcpStream::connect(&address).unwrap();
        write!(
            connection,
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    proxy.kill().unwrap();
    proxy.wait().unwrap();
    let asked = provider.end();
    assert_eq!(asked.len(), 2);
    assert!(asked.iter().all(|one| one.len() == body.len()), "{asked:?}");
}

fn piped(command: &mut Command) -> Child {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}
