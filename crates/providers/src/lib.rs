//! Providers of models: what they understand ([`wire`]), what they refuse ([`errors`]), and what they cost ([`prices`]).
//!
//! [`wire`] reads requests and answers of four protocols into messages and writes messages as requests. [`errors`] says
//! what can be done about an error that a provider sent. [`prices`] has the limits and prices of models and simulates
//! their prompt caches. Nothing here opens a connection.

pub mod errors;
pub mod prices;
pub mod wire;
