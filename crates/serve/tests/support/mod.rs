//! A proxy on a runtime of the test's own, and a client.

#![allow(dead_code, reason = "every test takes what it needs")]

pub(crate) mod hand;
pub(crate) mod talk;

use foldback::core::services::FixedClock;
use foldback::{Limits, Strategy};
use foldback_fake_provider::FakeProvider;
use foldback_serve::{Folding, ServeError, Server, Settings};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A proxy that runs.
pub(crate) struct Proxy {
    pub(crate) url: String,
    pub(crate) address: SocketAddr,
    stop: oneshot::Sender<()>,
    running: JoinHandle<()>,
}

impl Proxy {
    /// A proxy in front of a provider, which folds as the preset `window` does.
    pub(crate) async fn start(provider: &FakeProvider) -> Self {
        Self::with(settings(provider)).await
    }

    /// A proxy with these settings, which folds as the preset `window` does.
    pub(crate) async fn with(settings: Settings) -> Self {
        Self::run(Server::bind(settings, folding("window", WINDOW)).await.unwrap())
    }

    /// A proxy to which no provider was given.
    pub(crate) async fn alone() -> Self {
        let mut settings = Settings::default();
        settings.listen = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::with(settings).await
    }

    /// A proxy that folds so.
    pub(crate) async fn folding(provider: &FakeProvider, folding: Folding) -> Self {
        Self::both(settings(provider), folding).await
    }

    /// A proxy with these settings that folds so.
    pub(crate) async fn both(settings: Settings, folding: Folding) -> Self {
        // The connections of one that has stopped are dropped a moment later, and its journals with them.
        for _ in 0..1_000 {
            match Server::bind(settings.clone(), folding.clone()).await {
                Err(ServeError::Journals(error)) if error.to_string().contains("in use") => {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                server => return Self::run(server.unwrap()),
            }
        }
        panic!("a journal stays in use");
    }

    /// One that runs from here on.
    pub(crate) fn run(server: Server) -> Self {
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
        self.running.await.unwrap();
    }

    /// Begins to stop it.
    pub(crate) fn stopping(self) -> JoinHandle<()> {
        self.stop.send(()).unwrap();
        self.running
    }

    /// What `/metrics` says.
    pub(crate) async fn metrics(&self) -> String {
        http().get(format!("{}/metrics", self.url)).send().await.unwrap().text().await.unwrap()
    }
}

/// The limits that most tests fold within.
pub(crate) const WINDOW: Limits = Limits { context: 24_000, input: 0, output: 2_000 };

/// A preset by its name, or a strategy by its text.
pub(crate) fn strategy(preset: &str) -> Arc<Strategy> {
    let registry = foldback::registry().unwrap();
    if !preset.contains('\n') {
        return Arc::new(foldback::preset(&registry, preset).unwrap());
    }
    let document = foldback::Document::parse("strategy.toml", preset).unwrap();
    let options = foldback::Options::default();
    Arc::new(foldback::config::compile(&registry, document, options).unwrap().strategy)
}

/// Folding by a preset within limits, under a clock that stands.
pub(crate) fn folding(preset: &str, limits: Limits) -> Folding {
    let limits = Arc::new(move |_: Option<&str>| Some(limits));
    let mut folding = Folding::new(strategy(preset), limits).unwrap();
    folding.clock = Arc::new(FixedClock::default());
    folding
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
    static HTTP: OnceLock<reqwest::Client> = OnceLock::new();
    let new = || {
        let _ = rustls::crypto::ring::default_provider().install_default();
        // A pooled connection belongs to the runtime of the test that opened it.
        reqwest::Client::builder().pool_max_idle_per_host(0).build().unwrap()
    };
    HTTP.get_or_init(new).clone()
}

/// A test that fails by waiting fails after a minute.
pub(crate) async fn within<T>(test: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), test).await.unwrap()
}

/// What the proxy said it did.
pub(crate) fn outcome(response: &reqwest::Response) -> String {
    response.headers()["x-foldback"].to_str().unwrap().to_owned()
}
