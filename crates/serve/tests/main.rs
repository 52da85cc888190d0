//! The integration tests of the proxy, against a provider of the tests' own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod access;
mod agents;
mod apart;
mod blanks;
mod cache;
mod connections;
mod fold;
mod idle;
mod journal;
mod marks;
mod page;
mod pass;
mod recover;
mod references;
mod savings;
mod stray;
mod summaries;
mod support;
mod trial;
mod untold;
mod weight;
