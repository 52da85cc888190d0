//! Counts the events of conversations, and reports those that the operator should know.

use crate::fold::Id;
use crate::settings::Say;
use foldback_core::event::Event;
use foldback_core::services::Observer;
use foldback_live::Metrics;
use std::fmt;
use std::sync::Arc;

/// Observes one conversation.
pub(crate) struct ConversationObserver {
    pub(crate) id: Id,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) say: Say,
}

impl Observer for ConversationObserver {
    fn observe(&self, event: &Event) {
        self.metrics.observe(event);
        if let Event::Breaker { open: true, fruitless } = event {
            (self.say)(&format!(
                "conversation {}: {fruitless} folds in a row had no effect, so it is not folded until its user speaks \
                 again; its requests go on growing",
                self.id
            ));
        }
    }
}

impl fmt::Debug for ConversationObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConversationObserver").field("id", &self.id).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn a_conversation_that_is_not_folded_any_more_is_said_once_and_counted() {
        let said = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let say: Say = Arc::new(move |line| into.lock().unwrap().push(line.to_owned()));
        let metrics = Arc::<Metrics>::default();
        let observer = ConversationObserver { id: 7, metrics: Arc::clone(&metrics), say };
        observer.observe(&Event::Breaker { open: true, fruitless: 3 });
        observer.observe(&Event::Breaker { open: false, fruitless: 3 });
        let said = said.lock().unwrap();
        let [line] = &said[..] else { panic!("{said:?}") };
        assert!(line.starts_with("conversation 7: 3 folds in a row had no effect"), "{line}");
        assert_eq!(metrics.snapshot().breaker_openings, 1);
    }
}
