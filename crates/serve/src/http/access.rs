//! Who may use the proxy.
//!
//! On a loopback address any program of this machine may. A page in a browser must not. By a name that resolves to
//! this machine it could reach the proxy, so the name in `Host` must be one of this machine's. It could also post a
//! form or plain text to the proxy's own name, which needs no permission; but browsers state where such a request
//! comes from (`Origin`, `Sec-Fetch-Site`), and only the proxy's own page and a person who types the address may ask.
//! With a token, every request must carry it.

use super::headers::TOKEN;
use crate::settings::Settings;
use axum::http::HeaderMap;
use axum::http::header::{HOST, HeaderName, ORIGIN};
use std::net::IpAddr;

/// The site from which a browser sends a request.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

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
    /// Another page sends it.
    Page,
}

impl Refused {
    /// The answer's status.
    pub(crate) fn status(self) -> u16 {
        match self {
            Self::Token => 401,
            Self::Host => 421,
            Self::Page => 403,
        }
    }

    /// The name in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Host => "host",
            Self::Page => "page",
        }
    }

    /// The answer's text.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Token => "this proxy needs a token: send it as the header x-foldback-token",
            Self::Host => {
                "this proxy answers at 127.0.0.1 and localhost only; to use another name, set FOLDBACK_TOKEN where it starts"
            }
            Self::Page => {
                "a page in a browser can't use this proxy: the request has a foreign Origin, or is from another site \
                 (Sec-Fetch-Site). To see the proxy's own page, type its address"
            }
        }
    }
}

impl Access {
    pub(crate) fn new(settings: &Settings) -> Self {
        let token = settings.token.as_ref().map(|token| blake3::hash(token.as_bytes()));
        // Without a token the name is all that keeps out a page whose name was made to resolve to this machine.
        Self { local: settings.is_local() && token.is_none(), token }
    }

    /// Whether a request is from no page, or from the proxy's own. Everything needs this.
    pub(crate) fn check_page(headers: &HeaderMap) -> Result<(), Refused> {
        let own = headers.get(HOST).map(|host| host.as_bytes());
        let is_own = |origin: &[u8]| {
            let authority = [&b"http://"[..], b"https://"]
                .iter()
                .find_map(|scheme| origin.strip_prefix(*scheme));
            authority
                .is_some_and(|authority| own.is_some_and(|own| own.eq_ignore_ascii_case(authority)))
        };
        let is_here = |site: &[u8]| matches!(site, b"same-origin" | b"none");
        let origins = headers.get_all(ORIGIN).iter().all(|origin| is_own(origin.as_bytes()));
        let sites = headers.get_all(FETCH_SITE).iter().all(|site| is_here(site.as_bytes()));
        if origins && sites { Ok(()) } else { Err(Refused::Page) }
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
    fn only_the_own_page_is_answered() {
        let rows = [
            ("", "", true),
            ("http://127.0.0.1:8787", "same-origin", true),
            ("HTTP://127.0.0.1:8787", "", false),
            ("https://127.0.0.1:8787", "", true),
            ("", "none", true),
            ("", "same-origin", true),
            ("", "cross-site", false),
            // Another program of this machine has its page there.
            ("", "same-site", false),
            ("", "Cross-Site", false),
            ("", "unheard-of", false),
            ("null", "", false),
            ("http://evil.example", "", false),
            ("http://localhost:8787", "", false),
            ("http://127.0.0.1:3000", "same-site", false),
            ("http://127.0.0.1:8787.evil.example", "", false),
            ("http://127.0.0.1:8787@evil.example", "", false),
            ("http://127.0.0.1", "", false),
            ("vscode-webview://x", "", false),
            ("http://127.0.0.1:8787", "cross-site", false),
            ("http://evil.example", "same-origin", false),
        ];
        for (origin, site, answered) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "127.0.0.1:8787".parse().unwrap());
            for (name, value) in [(ORIGIN, origin), (FETCH_SITE, site)] {
                if !value.is_empty() {
                    headers.append(name, value.parse().unwrap());
                }
            }
            assert_eq!(Access::check_page(&headers).is_ok(), answered, "{origin}, {site}");
        }
        // Without a host nothing is the own page, and one of two is enough to be foreign.
        let mut headers = HeaderMap::new();
        headers.append(ORIGIN, "http://127.0.0.1:8787".parse().unwrap());
        assert!(Access::check_page(&headers).is_err());
        headers.insert(HOST, "127.0.0.1:8787".parse().unwrap());
        headers.append(ORIGIN, "http://evil.example".parse().unwrap());
        assert!(Access::check_page(&headers).is_err());
    }

    #[test]
    fn another_name_is_good_only_where_a_token_is_needed() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "evil.example:8787".parse().unwrap());
        headers.insert(TOKEN, "abc".parse().unwrap());
        let remote = std::net::SocketAddr::from(([0, 0, 0, 0], 8787));
        let local = Settings::default().listen;
        for (listen, token, refused) in
            [(local, None, true), (local, Some("abc"), false), (remote, Some("abc"), false)]
        {
            let token = token.map(str::to_owned);
            let settings = Settings { listen, token, ..Settings::default() };
            let given = Access::new(&settings).check(&headers);
            assert_eq!(given == Err(Refused::Host), refused, "{listen}");
            assert_eq!(given.is_ok(), !refused, "{listen}");
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
