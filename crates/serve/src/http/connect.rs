//! Connections to providers: directly or through the proxy that the environment names, with TLS where the address asks
//! for it, and with a note of whether the provider said anything.
//!
//! A provider may close an idle connection just as the next request goes out. If nothing comes back on a connection
//! that has brought an answer before, the request is [lost](is_lost) and can be sent once more.

use axum::http::{Extensions, Uri};
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::Error;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Matcher;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_platform_verifier::BuilderVerifierExt as _;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tower_service::Service;

/// How long a connection to a provider may take, with TLS.
const CONNECT: Duration = Duration::from_secs(15);

/// Time without a byte after which the system probes whether the other end is still there.
const KEEPALIVE: Duration = Duration::from_secs(30);

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The future of a service.
type Later<T> = Pin<Box<dyn Future<Output = Result<T, Failure>> + Send>>;

type Tcp = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections to providers.
#[derive(Clone)]
pub(crate) struct Connector(HttpsConnector<Route>);

impl Connector {
    /// # Errors
    ///
    /// The certificates of the system can't be read.
    pub(crate) fn new() -> Result<Self, rustls::Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_platform_verifier()?
            .with_no_client_auth();
        let mut direct = HttpConnector::new();
        direct.enforce_http(false);
        direct.set_nodelay(true);
        direct.set_connect_timeout(Some(CONNECT));
        direct.set_keepalive(Some(KEEPALIVE));
        let proxies = HttpsConnector::from((direct.clone(), tls.clone()));
        let route = Route { direct, proxies, matcher: Arc::new(Matcher::from_env()) };
        Ok(Self(HttpsConnector::from((route, tls))))
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<Noted>;
    type Error = Failure;
    type Future = Later<Self::Response>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let connecting = self.0.call(to);
        Box::pin(async move {
            let connected = tokio::time::timeout(CONNECT, connecting).await;
            let line = TokioIo::new(connected.map_err(|_| "it took too long to connect")??);
            Ok(TokioIo::new(Noted { line, course: Course::default() }))
        })
    }
}

/// The way to a provider: through the proxy that `HTTPS_PROXY` and its like name for it, or straight.
#[derive(Clone)]
struct Route {
    direct: HttpConnector,
    proxies: HttpsConnector<HttpConnector>,
    matcher: Arc<Matcher>,
}

impl Service<Uri> for Route {
    type Response = Tcp;
    type Error = Failure;
    type Future = Later<Tcp>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.proxies.poll_ready(context)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let Some(proxy) = self.matcher.intercept(&to) else {
            let connecting = self.direct.call(to);
            return Box::pin(async { Ok(MaybeHttpsStream::Http(connecting.await?)) });
        };
        let mut tunnel = Tunnel::new(proxy.uri().clone(), self.proxies.clone());
        if let Some(auth) = proxy.basic_auth() {
            tunnel = tunnel.with_auth(auth.clone());
        }
        let connecting = tunnel.call(to);
        Box::pin(async { Ok(connecting.await?) })
    }
}

/// The state of a connection; 0 until the first answer.
#[derive(Clone, Debug, Default)]
struct Course(Arc<AtomicU8>);

/// Nothing was sent since an answer.
const ANSWERED: u8 = 1;
/// A request was sent after an answer, and nothing came back.
const ASKED: u8 = 2;

impl Course {
    fn wrote(&self) {
        if self.0.load(Ordering::Relaxed) == ANSWERED {
            self.0.store(ASKED, Ordering::Relaxed);
        }
    }

    fn read(&self) {
        self.0.store(ANSWERED, Ordering::Relaxed);
    }
}

/// Whether a request was sent on a connection that had been used before, and the provider closed it before a byte of
/// an answer.
pub(crate) fn is_lost(error: &Error) -> bool {
    let mut extras = Extensions::new();
    if let Some(connected) = error.connect_info() {
        connected.get_extras(&mut extras);
    }
    extras.get::<Course>().is_some_and(|course| course.0.load(Ordering::Relaxed) == ASKED)
}

/// A connection with its course.
pub(crate) struct Noted {
    line: TokioIo<MaybeHttpsStream<Tcp>>,
    course: Course,
}

impl Connection for Noted {
    fn connected(&self) -> Connected {
        self.line.inner().connected().extra(self.course.clone())
    }
}

impl AsyncRead for Noted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let read = Pin::new(&mut self.line).poll_read(context, into);
        if into.filled().len() > before {
            self.course.read();
        }
        read
    }
}

impl AsyncWrite for Noted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.course.wrote();
        Pin::new(&mut self.line).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.course.wrote();
        Pin::new(&mut self.line).poll_write_vectored(context, bytes)
    }

    fn is_write_vectored(&self) -> bool {
        self.line.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.line).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_request_after_an_answer_is_lost() {
        for (steps, state) in [
            ("", 0),
            ("w", 0),
            ("wr", ANSWERED),
            ("wrr", ANSWERED),
            ("wrw", ASKED),
            ("wrww", ASKED),
            ("wrwr", ANSWERED),
            ("rw", ASKED),
        ] {
            let course = Course::default();
            for step in steps.chars() {
                if step == 'w' { course.wrote() } else { course.read() }
            }
            assert_eq!(course.0.load(Ordering::Relaxed), state, "{steps:?}");
        }
    }
}
