//! Open files: how many the proxy may have, and how many it has.
//!
//! A request takes two, the client's connection and the provider's. The usual limit of 1,024 is a soft one, which a
//! program may raise itself; where the hard one is lower than what the settings ask for, fewer connections are let in,
//! and the rest wait or are turned away ([`listen`](super::listen)).

use super::upstream::MOST_IDLE;

/// What is open beside connections: listeners, standard streams, libraries, and idle connections to two providers.
const BESIDE: u64 = 64 + 2 * MOST_IDLE as u64;

/// How many connections there is room for, and a notice if that is less than was asked for. `journals` is how many
/// conversations may have a file open.
pub(crate) fn room(connections: usize, journals: usize) -> (usize, Option<String>) {
    let needed = needed(connections, journals);
    match raised(needed) {
        Some(limit) if limit < needed => {
            let fit = fitting(limit, journals).min(connections);
            let said = format!(
                "this process may have {limit} files open (`ulimit -Hn`), and {connections} connections need {needed}: \
                 {fit} connections are served at a time, others wait some seconds and then get 503"
            );
            (fit, Some(said))
        }
        _ => (connections, None),
    }
}

fn needed(connections: usize, journals: usize) -> u64 {
    BESIDE + 2 * connections as u64 + journals as u64
}

/// Connections for which a limit is enough. Journals get half of it at most.
fn fitting(limit: u64, journals: usize) -> usize {
    let left = limit.saturating_sub(BESIDE);
    let left = left - (journals as u64).min(left / 2);
    usize::try_from(left / 2).unwrap_or(usize::MAX).max(1)
}

/// The limit of the process, raised as far as needed and possible; `None` if there is no limit.
#[cfg(unix)]
fn raised(needed: u64) -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current?;
    if current < needed {
        let most = limit.maximum.map_or(needed, |most| most.min(needed));
        let more = Rlimit { current: Some(most), maximum: limit.maximum };
        // Where the system refuses, the limit is as it was.
        let _ = setrlimit(Resource::Nofile, more);
    }
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn raised(_: u64) -> Option<u64> {
    None
}

/// How many are open, where the system says so.
pub(crate) fn open() -> Option<u64> {
    let entries = std::fs::read_dir("/proc/self/fd").or_else(|_| std::fs::read_dir("/dev/fd"));
    // The folder itself is one of them.
    Some((entries.ok()?.count() as u64).saturating_sub(1))
}

/// How many files may be open; `None` if there is no limit or it is unknown.
pub(crate) fn limit() -> Option<u64> {
    raised(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_is_no_more_than_the_limit_has_room_for() {
        for limit in [0, 100, 256, 1_024, 4_096, 1 << 20] {
            for journals in [0, 10, 1_000, 100_000] {
                let fit = fitting(limit, journals);
                let spent = BESIDE + 2 * fit as u64;
                assert!(fit == 1 || spent <= limit, "{limit}, {journals}: {fit}");
            }
        }
        assert_eq!(fitting(1_024, 0), 416);
        assert_eq!(fitting(needed(1_024, 1_000), 1_000), 1_024);
        assert_eq!(fitting(1_024, 1_000), 208);
    }

    #[cfg(unix)]
    #[test]
    fn a_soft_limit_is_raised_and_a_hard_one_is_said() {
        let hard = rustix::process::getrlimit(rustix::process::Resource::Nofile).maximum;
        assert_eq!(room(10, 0), (10, None));
        let Some(hard) = hard else { return };
        let (fit, said) = room(hard as usize, 0);
        assert!(fit < hard as usize, "{fit} of {hard}");
        assert!(said.unwrap().contains(&hard.to_string()));
        assert_eq!(limit(), Some(hard), "all that there is");
    }
}
