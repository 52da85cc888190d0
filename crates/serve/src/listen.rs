//! A listener with a limit on connections. Others wait until one is closed, and are turned away if that takes long.

use crate::numbers::Numbers;
use axum::serve::Listener;
use socket2::{SockRef, TcpKeepalive};
use std::io;
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

/// Time without a byte after which the system probes whether the client is still there, and the interval of its probes.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// Connections beyond the limit that are turned away at a time. The limit leaves descriptors for them.
const SURPLUS: usize = 16;

/// The listener.
#[derive(Debug)]
pub(crate) struct Limited {
    listener: TcpListener,
    room: Arc<Semaphore>,
    surplus: Arc<Semaphore>,
    /// The time since which all places have been taken.
    full: Option<Instant>,
    /// Whether all places are taken.
    is_full: Full,
    /// How long all places may be taken before new clients are turned away.
    queue: Duration,
    numbers: Arc<Numbers>,
}

/// Tells whether all places are taken. The number of free places does not say so, because the listener holds the next place
/// before a client comes for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Full(Arc<AtomicBool>);

impl Full {
    pub(crate) fn is(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A connection that came.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A connection with a place.
    Placed(Connection),
    /// A connection for which there has been no place for long.
    Surplus(Connection),
}

impl Limited {
    pub(crate) fn new(
        listener: TcpListener,
        most: usize,
        queue: Duration,
        numbers: Arc<Numbers>,
    ) -> Self {
        let most = most.clamp(1, Semaphore::MAX_PERMITS);
        let (room, surplus) = (Semaphore::new(most), Semaphore::new(SURPLUS));
        let (room, surplus) = (Arc::new(room), Arc::new(surplus));
        Self { listener, room, surplus, full: None, is_full: Full::default(), queue, numbers }
    }

    pub(crate) fn full(&self) -> Full {
        self.is_full.clone()
    }

    pub(crate) async fn accept(&mut self) -> Arrival {
        // No semaphore is ever closed.
        let room = || Arc::clone(&self.room).acquire_owned();
        let mut place = Arc::clone(&self.room).try_acquire_owned().ok();
        if place.is_none() {
            // Who waits is still with the system, and takes no descriptor.
            self.is_full.0.store(true, Ordering::Relaxed);
            let since = self.full.get_or_insert_with(Instant::now);
            let wait = self.queue.saturating_sub(since.elapsed());
            place = timeout(wait, room()).await.ok().and_then(Result::ok);
        }
        if place.is_none() {
            let surplus = Arc::clone(&self.surplus);
            let listener = &mut self.listener;
            let comes = async {
                let place = surplus.acquire_owned().await.ok();
                (Listener::accept(listener).await.0, place)
            };
            tokio::select! {
                biased;
                free = room() => place = free.ok(),
                (stream, place) = comes => return Arrival::Surplus(self.connection(stream, place)),
            }
        }
        self.full = None;
        self.is_full.0.store(false, Ordering::Relaxed);
        let (stream, _) = Listener::accept(&mut self.listener).await;
        Arrival::Placed(self.connection(stream, place))
    }

    fn connection(&self, stream: TcpStream, place: Option<OwnedSemaphorePermit>) -> Connection {
        // Pieces of a stream go out at once instead of waiting for the client to confirm the last.
        let _ = stream.set_nodelay(true);
        let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE);
        let _ = SockRef::from(&stream).set_tcp_keepalive(&keepalive);
        self.numbers.connections.fetch_add(1, Ordering::Relaxed);
        Connection { stream: Arc::new(stream), numbers: Arc::clone(&self.numbers), _place: place }
    }
}

/// A connection, which holds its place until it is closed.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: Arc<TcpStream>,
    numbers: Arc<Numbers>,
    _place: Option<OwnedSemaphorePermit>,
}

/// Tells when a client is gone.
///
/// The end of a client's data does not mean that: it may have closed its half and wait for the answer. If it closed both
/// halves, that shows only when something is sent to it, an answer or one of the system's keep-alive probes: it replies
/// with a reset.
pub(crate) struct Gone(Arc<TcpStream>);

impl Gone {
    pub(crate) async fn wait(self) {
        let _ = self.0.ready(Interest::ERROR).await;
    }
}

impl Connection {
    pub(crate) fn gone(&self) -> Gone {
        Gone(Arc::clone(&self.stream))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
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
            ready!(self.stream.poll_read_ready(context))?;
            match self.stream.try_read(into.initialize_unfilled()) {
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

impl Connection {
    fn poll_try(
        &self,
        context: &mut Context<'_>,
        write: impl Fn(&TcpStream) -> io::Result<usize>,
    ) -> Poll<io::Result<usize>> {
        loop {
            ready!(self.stream.poll_write_ready(context))?;
            match write(&self.stream) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                written => return Poll::Ready(written),
            }
        }
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_try(context, |stream| stream.try_write(bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.poll_try(context, |stream| stream.try_write_vectored(bytes))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&*self.stream).shutdown(Shutdown::Write))
    }
}
