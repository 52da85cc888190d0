//! What every format promises, and what is particular to each.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod cases;
mod changed;
mod cluster;
mod common;
mod contract;
mod convert;
mod detection;
mod expected;
mod foldback;
mod generated;
mod inspect;
mod numbers;
mod opencode_db;
mod recorded;
mod recorders;
mod refused;
mod wire;
mod wrapped;
mod written;
