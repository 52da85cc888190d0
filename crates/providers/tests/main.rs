//! Requests and answers of four protocols, and the errors of providers.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod answers;
mod errors;
mod odd;
mod outline;
mod refused;
mod round_trip;
mod spelling;
mod views;
