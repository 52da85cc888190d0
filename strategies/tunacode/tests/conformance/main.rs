//! tunacode 0.1.40: the rows of its conformance suite by id, and cases that the real package decided.

mod laws;
mod oracle;
mod rows;
mod support;
