//! What is tested: a strategy, however it comes.

use crate::law::list::Law;
use crate::session::Session;
use crate::talk;
use foldback_core::Limits;
use foldback_core::config::{Options, compile_preset};
use foldback_core::guard::Guards;
use foldback_core::meter::MeterId;
use foldback_core::registry::{Registration, Registry};
use foldback_core::stage::{Filter, OverflowPolicy, Pruner};
use foldback_core::strategy::{Bound, Strategy};
use std::fmt;
use std::sync::Arc;

/// What a single stage is tested in: nothing else acts, and no guard stands between the stage and the view.
const ALONE: &str = "
name = \"alone\"
[estimator]
use = \"chars\"
";

/// For a stage that folds: when more than half of the window is full, and with extractive summaries.
const FOLDING: &str = "
[overflow]
use = \"window-fraction\"
[filter]
use = \"drop-oldest\"
[summarizer]
use = \"extractive\"
";

/// Windows and longest answers, in tokens, under which the laws are tried: ones that generated sessions fill.
const WINDOWS: [(u64, u64); 3] = [(16_000, 2_000), (32_000, 4_000), (64_000, 8_000)];

type Make = dyn Fn(&Session) -> Arc<Strategy> + Send + Sync;

/// A strategy to be tested, and what is known about it.
///
/// ```
/// use foldback_testkit::Subject;
/// use foldback_testkit::law::{Law, check};
///
/// let subject = Subject::preset("none").breaks(Law::Acts, "it never compacts");
/// assert!(check(Law::LogUntouched, &subject).is_ok());
/// let breach = check(Law::Acts, &subject).unwrap_err();
/// assert_eq!(breach.law, Law::Acts);
/// ```
#[derive(Clone)]
pub struct Subject {
    make: Arc<Make>,
    windows: Vec<Limits>,
    breaks: Vec<(Law, String)>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { windows, breaks, .. } = self;
        f.debug_struct("Subject").field("windows", windows).field("breaks", breaks).finish()
    }
}

impl Subject {
    /// A strategy that is made anew for every conversation, and may be made for the session that comes.
    pub fn made_by(make: impl Fn(&Session) -> Arc<Strategy> + Send + Sync + 'static) -> Self {
        let windows = WINDOWS.map(|(context, output)| Limits::new(context, output));
        Self { make: Arc::new(make), windows: windows.into(), breaks: Vec::new() }
    }

    /// A preset of the crates that are linked in, by its name. A crate that only stands in `Cargo.toml` is not linked:
    /// name it once, as in `use my_strategy as _;`.
    ///
    /// # Panics
    ///
    /// If there is no such preset, or if it does not compile.
    pub fn preset(name: &str) -> Self {
        let name = name.to_owned();
        Self::made_by(move |_| {
            let compiled = compile_preset(&linked(), &name, Options::default());
            Arc::new(compiled.unwrap_or_else(|errors| panic!("{errors}")).strategy)
        })
    }

    /// A strategy file, by its text.
    ///
    /// # Panics
    ///
    /// If it does not compile.
    pub fn toml(text: impl Into<String>) -> Self {
        let text = text.into();
        Self::made_by(move |_| Arc::new(talk::compiled(&linked(), &text)))
    }

    /// A pruner alone, without guards.
    pub fn pruner<S: Pruner + 'static>(stage: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self::alone("", move |strategy| {
            let stage = stage();
            let when = vec![stage.moment()];
            let stage: Arc<dyn Pruner> = Arc::new(stage);
            strategy.pruners =
                vec![Bound { name: "pruner".to_owned(), stage, when, meter: MeterId::OWN }];
        })
    }

    /// A policy with the filter `drop-oldest`, without guards.
    pub fn policy<S: OverflowPolicy + 'static>(
        stage: impl Fn() -> S + Send + Sync + 'static,
    ) -> Self {
        Self::alone(FOLDING, move |strategy| {
            let stage = stage();
            let when = stage.moments().to_vec();
            let stage: Arc<dyn OverflowPolicy> = Arc::new(stage);
            strategy.overflow =
                Some(Bound { name: "policy".to_owned(), stage, when, meter: MeterId::OWN });
        })
    }

    /// A filter with the policy `window-fraction` and extractive summaries, without guards.
    pub fn filter<S: Filter + 'static>(stage: impl Fn() -> S + Send + Sync + 'static) -> Self {
        Self::alone(FOLDING, move |strategy| {
            let stage: Arc<dyn Filter> = Arc::new(stage());
            let name = "filter".to_owned();
            strategy.filter = Some(Bound { name, stage, when: Vec::new(), meter: MeterId::OWN });
        })
    }

    fn alone(more: &str, put: impl Fn(&mut Strategy) + Send + Sync + 'static) -> Self {
        let text = format!("{ALONE}{more}");
        Self::made_by(move |_| {
            let mut strategy = talk::compiled(&linked(), &text);
            strategy.guards = Guards { pairs: false, no_growth: false, ..strategy.guards };
            put(&mut strategy);
            Arc::new(strategy)
        })
    }

    /// Tries the laws under these windows and longest answers, in tokens.
    #[must_use]
    pub fn windows(mut self, windows: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let limits = windows.into_iter().map(|(context, output)| Limits::new(context, output));
        self.windows = limits.collect();
        self
    }

    /// Says that a law is broken, and why: its test then passes as long as it is, and fails once it holds.
    #[must_use]
    pub fn breaks(mut self, law: Law, why: impl Into<String>) -> Self {
        self.breaks.push((law, why.into()));
        self
    }

    /// The strategy for a session.
    pub fn strategy(&self, session: &Session) -> Arc<Strategy> {
        (self.make)(session)
    }

    /// Why a law is known to be broken.
    pub(crate) fn broken(&self, law: Law) -> Option<&str> {
        self.breaks.iter().find(|(broken, _)| *broken == law).map(|(_, why)| why.as_str())
    }

    /// The windows in which the strategy can work.
    pub(crate) fn usable_windows(&self) -> Vec<Limits> {
        let strategy = self.strategy(&Session::default());
        let usable = |limits: &&Limits| strategy.refuses(**limits).is_none();
        self.windows.iter().filter(usable).copied().collect()
    }
}

/// Everything that is linked in, and the stages that no strategy owns.
fn linked() -> Registry {
    let linked = foldback_core::inventory::iter::<Registration>();
    talk::registry(linked.into_iter().chain([&foldback_stages::REGISTRATION]))
}

impl From<&str> for Subject {
    /// A preset by its name.
    fn from(name: &str) -> Self {
        Self::preset(name)
    }
}

impl From<Strategy> for Subject {
    fn from(strategy: Strategy) -> Self {
        Self::from(Arc::new(strategy))
    }
}

impl From<Arc<Strategy>> for Subject {
    /// One strategy for all conversations, so that a test notices state that is carried from one conversation into the next.
    fn from(strategy: Arc<Strategy>) -> Self {
        Self::made_by(move |_| Arc::clone(&strategy))
    }
}
