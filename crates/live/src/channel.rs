//! Events on a channel: what a conversation does, for a task that shows or stores it.
//!
//! The conversation is never blocked. A reader that is too slow misses events, and the number of those
//! is known ([`ChannelObserver::dropped`]); what counts in the end is in the [metrics](crate::metrics),
//! which miss none.

use foldback_core::event::Event;
use foldback_core::services::Observer;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Sends every event that there is room for.
#[derive(Clone, Debug)]
pub struct ChannelObserver {
    sender: Sender<Event>,
    dropped: Arc<AtomicU64>,
}

impl ChannelObserver {
    /// An observer, for [`Services::observers`](foldback_core::services::Services), and the channel
    /// that it sends on; `room` is how many events may wait to be read.
    pub fn new(room: NonZeroUsize) -> (Self, Receiver<Event>) {
        let (sender, receiver) = mpsc::channel(room.get());
        let dropped = Arc::default();
        (Self { sender, dropped }, receiver)
    }

    /// Events that were lost because the channel was full, or no longer has a reader. Clones of an
    /// observer count together.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}

impl Observer for ChannelObserver {
    fn observe(&self, event: &Event) {
        if self.sender.try_send(event.clone()).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(error: &str) -> Event {
        Event::HookFailed { error: error.to_owned() }
    }

    #[test]
    fn a_slow_reader_misses_the_latest_and_holds_nobody_up() {
        let (observer, mut receiver) = ChannelObserver::new(NonZeroUsize::new(2).unwrap());
        let other = observer.clone();
        for name in ["a", "b", "c"] {
            observer.observe(&failed(name));
        }
        other.observe(&failed("d"));
        assert_eq!((observer.dropped(), other.dropped()), (2, 2));
        assert_eq!(receiver.try_recv(), Ok(failed("a")));
        observer.observe(&failed("e"));
        assert_eq!(receiver.try_recv(), Ok(failed("b")));
        assert_eq!(receiver.try_recv(), Ok(failed("e")));
        drop(receiver);
        observer.observe(&failed("f"));
        assert_eq!(observer.dropped(), 3);
    }
}
