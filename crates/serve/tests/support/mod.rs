//! A proxy on a runtime of the test's own, and a client.

#![allow(dead_code, reason = "every test takes what it needs")]

use foldback_fake_provider::FakeProvider;
use foldback_serve::{ServeError, Server, Settings};
use std::net::{Ipv4Addr, SocketAddr};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A proxy that runs.
pub(crate) struct Proxy {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<Result<(), ServeError>>,
}

impl Proxy {
    /// A proxy in front of a provider.
    pub(crate) async fn start(provider: &FakeProvider) -> Self {
        Self::with(settings(provider)).await
    }

    /// A proxy with these settings.
    pub(crate) async fn with(settings: Settings) -> Self {
        Self::run(Server::bind(settings).await.unwrap())
    }

    fn run(server: Server) -> Self {
        let address = server.address();
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(server.run(async move {
            let _ = stopped.await;
        }));
        Self { url: format!("http://{address}"), address, stop, running }
    }

    /// Has it stop and waits until it has.
    pub(crate) async fn stop(self) {
        self.stop.send(()).unwrap();
        self.running.await.unwrap().unwrap();
    }

    /// Begins to stop it.
    pub(crate) fn stopping(self) -> JoinHandle<Result<(), ServeError>> {
        self.stop.send(()).unwrap();
        self.running
    }

    /// What `/metrics` says.
    pub(crate) async fn metrics(&self) -> String {
        http().get(format!("{}/metrics", self.url)).send().await.unwrap().text().await.unwrap()
    }
}

/// Settings for a proxy in front of a provider, on a free port.
pub(crate) fn settings(provider: &FakeProvider) -> Settings {
    let mut settings = Settings::default();
    settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    settings.set_upstream(&provider.url()).unwrap();
    settings
}

/// A client.
pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

/// What the proxy said it did.
pub(crate) fn outcome(response: &reqwest::Response) -> String {
    response.headers()["x-foldback"].to_str().unwrap().to_owned()
}
