//! A listener with a limit on connections. Others wait until one is closed, and are turned away if that takes long.

use super::line::Connection;
use crate::numbers::Numbers;
use axum::serve::Listener;
use socket2::{SockRef, TcpKeepalive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
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

/// Tells whether all places are taken. The number of free places does not say so, because the listener holds the next
/// place before a client comes for it.
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
        Connection::new(stream, Arc::clone(&self.numbers), place)
    }
}
