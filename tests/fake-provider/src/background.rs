//! A server for tests that have no runtime: of commands that are processes of their own.

use crate::{FakeProvider, Recorded, Reply, Script};
use std::io;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// A provider on a thread of its own.
#[derive(Debug)]
pub struct Background {
    provider: Arc<FakeProvider>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl Background {
    /// Starts a server that answers every request with what `answer` gives.
    ///
    /// # Errors
    ///
    /// No thread or no port is to be had.
    pub fn start(answer: impl FnMut(&Recorded) -> Reply + Send + 'static) -> io::Result<Self> {
        Self::of(FakeProvider::builder(Script::answer(answer)))
    }

    /// The same at every path, those of no protocol among them.
    ///
    /// # Errors
    ///
    /// No thread or no port is to be had.
    pub fn everywhere(answer: impl FnMut(&Recorded) -> Reply + Send + 'static) -> io::Result<Self> {
        Self::of(FakeProvider::builder(Script::answer(answer)).everywhere())
    }

    fn of(server: crate::Builder) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (tell, told) = mpsc::channel();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                // Whoever waits for it has gone away where it can't be told.
                let _ = tell.send(server.start().await.map(Arc::new));
                let _ = stopped.await;
            });
        });
        let provider = told.recv().map_err(io::Error::other)??;
        Ok(Self { provider, stop, thread })
    }

    /// Where OpenAI's protocol is spoken.
    pub fn url(&self) -> String {
        self.provider.openai_url()
    }

    /// The bodies of all requests to the model so far.
    pub fn asked(&self) -> Vec<String> {
        let requests = self.provider.requests();
        let asked = requests.iter().filter(|got| got.path.ends_with("completions"));
        asked.map(|got| got.body.to_string()).collect()
    }

    /// Ends it and gives the bodies of all requests to the model.
    pub fn end(self) -> Vec<String> {
        let asked = self.asked();
        let _ = self.stop.send(());
        // A server that panicked has answered nothing, which its test sees.
        let _ = self.thread.join();
        asked
    }
}
