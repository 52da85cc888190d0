//! What all requests share, and the way of one through the proxy.

use crate::access::Access;
use crate::forward::{Ask, Gathered, Pieces, answered, failure, gather, unreachable};
use crate::numbers::Numbers;
use crate::outcome::Outcome;
use crate::settings::Settings;
use crate::upstream::Upstream;
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method};
use axum::response::{IntoResponse, Response};
use foldback_wire::Dialect;
use futures_util::stream::StreamExt as _;
use std::sync::Arc;

/// What all requests share.
pub(crate) struct App {
    settings: Settings,
    access: Access,
    upstream: Upstream,
    pub(crate) numbers: Arc<Numbers>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The protocol of a request. Only a conversation that is to be answered has one: counts of tokens, models and
/// everything else goes through.
fn dialect(method: &Method, path: &str) -> Option<Dialect> {
    if method != Method::POST {
        return None;
    }
    let ends = [
        ("/messages", Dialect::Anthropic),
        ("/chat/completions", Dialect::OpenAiChat),
        ("/responses", Dialect::OpenAiResponses),
    ];
    ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, dialect)| dialect)
}

impl App {
    pub(crate) fn new(settings: Settings) -> Result<Self, reqwest::Error> {
        Ok(Self {
            access: Access::new(&settings),
            upstream: Upstream::new(&settings)?,
            numbers: Arc::default(),
            settings,
        })
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path();
        if path == "/healthz" {
            return "ok\n".into_response();
        }
        if let Err(refused) = self.access.check(request.headers()) {
            self.numbers.refused(refused.name());
            return failure(refused.status(), "foldback_access", refused.message());
        }
        if path == "/metrics" && request.method() == Method::GET {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4");
            return ([(CONTENT_TYPE, kind)], self.numbers.prometheus()).into_response();
        }
        let (head, body) = request.into_parts();
        let Some(dialect) = dialect(&head.method, head.uri.path()) else {
            let pieces = body.into_data_stream().boxed();
            return self.pass(&head, None, pieces, "path").await;
        };
        match gather(body, &head.headers, self.settings.max_body).await {
            Gathered::Whole(body) => {
                let outcome = Outcome::Passed("no-preset");
                let sent = self.ask(&head, Some(dialect)).whole(body).await;
                self.end(Some(dialect), sent, outcome)
            }
            Gathered::TooLarge(pieces) => self.pass(&head, Some(dialect), pieces, "large").await,
            Gathered::Broken => failure(400, "foldback_request", "the body broke off"),
        }
    }

    /// Sends a request through as it is.
    async fn pass(
        &self,
        head: &Parts,
        dialect: Option<Dialect>,
        body: Pieces,
        why: &'static str,
    ) -> Response {
        let sent = self.ask(head, dialect).streamed(head, body).await;
        self.end(dialect, sent, Outcome::Passed(why))
    }

    fn ask(&self, head: &Parts, dialect: Option<Dialect>) -> Ask {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        Ask::new(&self.upstream.http, head, self.upstream.url(dialect, &head.headers, path))
    }

    fn end(
        &self,
        dialect: Option<Dialect>,
        sent: Result<reqwest::Response, reqwest::Error>,
        outcome: Outcome,
    ) -> Response {
        match sent {
            Ok(answer) => {
                self.numbers.request(dialect, outcome);
                answered(answer, outcome)
            }
            Err(error) => {
                self.numbers.request(dialect, Outcome::Unreachable);
                unreachable(error)
            }
        }
    }
}
