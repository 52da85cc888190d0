//! tunacode 0.1.40 and 0.1.78: the rows of their conformance suites by id, and cases that the real package decided.

mod laws;
mod oracle;
mod rows;
mod safe;
mod support;
