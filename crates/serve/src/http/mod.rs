//! Connections and messages of HTTP: those of clients, and those to providers.

pub(crate) mod access;
mod connect;
pub(crate) mod descriptors;
pub(crate) mod forward;
pub(crate) mod headers;
pub(crate) mod line;
pub(crate) mod listen;
pub(crate) mod provider;
pub(crate) mod refusal;
pub(crate) mod upstream;
