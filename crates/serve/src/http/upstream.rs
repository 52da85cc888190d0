//! The client that asks providers, and the addresses that it asks.

use super::connect::{Connector, is_lost};
use super::headers::MOST as MOST_HEADERS;
use super::provider::Provider;
use crate::settings::{Address, Settings};
use axum::body::{Body, Bytes};
use axum::http::uri::{Authority, PathAndQuery, Scheme};
use axum::http::{HeaderValue, Request, Uri};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use std::time::Duration;

/// How long an idle connection is kept. Providers close theirs after a minute or more; a request on one that is being
/// closed has to be sent again.
const IDLE: Duration = Duration::from_secs(20);

/// Idle connections that are kept for each provider.
pub(crate) const MOST_IDLE: usize = 64;

/// What a provider answered.
pub(crate) type Answer = axum::http::Response<Body>;

/// The providers and the clients that ask them.
#[derive(Debug)]
pub(crate) struct Upstream {
    pooled: Client<Connector, Body>,
    /// The client whose connections are used once.
    fresh: Client<Connector, Body>,
    given: Option<Address>,
}

impl std::fmt::Debug for Connector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connector")
    }
}

/// Where a request goes.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) uri: Uri,
    /// User and password in the provider's address, for requests without a key.
    pub(crate) credentials: Option<HeaderValue>,
}

impl Target {
    /// The provider's address, as an error may name it: without a key, a path or a query.
    pub(crate) fn address(&self) -> String {
        let scheme = self.uri.scheme_str().unwrap_or_default();
        let authority = self.uri.authority().map_or("", Authority::as_str);
        format!("{scheme}://{authority}")
    }
}

impl Upstream {
    /// # Errors
    ///
    /// The certificates of the system can't be read.
    pub(crate) fn new(settings: &Settings) -> Result<Self, rustls::Error> {
        let connector = Connector::new()?;
        let mut builder = Client::builder(TokioExecutor::new());
        builder.http1_max_headers(MOST_HEADERS).pool_timer(TokioTimer::new());
        let fresh = builder.pool_max_idle_per_host(0).build(connector.clone());
        builder.pool_max_idle_per_host(MOST_IDLE).pool_idle_timeout(IDLE);
        let pooled = builder.build(connector);
        Ok(Self { pooled, fresh, given: settings.upstream.clone() })
    }

    /// Whether one provider gets all requests.
    pub(crate) fn is_given(&self) -> bool {
        self.given.is_some()
    }

    /// Where a request with this path and query goes: to the address that was given, else to its provider's. `None`
    /// if there is neither, or if no address can hold the path.
    pub(crate) fn target(
        &self,
        provider: Option<Provider>,
        path_and_query: &str,
    ) -> Option<Target> {
        match &self.given {
            Some(Address { scheme, authority, path, credentials }) => Some(Target {
                uri: joined(scheme.clone(), authority.clone(), path, path_and_query)?,
                credentials: credentials.clone(),
            }),
            None => {
                let authority = Authority::from_static(provider?.host());
                let uri = joined(Scheme::HTTPS, authority, "", path_and_query)?;
                Some(Target { uri, credentials: None })
            }
        }
    }

    /// Sends a request with a complete body. If the provider closes a reused connection without an answer, the request
    /// is sent once more on a fresh one.
    pub(crate) async fn ask(&self, request: Request<Bytes>) -> Result<Answer, Error> {
        let again = request.clone();
        let answer = match self.pooled.request(request.map(Body::from)).await {
            Err(error) if is_lost(&error) => self.fresh.request(again.map(Body::from)).await,
            answer => answer,
        };
        Ok(answer?.map(Body::new))
    }

    /// Sends a request with a streamed body. It can't be repeated, so it gets a fresh connection.
    pub(crate) async fn stream(&self, request: Request<Body>) -> Result<Answer, Error> {
        Ok(self.fresh.request(request).await?.map(Body::new))
    }
}

/// An address with the path and the query of a request, byte for byte. Base URLs of OpenAI's clients end with `/v1`;
/// where the address does, too, it is there once.
fn joined(scheme: Scheme, authority: Authority, before: &str, asked: &str) -> Option<Uri> {
    let end = asked.find('?').unwrap_or(asked.len());
    let (path, query) = asked.split_at(end);
    let path = match before.ends_with("/v1") {
        true => path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/')),
        false => None,
    }
    .unwrap_or(path);
    let path = PathAndQuery::try_from(format!("{before}{path}{query}")).ok()?;
    Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_behind_its_base_byte_for_byte() {
        for (base, path, expected) in [
            ("https://a.b", "/v1/messages?beta=true", "https://a.b/v1/messages?beta=true"),
            ("https://a.b/api/", "/v1/messages", "https://a.b/api/v1/messages"),
            ("https://a.b/api/v1", "/v1/chat/completions", "https://a.b/api/v1/chat/completions"),
            ("https://a.b/v1/", "/v1beta/x", "https://a.b/v1/v1beta/x"),
            ("https://a.b/v1", "/v1?x=/v1", "https://a.b/v1?x=/v1"),
            ("https://a.b", "/a%20b/../c", "https://a.b/a%20b/../c"),
            ("https://a.b", "/./a//b/%2e%2E/c/", "https://a.b/./a//b/%2e%2E/c/"),
            ("https://a.b", r"/a\b?c\d", r"https://a.b/a\b?c\d"),
            ("https://a.b", "/it's\"?q='x'&p=|^`", "https://a.b/it's\"?q='x'&p=|^`"),
            ("https://a.b", "/x?", "https://a.b/x?"),
            ("https://a.b", "/x?a?b", "https://a.b/x?a?b"),
            ("http://a.b:1", "/", "http://a.b:1/"),
        ] {
            let mut settings = Settings::default();
            settings.set_upstream(base).unwrap();
            let upstream = Upstream::new(&settings).unwrap();
            let target = upstream.target(None, path).unwrap();
            assert_eq!(target.uri.to_string(), expected, "{base} {path}");
        }
    }

    #[test]
    fn an_address_is_named_without_a_key_and_a_path() {
        let mut settings = Settings::default();
        settings.set_upstream("https://user:pass@a.b:8/secret").unwrap();
        let target = Upstream::new(&settings).unwrap().target(None, "/x?key=1").unwrap();
        assert_eq!(target.address(), "https://a.b:8");
        assert_eq!(target.credentials.unwrap(), "Basic dXNlcjpwYXNz");
    }

    #[test]
    fn without_an_address_the_provider_is_asked_and_nobody_else() {
        let upstream = Upstream::new(&Settings::default()).unwrap();
        let target =
            |provider| upstream.target(provider, "/v1/models?a").map(|to| to.uri.to_string());
        assert_eq!(
            target(Some(Provider::Anthropic)).unwrap(),
            "https://api.anthropic.com/v1/models?a"
        );
        assert_eq!(target(Some(Provider::OpenAi)).unwrap(), "https://api.openai.com/v1/models?a");
        assert_eq!(
            target(Some(Provider::Gemini)).unwrap(),
            "https://generativelanguage.googleapis.com/v1/models?a"
        );
        assert_eq!(target(None), None);
    }
}
