//! A local server that speaks the protocols of model providers, and fails the way they do.
