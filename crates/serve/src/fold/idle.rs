//! The idle moment of a conversation: its agent waits for its user, and the provider's prompt cache will soon expire.
//!
//! A task waits for it from the end of an answer on, by the proxy's clock; the next request ends the wait. What is folded then is a fork,
//! which that request adopts if it repeats the conversation and the answer. Nothing of it is in a journal before.

use super::turn::Turn;
use crate::http::forward::Ask;
use crate::settings::Say;
use crate::summaries::Summaries;
use foldback_core::log::Message;
use foldback_live::follow::identity;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot::{self, error::TryRecvError};
use tokio::task::JoinSet;

/// How often the clock is looked at: it may be set, and a machine may sleep.
const LOOK: Duration = Duration::from_secs(1);

/// Waits for the idle moments of conversations.
#[derive(Debug)]
pub(crate) struct IdleWaits {
    summaries: Option<Arc<Summaries>>,
    tasks: Mutex<JoinSet<()>>,
}

impl IdleWaits {
    pub(crate) fn new(summaries: Option<Arc<Summaries>>) -> Self {
        Self { summaries, tasks: Mutex::default() }
    }

    /// Waits behind an answer, if the strategy has something to do at the idle moment. The client's request is kept for a summary alone.
    pub(crate) fn begin(&self, turn: &Turn, mut answer: Message, ask: &Ask, say: &Say) {
        let conversations = Arc::clone(&turn.conversations);
        let clock = Arc::clone(&conversations.folding.clock);
        answer.at = Some(clock.now());
        let (due, runtime) =
            (conversations.folding.strategy.idle_at(&answer), Handle::try_current());
        let (Some(due), Ok(runtime)) = (due, runtime) else { return };
        let (id, key, shared) = (turn.id, identity::end(&turn.keys), Arc::downgrade(&turn.shared));
        let summaries = self.summaries.clone().filter(|_| !conversations.folding.shadow);
        let asks = summaries.map(|summaries| {
            let form = (turn.request.dialect(), turn.streams());
            (summaries, ask.clone(), form, turn.trial.clone(), Arc::clone(say))
        });
        let wait = async move {
            let (held, mut ended) = oneshot::channel();
            {
                let Some(shared) = shared.upgrade() else { return };
                let mut state = shared.lock().await;
                if state.followed.key() != key {
                    return;
                }
                // What the strategy goes by may differ from what the provider counted.
                answer.answer = conversations.answers.answer(&key, &answer).or(answer.answer);
                state.wait = Some(held);
            }
            while let Ok(left @ 1..) = u64::try_from(due.saturating_sub(clock.now())) {
                tokio::select! {
                    () = tokio::time::sleep(Duration::from_millis(left).min(LOOK)) => {}
                    _ = &mut ended => return,
                }
            }
            let Some(shared) = shared.upgrade() else { return };
            let fold = move || {
                let runtime = Handle::current();
                let mut state = runtime.block_on(shared.lock());
                let waits = ended.try_recv() == Err(TryRecvError::Empty);
                waits.then(|| runtime.block_on(state.idle(id, answer))).flatten()
            };
            match (conversations.threads.work(0, fold).await.flatten(), asks) {
                (Some(wish), _) if wish.ahead.is_folded() => drop(wish.done.send(wish.ahead)),
                (Some(wish), Some((summaries, ask, form, trial, say))) => {
                    summaries.begin(wish, &ask, form, trial, &say);
                }
                _ => {}
            }
        };
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(wait, &runtime);
    }

    /// Ends all waits.
    pub(crate) fn end(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}
