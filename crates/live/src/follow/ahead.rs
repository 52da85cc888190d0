//! Summaries in the background: a fork of the conversation asks the model, and the conversation goes on without the
//! fold.
//!
//! The fork stands before the moment at which the model would have been asked. Once it has folded, it replaces the
//! conversation and takes what came since with the next request, moment by moment: the conversation is then as if it
//! had been folded all along.

use super::followed::{Followed, Fork, ForkState};
use crate::journal::JournalError;
use async_trait::async_trait;
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

    /// The fork will not come back.
    pub fn ahead_is_lost(&mut self) {
        self.fork = Some(ForkState::Nothing);
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
        let journal = self.journal.take();
        *self = followed.asking_later();
        self.journal = journal;
        Ok(())
    }
}

impl Ahead {
    /// Folds, with summaries by this model. Whether it did.
    pub async fn fold(&mut self, model: Arc<dyn Model>) -> bool {
        let Fork { followed, refused, .. } = &mut *self.0;
        let next = followed.conversation.folds().last().map_or(0, |fold| fold.id + 1);
        followed.conversation.set_asked(Some(model));
        match *refused {
            true => {
                followed.overflow().await;
            }
            false => followed.drive().await,
        }
        // The model is of this fold alone.
        followed.conversation.set_asked(None);
        let folds = followed.conversation.folds().iter();
        folds.rev().take_while(|fold| fold.id >= next).any(|fold| !fold.plan.summaries.is_empty())
    }
}
