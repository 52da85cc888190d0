//! The provider of a request, and the client that asks it.

use crate::settings::Settings;
use axum::http::HeaderMap;
use foldback_wire::Dialect;
use reqwest::Url;
use reqwest::redirect::Policy;
use std::time::Duration;

/// How long a connection to a provider may take.
const CONNECT: Duration = Duration::from_secs(15);

/// How long an idle connection is kept. Providers close theirs after a minute or more; a request on one that is being
/// closed would fail.
const IDLE: Duration = Duration::from_secs(20);

/// The providers and the client that asks them.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) http: reqwest::Client,
    given: Option<Url>,
    anthropic: Url,
    openai: Url,
}

impl Upstream {
    /// # Errors
    ///
    /// The certificates of the system can't be read.
    pub(crate) fn new(settings: &Settings) -> Result<Self, reqwest::Error> {
        // An error says that a choice was made before.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            // Another crate may have turned HTTP/2 on.
            .http1_only()
            .pool_idle_timeout(IDLE)
            // The client follows redirects itself, or not.
            .redirect(Policy::none())
            // Bytes go through as they are. Said for each, since another crate may have turned one on.
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .build()?;
        Ok(Self {
            http,
            given: settings.upstream.clone(),
            anthropic: fixed("https://api.anthropic.com"),
            openai: fixed("https://api.openai.com"),
        })
    }

    /// Where a request goes: the address that was given, else that of the protocol, told by the path or by the
    /// headers that only Anthropic's clients send.
    pub(crate) fn url(
        &self,
        dialect: Option<Dialect>,
        headers: &HeaderMap,
        path_and_query: &str,
    ) -> Url {
        let anthropics =
            || headers.contains_key("anthropic-version") || headers.contains_key("x-api-key");
        let base = match (&self.given, dialect) {
            (Some(given), _) => given,
            (None, Some(Dialect::Anthropic)) => &self.anthropic,
            (None, None) if anthropics() => &self.anthropic,
            (None, _) => &self.openai,
        };
        joined(base, path_and_query)
    }
}

/// A base with the path and the query of a request. Base URLs of OpenAI's clients end with `/v1`; where the base does,
/// too, it is there once.
fn joined(base: &Url, path_and_query: &str) -> Url {
    let (path, query) = match path_and_query.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (path_and_query, None),
    };
    let before = base.path().trim_end_matches('/');
    let path = match before.ends_with("/v1") {
        true => path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/')),
        false => None,
    }
    .unwrap_or(path);
    let mut url = base.clone();
    url.set_path(&format!("{before}{path}"));
    url.set_query(query);
    url
}

fn fixed(url: &str) -> Url {
    // A test makes one, so this can't happen in a release.
    Url::parse(url).unwrap_or_else(|error| unreachable!("{url}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_put_behind_its_base() {
        for (base, path, expected) in [
            ("https://a.b", "/v1/messages?beta=true", "https://a.b/v1/messages?beta=true"),
            ("https://a.b/api/", "/v1/messages", "https://a.b/api/v1/messages"),
            ("https://a.b/api/v1", "/v1/chat/completions", "https://a.b/api/v1/chat/completions"),
            ("https://a.b/v1/", "/v1beta/x", "https://a.b/v1/v1beta/x"),
            ("https://a.b", "/a%20b/../c", "https://a.b/c"),
            ("http://a.b:1", "/", "http://a.b:1/"),
        ] {
            assert_eq!(joined(&fixed(base), path).as_str(), expected, "{base} {path}");
        }
    }

    #[test]
    fn the_provider_follows_from_the_protocol() {
        let upstream = Upstream::new(&Settings::default()).unwrap();
        let mut anthropic = HeaderMap::new();
        anthropic.insert("anthropic-version", "2023-06-01".parse().unwrap());
        let none = HeaderMap::new();
        for (dialect, headers, host) in [
            (Some(Dialect::Anthropic), &none, "api.anthropic.com"),
            (Some(Dialect::OpenAiChat), &none, "api.openai.com"),
            (Some(Dialect::OpenAiResponses), &anthropic, "api.openai.com"),
            (None, &anthropic, "api.anthropic.com"),
            (None, &none, "api.openai.com"),
        ] {
            let url = upstream.url(dialect, headers, "/v1/models");
            assert_eq!(url.host_str(), Some(host), "{dialect:?}");
        }
    }
}
