//! Requests and answers of four protocols.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod answers;
mod odd;
mod outline;
mod refused;
mod round_trip;
mod spelling;
mod views;
