//! Accepts connections, routes requests, shuts down.

use crate::app::App;
use crate::error::ServeError;
use crate::folding::Folding;
use crate::http::descriptors;
use crate::http::headers::READ as READ_HEADERS;
use crate::http::line::Connection;
use crate::http::listen::{Arrival, Limited};
use crate::settings::Settings;
use crate::trial::Trial;
use crate::trial::arms::Arms;
use crate::trial::log::TrialLog;
use axum::body::Body;
use axum::http::HeaderValue;
use axum::http::header::CONNECTION;
use futures_util::stream::StreamExt as _;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;

/// A proxy that listens.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
    max_connections: usize,
    queue: Duration,
    patience: Duration,
    grace: Duration,
}

/// How long a client that is turned away may take for its request, and for the answer.
const TURNED_AWAY: Duration = Duration::from_secs(2);

impl Server {
    /// Listens; answers once it [runs](Self::run). Port 0 means any free port.
    ///
    /// # Errors
    ///
    /// The settings are wrong, the address is in use, or the system's certificates can't be read.
    pub async fn bind(settings: Settings, folding: Folding) -> Result<Self, ServeError> {
        Self::bind_arms(settings, vec![folding], None).await
    }

    /// Listens for a trial, each arm of which folds in its own way.
    ///
    /// # Errors
    ///
    /// The file of the trial can't be used, or there is not one arm for each way to fold.
    pub async fn bind_arms(
        settings: Settings,
        foldings: Vec<Folding>,
        trial: Option<Trial>,
    ) -> Result<Self, ServeError> {
        if foldings.len() != trial.as_ref().map_or(1, |trial| trial.arms.len().max(1)) {
            return Err(ServeError::Trial("a trial needs an arm for each way to fold".to_owned()));
        }
        settings.check()?;
        let at = settings.listen;
        let listen = |error| ServeError::Listen { address: at, error };
        let listener = TcpListener::bind(at).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (clock, say) = (Arc::clone(&foldings[0].clock), &settings.say);
        let log = trial.map(|trial| TrialLog::new(trial, clock, Arc::clone(say))).transpose()?;
        let arms = Arms::new(foldings, log, say)?;
        let journaled = arms.all.iter().map(|arm| &arm.folding).filter(|it| it.journal.is_some());
        let journals = journaled.map(|folding| folding.max_conversations).sum();
        let (max_connections, said) = descriptors::room(settings.max_connections, journals);
        if let Some(said) = said {
            (settings.say)(&said);
        }
        let (queue, patience, grace) = (settings.queue, settings.patience, settings.grace);
        let app = Arc::new(App::new(settings, arms)?);
        Ok(Self { app, listener, address, max_connections, queue, patience, grace })
    }

    /// The address that the proxy listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is done. Requests under way are then finished, for as long as the settings say.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let numbers = Arc::clone(&self.app.numbers);
        let most = self.max_connections;
        let mut listener = Limited::new(self.listener, most, self.queue, numbers);
        let full = listener.full();
        let mut http = http1::Builder::new();
        // A client that has closed its half waits for its answer.
        http.half_close(true).max_headers(READ_HEADERS);
        // Counts from the moment at which a request may come, so an idle connection is closed, too.
        http.timer(TokioTimer::new()).header_read_timeout(self.patience);
        let serving = GracefulShutdown::new();
        let mut stop = std::pin::pin!(stop);
        loop {
            let connection = tokio::select! {
                connection = listener.accept() => connection,
                () = &mut stop => break,
            };
            let connection = match connection {
                Arrival::Placed(connection) => connection,
                Arrival::Surplus(connection) => {
                    tokio::spawn(turn_away(Arc::clone(&self.app), connection, most));
                    continue;
                }
            };
            let (app, full, line) = (Arc::clone(&self.app), full.clone(), connection.line());
            let (stop, own) = (self.app.stop(), Arc::clone(&line));
            let service = service_fn(move |request: hyper::Request<_>| {
                let (app, full) = (Arc::clone(&app), full.clone());
                let under_way = own.asked(&request);
                async move {
                    let mut response = app.answer(request.map(Body::new)).await;
                    if full.is() {
                        // Others wait, and a client that keeps its connection for later would keep its place.
                        response
                            .headers_mut()
                            .append(CONNECTION, HeaderValue::from_static("close"));
                    }
                    Ok::<_, Infallible>(response.map(|body| under_way.answered(body)))
                }
            });
            let served = serving.watch(http.serve_connection(TokioIo::new(connection), service));
            tokio::spawn(async move {
                tokio::select! {
                    // How a connection ended is between the client and this task.
                    _ = served => {}
                    () = line.gone() => {}
                    // Who has sent half of a request's head when the proxy is to stop is not waited for.
                    () = async {
                        stop.and_a_moment().await;
                        line.idle().await;
                    } => {}
                }
            });
        }
        drop(listener);
        self.app.begin_to_stop();
        // What is still under way then is given up.
        let _ = tokio::time::timeout(self.grace, serving.shutdown()).await;
        self.app.end_summaries();
    }
}

/// Turns away the one request of a surplus connection. Its body is read to the end, because a connection closed with
/// unread data is reset, and the client may not see the answer.
async fn turn_away(app: Arc<App>, connection: Connection, most: usize) {
    let service = service_fn(move |request: hyper::Request<_>| {
        let app = Arc::clone(&app);
        async move {
            let (head, body) = request.into_parts();
            let read = Body::new(body).into_data_stream().for_each(|_| async {});
            // Who sends slowly is answered before.
            let _ = tokio::time::timeout(TURNED_AWAY, read).await;
            Ok::<_, Infallible>(app.full(&head.headers, most))
        }
    });
    let mut http = http1::Builder::new();
    http.keep_alive(false).half_close(true).max_headers(READ_HEADERS);
    http.timer(TokioTimer::new()).header_read_timeout(TURNED_AWAY);
    let served = http.serve_connection(TokioIo::new(connection), service);
    let _ = tokio::time::timeout(3 * TURNED_AWAY, served).await;
}
