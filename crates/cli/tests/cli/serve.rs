//! The proxy as a process: it says where it listens, folds what goes through, and ends when it is told to.

use crate::common::refused;
use foldback_fake_provider::{Background, Reply};
use foldback_test_support::deadline::deadline;
use foldback_test_support::proxy_address;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A proxy that runs, its address, and what it says from there on.
pub(crate) fn start(args: &[&str]) -> (Child, String, BufReader<ChildStderr>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(["serve", "--listen", "localhost:0"]).args(args);
    let mut proxy = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(proxy.stderr.take().unwrap());
    let address = proxy_address(&mut said);
    (proxy, address, said)
}

/// One request on a connection of its own. Each of `headers` ends its line.
pub(crate) fn ask(address: &str, request: &str, headers: &str, body: &str) -> io::Result<String> {
    let mut connection = TcpStream::connect(address)?;
    let length = body.len();
    let head = format!(
        "{request} HTTP/1.1\r\n{headers}host: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    connection.write_all(head.as_bytes())?;
    connection.write_all(body.as_bytes())?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer)?;
    Ok(answer)
}

#[test]
fn wrong_arguments() {
    let folder = tempfile::tempdir().unwrap();
    let limits = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let no_room = limits("no-room.toml", "conversations = 0\n");
    let misspelt = limits("misspelt.toml", "connectoins = 5\n");
    refused("serve", &[("no_room", no_room), ("misspelt", misspelt)]);
}

