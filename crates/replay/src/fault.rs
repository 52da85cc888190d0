//! Faults of the program itself: a panic ends one replay and not the run.

use foldback_core::conversation::panic_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// Why something could not be computed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// What was wrong.
    pub what: String,
    /// Where in the program it panicked, as `file:line:column`; `null` if it did not.
    pub at: Option<String>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.at {
            Some(at) => write!(f, "panicked at {at}: {}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl From<String> for Fault {
    fn from(what: String) -> Self {
        Self { what, at: None }
    }
}

thread_local! {
    /// Whether a panic on this thread will be caught here.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// What `work` gives, or where and with which words it panicked. Nothing is printed: whoever has the fault tells it.
pub fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Fault> {
    // A place is told to the hook alone. Other panics go to the hook that was there.
    HOOK.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| match INSIDE.get() {
            true => PLACE.set(panic.location().map(ToString::to_string)),
            false => others(panic),
        }));
    });
    let before = INSIDE.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    INSIDE.set(before);
    done.map_err(|panic| Fault { what: panic_text(&*panic).to_owned(), at: PLACE.take() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_says_where_it_was_and_ends_nothing_else() {
        assert_eq!(caught(|| 3), Ok(3));
        let outer = caught(|| {
            let inner = caught(|| -> u32 { panic!("at {}", 7) }).unwrap_err();
            assert!(INSIDE.get());
            inner
        });
        let fault = outer.unwrap();
        assert_eq!(fault.what, "at 7");
        let at = fault.at.clone().unwrap();
        assert!(at.starts_with("crates/replay/src/fault.rs:"), "{at}");
        assert_eq!(fault.to_string(), format!("panicked at {at}: at 7"));
        assert!(!INSIDE.get());
    }
}
