//! Accepts connections, routes requests, shuts down.

use crate::app::App;
use crate::folding::Folding;
use crate::journals::JournalsError;
use crate::listen::Limited;
use crate::settings::{Settings, SettingsError};
use axum::Router;
use axum::extract::Request;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// Why a proxy can't run.
#[derive(Debug, Error)]
pub enum ServeError {
    /// Its settings.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// It can't listen there.
    #[error("can't listen on {address}: {error}")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        error: io::Error,
    },
    /// Its journals.
    #[error(transparent)]
    Journals(#[from] JournalsError),
    /// The threads that fold can't be started.
    #[error("can't start threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
    /// The client for providers can't be made.
    #[error("can't ask providers: {0}")]
    Client(#[from] reqwest::Error),
    /// A connection could not be accepted.
    #[error("stopped listening: {0}")]
    Io(#[from] io::Error),
}

/// A proxy that listens.
#[derive(Debug)]
pub struct Server {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
    max_connections: usize,
    grace: Duration,
}

impl Server {
    /// Listens; answers once it [runs](Self::run). Port 0 is any free one.
    ///
    /// # Errors
    ///
    /// The settings are wrong, the address is in use, or the system's certificates can't be read.
    pub async fn bind(settings: Settings, folding: Folding) -> Result<Self, ServeError> {
        settings.check()?;
        let at = settings.listen;
        let listen = |error| ServeError::Listen { address: at, error };
        let listener = TcpListener::bind(at).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        let (max_connections, grace) = (settings.max_connections, settings.grace);
        let app = Arc::new(App::new(settings, folding)?);
        Ok(Self { app, listener, address, max_connections, grace })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until `stop` is there. Requests under way are then finished, for as long as the settings say.
    ///
    /// # Errors
    ///
    /// Connections can't be accepted any more.
    pub async fn run(self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let numbers = Arc::clone(&self.app.numbers);
        let listener = Limited::new(self.listener, self.max_connections, numbers);
        let app = self.app;
        let router = Router::new().fallback(move |request: Request| {
            let app = Arc::clone(&app);
            async move { app.answer(request).await }
        });
        let (finish, finished) = oneshot::channel::<()>();
        let serving = axum::serve(listener, router).with_graceful_shutdown(async {
            // The other end is dropped at the latest when this is.
            let _ = finished.await;
        });
        let mut serving = std::pin::pin!(serving.into_future());
        tokio::select! {
            ended = &mut serving => return Ok(ended?),
            () = stop => {}
        }
        let _ = finish.send(());
        match tokio::time::timeout(self.grace, serving).await {
            Ok(ended) => Ok(ended?),
            // What is still under way is given up.
            Err(_) => Ok(()),
        }
    }
}
