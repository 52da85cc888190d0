//! The real packages decide the same. Run by `cargo xtask test-external NAME`, which installs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and tells its counts"
)]

mod langchain_context_editing;
mod pi;
mod swe_agent;
