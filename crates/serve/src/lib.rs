//! A proxy between an agent and its provider, for agents in any language.
//!
//! It speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses. What it does not understand goes
//! through byte for byte, in both directions and without a buffer; so does everything when the proxy itself fails.
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | where to listen, whom to ask, what the limits are |
//! | [`server`] | accepts connections, routes requests, shuts down |
//! | `listen` | the limit on connections |
//! | `access` | who may use it |
//! | `app` | what all requests share, and the way of one |
//! | `forward` | sends a request to the provider and the answer back |
//! | `headers` | which headers a proxy passes on |
//! | `upstream` | the provider of a request, and the client that asks it |
//! | `outcome`, `numbers` | what was done with a request, and how often |
//!
//! Keys and contents are never logged, and no error of the proxy quotes them.

mod access;
mod app;
mod forward;
mod headers;
mod listen;
mod numbers;
mod outcome;
pub mod server;
pub mod settings;
mod upstream;

pub use server::{ServeError, Server};
pub use settings::{Settings, SettingsError};
