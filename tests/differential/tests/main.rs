//! The real packages decide the same. Run by `cargo xtask test-external NAME`, which installs them.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and tells its counts"
)]

mod deepagents_summarization;
mod gemini_cli;
mod langchain_context_editing;
mod langchain_counts;
mod langchain_summarization;
mod mxf;
mod opencode;
mod openhands;
mod pi;
mod recorders;
mod swe_agent;
mod tunacode;
