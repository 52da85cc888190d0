//! Faults of the program itself: a panic ends one replay and not the run.

use foldback_core::conversation::panic_text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Once};

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

/// What to do about a fault of the program.
pub const REPORT: &str = "this is a fault of foldback, please report it with what stands here";

/// A session that could not be replayed under a preset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FailedReplay {
    /// Path of the session.
    pub session: Arc<str>,
    /// Name of the preset, with the summarizer that stood in.
    pub preset: String,
    /// Why.
    #[serde(flatten)]
    pub fault: Fault,
}

impl FailedReplay {
    /// Replays a session under a preset: what `work` gives, or that it panicked.
    pub fn caught<T>(session: &str, preset: &str, work: impl FnOnce() -> T) -> Result<T, Self> {
        caught(work).map_err(|fault| Self {
            session: session.into(),
            preset: preset.to_owned(),
            fault,
        })
    }
}

thread_local! {
    /// Whether a panic on this thread will be caught here.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
    /// Where the last one was.
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// What `work` gives, or where and with which words it panicked. Nothing is printed: the caller reports the fault.
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
    done.map_err(|panic| match panic.downcast::<Fault>() {
        // It was caught on another thread.
        Ok(fault) => *fault,
        Err(panic) => Fault { what: panic_text(&*panic).to_owned(), at: PLACE.take() },
    })
}

/// Whether a caller of [`caught`] is on this thread.
pub(crate) fn is_inside() -> bool {
    INSIDE.get()
}

/// Does a piece of work on another thread. If a caller of [`caught`] `is_inside` the thread that gave the work, a panic reaches that
/// caller with its place. Without such a caller the panic is left alone.
pub(crate) fn carried<T>(is_inside: bool, work: impl FnOnce() -> T) -> T {
    match is_inside {
        true => caught(work).unwrap_or_else(|fault| panic::resume_unwind(Box::new(fault))),
        false => work(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parallel::in_parallel;

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

    #[test]
    fn a_panic_on_another_thread_says_where_it_was_too() {
        let fault = caught(|| {
            in_parallel(&[1, 2, 3], |number| assert_ne!(*number, 2, "not two"));
        });
        let fault = fault.unwrap_err();
        assert!(fault.what.contains("not two"), "{fault}");
        assert!(fault.at.unwrap().starts_with("crates/replay/src/fault.rs:"));
    }
}
