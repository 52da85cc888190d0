//! A client's connection: whether a request is under way, whether the client is gone, and the answer to what is not
//! valid HTTP.

use super::forward::failure_text;
use crate::numbers::Numbers;
use hyper::body::{Body, Frame, SizeHint};
use socket2::SockRef;
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{sleep, timeout};

/// Interval between checks whether a client has closed its half.
const LOOK: Duration = Duration::from_millis(500);

/// How long the rest of a refused request is read.
const UNREAD: Duration = Duration::from_secs(2);

/// An interim response, sent to find out whether a client is gone. Clients of HTTP/1.1 ignore it.
const NOTHING: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A connection, which holds its place until it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    line: Arc<Line>,
    numbers: Arc<Numbers>,
    /// The text that replaces the parser's answer, and how many bytes of it were written.
    instead: Option<(Vec<u8>, usize)>,
    /// The parser refused a request, so the connection ends.
    refused: bool,
    _place: Option<OwnedSemaphorePermit>,
}

/// The socket of a connection and the state of its requests.
#[derive(Debug)]
pub(crate) struct Line {
    stream: TcpStream,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of requests whose answers are incomplete.
    asked: usize,
    /// Something of an answer waits to be written.
    unwritten: bool,
    /// The request under way is of HTTP/1.1, and nothing of its answer was written.
    waits: bool,
}

/// A request under way, until its answer is over.
#[derive(Debug)]
pub(crate) struct Exchange(Arc<Line>);

impl Line {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the client is gone.
    ///
    /// The end of a client's data does not mean that: it may have closed its half and wait for the answer. If it
    /// closed both halves, its system reports that only once something is sent. So an interim response is sent before
    /// the answer begins; where that is not possible, the keep-alive probes find out.
    pub(crate) async fn gone(&self) {
        tokio::select! {
            _ = self.stream.ready(Interest::ERROR) => {}
            () = self.probe() => {}
        }
    }

    /// Sends the interim response as soon as the client has closed its half; never ends.
    async fn probe(&self) {
        loop {
            sleep(LOOK).await;
            // Data that nobody has read yet is there at once, too.
            let readable = self.stream.ready(Interest::READABLE);
            let closed = tokio::select! {
                biased;
                ready = readable => ready.is_ok_and(|ready| ready.is_read_closed()),
                () = std::future::ready(()) => false,
            };
            if closed && self.say_nothing() {
                break;
            }
        }
        std::future::pending().await
    }

    /// Sends the interim response if that is possible now; whether it was.
    fn say_nothing(&self) -> bool {
        let mut state = self.state();
        let may = state.waits && !state.unwritten;
        if may {
            // Between its answers, and before the next begins. Nothing is unsent, so it goes out whole or not at all.
            let _ = self.stream.try_write(NOTHING);
            state.waits = false;
        }
        may
    }

    /// A request came; its answer's body is to be made by [`Exchange::answered`].
    pub(crate) fn asked(
        self: &Arc<Self>,
        request: &hyper::Request<hyper::body::Incoming>,
    ) -> Exchange {
        let mut state = self.state();
        state.asked += 1;
        state.waits = request.version() == hyper::Version::HTTP_11;
        drop(state);
        Exchange(Arc::clone(self))
    }

    /// Reads and drops what the client still sends.
    async fn rest(&self) {
        let mut into = [0; 1 << 14];
        while self.stream.readable().await.is_ok() {
            match self.stream.try_read(&mut into) {
                Ok(0) => return,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return,
                _ => {}
            }
        }
    }

