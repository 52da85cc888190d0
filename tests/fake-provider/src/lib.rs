//! A local server that speaks the protocols of model providers over HTTP, and fails the way they do.
//!
//! What it answers is a [`Script`]: a list of [`Reply`]s, or a function of the request. How an answer is
//! spelled follows from the path that was asked, so the same script serves all protocols:
//!
//! | path ends with | protocol | streams when |
//! |---|---|---|
//! | `/chat/completions` | OpenAI chat completions | `"stream": true` |
//! | `/messages` | Anthropic messages | `"stream": true` |
//! | `:generateContent`, `:streamGenerateContent` | Gemini | by the path |
//! | `/api/chat` | Ollama | not `"stream": false` |
//! | `/responses` | OpenAI Responses | `"stream": true` |
//!
//! Every request is kept ([`FakeProvider::requests`]), so that a test can say how many were billed. The
//! server runs on the caller's runtime, never sleeps, and reads no clock: a reply that is to be late
//! [waits](Reply::hang) until the test [releases](FakeProvider::release) it or the client goes away.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> std::io::Result<()> {
//! use foldback_fake_provider::{FakeProvider, Reply};
//!
//! let provider = FakeProvider::start([
//!     Reply::status(429, r#"{"error":{"message":"slow down"}}"#).header("retry-after", "1"),
//!     Reply::text("Hello."),
//! ])
//! .await?;
//! // … point a client at provider.openai_url() …
//! assert_eq!(provider.requests().len(), 0);
//! # Ok(()) }
//! ```

mod background;
pub mod errors;
mod protocol;
mod recorded;
mod reply;
mod server;
mod state;

pub use background::Background;
pub use protocol::Protocol;
pub use recorded::Recorded;
pub use reply::{Answer, Call, Finish, Reply, Told, Usage};
pub use server::{Builder, FakeProvider, Script};
