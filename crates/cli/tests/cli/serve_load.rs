//! Many streams at once through the proxy as a process, under limits of open files as a shell sets them.
//!
//! The provider lets every stream begin and none end before the test says so, so all of them are open at the same time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Longest time for all streams to begin, or to end. They take a second or two.
const MOST: Duration = Duration::from_secs(60);

/// This process has both ends of every stream open, and the usual limit is less than that.
fn raise_own_limit(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.unwrap_or(u64::MAX);
    assert!(most >= needed, "this test opens {needed} files, and `ulimit -Hn` allows {most}");
    if limit.current.is_some_and(|current| current < needed) {
        let more = Rlimit { current: Some(needed), maximum: limit.maximum };
        setrlimit(Resource::Nofile, more).unwrap();
    }
}

/// A proxy, ended with the test.
struct Proxy {
    process: Child,
    address: SocketAddr,
    /// What it said before it listened.
    said: String,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Proxy {
    fn under(limit: &str, upstream: SocketAddr) -> Self {
        let mut shell = Command::new("sh");
        let script = format!("{limit}; exec \"$@\"");
        shell.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_foldback"), "serve"]);
        shell.args(["--preset", "window", "--listen", "127.0.0.1:0", "--upstream"]);
        shell.arg(format!("http://{upstream}"));
        let mut process = shell.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap());
        let (mut said, mut line) = (String::new(), String::new());
        while !line.contains("ANTHROPIC_BASE_URL") {
            said += &line;
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "it ended: {said}");
        }
        let address = line.split("http://").nth(1).unwrap().split(';').next().unwrap();
        // Whoever stops reading closes the pipe, and a proxy that has something to say would end.
        std::thread::spawn(move || lines.lines().for_each(drop));
        Self { process, address: address.parse().unwrap(), said }
    }
}

/// A piece of a stream, in a chunk of its own.
fn event(text: &str) -> String {
    let data = format!(r#"{{"choices": [{{"index": 0, "delta": {{"content": "{text}"}}}}]}}"#);
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

/// Reads until what was read says this, or to the end.
async fn until(stream: &mut TcpStream, read: &mut String, end: &str) {
    let mut piece = [0; 4096];
    while !read.contains(end) {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => return,
            Ok(count) => read.push_str(std::str::from_utf8(&piece[..count]).unwrap()),
        }
    }
}

/// Streams to whoever asks what it was asked, and the rest when the gate is open.
async fn provider(gate: watch::Receiver<bool>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut gate = gate.clone();
            tokio::spawn(async move {
                loop {
                    let mut asked = String::new();
                    until(&mut stream, &mut asked, "\"}]}").await;
                    let Some((_, name)) = asked.split_once("stream ") else { return };
                    let name = name.split('"').next().unwrap();
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                    let first = format!("{head}{}", event(&format!("first of {name}.")));
                    stream.write_all(first.as_bytes()).await.unwrap();
                    gate.wait_for(|open| *open).await.unwrap();
                    let mut rest: String =
                        (0..50).map(|line| event(&format!("{line} of {name}."))).collect();
                    rest += &event(&format!("last of {name}."));
                    rest += "0\r\n\r\n";
                    stream.write_all(rest.as_bytes()).await.unwrap();
                }
            });
        }
    });
    address
}

/// Asks for a stream; tells its number and the status as soon as it begins, and gives the whole answer.
fn ask(proxy: SocketAddr, number: usize, begun: mpsc::UnboundedSender<u16>) -> JoinHandle<String> {
    tokio::spawn(async move {
        let mut stream = TcpStream::connect(proxy).await.unwrap();
        let body = format!(
            r#"{{"model": "m", "stream": true, "messages": [{{"role": "user", "content": "stream {number}"}}]}}"#
        );
        let head = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {proxy}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).await.unwrap();
        let mut answer = String::new();
        until(&mut stream, &mut answer, "first of ").await;
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        begun.send(status.unwrap_or(0)).unwrap();
        until(&mut stream, &mut answer, "\u{0}").await;
        answer
    })
}