#[test]
fn a_proxy_folds_what_goes_through_it_and_says_nothing_of_it() {
    let _deadline = deadline();
    let provider = Background::start(|_| Reply::text("Good.")).unwrap();
    let upstream = provider.url();
    let (mut proxy, address, mut said) = start(&[
        "--preset",
        "tiered",
        "--window",
        "16k",
        "--max-output",
        "1k",
        "--upstream",
        &upstream,
    ]);
    let mut messages = vec![r#"{"role":"user","content":"planted-secret"}"#.to_owned()];
    for step in 0..60 {
        let text = "a line of text that fills the window\\n".repeat(40);
        messages.push(format!(
            r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c{step}","type":"function","function":{{"name":"read","arguments":"{{}}"}}}}]}}"#
        ));
        messages.push(format!(
            r#"{{"role":"tool","tool_call_id":"c{step}","content":"{step} {text}"}}"#
        ));
    }
    let body = format!(r#"{{"model":"m","messages":[{}]}}"#, messages.join(","));
    let answer = ask(&address, "POST /v1/chat/completions", "", &body).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\r\nx-foldback: folded; received="), "{answer}");
    let metrics = ask(&address, "GET /metrics", "", "").unwrap();
    assert!(metrics.contains("outcome=\"folded\",why=\"\"} 1"), "{metrics}");
    let status = Command::new("kill").args(["-TERM", &proxy.id().to_string()]).status().unwrap();
    assert!(status.success());
    assert!(proxy.wait().unwrap().success());
    let mut rest = String::new();
    said.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "nothing of a request is logged");
    let asked = provider.end();
    assert!(asked.len() == 1 && asked[0].len() < body.len() / 2);
}

/// Some of the systems that presets reproduce ask a model for summaries.
#[test]
fn what_writes_summaries_is_said_at_the_start() {
    let _deadline = deadline();
    for (preset, expected) in [
        ("opencode-1.17", "/v1; `extractive` writes its summaries, no model; Ctrl-C ends it"),
        ("masking-10", "/v1; Ctrl-C ends it"),
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--preset", preset]);
        let mut proxy = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(proxy.stderr.take().unwrap()).read_line(&mut said).unwrap();
        proxy.kill().unwrap();
        proxy.wait().unwrap();
        assert!(said.trim_end().ends_with(expected), "{preset}: {said}");
    }
}

#[test]
fn what_it_cannot_serve_is_said_before_it_listens() {
    let _deadline = deadline();
    let rows = [
        ("--preset nonesuch", "nonesuch"),
        ("--preset window --listen 0.0.0.0:0", "set a token for clients in FOLDBACK_TOKEN"),
        ("--preset window --listen 127.0.0.1:0 --upstream ftp://x", "is not http or https"),
        ("--preset window --upstream x", "https://api.anthropic.com"),
        ("--preset window --window 100", "can't work with --window 100"),
        #[cfg(feature = "llm")]
        ("--preset window --summarizer llm", "--summarizer extractive"),
        #[cfg(feature = "llm")]
        ("--preset opencode-1.17 --summarizer llm", "choose --summarizer MODEL"),
        ("--preset window --summarizer nonesuch", "--budget-usd none"),
        ("--preset indexed --summarizer claude-haiku-4-5", "uses no summaries"),
        ("--preset window --summarizer claude-haiku-4-5 --dry-run", "--dry-run asks no model"),
        ("--preset window --summarizer claude-haiku-4-5 --budget-usd much", "US dollars"),
    ];
    for (args, expected) in rows {
        let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
        command.arg("serve").env_remove("FOLDBACK_TOKEN");
        let args: Vec<&str> = args.split(' ').collect();
        let mut proxy = command.args(&args).stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut lines = BufReader::new(proxy.stderr.take().unwrap());
        // One that listens says so and would not end.
        while lines.read_line(&mut said).unwrap() > 0 && !said.contains("ANTHROPIC_BASE_URL") {}
        let listens = said.contains("ANTHROPIC_BASE_URL");
        if listens {
            proxy.kill().unwrap();
        }
        assert!(!listens && said.contains(expected), "{args:?}: {said}");
        assert_eq!(proxy.wait().unwrap().code(), Some(2), "{args:?}");
    }
}

/// Who says it twice does not want to wait for what is under way.
#[cfg(unix)]
#[test]
fn a_second_signal_ends_it_at_once() {
    let _deadline = deadline();
    for (first, second) in [("-INT", "-INT"), ("-TERM", "-INT"), ("-INT", "-TERM")] {
        let (asked, got) = std::sync::mpsc::channel();
        let provider = Background::start(move |_| {
            asked.send(()).unwrap();
            Reply::text("Never.").hang()
        })
        .unwrap();
        let upstream = provider.url();
        let (mut proxy, address, _said) = start(&["--preset", "window", "--upstream", &upstream]);
        let asking = std::thread::spawn(move || ask(&address, "POST /v1/messages", "", "{}"));
        got.recv_timeout(std::time::Duration::from_secs(60)).unwrap();
        let id = proxy.id().to_string();
        let signal = |name| {
            assert!(Command::new("kill").args([name, id.as_str()]).status().unwrap().success())
        };
        signal(first);
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(proxy.try_wait().unwrap().is_none(), "{first}: a request is under way");
        signal(second);
        // Without the second it would end after half a minute, and the request with it.
        for _ in 0..100 {
            if proxy.try_wait().unwrap().is_some() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        assert!(proxy.try_wait().unwrap().is_some(), "{first}, {second}: it still runs");
        assert_eq!(asking.join().unwrap().unwrap_or_default(), "", "{first}, {second}");
    }
}

/// The proxy under a limit of open files, as `ulimit` of a shell sets it.
#[cfg(unix)]
#[test]
fn a_soft_limit_of_files_is_raised_and_a_hard_one_said() {
    let _deadline = deadline();
    let folder = tempfile::tempdir().unwrap();
    for (limit, connections, said) in [
        ("-Sn 256", "1024", None),
        ("-n 1024", "300", None),
        (
            "-n 1024",
            "1024",
            Some(
                "1024 connections need 2240: 416 connections are served at a time, others wait some",
            ),
        ),
        ("-n 256", "300", Some("300 connections need 792: 32 connections are served at a time")),
    ] {
        let mut shell = Command::new("sh");
        let script = format!("ulimit {limit}; exec \"$@\"");
        shell.args([
            "-c",
            &script,
            "sh",
            env!("CARGO_BIN_EXE_foldback"),
            "serve",
            "--preset",
            "window",
        ]);
        let limits = folder.path().join("limits.toml");
        std::fs::write(&limits, format!("connections = {connections}\n")).unwrap();
        shell.args(["--listen", "127.0.0.1:0", "--limits"]).arg(&limits);
        let mut proxy = shell.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(proxy.stderr.take().unwrap());
        let mut before = String::new();
        let mut line = String::new();
        while !line.contains("http://") {
            before += &line;
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "{limit}: it ended: {before}");
        }
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        let metrics = ask(address, "GET /metrics", "", "").unwrap();
        proxy.kill().unwrap();
        proxy.wait().unwrap();
        assert_eq!(before.is_empty(), said.is_none(), "{limit}: {before}");
        assert!(before.contains(said.unwrap_or_default()), "{limit}: {before}");
        let number = |name: &str| -> u64 {
            let value = metrics.split(&format!("\nfoldback_proxy_{name} ")).nth(1).unwrap();
            value.split('\n').next().unwrap().parse().unwrap()
        };
        let needed = 192 + 2 * connections.parse::<u64>().unwrap();
        assert!(said.is_some() || number("descriptor_limit") >= needed, "{limit}");
        assert!((8..100).contains(&number("descriptors")), "{limit}: {}", number("descriptors"));
    }
}
