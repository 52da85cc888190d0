//! What every strategy must keep, as tests.
//!
//! [`laws!`](crate::laws!) makes one test of each [`Law`], so that a failure names the law. Most are tried on drawn
//! sessions (the same ones every time; `PROPTEST_CASES` draws more), and the failure shows the smallest session that
//! was found. Work is counted and never timed.
//!
//! # What the types forbid already
//!
//! A stage is given shared references to history and view and gives back a proposal; messages are behind `Arc`. So it
//! can't change the log, see a message that was not appended yet, or move anything but through a plan. What is left to
//! it are the caches that come with a message, state of its own, and whatever it shares with the rest of the
//! program. That is what `log_untouched`, `deterministic` and `blind_to_the_future` look for.

mod crowded;
mod fixed;
pub(crate) mod list;
mod session;

pub use fixed::{FUTURES, Future, first_answer_behind, long_session};
pub use list::Law;
pub use session::{report_holds, unaltered};

use crate::generate::{Happening, happens, session as generated};
use crate::session::Session;
use crate::subject::Subject;
use foldback_core::Limits;
use proptest::strategy::Just;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use std::cell::Cell;
use std::fmt;

/// Sessions that are drawn for each law, unless `PROPTEST_CASES` says otherwise.
const CASES: u32 = 24;

/// Attempts to shrink a session that breaks a law.
const SHRINKS: u32 = 1_000;

/// A law that does not hold, and the smallest session that shows it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Breach {
    /// Which law.
    pub law: Law,
    /// Name of the strategy.
    pub strategy: String,
    /// What is wrong.
    pub what: String,
    /// The session that breaks the law, with its window. `None` for the laws that are tried on one fixed long session.
    pub session: Option<(Session, Limits)>,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { law, strategy, what, session } = self;
        writeln!(f, "{strategy} breaks the law {}: {what}", law.name())?;
        if let Some((session, limits)) = session {
            writeln!(
                f,
                "in a window of {} tokens, {} for the answer:",
                limits.context, limits.output
            )?;
            write!(f, "{session}")?;
        }
        Ok(())
    }
}

/// Tries one law.
///
/// # Errors
///
/// A session in which the law does not hold.
pub fn check(law: Law, subject: &Subject) -> Result<(), Box<Breach>> {
    match (law, of_session(law)) {
        (_, Some(check)) => drawn(law, subject, check),
        (Law::Acts, None) => acts(subject),
        (Law::NeverPanics, None) => crowded(law, subject),
        (Law::KeepsFreeing, None) => {
            fixed::keeps_freeing(subject).map_err(|what| breach(law, subject, what, None))
        }
        (_, None) => fixed::flat(subject).map_err(|what| breach(law, subject, what, None)),
    }
}

/// Tries one law and ends the test where it does not hold, or where it holds against what the subject says.
///
/// # Panics
///
/// In both cases.
pub fn assert(law: Law, subject: impl Into<Subject>) {
    let subject = subject.into();
    match (check(law, &subject), subject.broken(law)) {
        (Err(breach), None) => panic!("{breach}"),
        (Ok(()), Some(why)) => {
            panic!("the law {} holds; it was said to be broken: {why}", law.name())
        }
        _ => {}
    }
}

/// How a law is tried that one session can break.
fn of_session(law: Law) -> Option<Check> {
    Some(match law {
        Law::ValidInEveryDialect => session::valid,
        Law::LogUntouched => session::log_untouched,
        Law::IdempotentWhereNothingChanged => session::idempotent,
        Law::SmallerOrRefused => session::smaller_or_refused,
        Law::Pins => session::pins,
        Law::UndoRestores => session::undo_restores,
        Law::Deterministic => session::deterministic,
        Law::BlindToTheFuture => fixed::blind,
        Law::Acts | Law::CostPerCallFlat | Law::KeepsFreeing | Law::NeverPanics => return None,
    })
}

/// Whether a law holds in a session, and what is wrong where it does not.
type Check = fn(&Subject, &Session) -> Result<(), String>;

fn breach(
    law: Law,
    subject: &Subject,
    what: String,
    session: Option<(Session, Limits)>,
) -> Box<Breach> {
    let strategy = subject.strategy(&Session::default()).name.clone();
    Box::new(Breach { law, strategy, what, session })
}

