//! The lines that a client writes, checked before the library of the protocol reads them.
//!
//! The library skips lines that are not JSON or too long, and a client would wait for the answer forever. Here both get the
//! error that JSON-RPC defines.

use super::{LIMIT, TRAILER};
use foldback::live::recall::Page;
use rmcp::RoleServer;
use rmcp::model::{ContentBlock, ErrorData, JsonRpcMessage, ServerResult};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::{AsyncRwTransport, DEFAULT_MAX_LINE_LENGTH};
use serde_json::Value;
use std::io;
use std::pin::Pin;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader,
    DuplexStream, Stdout,
};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Bytes on their way to the library.
const BUFFER: usize = 1 << 16;

/// Standard input and output.
pub(super) struct Lines {
    checked: AsyncRwTransport<RoleServer, DuplexStream, Stdout>,
    refused: Receiver<ErrorData>,
    /// The answer to a refused line, until it is written. The wait for a message may be canceled meanwhile.
    answer: Option<Pin<Box<dyn Future<Output = io::Result<()>> + Send>>>,
}

impl Lines {
    /// Begins to read standard input.
    pub(super) fn start() -> Self {
        let (on, checked) = tokio::io::duplex(BUFFER);
        let (refuse, refused) = channel(1);
        tokio::spawn(check(BufReader::new(tokio::io::stdin()), on, refuse));
        let checked = AsyncRwTransport::new_server(checked, tokio::io::stdout());
        Self { checked, refused, answer: None }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        self.checked.send(cut(item))
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            if let Some(answer) = &mut self.answer {
                let written = answer.await;
                self.answer = None;
                written.ok()?;
            }
            tokio::select! {
                biased;
                Some(error) = self.refused.recv() => {
                    let error = TxJsonRpcMessage::<RoleServer>::error(error, None);
                    self.answer = Some(Box::pin(self.checked.send(error)));
                }
                message = self.checked.receive() => return message,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.checked.close().await
    }
}

/// The message; an error is as long as an answer at most. It may quote what the client sent.
fn cut(mut item: TxJsonRpcMessage<RoleServer>) -> TxJsonRpcMessage<RoleServer> {
    match &mut item {
        JsonRpcMessage::Error(told) => {
            let error = &mut told.error;
            if let Some(short) = shortened(&error.message) {
                error.message = short.into();
            }
            let is_large = |data: &mut Value| data.to_string().len() > LIMIT;
            let _ = error.data.take_if(is_large);
        }
        // The library could not read the arguments.
        JsonRpcMessage::Response(told) => {
            if let ServerResult::CallToolResult(result) = &mut told.result {
                for block in &mut result.content {
                    if let ContentBlock::Text(text) = block
                        && let Some(short) = shortened(&text.text)
                    {
                        text.text = short;
                    }
                }
            }
        }
        _ => {}
    }
    item
}

/// The beginning of a text that is longer than an answer.
fn shortened(text: &str) -> Option<String> {
    let page = Page::cut(text, 0, LIMIT - TRAILER).filter(|_| text.len() > LIMIT)?;
    Some(format!("{} [{} more bytes]", page.text, page.bytes - page.text.len()))
}

/// Passes lines on until the last, and reports refused ones.
async fn check(
    mut lines: impl AsyncBufRead + Unpin,
    mut on: DuplexStream,
    refuse: Sender<ErrorData>,
) {
    let mut line = Vec::new();
    loop {
        line.clear();
        let most = DEFAULT_MAX_LINE_LENGTH as u64;
        match (&mut lines).take(most).read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let is_cut = !line.ends_with(b"\n");
        let problem = if is_cut && line.len() == DEFAULT_MAX_LINE_LENGTH {
            if skip_line(&mut lines).await.is_err() {
                return;
            }
            Some(format!("the line has more than {DEFAULT_MAX_LINE_LENGTH} bytes"))
        } else {
            problem(&line)
        };
        if is_cut {
            line.push(b'\n');
        }
        let sent = match problem {
            Some(problem) => refuse.send(ErrorData::parse_error(problem, None)).await.is_ok(),
            None => on.write_all(&line).await.is_ok(),
        };
        if !sent {
            return;
        }
    }
}

/// Why a line is not JSON. An empty line is ignored.
fn problem(line: &[u8]) -> Option<String> {
    let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
    let parsed = (!line.is_empty()).then(|| serde_json::from_slice::<Value>(line));
    parsed?.err().map(|error| format!("the line is no JSON: {error}"))
}

/// Skips the rest of a line.
async fn skip_line(lines: &mut (impl AsyncBufRead + Unpin)) -> io::Result<()> {
    loop {
        let read = lines.fill_buf().await?;
        let end = read.iter().position(|byte| *byte == b'\n');
        let (is_end, bytes) =
            (end.is_some() || read.is_empty(), end.map_or(read.len(), |at| at + 1));
        lines.consume(bytes);
        if is_end {
            return Ok(());
        }
    }
}
