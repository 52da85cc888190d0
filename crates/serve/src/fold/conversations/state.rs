//! The state of one conversation, and the fold for which it waits.

use crate::bill::requests::Requests;
use crate::fold::Id;
use foldback_core::log::Message;
use foldback_live::follow::identity::Key;
use foldback_live::follow::{Ahead, Followed};
use foldback_live::journal::JournalError;
use std::sync::Arc;
use tokio::sync::oneshot::{self, error::TryRecvError};

/// The state of a conversation, behind a lock that one request at a time holds.
pub(crate) type SharedState = Arc<tokio::sync::Mutex<State>>;

/// The state of a conversation.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) followed: Followed,
    /// What its requests cost.
    pub(crate) requests: Requests,
    /// Receives the fork that folds.
    pub(crate) ahead: Option<oneshot::Receiver<Ahead>>,
    /// Ends the wait for the idle moment once it is dropped.
    pub(crate) wait: Option<oneshot::Sender<()>>,
}

impl State {
    pub(super) fn new(followed: Followed) -> SharedState {
        let requests = Requests::default();
        Arc::new(tokio::sync::Mutex::new(Self { followed, requests, ahead: None, wait: None }))
    }

    /// Adopts the fork that has folded since the last request, if there is one and a request with these keys repeats it.
    ///
    /// # Errors
    ///
    /// The journal can't be written. Then there is no fold.
    pub(crate) fn catch_up(&mut self, keys: &[Key]) -> Result<(), JournalError> {
        self.wait = None;
        let Some(mut awaited) = self.ahead.take() else { return Ok(()) };
        match awaited.try_recv() {
            Err(TryRecvError::Empty) => self.ahead = Some(awaited),
            Err(TryRecvError::Closed) => self.followed.ahead_is_lost(),
            Ok(ahead) if !ahead.is_repeated(keys) => self.followed.ahead_is_lost(),
            Ok(ahead) => {
                self.followed.adopt(ahead)?;
                self.requests.begin_again();
            }
        }
        Ok(())
    }

    /// The fold for which a model is to be asked, if there is a new one.
    pub(crate) fn wish(&mut self, id: Id) -> Option<Wish> {
        let ahead = self.followed.take_ahead()?;
        Some(self.awaits(id, ahead))
    }

    /// The fold that a fork is to make at the idle moment behind this answer, or has made.
    pub(crate) async fn idle(&mut self, id: Id, answer: Message) -> Option<Wish> {
        if self.ahead.is_some() {
            return None;
        }
        let ahead = self.followed.idle(answer).await?;
        Some(self.awaits(id, ahead))
    }

    fn awaits(&mut self, id: Id, ahead: Ahead) -> Wish {
        let (done, awaited) = oneshot::channel();
        self.ahead = Some(awaited);
        Wish { id, ahead, done }
    }
}

/// A fold that needs a summary, and where it is awaited.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) id: Id,
    pub(crate) ahead: Ahead,
    pub(crate) done: oneshot::Sender<Ahead>,
}
