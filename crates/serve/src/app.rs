//! What all requests share, and the way of one through the proxy.

use crate::access::Access;
use crate::conversations::Conversations;
use crate::fold::{Turn, make};
use crate::folding::Folding;
use crate::forward::{Answer, Ask, Gathered, Pieces, answered, failure, gather, unreachable};
use crate::numbers::Numbers;
use crate::outcome::Outcome;
use crate::page;
use crate::refusal::refusal;
use crate::server::ServeError;
use crate::settings::Settings;
use crate::upstream::Upstream;
use crate::watch::Watch;
use axum::extract::Request;
use axum::http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use foldback_provider_errors::Classifier;
use foldback_wire::Dialect;
use futures_util::stream::StreamExt as _;
use rayon::ThreadPoolBuilder;
use std::sync::Arc;

/// What all requests share.
pub(crate) struct App {
    settings: Settings,
    access: Access,
    upstream: Upstream,
    pub(crate) numbers: Arc<Numbers>,
    conversations: Arc<Conversations>,
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

/// Whether a provider refused a request for its size.
fn is_overflow(dialect: Dialect, status: StatusCode, words: &[u8]) -> bool {
    let provider = match dialect {
        Dialect::Anthropic => "anthropic",
        _ => "openai",
    };
    let words = std::str::from_utf8(words).unwrap_or_default();
    Classifier::builtin().kind_of(Some(provider), Some(status.as_u16()), words).is_overflow()
}

impl App {
    pub(crate) fn new(settings: Settings, folding: Folding) -> Result<Self, ServeError> {
        let threads = ThreadPoolBuilder::new().thread_name(|at| format!("fold-{at}")).build()?;
        Ok(Self {
            conversations: Arc::new(Conversations::new(folding, threads)?),
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
            let text = self.numbers.prometheus(&self.conversations);
            return ([(CONTENT_TYPE, kind)], text).into_response();
        }
        if path == "/" && request.method() == Method::GET {
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CONTENT_SECURITY_POLICY, page::POLICY),
                (CACHE_CONTROL, "no-store"),
            ];
            return (headers, page::page(&self.conversations)).into_response();
        }
        let (head, body) = request.into_parts();
        let Some(dialect) = dialect(&head.method, head.uri.path()) else {
            let pieces = body.into_data_stream().boxed();
            return self.pass(&head, None, pieces, "path").await;
        };
        match gather(body, &head.headers, self.settings.max_body).await {
            Gathered::Whole(body) => self.converse(&head, dialect, body).await,
            Gathered::TooLarge(pieces) => self.pass(&head, Some(dialect), pieces, "large").await,
            Gathered::Broken => failure(400, "foldback_request", "the body broke off"),
        }
    }

    /// Answers a request of a conversation.
    async fn converse(&self, head: &Parts, dialect: Dialect, body: Vec<u8>) -> Response {
        let packed = head.headers.get(CONTENT_ENCODING);
        if packed.is_some_and(|encoding| encoding != "identity") {
            let sent = self.ask(head, Some(dialect)).whole(body.into()).await;
            return self.end(Some(dialect), sent, Outcome::Passed("packed"), None);
        }
        let made = make(&self.conversations, dialect, body).await;
        let mut ask = self.ask(head, Some(dialect));
        if made.turn.is_some() {
            // The answer is read as it goes through.
            ask = ask.unpacked();
        }
        let sent = ask.clone().whole(made.body).await;
        let (Outcome::Folded(_) | Outcome::Unchanged(_), Some(turn)) = (made.outcome, &made.turn)
        else {
            return self.end(Some(dialect), sent, made.outcome, made.turn);
        };
        let (words, answer) = match sent {
            Ok(answer) => refusal(dialect, answer).await,
            sent => return self.end(Some(dialect), sent, made.outcome, made.turn),
        };
        if words.is_some_and(|words| is_overflow(dialect, answer.status(), &words))
            && let Some((body, turn)) = turn.again().await
        {
            let outcome = Outcome::Recovered(turn.sizes);
            let sent = ask.whole(body).await;
            return self.end(Some(dialect), sent, outcome, Some(turn));
        }
        self.end(Some(dialect), Ok(answer), made.outcome, made.turn)
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
        self.end(dialect, sent, Outcome::Passed(why), None)
    }

    fn ask(&self, head: &Parts, dialect: Option<Dialect>) -> Ask {
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        Ask::new(&self.upstream.http, head, self.upstream.url(dialect, &head.headers, path))
    }

    fn end(
        &self,
        dialect: Option<Dialect>,
        sent: Result<Answer, reqwest::Error>,
        outcome: Outcome,
        turn: Option<Turn>,
    ) -> Response {
        match sent {
            Ok(answer) => {
                self.numbers.request(dialect, outcome);
                let watch = turn
                    .zip(dialect)
                    .filter(|_| answer.status().is_success())
                    .and_then(|(turn, dialect)| Watch::new(turn, dialect, answer.headers()));
                answered(answer, outcome, watch)
            }
            Err(error) => {
                self.numbers.request(dialect, Outcome::Unreachable);
                unreachable(error)
            }
        }
    }
}
