//! A proxy between an agent and its provider, for agents in any language.
//!
//! It speaks Anthropic Messages, OpenAI Chat Completions and OpenAI Responses. What it does not understand goes
//! through byte for byte, in both directions and without a buffer; so does everything when the proxy itself fails.
//!
//! | module | what it is for |
//! |---|---|
//! | [`settings`] | where to listen, whom to ask, what the limits are |
//! | [`server`] | accepts connections, routes requests, shuts down |
//! | `listen`, `descriptors` | the limit on connections, and on open files |
//! | `line` | a client's connection: whether it is gone, and a sentence for what is no HTTP |
//! | `access` | who may use it |
//! | `provider` | whom a request belongs to |
//! | `app` | what all requests share, and the way of one |
//! | `forward` | sends a request to the provider and the answer back |
//! | `refusal` | what a provider says against a request, its status or the first event of a stream |
//! | `headers` | which headers a proxy passes on |
//! | `upstream`, `connect` | the address of a provider, the client that asks it, and its connections |
//! | `outcome`, `numbers` | what was done with a request, and how often |
//! | [`folding`] | the strategy, the limits of models, how much is kept |
//! | `seen` | what of a request is new |
//! | `conversations` | which one a request continues, and how many are kept |
//! | `answers` | what providers said of their answers |
//! | `fold` | from the body of a request to the body that is sent |
//! | `journals`, `shelf` | conversations on disk, for a restart, and those that had to go from memory |
//! | `threads` | who reads and folds, large bodies apart |
//! | `summaries` | summaries by a model of the client's provider, for which nobody waits |
//! | `told` | what conversations do, counted and said |
//! | `bill` | what requests cost, and would have cost without folds |
//! | `course`, `page` | what the page shows of a conversation |
//! | `breakpoints` | cache marks whose message was folded away |
//! | `watch` | reads an answer while it goes through |
//!
//! Keys and contents are never logged, and no error of the proxy quotes them.

mod access;
mod answers;
mod app;
mod bill;
mod breakpoints;
mod connect;
mod conversations;
mod course;
mod descriptors;
mod fold;
pub mod folding;
mod forward;
mod headers;
mod journals;
mod line;
mod listen;
mod numbers;
mod outcome;
mod page;
mod provider;
mod refusal;
mod seen;
pub mod server;
pub mod settings;
mod shelf;
mod summaries;
mod threads;
mod told;
mod upstream;
mod watch;

pub use folding::{AsksModel, Folding, LimitsOf, TermsOf};
pub use journals::JournalsError;
pub use server::{ServeError, Server};
pub use settings::{Settings, SettingsError};
