//! Requests and answers of four protocols.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod answers;
#[cfg(feature = "async-openai")]
mod async_openai;
#[cfg(feature = "genai")]
mod genai;
mod odd;
mod outline;
mod refused;
#[cfg(feature = "rig")]
mod rig;
mod round_trip;
mod spelling;
mod views;