    /// Waits until no request is under way.
    pub(crate) async fn idle(&self) {
        loop {
            let is_idle = {
                let state = self.state();
                state.asked == 0 && !state.unwritten
            };
            if is_idle {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Exchange {
    /// The body of its answer. Once it is over, the request is.
    pub(crate) fn answered<B>(self, body: B) -> Answer<B> {
        Answer { body, _exchange: self }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.asked -= 1;
        state.waits = false;
    }
}

/// The body of an answer.
pub(crate) struct Answer<B> {
    body: B,
    _exchange: Exchange,
}

impl<B: Body + Unpin> Body for Answer<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Connection {
    pub(crate) fn new(
        stream: TcpStream,
        numbers: Arc<Numbers>,
        place: Option<OwnedSemaphorePermit>,
    ) -> Self {
        let line = Arc::new(Line { stream, state: Mutex::default() });
        Self { line, numbers, instead: None, refused: false, _place: place }
    }

    pub(crate) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.line)
    }

    fn poll_try(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.line.stream.poll_write_ready(context))?;
            let mut state = self.line.state();
            (state.unwritten, state.waits) = (true, false);
            match write(&self.line.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }

    /// Writes the text that replaces the parser's empty answer.
    fn poll_instead(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((text, written)) = &self.instead {
            let (from, whole) = (*written, text.len());
            if from == whole {
                self.instead = None;
                break;
            }
            let more = ready!(self.poll_try(context, |stream| stream.try_write(&text[from..])))?;
            self.instead = self.instead.take().map(|(text, written)| (text, written + more));
        }
        Poll::Ready(Ok(()))
    }
}

/// The answer to a request that the HTTP parser refuses, in place of the parser's empty one. `None` if the bytes are
/// another answer: all others have a content type.
fn sentence(said: &[u8]) -> Option<(&'static str, Vec<u8>)> {
    let said = std::str::from_utf8(said).ok()?;
    let (status, rest) = said.strip_prefix("HTTP/1.1 ")?.split_once("\r\n")?;
    let (fields, body) = rest.split_once("\r\n\r\n")?;
    let lower = fields.to_ascii_lowercase();
    let own = ["connection:", "content-length: 0", "date:"];
    if !body.is_empty() || !lower.lines().all(|line| own.iter().any(|name| line.starts_with(name)))
    {
        return None;
    }
    let (name, text) = match status.get(..3)? {
        "400" => (
            "http",
            "this is no request of HTTP that this proxy can read; nothing was sent. In a path, blanks and the signs \" < > ` and the like \
             are written as %20, %22, %3C, %3E and %60; a header has a name, a colon and a value on one line",
        ),
        "414" => {
            ("long", "the address of the request is longer than this proxy reads; nothing was sent")
        }
        "431" => (
            "headers",
            "the headers of the request are longer, or more, than this proxy reads (400 kB, 8,192 lines); nothing was sent",
        ),
        _ => return None,
    };
    let text = failure_text(&format!("foldback_{name}"), text);
    let length = text.len();
    let whole = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{text}"
    );
    Some((name, whole.into_bytes()))
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let (true, Ok(runtime)) = (self.refused, Handle::try_current()) {
            // A connection that is closed with something unread is reset, and the client may not see the answer.
            let line = Arc::clone(&self.line);
            runtime.spawn(async move { timeout(UNREAD, line.rest()).await });
        }
        self.numbers.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            ready!(self.line.stream.poll_read_ready(context))?;
            match self.line.stream.try_read(into.initialize_unfilled()) {
                Ok(read) => {
                    into.advance(read);
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.instead.is_none()
            && self.line.state().asked == 0
            && let Some((name, text)) = sentence(bytes)
        {
            self.numbers.refused(name);
            (self.instead, self.refused) = (Some((text, 0)), true);
        }
        if self.instead.is_some() {
            ready!(self.poll_instead(context))?;
            return Poll::Ready(Ok(bytes.len()));
        }
        self.poll_try(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut filled = bytes.iter().filter(|slice| !slice.is_empty());
        if let (Some(only), None) = (filled.next(), filled.next()) {
            return self.poll_write(context, only);
        }
        self.poll_try(context, |stream| stream.try_write_vectored(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.line.state().unwritten = false;
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.line.stream).shutdown(Shutdown::Write))
    }
}
