//! A stage or a hook that panics, where the agent is to go on.

use super::Conversation;
use crate::outcome::Why;
use std::any::Any;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

/// Code of the reason why something was not done: what was to do it panicked.
const PANICKED: &str = "panicked";

/// What a panic says.
#[doc(hidden)]
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

impl Conversation {
    /// From now on a stage or a hook that panics has failed, and the view stays as it was. For agents, which have to go on. Otherwise
    /// the panic reaches the caller: tests and replays are there to find it.
    ///
    /// What panics must be unwound, not aborted; the panic is still printed by the hook of the process.
    pub fn contain_panics(&mut self) {
        self.contained = true;
    }

    /// What a stage says of the conversation, or that it panicked.
    pub(super) fn say<T>(&self, stage: &str, says: impl FnOnce() -> T) -> Result<T, Why> {
        match self.contained {
            // Nothing of the conversation is being changed: it is lent.
            true => catch_unwind(AssertUnwindSafe(says)).map_err(|panic| why(stage, &*panic)),
            false => Ok(says()),
        }
    }

    /// The same of what may wait for a model.
    pub(super) async fn say_later<T>(
        &self,
        stage: &str,
        says: impl Future<Output = T>,
    ) -> Result<T, Why> {
        let mut says = pin!(says);
        poll_fn(|context| match self.say(stage, || says.as_mut().poll(context)) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(said)) => Poll::Ready(Ok(said)),
            Err(why) => Poll::Ready(Err(why)),
        })
        .await
    }
}

fn why(stage: &str, panic: &(dyn Any + Send)) -> Why {
    let text = panic_text(panic);
    Why::new(PANICKED, format!("{stage} panicked, which is a fault of it: {text}"))
}