/// The texts of a stream.
fn texts(answer: &str) -> Vec<&str> {
    let texts = answer.split(r#""content": ""#).skip(1);
    texts.map(|text| text.split('"').next().unwrap()).collect()
}

/// What a stream must have.
fn whole(number: usize) -> Vec<String> {
    let lines = (0..50).map(|line| format!("{line} of {number}."));
    let first = format!("first of {number}.");
    [first].into_iter().chain(lines).chain([format!("last of {number}.")]).collect()
}

/// The statuses of so many answers, as they begin; 0 for one that has none.
async fn statuses(count: usize, begun: &mut mpsc::UnboundedReceiver<u16>) -> Vec<u16> {
    let mut statuses = Vec::new();
    while statuses.len() < count {
        let Ok(status) = timeout(MOST, begun.recv()).await else { break };
        statuses.push(status.unwrap());
    }
    statuses
}

fn count(statuses: &[u16], status: u16) -> usize {
    statuses.iter().filter(|got| **got == status).count()
}

#[tokio::test]
async fn six_hundred_streams_at_once_under_a_soft_limit_of_1024_files() {
    const STREAMS: usize = 600;
    raise_own_limit(3 * STREAMS as u64);
    let (open, gate) = watch::channel(false);
    let proxy = Proxy::under("ulimit -Sn 1024", provider(gate).await);
    assert_eq!(proxy.said, "");
    let (tell, mut begun) = mpsc::unbounded_channel();
    let asked: Vec<_> =
        (0..STREAMS).map(|number| ask(proxy.address, number, tell.clone())).collect();
    let statuses = statuses(STREAMS, &mut begun).await;
    let failed: Vec<u16> = statuses.iter().copied().filter(|status| *status != 200).collect();
    assert_eq!((statuses.len(), failed), (STREAMS, vec![]));
    open.send(true).unwrap();
    for (number, asked) in asked.into_iter().enumerate() {
        let answer = timeout(MOST, asked).await.expect("it ends").unwrap();
        assert_eq!(texts(&answer), whole(number));
        assert!(answer.ends_with("\r\n0\r\n\r\n"), "{number}: {answer}");
    }
}

#[tokio::test]
async fn what_a_hard_limit_has_no_room_for_is_turned_away_with_a_sentence() {
    const STREAMS: usize = 120;
    const ROOM: usize = 32;
    raise_own_limit(3 * STREAMS as u64);
    let (open, gate) = watch::channel(false);
    let proxy = Proxy::under("ulimit -Sn 256 && ulimit -Hn 256", provider(gate).await);
    assert!(proxy.said.contains("may have 256 files open (`ulimit -Hn`)"), "{}", proxy.said);
    assert!(proxy.said.contains("32 connections are served at a time"), "{}", proxy.said);
    let (tell, mut begun) = mpsc::unbounded_channel();
    let asked: Vec<_> =
        (0..STREAMS).map(|number| ask(proxy.address, number, tell.clone())).collect();
    let statuses = statuses(STREAMS, &mut begun).await;
    assert_eq!(statuses.len(), STREAMS, "all are answered: {statuses:?}");
    let served = (count(&statuses, 200), count(&statuses, 503));
    assert_eq!(served, (ROOM, STREAMS - ROOM), "{statuses:?}");
    open.send(true).unwrap();
    let (mut full, mut told) = (0, 0);
    for (number, asked) in asked.into_iter().enumerate() {
        let answer = timeout(MOST, asked).await.expect("it ends").unwrap();
        if answer.starts_with("HTTP/1.1 200 ") {
            assert_eq!(texts(&answer), whole(number));
            full += 1;
        } else {
            assert!(answer.contains("serves 32 connections at a time"), "{answer}");
            assert!(answer.contains("\r\nretry-after: 5\r\n"), "{answer}");
            told += 1;
        }
    }
    assert_eq!((full, told), (ROOM, STREAMS - ROOM));
    // There is room again.
    let answer = timeout(MOST, ask(proxy.address, STREAMS, tell)).await.unwrap().unwrap();
    assert_eq!(texts(&answer), whole(STREAMS));
}
