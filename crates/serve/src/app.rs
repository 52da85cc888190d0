//! The state that all requests share, and how one request is answered.

use crate::error::ServeError;
use crate::fold::conversations::state::Wish;
use crate::fold::idle::IdleWaits;
use crate::fold::turn::{Turn, rewrite};
use crate::fold::watch::{Watch, Watched};
use crate::http::access::Access;
use crate::http::forward::{
    Ask, Gathered, Pieces, Silent, Stop, answered, failure, gather, length, pieces, silence,
    unreachable, why_unreachable,
};
use crate::http::headers::{CONVERSATION, MOST as MOST_HEADERS};
use crate::http::provider::{ModelPath, Stray, dialect, origin, provider};
use crate::http::refusal::refusal;
use crate::http::upstream::{Answer, Upstream};
use crate::numbers::Numbers;
use crate::outcome::Outcome;
use crate::page;
use crate::page::metrics::prometheus;
use crate::settings::Settings;
use crate::summaries::Summaries;
use crate::trial::arms::Arms;
use crate::trial::unit::UnitHints;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderMap,
    RETRY_AFTER, TRANSFER_ENCODING, UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use foldback_providers::errors::{Classifier, Sizes};
use foldback_providers::wire::Dialect;
use hyper_util::client::legacy::Error;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// What all requests share.
pub(crate) struct App {
    settings: Settings,
    access: Access,
    upstream: Arc<Upstream>,
    /// Where a model of the clients' providers writes summaries.
    summaries: Option<Arc<Summaries>>,
    idle: Arc<IdleWaits>,
    pub(crate) numbers: Arc<Numbers>,
    arms: Arc<Arms>,
    /// Addresses of providers that could not be reached, until they answer again.
    unreached: Mutex<BTreeSet<String>>,
    stopping: watch::Sender<bool>,
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// Longest unread body that is kept, so that it can be sent twice.
const REPEATABLE: usize = 1 << 20;

/// What a refusal says of sizes, where a provider refused a request for its size.
fn overflow(dialect: Dialect, status: StatusCode, words: &[u8]) -> Option<Sizes> {
    let provider = origin(dialect);
    let words = std::str::from_utf8(words).unwrap_or_default();
    let (classifier, status) = (Classifier::builtin(), Some(status.as_u16()));
    let is_overflow = classifier.kind_of(Some(provider), status, words).is_overflow();
    is_overflow.then(|| classifier.sizes(Some(provider), status, words))
}

impl App {
    pub(crate) fn new(settings: Settings, arms: Arms) -> Result<Self, ServeError> {
        let (upstream, numbers) = (Arc::new(Upstream::new(&settings)?), Arc::<Numbers>::default());
        let mut purses = arms.all.iter().filter_map(|arm| arm.folding.summaries.as_ref());
        let summaries = purses.next().map(|purse| {
            Arc::new(Summaries::new(purse.clone(), Arc::clone(&upstream), Arc::clone(&numbers)))
        });
        Ok(Self {
            arms: Arc::new(arms),
            access: Access::new(&settings),
            upstream,
            idle: Arc::new(IdleWaits::new(summaries.clone())),
            summaries,
            numbers,
            unreached: Mutex::default(),
            stopping: watch::Sender::new(false),
            settings,
        })
    }

    /// Turns a request away because all connections are in use.
    pub(crate) fn full(&self, headers: &HeaderMap, most: usize) -> Response {
        if let Err(refused) = Access::check_page(headers) {
            return self.refuse(refused.status(), refused.name(), refused.message());
        }
        let text = format!(
            "this proxy serves {most} connections at a time and all are in use; nothing was sent. Try again later, or \
             start it with more (`connections` in --limits, and `ulimit -Hn` where it says so at its start)"
        );
        let mut response = self.refuse(503, "full", &text);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
        response
    }

