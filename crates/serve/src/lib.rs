//! A proxy between an agent and its provider, for agents in any language.
//!
//! It speaks Anthropic Messages, OpenAI Chat Completions, OpenAI Responses and Gemini's `generateContent`. What it does
//! not understand goes through byte for byte, in both directions and without a buffer; so does everything when the proxy
//! itself fails.
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`], [`folding`] | where to listen and whom to ask; the strategy, the limits of models, how much is kept |
//! | [`server`], `app` | accepts connections and shuts down; the way of one request |
//! | `http` | connections of clients, who may use the proxy, connections to providers, and bodies that go through |
//! | `fold` | from the body of a request to the body that is sent, and the conversations that are followed for it |
//! | `bill` | what requests cost, and would have cost without folds |
//! | `page` | what the proxy shows of itself: a page, and metrics |
//! | [`trial`] | conversations that get their strategy by chance, and the record of them |
//! | `summaries` | summaries by a model of the client's provider, for which nobody waits |
//! | `outcome`, `numbers` | what was done with a request, and how often |
//!
//! Keys and contents are never logged, and no error of the proxy quotes them.

mod app;
mod bill;
mod error;
mod fold;
pub mod folding;
mod http;
mod numbers;
mod outcome;
mod page;
pub mod server;
pub mod settings;
mod summaries;
pub mod trial;

pub use error::ServeError;
pub use fold::conversations::journals::JournalsError;
pub use folding::{AsksModel, Folding, LimitsOf, TermsOf};
pub use server::Server;
pub use settings::{Settings, SettingsError};
pub use trial::Trial;
