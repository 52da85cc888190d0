//! How a request was handled, for the client and for the metrics.

use foldback_live::follow::Sizes;
use foldback_providers::wire::Dialect;

/// What the proxy did with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The request went through, because there was nothing to understand or nothing to do.
    Passed(&'static str),
    /// The request was followed and went through, because nothing is folded.
    Unchanged(Sizes),
    /// The provider was sent what the view shows.
    Folded(Sizes),
    /// The provider refused the request for its size and was sent it again after a fold.
    Recovered(Sizes),
    /// The request went through; the sizes say what would have been sent.
    Shadow(Sizes),
    /// The request went through, because the proxy failed.
    Fault(&'static str),
    /// The provider did not answer.
    Unreachable,
}

impl Outcome {
    /// The outcome's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Unchanged(_) => "unchanged",
            Self::Folded(_) => "folded",
            Self::Recovered(_) => "recovered",
            Self::Shadow(_) => "shadow",
            Self::Fault(_) => "fault",
            Self::Unreachable => "unreachable",
        }
    }

    /// The reason; empty if there is none.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Passed(why) | Self::Fault(why) => why,
            _ => "",
        }
    }

    /// The sizes of a request that was followed.
    pub(crate) fn sizes(self) -> Option<Sizes> {
        match self {
            Self::Unchanged(sizes)
            | Self::Folded(sizes)
            | Self::Recovered(sizes)
            | Self::Shadow(sizes) => Some(sizes),
            Self::Passed(_) | Self::Fault(_) | Self::Unreachable => None,
        }
    }

    /// The value of the header `x-foldback`.
    pub(crate) fn header(self) -> String {
        let name = self.name();
        match (self.sizes(), self.why()) {
            (Some(Sizes { received, sent, folds }), _) => {
                format!("{name}; received={received}; sent={sent}; folds={folds}")
            }
            (None, "") => name.to_owned(),
            (None, why) => format!("{name}; why={why}"),
        }
    }
}

/// The name of a protocol in metrics.
pub(crate) fn protocol(dialect: Option<Dialect>) -> &'static str {
    dialect.map_or("none", Dialect::as_str)
}