    /// Answers a request.
    pub(crate) async fn answer(&self, request: Request) -> Response {
        let path = request.uri().path();
        if request.headers().len() > MOST_HEADERS {
            let (count, most) = (request.headers().len(), MOST_HEADERS);
            let text = format!(
                "the request has {count} headers, and this proxy takes {most}; nothing was sent"
            );
            return self.refuse(431, "headers", &text);
        }
        if let Err(refused) = Access::check_page(request.headers()) {
            return self.refuse(refused.status(), refused.name(), refused.message());
        }
        if path == "/healthz" {
            return "ok\n".into_response();
        }
        if let Err(refused) = self.access.check(request.headers()) {
            return self.refuse(refused.status(), refused.name(), refused.message());
        }
        if path == "/metrics" && request.method() == Method::GET {
            let kind = HeaderValue::from_static("text/plain; version=0.0.4");
            let text = prometheus(&self.numbers, &self.arms, self.summaries.as_deref());
            return ([(CONTENT_TYPE, kind)], text).into_response();
        }
        if path == "/" && [Method::GET, Method::HEAD].contains(request.method()) {
            let headers = [
                (CONTENT_TYPE, "text/html; charset=utf-8"),
                (CONTENT_SECURITY_POLICY, page::POLICY),
                (CACHE_CONTROL, "no-store"),
            ];
            return (headers, page::page(&self.arms)).into_response();
        }
        if let Some(response) = self.other_protocol(&request) {
            return response;
        }
        let (head, body) = request.into_parts();
        let asked = head.uri.path_and_query().map_or("/", |asked| asked.as_str());
        let ask = match self.ask(&head, asked) {
            Ok(ask) => ask,
            Err(stray) => return self.refuse(stray.status(), stray.name(), stray.message()),
        };
        let length = length(&head.headers);
        let pieces = pieces(body, self.settings.patience, self.stop());
        let Some(dialect) = dialect(&head.method, head.uri.path(), self.upstream.is_given()) else {
            let has_body = length.is_some() || head.headers.contains_key(TRANSFER_ENCODING);
            let most = if has_body { length.map_or(0, |_| REPEATABLE) } else { usize::MAX };
            return match gather(pieces, length, most).await {
                Gathered::Whole(body) => {
                    let sent = ask.clone().whole(&self.upstream, body.into()).await;
                    self.end(&ask, None, sent, Outcome::Passed("path"), None)
                }
                Gathered::TooLarge(pieces) => self.pass(ask, None, pieces, "path").await,
                Gathered::Broken => broken(),
                Gathered::Silent(silent) => self.silent(silent),
            };
        };
        match gather(pieces, length, self.settings.max_body).await {
            Gathered::Whole(body) => self.converse(&head, ask, dialect, body).await,
            Gathered::TooLarge(pieces) => self.pass(ask, Some(dialect), pieces, "large").await,
            Gathered::Broken => broken(),
            Gathered::Silent(silent) => self.silent(silent),
        }
    }

    /// The answer to anything but a request of an API.
    fn other_protocol(&self, request: &Request) -> Option<Response> {
        if request.method() == Method::CONNECT {
            let text = "this proxy stands before one provider and opens no tunnels: set the client's base URL to it, and not \
                        HTTPS_PROXY";
            return Some(self.refuse(501, "tunnel", text));
        }
        let upgrade = request.headers().get(UPGRADE)?.as_bytes();
        if !upgrade.eq_ignore_ascii_case(b"websocket") {
            // A client may offer HTTP/2; it goes on without.
            return None;
        }
        let text =
            "this proxy speaks HTTP and no websockets; nothing was sent. Have the client use HTTP";
        let mut response = self.refuse(426, "upgrade", text);
        response.headers_mut().insert(UPGRADE, HeaderValue::from_static("HTTP/1.1"));
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
        Some(response)
    }

    /// Refuses a request, and counts it.
    fn refuse(&self, status: u16, name: &'static str, message: &str) -> Response {
        self.numbers.refused(name);
        failure(status, &format!("foldback_{name}"), message)
    }

    /// The answer to a client that stopped in the middle of its request.
    fn silent(&self, silent: Silent) -> Response {
        self.refuse(408, "silent", &silent.to_string())
    }

    /// Tells when the proxy is to stop.
    pub(crate) fn stop(&self) -> Stop {
        Stop(self.stopping.subscribe())
    }

    /// Ends requests whose bodies have not fully arrived.
    pub(crate) fn begin_to_stop(&self) {
        self.stopping.send_replace(true);
    }

    /// Answers a request of a conversation.
    async fn converse(&self, head: &Parts, ask: Ask, dialect: Dialect, body: Vec<u8>) -> Response {
        let upstream = &self.upstream;
        let packed = head.headers.get(CONTENT_ENCODING);
        if packed.is_some_and(|encoding| encoding != "identity") {
            let sent = ask.clone().whole(upstream, body.into()).await;
            return self.end(&ask, Some(dialect), sent, Outcome::Passed("packed"), None);
        }
        let named = ModelPath::parse(head.uri.path()).filter(|_| dialect == Dialect::Gemini);
        let model = named.map(|named| named.model.to_owned());
        let rewrite =
            rewrite(&self.arms, UnitHints::new(&head.headers), dialect, model, body).await;
        // The answer is read as it goes through.
        let ask = if rewrite.turn.is_some() { ask.unpacked() } else { ask };
        let sent = ask.clone().whole(upstream, rewrite.body).await;
        let (Outcome::Folded(_) | Outcome::Unchanged(_), Some(turn)) =
            (rewrite.outcome, &rewrite.turn)
        else {
            return self.end(&ask, Some(dialect), sent, rewrite.outcome, rewrite.turn);
        };
        let (words, first) = match sent {
            Ok(answer) => refusal(dialect, answer).await,
            sent => return self.end(&ask, Some(dialect), sent, rewrite.outcome, rewrite.turn),
        };
        match words.map(|words| overflow(dialect, first.status(), &words)) {
            None if first.status().is_success() => self.summarize(rewrite.wish, &ask, turn),
            Some(Some(sizes)) => {
                if let Some(tokens) = sizes.limit {
                    turn.learn_window(tokens);
                }
                let retry = turn.retry().await;
                self.summarize(rewrite.wish.or(retry.wish), &ask, turn);
                if let Some((body, turn)) = retry.sent
                    && let Some(second) = self.accepted(&ask, dialect, body).await
                {
                    if let Some(place) = &turn.trial {
                        place.failed(true);
                    }
                    let outcome = Outcome::Recovered(turn.sizes);
                    return self.end(&ask, Some(dialect), Ok(second), outcome, Some(turn));
                }
            }
            _ => {}
        }
        self.end(&ask, Some(dialect), Ok(first), rewrite.outcome, rewrite.turn)
    }

