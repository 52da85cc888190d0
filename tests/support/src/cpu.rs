//! The processor time of a thread, which does not depend on what else runs. Linux counts it.

/// Nanoseconds that this thread has had a processor; `None` where the system does not count them.
pub fn spent() -> Option<u64> {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    counted.split(' ').next()?.parse().ok()
}

/// Nanoseconds of one run of `work`, the mean of as many as take at least `least` together.
pub fn cost(work: &dyn Fn(), least: u64) -> Option<f64> {
    let begun = spent()?;
    let mut runs = 0;
    loop {
        work();
        runs += 1;
        let spent = spent()? - begun;
        if spent >= least {
            return Some(spent as f64 / f64::from(runs));
        }
    }
}
