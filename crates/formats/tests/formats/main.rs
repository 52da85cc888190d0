//! What every format promises, and what is particular to each.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod bounded;
mod cases;
mod changed;
mod cluster;
mod common;
mod contract;
mod convert;
mod converted_cases;
mod detection;
mod expected;
mod foldback;
mod generated;
mod inspect;
mod numbers;

mod recorded;
mod recorders;
mod refused;
mod sqlite;
mod taken;
mod wire;
mod wrapped;
mod written;
