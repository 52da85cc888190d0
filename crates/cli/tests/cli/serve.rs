//! The proxy as a process: it says where it listens, folds what goes through, and ends when it is told to.

use foldback_fake_provider::{Background, Reply};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};

/// A proxy that runs, its address, and what it says from there on.
pub(crate) fn start(args: &[&str]) -> (Child, String, BufReader<ChildStderr>) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foldback"));
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(args);
    let mut proxy = command.stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(proxy.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("http://") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended");
    }
    let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
    (proxy, address.to_owned(), said)
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
fn a_proxy_folds_what_goes_through_it_and_says_nothing_of_it() {
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
    let rows = [
        ("--preset nonesuch", "nonesuch"),
        ("--preset window --listen 0.0.0.0:0", "--allow-remote"),
        ("--preset window --listen 0.0.0.0:0 --allow-remote", "needs --token"),
        ("--preset window --listen 127.0.0.1:0 --upstream ftp://x", "is not http or https"),
        ("--preset window --upstream x", "https://api.anthropic.com"),
        ("--preset window --window 100", "can't work with --window 100"),
        ("--preset window --max-connections many", "takes a number"),
        #[cfg(feature = "llm")]
        ("--preset window --summarizer llm", "--summarizer extractive"),
        #[cfg(feature = "llm")]
        ("--preset opencode-1.17 --summarizer llm", "no requests but those of its clients"),
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
