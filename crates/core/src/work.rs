//! Counts work, for tests of its growth: steps are reproducible, times are not.
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
