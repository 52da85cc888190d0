//! What the server and the test share.

use crate::recorded::Recorded;
use crate::reply::Reply;
use crate::server::{Builder, Script};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// Counts the tokens of a request.
pub(crate) type Counter = Box<dyn Fn(&Recorded) -> u64 + Send + Sync>;

pub(crate) struct State {
    script: Mutex<Script>,
    requests: Mutex<Vec<Arc<Recorded>>>,
    pub(crate) counter: Counter,
    pub(crate) window: Option<u64>,
    pub(crate) output_counts: bool,
    pub(crate) pairs: bool,
    pub(crate) everywhere: bool,
    /// Requests so far, for who waits for one.
    pub(crate) received: watch::Sender<usize>,
    /// Releases so far; a reply that hangs waits for the next.
    pub(crate) released: watch::Sender<usize>,
    cancelled: AtomicUsize,
}

impl State {
    pub(crate) fn new(settings: Builder) -> Self {
        Self {
            script: Mutex::new(settings.script),
            requests: Mutex::default(),
            counter: settings.counter,
            window: settings.window,
            output_counts: settings.output_counts,
            pairs: settings.pairs,
            everywhere: settings.everywhere,
            received: watch::Sender::new(0),
            released: watch::Sender::new(0),
            cancelled: AtomicUsize::new(0),
        }
    }

    pub(crate) fn requests(&self) -> Vec<Arc<Recorded>> {
        lock(&self.requests).clone()
    }

    pub(crate) fn count(&self) -> usize {
        lock(&self.requests).len()
    }

    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }

    /// Numbers a request and counts its tokens; it is kept from here on.
    pub(crate) fn record(&self, mut request: Recorded) -> Arc<Recorded> {
        request.tokens = (self.counter)(&request);
        let mut requests = lock(&self.requests);
        request.number = requests.len() + 1;
        let request = Arc::new(request);
        requests.push(Arc::clone(&request));
        self.received.send_replace(requests.len());
        request
    }

    /// What the script answers to a request; `None` where a list is at its end.
    pub(crate) fn next(&self, request: &Recorded) -> Option<Reply> {
        match &mut *lock(&self.script) {
            Script::List(replies) => replies.pop_front(),
            Script::Answer(answer) => Some(answer(request)),
        }
    }

    /// Adds to the script's list; does nothing where the script is a function.
    pub(crate) fn push(&self, reply: Reply) {
        if let Script::List(replies) = &mut *lock(&self.script) {
            replies.push_back(reply);
        }
    }
}

/// Counts a request whose client went away before it was answered.
pub(crate) struct Waiting<'a> {
    pub(crate) state: &'a State,
    pub(crate) answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.answered {
            self.state.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// A panic of a test's closure must not hide behind a poisoned lock.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