    /// Starts the summary that a fold waits for.
    fn summarize(&self, wish: Option<Wish>, ask: &Ask, turn: &Turn) {
        if let (Some(summaries), Some(wish)) = (&self.summaries, wish) {
            let form = (turn.request.dialect(), turn.streams());
            summaries.begin(wish, ask, form, turn.trial.clone(), &self.settings.say);
        }
    }

    /// Ends what waits for idle moments, and aborts the summaries that are being written.
    pub(crate) fn end_summaries(&self) {
        self.idle.end();
        self.summaries.iter().for_each(|summaries| summaries.end());
    }

    /// The answer to a request that is sent once more. `None` if it fails again in any way: then the client is told
    /// what was wrong with its own request.
    async fn accepted(&self, ask: &Ask, dialect: Dialect, body: Bytes) -> Option<Answer> {
        let answer = ask.clone().whole(&self.upstream, body).await.ok()?;
        let (refused, answer) = refusal(dialect, answer).await;
        (refused.is_none() && answer.status().is_success()).then_some(answer)
    }

    /// Sends a request through unchanged.
    async fn pass(
        &self,
        ask: Ask,
        dialect: Option<Dialect>,
        body: Pieces,
        why: &'static str,
    ) -> Response {
        let sent = ask.clone().streamed(&self.upstream, body).await;
        match sent.as_ref().err().and_then(|error| silence(error)) {
            Some(silent) => self.silent(silent),
            None => self.end(&ask, dialect, sent, Outcome::Passed(why), None),
        }
    }

    /// The request that goes to the provider, without its body.
    fn ask(&self, head: &Parts, asked: &str) -> Result<Ask, Stray> {
        let (path, query) = (head.uri.path(), head.uri.query().unwrap_or_default());
        let provider = match self.upstream.is_given() {
            true => None,
            false => Some(provider(path, query, &head.headers)?),
        };
        let target = self.upstream.target(provider, asked).ok_or(Stray::Path)?;
        Ok(Ask::new(head, target))
    }

    fn end(
        &self,
        ask: &Ask,
        dialect: Option<Dialect>,
        sent: Result<Answer, Error>,
        outcome: Outcome,
        turn: Option<Turn>,
    ) -> Response {
        let address = ask.address();
        let place = turn.as_ref().and_then(|turn| turn.trial.clone());
        let status = sent.as_ref().ok().map(Answer::status);
        if let Some(place) = place.as_ref().filter(|_| !status.is_some_and(|it| it.is_success())) {
            place.failed(status.is_some_and(is_refusal));
        }
        match sent {
            Ok(answer) => {
                self.unreached.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
                self.numbers.request(dialect, outcome);
                let watched = turn.zip(dialect).filter(|_| answer.status().is_success());
                let watch = watched.and_then(|(turn, dialect)| {
                    let idle = turn.waits_for_idle().then(|| {
                        (Arc::clone(&self.idle), ask.clone(), Arc::clone(&self.settings.say))
                    });
                    Watch::new(turn, dialect, answer.headers(), idle)
                });
                let through = |pieces| Body::from_stream(Watched::new(pieces, watch));
                let mut response = answered(answer, outcome, through);
                let name = place.map(|place| HeaderValue::try_from(&*place.conversation));
                if let Some(Ok(name)) = name {
                    response.headers_mut().insert(CONVERSATION, name);
                }
                response
            }
            Err(error) => {
                self.numbers.request(dialect, Outcome::Unreachable);
                let why = why_unreachable(&address, &error);
                let mut unreached = self.unreached.lock().unwrap_or_else(PoisonError::into_inner);
                // Clients try again; the operator reads it once.
                if unreached.insert(address) {
                    (self.settings.say)(&why);
                }
                unreachable(&why)
            }
        }
    }
}

/// Whether a provider says that a request is wrong, and not its key, its path or the time.
fn is_refusal(status: StatusCode) -> bool {
    status.is_client_error() && ![401, 402, 403, 404, 408, 429].contains(&status.as_u16())
}

/// The answer to a client that is likely gone.
fn broken() -> Response {
    failure(400, "foldback_request", "the body broke off")
}
