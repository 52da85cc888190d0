//! Where the proxy listens, whom it asks, and what its limits are.

use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderValue, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;

/// Takes a line that whoever runs the proxy should read. None has a key or a content.
pub type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// The address of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub(crate) scheme: Scheme,
    pub(crate) authority: Authority,
    /// The beginning of its paths, without a slash at the end.
    pub(crate) path: String,
    /// User and password of the address, as a header.
    pub(crate) credentials: Option<HeaderValue>,
}

/// The settings of a proxy.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// The address to listen on.
    pub listen: SocketAddr,
    /// The token that clients must send as `x-foldback-token`. An address that other machines reach needs one.
    pub token: Option<String>,
    /// The one provider of all requests; without it, the provider follows from the protocol.
    pub upstream: Option<Address>,
    /// Largest body that is read to be understood, in bytes. A larger one goes through.
    pub max_body: usize,
    /// Most connections at a time. Others wait.
    pub max_connections: usize,
    /// How long all connections may be in use before others are turned away.
    pub queue: Duration,
    /// How long a client may be silent before it has sent a whole request.
    pub patience: Duration,
    /// How long requests under way may take once the proxy is to stop.
    pub grace: Duration,
    /// Takes what the proxy has to say while it runs.
    pub say: Say,
}

/// Settings that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Anybody could use the proxy.
    #[error(
        "other machines reach {0} and could use the proxy; listen on 127.0.0.1, or set a token for clients in FOLDBACK_TOKEN"
    )]
    NoToken(SocketAddr),
    /// No header can carry the token.
    #[error("the token must be printable ASCII without blanks, and not be empty")]
    Token,
    /// Nobody could use the proxy.
    #[error("connections = 0: nobody could use the proxy; it takes 1 or more")]
    NoConnections,
    /// The address of the provider is not valid.
    #[error("upstream {url}: {why}; it looks like https://api.anthropic.com")]
    Upstream {
        /// The given address.
        url: String,
        /// What is wrong.
        why: String,
    },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            token: None,
            upstream: None,
            max_body: 64 << 20,
            max_connections: 1_024,
            queue: Duration::from_secs(5),
            patience: Duration::from_secs(60),
            grace: Duration::from_secs(30),
            say: Arc::new(|_| {}),
        }
    }
}

impl Settings {
    /// Sets the one provider by its address.
    ///
    /// # Errors
    ///
    /// The text is no `http` or `https` URL, or has a query.
    pub fn set_upstream(&mut self, url: &str) -> Result<(), SettingsError> {
        let wrong = |why: String| SettingsError::Upstream { url: url.to_owned(), why };
        let uri = url.parse::<Uri>().map_err(|error| wrong(error.to_string()))?;
        let scheme = uri.scheme().filter(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
        let Some(scheme) = scheme.cloned() else {
            return Err(wrong("is not http or https".to_owned()));
        };
        if url.contains(['?', '#']) {
            return Err(wrong("must not have a query".to_owned()));
        }
        let named = uri.authority().map_or("", Authority::as_str);
        let (user, host) = match named.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, named),
        };
        let authority = host.parse::<Authority>().map_err(|error| wrong(error.to_string()))?;
        if authority.host().is_empty() {
            return Err(wrong("names no machine".to_owned()));
        }
        let credentials = user.map(|user| {
            let mut value = HeaderValue::try_from(format!("Basic {}", STANDARD.encode(user)))?;
            value.set_sensitive(true);
            Ok(value)
        });
        let credentials = credentials
            .transpose()
            .map_err(|error: axum::http::header::InvalidHeaderValue| wrong(error.to_string()))?;
        let path = uri.path().trim_end_matches('/').to_owned();
        self.upstream = Some(Address { scheme, authority, path, credentials });
        Ok(())
    }

    /// Checks that the settings fit together.
    ///
    /// # Errors
    ///
    /// The proxy would be open to others, or to nobody.
    pub fn check(&self) -> Result<(), SettingsError> {
        if self.max_connections == 0 {
            return Err(SettingsError::NoConnections);
        }
        let sendable =
            |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if self.token.as_ref().is_some_and(|token| !sendable(token)) {
            return Err(SettingsError::Token);
        }
        match self.is_local() || self.token.is_some() {
            true => Ok(()),
            false => Err(SettingsError::NoToken(self.listen)),
        }
    }

    /// Whether only this machine reaches the proxy.
    pub fn is_local(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

impl std::fmt::Debug for Settings {
    /// Shows neither the token nor a password in the URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("listen", &self.listen).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_a_token() {
        let remote: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let local: SocketAddr = "[::1]:1".parse().unwrap();
        let rows = [
            (local, None, None),
            (local, Some("t"), None),
            (local, Some("t t"), Some(SettingsError::Token)),
            (local, Some(""), Some(SettingsError::Token)),
            (remote, None, Some(SettingsError::NoToken(remote))),
            (remote, Some("t"), None),
        ];
        for (listen, token, wrong) in rows {
            let token = token.map(str::to_owned);
            let settings = Settings { listen, token, ..Settings::default() };
            assert_eq!(settings.check().err(), wrong, "{listen}");
        }
    }

    #[test]
    fn somebody_must_be_able_to_connect() {
        let settings = Settings { max_connections: 0, ..Settings::default() };
        assert_eq!(settings.check().err(), Some(SettingsError::NoConnections));
    }

    #[test]
    fn an_upstream_is_an_address_without_a_query() {
        for (url, good) in [
            ("https://api.anthropic.com", true),
            ("http://127.0.0.1:1/api/v1", true),
            ("api.anthropic.com", false),
            ("ftp://x", false),
            ("https://x/?key=1", false),
            ("https://x/#a", false),
            ("https://user:pass@x/v1", true),
            ("https:///v1", false),
            ("https://", false),
        ] {
            assert_eq!(Settings::default().set_upstream(url).is_ok(), good, "{url}");
        }
    }
}
