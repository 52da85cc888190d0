//! The command from end to end, as a user runs it: one program for all of it.

#![expect(clippy::unwrap_used, reason = "a helper of a test fails like the test")]

mod agent_settings;
mod audit;
mod bad_input;
mod bill;
mod cases;
#[cfg(feature = "serve")]
mod closed_loop;
mod common;
mod compact;
mod compare;
mod convert;
mod documents;
mod evidence;
mod explain;
mod exports;
mod first_screen;
mod folders;
mod hook;
mod inspect;
mod judge;
mod killed;
#[cfg(feature = "llm")]
mod likelihood;
#[cfg(feature = "mcp")]
mod mcp;
#[cfg(feature = "serve")]
mod native;
mod outcomes;
mod output;
mod page;
mod papers;
mod presets;
#[cfg(feature = "llm")]
mod probe;
mod provenance;
mod real_sessions;
#[cfg(feature = "llm")]
mod recall;
mod scores;
mod selection;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "serve")]
mod serve_killed;
#[cfg(all(feature = "serve", unix))]
mod serve_load;
mod setup;
mod snapshot;
mod store;
mod summaries;
#[cfg(feature = "serve")]
mod trial;
mod tune;
mod unanswered;
mod usage;
mod windows;
