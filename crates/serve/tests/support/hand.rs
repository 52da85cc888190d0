//! A provider and a client by hand: every byte and every moment is the test's.

use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// A provider that does nothing by itself.
pub(crate) struct Hand(TcpListener);

impl Hand {
    pub(crate) async fn new() -> Self {
        Self(TcpListener::bind("127.0.0.1:0").await.unwrap())
    }

    /// Settings for a proxy in front of it.
    pub(crate) fn settings(&self) -> foldback_serve::Settings {
        let mut settings = foldback_serve::Settings::default();
        settings.listen = "127.0.0.1:0".parse().unwrap();
        settings.set_upstream(&format!("http://{}", self.0.local_addr().unwrap())).unwrap();
        settings
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> Line {
        Line(self.0.accept().await.unwrap().0)
    }
}

/// One end of a connection.
pub(crate) struct Line(pub(crate) TcpStream);

impl Line {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    pub(crate) async fn say(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until what was read ends so.
    pub(crate) async fn until(&mut self, end: &str) -> String {
        let mut read = Vec::new();
        while !read.ends_with(end.as_bytes()) {
            read.push(self.0.read_u8().await.unwrap());
        }
        String::from_utf8(read).unwrap()
    }

    /// Reads a message, its body by its length or to the end of its chunks.
    pub(crate) async fn message(&mut self) -> String {
        let head = self.until("\r\n\r\n").await;
        let lower = head.to_ascii_lowercase();
        let length =
            lower.split("content-length: ").nth(1).and_then(|rest| rest.split("\r\n").next());
        if lower.contains("transfer-encoding: chunked") {
            return head + &self.until("\r\n0\r\n\r\n").await;
        }
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.0.read_exact(&mut body).await.unwrap();
        head + &String::from_utf8(body).unwrap()
    }

    /// What comes until the other end closes, or resets.
    pub(crate) async fn rest(&mut self) -> String {
        let mut read = Vec::new();
        let _ = self.0.read_to_end(&mut read).await;
        String::from_utf8(read).unwrap()
    }
}

/// An answer whose length is said.
pub(crate) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// A request whose length is said.
pub(crate) fn request(line: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("{line} HTTP/1.1\r\nhost: 127.0.0.1\r\n{headers}content-length: {length}\r\n\r\n{body}")
}

/// A piece of a body in chunks.
pub(crate) fn chunk(text: &str) -> String {
    format!("{:X}\r\n{text}\r\n", text.len())
}
