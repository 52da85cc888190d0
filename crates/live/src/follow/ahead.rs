//! Summaries for which nobody waits: a copy of the conversation asks the model, and the conversation goes on without the
//! fold.
//!
//! The copy stands before the moment at which the model would have been asked. Once it has folded, it takes the
//! conversation's place, and with the next request all that came since, moment by moment: the conversation is then as if
//! it had been folded all along.

use super::Followed;
use crate::journal::{JournalError, Point};
use async_trait::async_trait;
use foldback_core::conversation::{Report, Signals};
use foldback_core::moment::Moment;
use foldback_core::provider::{Completion, CompletionRequest, Model, ProviderError};
use std::future::pending;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Where a conversation stands whose summaries a copy asks for.
#[derive(Debug)]
pub(super) enum Later {
    /// None is needed.
    Nothing,
    /// A copy was made.
    Made(Box<Ahead>),
    /// It was taken to fold.
    Taken,
}

/// A copy of a conversation, just before a fold for which a model is to be asked.
#[derive(Debug)]
pub struct Ahead {
    followed: Followed,
    /// A request was refused for its size.
    refused: bool,
    /// What its journal held.
    point: Option<Point>,
}

/// Never answers: whoever waits for it is dropped.
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
        self.later = Some(Later::Nothing);
        self
    }

    /// The copy that is to fold, if there is a new one. There is no other until it is
    /// [taken back](Self::adopt) or [lost](Self::ahead_is_lost).
    pub fn take_ahead(&mut self) -> Option<Ahead> {
        match self.later.replace(Later::Taken) {
            Some(Later::Made(ahead)) => Some(*ahead),
            later => {
                self.later = later;
                None
            }
        }
    }

    /// Whether there is a copy.
    pub(super) fn is_ahead(&self) -> bool {
        matches!(self.later, Some(Later::Made(_) | Later::Taken))
    }

    /// The copy will not come back.
    pub fn ahead_is_lost(&mut self) {
        self.later = Some(Later::Nothing);
    }

    /// A copy that has folded takes the place of this conversation. What came meanwhile is taken with the next request.
    ///
    /// # Errors
    ///
    /// The journal can't be written. The conversation is then as it was.
    pub fn adopt(&mut self, ahead: Ahead) -> Result<(), JournalError> {
        self.ahead_is_lost();
        if let (Some(journal), Some(point)) = (&mut self.journal, ahead.point) {
            journal.go_back(point)?;
        }
        let journal = self.journal.take();
        *self = Self { journal, ..ahead.followed.asking_later() };
        Ok(())
    }

    /// What happens at a moment. If a model is to be asked and nobody waits for it, nothing is folded, and a copy is made.
    pub(super) async fn at(&mut self, moment: Moment, signals: Signals) -> Vec<Report> {
        if self.later.is_none() {
            return self.conversation.at(moment, signals).await;
        }
        {
            // Nothing but a model is ever waited for.
            let at = pin!(self.conversation.at(moment, signals));
            if let Poll::Ready(reports) = at.poll(&mut Context::from_waker(Waker::noop())) {
                return reports;
            }
        }
        if matches!(self.later, Some(Later::Nothing)) {
            let refused = matches!(moment, Moment::ProviderOverflow | Moment::Manual);
            self.later = Some(Later::Made(Box::new(self.ahead(refused))));
        }
        Vec::new()
    }

    fn ahead(&self, refused: bool) -> Ahead {
        let followed = Self {
            conversation: self.conversation.clone(),
            base: self.base,
            log: self.log.clone(),
            places: self.places.clone(),
            key: self.key,
            done: self.done,
            called: self.called,
            mark: self.mark,
            received: self.received,
            bytes: self.bytes,
            weighed: self.weighed,
            folds: self.folds,
            requested: self.requested,
            model: self.model.clone(),
            path: None,
            journal: None,
            later: None,
        };
        Ahead { followed, refused, point: self.journal.as_ref().map(|journal| journal.point()) }
    }
}

impl Ahead {
    /// Folds, with summaries by this model. Whether it did.
    pub async fn fold(&mut self, model: Arc<dyn Model>) -> bool {
        let followed = &mut self.followed;
        let next = followed.conversation.folds().last().map_or(0, |fold| fold.id + 1);
        followed.conversation.set_asked(Some(model));
        match self.refused {
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
