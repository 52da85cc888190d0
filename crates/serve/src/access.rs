//! Who may use the proxy.
//!
//! On a loopback address any program of this machine may. A page in a browser must not: by a name that resolves to
//! this machine it could reach the proxy, so the name in `Host` must be one of this machine's. With a token, every
//! request must carry it.

use crate::headers::TOKEN;
use crate::settings::Settings;
use axum::http::HeaderMap;
use axum::http::header::HOST;
use std::net::IpAddr;

/// Decides who may use the proxy.
pub(crate) struct Access {
    local: bool,
    /// Hashed: comparing hashes takes the same time whatever is wrong.
    token: Option<blake3::Hash>,
}

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The token is missing or another.
    Token,
    /// The host is not this machine.
    Host,
}

impl Refused {
    /// The answer's status.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Token => 401,
            Self::Host => 421,
        }
    }

    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Host => "host",
        }
    }

    /// The answer's text.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Token => "this proxy needs a token: send it as the header x-foldback-token",
            Self::Host => {
                "this proxy answers at 127.0.0.1 and localhost only; to use another name, start it with --allow-remote and --token"
            }
        }
    }
}

impl Access {
    pub(crate) fn new(settings: &Settings) -> Self {
        let token = settings.token.as_ref().map(|token| blake3::hash(token.as_bytes()));
        Self { local: settings.is_local() && !settings.allow_remote, token }
    }

    /// Whether a request may be answered.
    pub(crate) fn check(&self, headers: &HeaderMap) -> Result<(), Refused> {
        if self.local && !headers.get(HOST).is_none_or(|host| is_this_machine(host.as_bytes())) {
            return Err(Refused::Host);
        }
        let Some(token) = self.token else { return Ok(()) };
        let given = headers.get(TOKEN).map(|given| blake3::hash(given.as_bytes()));
        // The comparison of hashes is in constant time.
        if given == Some(token) { Ok(()) } else { Err(Refused::Token) }
    }
}

/// Whether a `Host` header, with or without port, names this machine.
fn is_this_machine(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_loopback = |address: IpAddr| address.is_loopback();
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_another_machine_is_refused() {
        for (host, ours) in [
            ("127.0.0.1:8787", true),
            ("localhost", true),
            ("LocalHost:1", true),
            ("[::1]:8787", true),
            ("127.8.9.1", true),
            ("evil.example:8787", false),
            ("localhost.evil.example", false),
            ("10.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(is_this_machine(host.as_bytes()), ours, "{host}");
        }
    }

    #[test]
    fn a_token_is_needed_where_one_is_set() {
        let token = Some("abc".to_owned());
        let access = Access::new(&Settings { token, ..Settings::default() });
        for (given, refused) in [(Some("abc"), false), (Some("abd"), true), (None, true)] {
            let mut headers = HeaderMap::new();
            if let Some(given) = given {
                headers.insert(TOKEN, given.parse().unwrap());
            }
            assert_eq!(access.check(&headers) == Err(Refused::Token), refused, "{given:?}");
        }
    }
}
