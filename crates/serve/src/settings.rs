//! Where the proxy listens, whom it asks, and what its limits are.

use reqwest::Url;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;
use thiserror::Error;

/// The settings of a proxy.
#[derive(Clone)]
#[non_exhaustive]
pub struct Settings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Whether it may listen on an address that other machines reach. It needs a token then.
    pub allow_remote: bool,
    /// What clients must send as `x-foldback-token`.
    pub token: Option<String>,
    /// The one provider of all requests; without it, the provider follows from the protocol.
    pub upstream: Option<Url>,
    /// Largest body that is read to be understood, in bytes. A larger one goes through.
    pub max_body: usize,
    /// Most connections at a time. Others wait.
    pub max_connections: usize,
    /// How long requests under way may take once the proxy is to stop.
    pub grace: Duration,
}

/// Settings that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// Other machines would reach it.
    #[error(
        "{0} is reached from other machines, which could use the proxy; listen on 127.0.0.1, or say --allow-remote and \
         set --token"
    )]
    Remote(SocketAddr),
    /// Anybody could use it.
    #[error(
        "--allow-remote needs --token: without one, every machine that reaches {0} could use the proxy"
    )]
    NoToken(SocketAddr),
    /// No header can carry it.
    #[error("the token must be printable ASCII without blanks, and not be empty")]
    Token,
    /// The address of the provider is none.
    #[error("upstream {url}: {why}; it looks like https://api.anthropic.com")]
    Upstream {
        /// As it was given.
        url: String,
        /// What is wrong.
        why: String,
    },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8787)),
            allow_remote: false,
            token: None,
            upstream: None,
            max_body: 64 << 20,
            max_connections: 1_024,
            grace: Duration::from_secs(30),
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
        let parsed = Url::parse(url).map_err(|error| wrong(error.to_string()))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(wrong("is not http or https".to_owned()));
        }
        if parsed.query().is_some() || parsed.fragment().is_some() {
            return Err(wrong("must not have a query".to_owned()));
        }
        self.upstream = Some(parsed);
        Ok(())
    }

    /// Checks what belongs together.
    ///
    /// # Errors
    ///
    /// The proxy would be open to others.
    pub fn check(&self) -> Result<(), SettingsError> {
        let sendable =
            |token: &String| !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic());
        if self.token.as_ref().is_some_and(|token| !sendable(token)) {
            return Err(SettingsError::Token);
        }
        match (self.is_local(), self.allow_remote, &self.token) {
            (true, ..) | (false, true, Some(_)) => Ok(()),
            (false, false, _) => Err(SettingsError::Remote(self.listen)),
            (false, true, None) => Err(SettingsError::NoToken(self.listen)),
        }
    }

    /// Whether only this machine reaches it.
    pub fn is_local(&self) -> bool {
        self.listen.ip().is_loopback()
    }
}

impl std::fmt::Debug for Settings {
    /// Without the token, and without a password in the URL.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("listen", &self.listen).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_leave_and_a_token() {
        let remote: SocketAddr = "0.0.0.0:1".parse().unwrap();
        let local: SocketAddr = "[::1]:1".parse().unwrap();
        let rows = [
            (local, false, None, None),
            (local, true, None, None),
            (local, false, Some("t"), None),
            (local, false, Some("t t"), Some(SettingsError::Token)),
            (local, false, Some(""), Some(SettingsError::Token)),
            (remote, false, None, Some(SettingsError::Remote(remote))),
            (remote, false, Some("t"), Some(SettingsError::Remote(remote))),
            (remote, true, None, Some(SettingsError::NoToken(remote))),
            (remote, true, Some("t"), None),
        ];
        for (listen, allow_remote, token, wrong) in rows {
            let token = token.map(str::to_owned);
            let settings = Settings { listen, allow_remote, token, ..Settings::default() };
            assert_eq!(settings.check().err(), wrong, "{listen}, {allow_remote}");
        }
    }

    #[test]
    fn an_upstream_is_an_address_without_a_query() {
        for (url, good) in [
            ("https://api.anthropic.com", true),
            ("http://127.0.0.1:1/api/v1", true),
            ("api.anthropic.com", false),
            ("ftp://x", false),
            ("https://x/?key=1", false),
        ] {
            assert_eq!(Settings::default().set_upstream(url).is_ok(), good, "{url}");
        }
    }
}
