//! The list of laws.

use strum::IntoStaticStr;

/// A law that every strategy keeps; a test of the same name checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr)]
#[non_exhaustive]
#[strum(serialize_all = "snake_case")]
pub enum Law {
    /// The strategy changes the view in some session. If it never does, the other laws say nothing.
    Acts,
    /// No request breaks a rule of any provider that the log does not break by itself, no message is sent twice, and no
    /// guard had to keep a call and its result together.
    ValidInEveryDialect,
    /// The log is what was appended, and so are the token counts that come with its messages.
    LogUntouched,
    /// A strategy that is asked again at the same moment, with nothing new, changes nothing. A person may compact twice. Where a request was
    /// refused and only pruners acted, a second refusal is something new: there may be a fold then.
    IdempotentWhereNothingChanged,
    /// A change makes the view smaller; a refused or failed one changes nothing. A compaction that a person asks for may
    /// leave the view as large as it was.
    SmallerOrRefused,
    /// What users pin is in every request, word for word, and carried over only where nothing else says it.
    Pins,
    /// Undoing the folds of a moment gives the view from before it, and undoing all folds gives the log.
    UndoRestores,
    /// The same session gives the same requests, whatever the strategy has seen in between.
    Deterministic,
    /// The cost of a call does not grow with the session.
    CostPerCallFlat,
    /// Later messages change nothing that was sent before them.
    BlindToTheFuture,
    /// In a session that does not end, what changes the view goes on freeing room: never so many folds in a row are
    /// without effect that the breaker stops them, what is freed does not dwindle, and folds keep the view within the
    /// window.
    KeepsFreeing,
    /// Nothing panics where a view is filled at once: by an answer with many calls, or by one message that is larger than the window.
    NeverPanics,
}

impl Law {
    /// Every law.
    pub const ALL: [Self; 12] = [
        Self::Acts,
        Self::ValidInEveryDialect,
        Self::LogUntouched,
        Self::IdempotentWhereNothingChanged,
        Self::SmallerOrRefused,
        Self::Pins,
        Self::UndoRestores,
        Self::Deterministic,
        Self::CostPerCallFlat,
        Self::BlindToTheFuture,
        Self::KeepsFreeing,
        Self::NeverPanics,
    ];

    /// Name of the law, and of the test that checks it.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
