//! What the proxy did with a request, as the client is told and as it is counted.

use foldback_wire::Dialect;

/// What the proxy did with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It went through, because there was nothing to understand.
    Passed(&'static str),
    /// The provider did not answer.
    Unreachable,
}

impl Outcome {
    /// The word for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed(_) => "passed",
            Self::Unreachable => "unreachable",
        }
    }

    /// The reason, where there is one.
    pub(crate) fn why(self) -> &'static str {
        match self {
            Self::Passed(why) => why,
            Self::Unreachable => "",
        }
    }

    /// The value of the header `x-foldback`.
    pub(crate) fn header(self) -> String {
        match self.why() {
            "" => self.name().to_owned(),
            why => format!("{}; why={why}", self.name()),
        }
    }
}

/// The name of a protocol in metrics.
pub(crate) fn protocol(dialect: Option<Dialect>) -> &'static str {
    match dialect {
        Some(Dialect::Anthropic) => "anthropic",
        Some(Dialect::OpenAiChat) => "openai-chat",
        Some(Dialect::OpenAiResponses) => "openai-responses",
        Some(Dialect::Gemini) => "gemini",
        None => "none",
    }
}
