//! How much was done, for tests of how it grows: steps are counted where time would not be the same twice.
//!
//! Without the feature `count-reads` nothing is counted.

#[cfg(feature = "count-reads")]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Notes steps of this thread.
#[inline]
pub fn count(steps: u64) {
    #[cfg(feature = "count-reads")]
    STEPS.set(STEPS.get() + steps);
    let _ = steps;
}

/// The steps that this thread noted so far.
#[cfg(feature = "count-reads")]
pub fn counted() -> u64 {
    STEPS.get()
}
