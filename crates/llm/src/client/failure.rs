//! Why a request failed, in the terms of the core.

use super::answer::{Wrong, wrong};
use super::provider::Target;
use foldback_core::provider::{Endpoint, ErrorKind, ProviderError};
use foldback_provider_errors::Classifier;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::error::Error as _;
use std::time::Duration;

/// Longest text taken over from a provider, in characters.
const LONGEST: usize = 1_000;

/// Reads failures of requests to one endpoint.
pub(crate) struct Failures<'c> {
    pub(crate) target: &'c Target,
    pub(crate) endpoint: &'c Endpoint,
    pub(crate) classifier: &'c Classifier,
}

impl Failures<'_> {
    /// An error of the client library. Its own texts are not used: they hold the whole request.
    pub(crate) fn library(&self, error: genai::Error) -> ProviderError {
        use genai::Error;
        let error = match error {
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                self.web(webc_error)
            }
            Error::HttpError { status, body, headers, .. } => {
                self.refused(status.as_u16(), &body, &headers)
            }
            Error::ChatResponseGeneration { response_body, cause, .. } => {
                self.unreadable(&response_body, &cause)
            }
            other => ProviderError::new(ErrorKind::InvalidRequest, other.to_string()),
        };
        self.scrubbed(error)
    }

    /// A body that came with status 200 and is no answer: an error of a gateway, another protocol.
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

    /// No whole answer within the time that was allowed.
    pub(crate) fn late(&self, timeout: Duration) -> ProviderError {
        ProviderError::new(
            ErrorKind::Timeout,
            format!(
                "no answer from {} within {timeout:?}; `timeout_seconds` in [summarizer] is how long one may take",
                self.target.shown(),
            ),
        )
    }

    /// The error without the key, and not longer than need be.
    fn scrubbed(&self, mut error: ProviderError) -> ProviderError {
        error.message = shortened(&self.target.scrub(&error.message));
        error.code = error.code.map(|code| self.target.scrub(&code));
        error
    }

    fn web(&self, error: genai::webc::Error) -> ProviderError {
        use genai::webc::Error;
        let at = self.target.shown();
        let decode = |message: String| ProviderError::new(ErrorKind::Decode, message);
        match error {
            Error::ResponseFailedStatus { status, body, headers } => {
                self.refused(status.as_u16(), &body, &headers)
            }
            Error::ResponseFailedNotJson { content_type, body } => decode(format!(
                "{at} answered with `{content_type}` instead of JSON (is `base_url` right?): {body}"
            )),
            Error::ResponseFailedInvalidJson { cause, body } => {
                decode(format!("{at} answered with JSON that can't be read ({cause}): {body}"))
            }
            Error::JsonValueExt(error) => decode(error.to_string()),
            Error::Reqwest(error) => self.broken(error),
        }
    }

    /// A request that got no whole answer.
    fn broken(&self, error: reqwest::Error) -> ProviderError {
        let error = error.without_url();
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(inner) = cause {
            text = format!("{text}: {inner}");
            cause = inner.source();
        }
        let at = self.target.shown();
        let (kind, message) = if error.is_timeout() {
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
    fn refused(&self, status: u16, body: &str, headers: &HeaderMap) -> ProviderError {
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

    fn unreadable(&self, body: &Value, cause: &str) -> ProviderError {
        self.body(body).unwrap_or_else(|| {
            ProviderError::new(
                ErrorKind::Decode,
                format!("the answer of {} can't be read: {cause}", self.target.shown()),
            )
        })
    }

    fn classified(&self, status: u16, body: &str) -> ProviderError {
        // Before anything is cut off: half a key is not recognised any more.
        let body = self.target.scrub(body);
        self.classifier.classify(self.target.known_as(), Some(status), &body)
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
