//! Which headers a proxy passes on.
//!
//! Headers of one connection stay on it (RFC 9110, 7.6.1): those with such a name and those that `Connection` names.
//! `Host` is the provider's. The length goes along where the body does unchanged.

use axum::http::header::{
    CONNECTION, EXPECT, HOST, HeaderMap, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};

/// The header by which a client shows that it may use the proxy. It never reaches a provider.
pub(crate) const TOKEN: HeaderName = HeaderName::from_static("x-foldback-token");

/// The header by which a harness names the unit of a trial. It never reaches a provider.
pub(crate) const UNIT: HeaderName = HeaderName::from_static("x-foldback-unit");

/// The name of a conversation in the file of the trial.
pub(crate) const CONVERSATION: HeaderName = HeaderName::from_static("x-foldback-conversation");

/// Most headers of a request or of an answer.
pub(crate) const MOST: usize = 4_096;

/// Most headers of a request that are read, so that one with too many can be told how many it has. More are refused by
/// the parser of HTTP.
pub(crate) const READ: usize = 2 * MOST;

/// What the proxy did with a request.
pub(crate) const OUTCOME: HeaderName = HeaderName::from_static("x-foldback");

/// Headers of a request for its provider.
pub(crate) fn of_request(headers: &HeaderMap) -> HeaderMap {
    let mut out = end_to_end(headers);
    for name in [HOST, EXPECT, TOKEN, UNIT] {
        out.remove(name);
    }
    out
}

/// Headers of an answer for the client.
pub(crate) fn of_answer(headers: &HeaderMap) -> HeaderMap {
    end_to_end(headers)
}

fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let mut out = headers.clone();
    let named = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    for name in named.flat_map(|names| names.split(',')) {
        out.remove(name.trim());
    }
    for name in [
        CONNECTION,
        HeaderName::from_static("keep-alive"),
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        HeaderName::from_static("proxy-connection"),
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
    ] {
        out.remove(name);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_a_connection_stay_on_it() {
        let rows = [
            ("host", "127.0.0.1"),
            ("connection", "keep-alive, X-Mine"),
            ("x-mine", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "websocket"),
            ("expect", "100-continue"),
            ("x-foldback-token", "secret"),
            ("x-foldback-unit", "task-1"),
            ("authorization", "Bearer k"),
            ("accept-encoding", "gzip"),
            ("content-length", "3"),
            ("anthropic-beta", "a"),
            ("anthropic-beta", "b"),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in rows {
            headers.append(HeaderName::from_static(name), value.parse().unwrap());
        }
        let kept = of_request(&headers);
        let kept: Vec<(&str, &str)> =
            kept.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let mut expected = rows[10..].to_vec();
        expected.sort_unstable();
        let mut kept = kept;
        kept.sort_unstable();
        assert_eq!(kept, expected);
        assert!(of_answer(&headers).contains_key("x-foldback-token"));
    }
}