/// Draws sessions until one breaks the law, and then makes it smaller as long as it does.
fn drawn(law: Law, subject: &Subject, check: Check) -> Result<(), Box<Breach>> {
    let windows = subject.usable_windows();
    if windows.is_empty() {
        return Err(breach(law, subject, no_window(), None));
    }
    let put = |happens: &[(Happening, u8)], window: usize| {
        let limits = windows[window % windows.len()];
        (generated(happens).with_limits(limits), limits)
    };
    let found = runner().run(&(happens(), 0..windows.len()), |(happens, window)| {
        check(subject, &put(&happens, window).0).map_err(TestCaseError::fail)
    });
    match found {
        Ok(()) => Ok(()),
        Err(TestError::Abort(why)) => Err(breach(law, subject, why.to_string(), None)),
        Err(TestError::Fail(why, (happens, window))) => {
            Err(breach(law, subject, why.to_string(), Some(put(&happens, window))))
        }
    }
}

/// The same of sessions that fill a view at once, in windows of their own.
fn crowded(law: Law, subject: &Subject) -> Result<(), Box<Breach>> {
    let mut runner = runner();
    let tried = |drawn| crowded::panics(subject, &drawn).map_err(TestCaseError::fail);
    let found = runner.run_one(Just(crowded::largest()), tried);
    let found = found.and_then(|_| runner.run(&crowded::drawn(), tried));
    match found {
        Ok(()) => Ok(()),
        Err(TestError::Abort(why)) => Err(breach(law, subject, why.to_string(), None)),
        Err(TestError::Fail(why, drawn)) => {
            let session = Some((crowded::session(&drawn), crowded::limits(&drawn)));
            Err(breach(law, subject, why.to_string(), session))
        }
    }
}

/// Draws the same sessions in every run and writes no file beside the tests.
fn runner() -> TestRunner {
    let given = Config::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if asked { given.cases } else { CASES };
    let config = Config { cases, failure_persistence: None, max_shrink_iters: SHRINKS, ..given };
    TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha))
}

fn no_window() -> String {
    "the strategy refuses every window; name ones that it takes with `Subject::windows`".to_owned()
}

fn acts(subject: &Subject) -> Result<(), Box<Breach>> {
    let windows = subject.usable_windows();
    if windows.is_empty() {
        return Err(breach(Law::Acts, subject, no_window(), None));
    }
    let acted = Cell::new(0);
    let ran = runner().run(&(happens(), 0..windows.len()), |(happens, window)| {
        let session = generated(&happens).with_limits(windows[window]);
        let changed = session::changes(subject, &session).map_err(TestCaseError::fail)?;
        acted.set(acted.get() + changed);
        Ok(())
    });
    let what = match (ran, acted.get()) {
        (Err(error), _) => error.to_string(),
        (Ok(()), 0) => "nothing was changed in any session, so no law was tried. The sessions have up to some \
             40,000 tokens: name windows that they fill with `Subject::windows`, or lower the thresholds"
            .to_owned(),
        (Ok(()), _) => return Ok(()),
    };
    Err(breach(Law::Acts, subject, what, None))
}

/// Makes one test of each [`Law`](crate::law::Law), in a module of its own: `laws`, or the name that is given.
///
/// ```
/// use foldback_testkit::{Subject, laws};
/// use foldback_testkit::law::Law;
///
/// // A preset that is linked in, by its name.
/// laws!("keep-last-1");
/// // A strategy file, under windows of one's own.
/// laws!(evict: Subject::toml(r#"
///     name = "mine"
///     [estimator]
///     use = "chars"
///     [[pruner]]
///     use = "evict"
/// "#).windows([(8_000, 1_000)]));
/// // What is known to be broken is said, with the reason; the test fails once it holds.
/// laws!(none: Subject::preset("none").breaks(Law::Acts, "it never compacts"));
/// ```
#[macro_export]
macro_rules! laws {
    ($name:ident: $subject:expr) => {
        mod $name {
            #[allow(unused_imports)]
            use super::*;

            $crate::laws! { @tests $subject;
                acts Acts,
                valid_in_every_dialect ValidInEveryDialect,
                log_untouched LogUntouched,
                idempotent_where_nothing_changed IdempotentWhereNothingChanged,
                smaller_or_refused SmallerOrRefused,
                pins Pins,
                undo_restores UndoRestores,
                deterministic Deterministic,
                cost_per_call_flat CostPerCallFlat,
                blind_to_the_future BlindToTheFuture,
                keeps_freeing KeepsFreeing,
                never_panics NeverPanics,
            }
        }
    };
    (@tests $subject:expr; $($test:ident $law:ident,)*) => {
        // A law that is missing here would go untested.
        const _: () = assert!([$(stringify!($test)),*].len() == $crate::law::Law::ALL.len());
        $(
            #[::std::prelude::v1::test]
            fn $test() {
                $crate::law::assert($crate::law::Law::$law, $subject);
            }
        )*
    };
    ($subject:expr) => {
        $crate::laws!(laws: $subject);
    };
}
