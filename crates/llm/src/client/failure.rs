//! Why a request failed, in the terms of the core.

use super::answer::{Wrong, wrong};
use super::provider::Target;
use foldback_core::provider::{Endpoint, ErrorKind, ProviderError};
use foldback_providers::errors::Classifier;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde_json::Value;
use std::error::Error as _;
use std::time::Duration;

/// The variable that raises the limit of an answer, in bytes.
pub(crate) const VARIABLE: &str = "FOLDBACK_MAX_ANSWER_BYTES";

/// Longest text taken over from a provider, in characters.
const LONGEST: usize = 1_000;

/// The type of bodies that are read.
pub(crate) const JSON: &str = "application/json";

/// Reads failures of requests to one endpoint.
pub(crate) struct Failures<'c> {
    pub(crate) target: &'c Target,
    pub(crate) endpoint: &'c Endpoint,
}

impl Failures<'_> {
    /// A body with status 200 that is no answer: an error of a gateway, or another protocol.
    pub(crate) fn body(&self, body: &Value) -> Option<ProviderError> {
        let error = match wrong(self.target.protocol, body)? {
            Wrong::Error => self.classified(200, &body.to_string()),
            Wrong::Refused(error) => error,
        };
        Some(self.scrubbed(error))
    }

    /// A request without a library around it.
    pub(crate) fn transport(&self, error: reqwest::Error) -> ProviderError {
        self.scrubbed(self.broken(error))
    }

    /// A body with status 200 that is not JSON.
    pub(crate) fn unreadable(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        cause: &str,
    ) -> ProviderError {
        let at = self.target.shown();
        let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("");
        let (kind, encoding) = (header(CONTENT_TYPE), header(CONTENT_ENCODING));
        let body = String::from_utf8_lossy(body);
        let problem = if !encoding.is_empty() && encoding != "identity" {
            format!("{at} answered with a body packed as `{encoding}`, which nobody asked for")
        } else if kind.starts_with(JSON) {
            format!("{at} answered with JSON that can't be read ({cause}): {body}")
        } else {
            format!("{at} answered with `{kind}` instead of JSON (is `base_url` right?): {body}")
        };
        self.scrubbed(ProviderError::new(ErrorKind::Decode, problem))
    }

    /// An answer that is longer than the limit.
    pub(crate) fn too_long(&self, largest: u64) -> ProviderError {
        let at = self.target.shown();
        let problem = format!(
            "the answer of {at} has more than {largest} bytes; {VARIABLE} raises the limit"
        );
        ProviderError::new(ErrorKind::Decode, problem)
    }

    /// No complete answer within the time limit.
    pub(crate) fn late(&self, timeout: Duration) -> ProviderError {
        ProviderError::new(
            ErrorKind::Timeout,
            format!(
                "no answer from {} within {timeout:?}; `timeout_seconds` in [summarizer] is how long one may take",
                self.target.shown(),
            ),
        )
    }

    /// The error without the key, cut.
    fn scrubbed(&self, mut error: ProviderError) -> ProviderError {
        error.message = shortened(&self.target.scrub(&error.message));
        error.code = error.code.map(|code| self.target.scrub(&code));
        error
    }

    /// A request that got no complete answer.
    fn broken(&self, error: reqwest::Error) -> ProviderError {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        let at = self.target.shown();
        let (kind, message) = if error.is_timeout() && !error.is_connect() {
            (ErrorKind::Timeout, format!("{at} did not answer: {text}"))
        } else if error.is_builder() {
            (ErrorKind::InvalidRequest, format!("the request to {at} can't be built: {text}"))
        } else if error.is_connect() {
            (
                ErrorKind::Transport,
                format!(
                    "{at} can't be reached ({text}): start the server, or set `base_url` in [summarizer] to its address"
                ),
            )
        } else {
            (ErrorKind::Transport, format!("the connection to {at} was cut: {text}"))
        };
        ProviderError::new(kind, message)
    }

    /// A request that was answered with an error.
    pub(crate) fn refused(&self, status: u16, body: &[u8], headers: &HeaderMap) -> ProviderError {
        self.scrubbed(self.of_answer(status, &String::from_utf8_lossy(body), headers))
    }

    fn of_answer(&self, status: u16, body: &str, headers: &HeaderMap) -> ProviderError {
        let mut error = self.classified(status, body);
        if let Some(wait) = retry_after(headers) {
            error.retry_after = Some(wait);
        }
        if error.kind == ErrorKind::Auth {
            let advice = match self.target.variable(self.endpoint) {
                Some(variable) => format!("check the key in the variable {variable}"),
                None => "name the variable that holds the key in `key_variable` of [summarizer]"
                    .to_owned(),
            };
            error.message = format!("{}; {advice}", shortened(&error.message));
        }
        error
    }

    fn classified(&self, status: u16, body: &str) -> ProviderError {
        // Before anything is cut off: half a key is not recognized any more.
        let body = self.target.scrub(body);
        Classifier::builtin().classify(self.target.known_as(), Some(status), &body)
    }
}

/// How long the provider asks to wait: `retry-after-ms`, or `retry-after` in seconds. A date is not
/// read, since that would take a clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| {
        let text = headers.get(name)?.to_str().ok()?;
        text.trim().parse::<f64>().ok()
    };
    let seconds = number("retry-after-ms")
        .map(|millis| millis / 1_000.0)
        .or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{} […]", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_that_providers_ask_for() {
        let table = [
            (vec![("retry-after", "7")], Some(7_000)),
            (vec![("retry-after", "0.5")], Some(500)),
            (vec![("retry-after", "7"), ("retry-after-ms", "1250")], Some(1_250)),
            (vec![("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], None),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "inf")], None),
            (vec![], None),
        ];
        for (given, millis) in table {
            let mut headers = HeaderMap::new();
            for (name, value) in &given {
                headers.insert(*name, value.parse().unwrap());
            }
            assert_eq!(retry_after(&headers), millis.map(Duration::from_millis), "{given:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let long = "ä".repeat(LONGEST + 1);
        assert_eq!(shortened(&long), format!("{} […]", "ä".repeat(LONGEST)));
        let fits = "ä".repeat(LONGEST);
        assert_eq!(shortened(&fits), fits);
    }
}
