//! Summaries in the background: a fork of the conversation asks the model, and the conversation goes on without the
//! fold.
//!
//! While the agent waits for its user, a fork takes the answer that no request has repeated yet, and folds at the idle moment. It
//! replaces the conversation if the next request repeats that answer.
//!
//! The fork stands before the moment at which the model would have been asked. Once it has folded, it replaces the
//! conversation and takes what came since with the next request, moment by moment: the conversation is then as if it
//! had been folded all along.

use super::followed::{Followed, Fork, ForkState};
use super::identity::Key;
use crate::journal::JournalError;
use async_trait::async_trait;
use foldback_core::conversation::FoldId;
use foldback_core::log::Message;
use foldback_core::provider::{Completion, CompletionRequest, Model, ProviderError};
use std::future::pending;
use std::sync::Arc;

/// A fork of a conversation, just before a fold for which a model is to be asked.
#[derive(Debug)]
pub struct Ahead(Box<Fork>);

/// A model that never answers: a future that waits for it is dropped.
#[derive(Debug)]
struct Never;

#[async_trait]
impl Model for Never {
    async fn complete(&self, _: &CompletionRequest) -> Result<Completion, ProviderError> {
        pending().await
    }
}

impl Followed {
    /// This conversation, in which nobody waits for a model: see [`take_ahead`](Self::take_ahead).
    pub fn asking_later(mut self) -> Self {
        self.conversation.set_asked(Some(Arc::new(Never)));
        self.fork = Some(ForkState::Nothing);
        self
    }

    /// The fork that is to fold, if there is a new one. There is no other until it is [taken back](Self::adopt) or
    /// [lost](Self::ahead_is_lost).
    pub fn take_ahead(&mut self) -> Option<Ahead> {
        match self.fork.replace(ForkState::Taken) {
            Some(ForkState::Made(fork)) => Some(Ahead(fork)),
            other => {
                self.fork = other;
                None
            }
        }
    }

    /// The fork in which the model has given this answer to the latest request and its user has said nothing until
    /// [`Moment::Idle`](foldback_core::moment::Moment::Idle) came; `None` if nothing is folded then, or a fork was made before.
    pub async fn idle(&mut self, answer: Message) -> Option<Ahead> {
        if self.has_fork() {
            return None;
        }
        let mut fork = self.forked(false);
        let followed = &mut fork.followed;
        followed.fork = self.fork.is_some().then_some(ForkState::Nothing);
        followed.await_user(answer);
        followed.wait().await;
        let fork = match followed.take_ahead() {
            Some(Ahead(asks)) => Fork { point: fork.point, ..*asks },
            None if followed.last_fold() != self.last_fold() => {
                followed.fork = None;
                Fork { folded: true, ..fork }
            }
            None => return None,
        };
        self.fork = self.fork.as_ref().map(|_| ForkState::Taken);
        Some(Ahead(Box::new(fork)))
    }

    fn last_fold(&self) -> Option<FoldId> {
        self.conversation.folds().last().map(|fold| fold.id)
    }

    /// The fork will not come back.
    pub fn ahead_is_lost(&mut self) {
        self.fork = self.fork.as_ref().map(|_| ForkState::Nothing);
    }

    /// Replaces this conversation by a fork that has folded. What came meanwhile is taken with the next request.
    ///
    /// # Errors
    ///
    /// The journal can't be written. The conversation is then as it was.
    pub fn adopt(&mut self, ahead: Ahead) -> Result<(), JournalError> {
        self.ahead_is_lost();
        let Fork { followed, point, .. } = *ahead.0;
        if let (Some(journal), Some(point)) = (&mut self.journal, point) {
            journal.go_back(point)?;
        }
        let (journal, asks) = (self.journal.take(), self.fork.is_some());
        *self = if asks { followed.asking_later() } else { followed };
        self.journal = journal;
        Ok(())
    }
}

impl Ahead {
    /// Whether it has folded, and no model is to be asked.
    pub fn is_folded(&self) -> bool {
        self.0.folded
    }

    /// Whether a request with these keys repeats all that it holds.
    pub fn is_repeated(&self, keys: &[Key]) -> bool {
        self.0.followed.is_repeated(keys)
    }

    /// Prohibitions in its latest summaries of which the user named nothing.
    pub fn invented(&self) -> Vec<String> {
        self.0.followed.conversation.invented()
    }

    /// Folds, with summaries by this model. Whether it did.
    pub async fn fold(&mut self, model: Arc<dyn Model>) -> bool {
        let Fork { followed, refused, .. } = &mut *self.0;
        let next = followed.last_fold().map_or(0, |fold| fold + 1);
        followed.conversation.set_asked(Some(model));
        if *refused {
            followed.overflow().await;
        } else if followed.waits {
            followed.wait().await;
        } else {
            followed.drive().await;
        }
        // The model is of this fold alone.
        followed.conversation.set_asked(None);
        let folds = followed.conversation.folds().iter();
        folds.rev().take_while(|fold| fold.id >= next).any(|fold| !fold.plan.summaries.is_empty())
    }
}
