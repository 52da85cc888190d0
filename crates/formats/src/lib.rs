//! Reads and writes recorded agent sessions.
//!
//! Every format is one module and one row of [`FORMATS`]: the signs it is recognized by, `read` and, where it is
//! written, `patch` for its own files and `generate` for sessions of others. Reading gives [`Session`]s
//! in the canonical form of `foldback-core`, put together by one `builder`; writing takes a session
//! together with what a strategy made of it and gives the text of a file in that format.
//!
//! Three rules hold for every importer. A damaged line or an unknown type is counted, reported as a
//! [`Warning`](session::Warning) and skipped; the rest is used. Reading a file twice over gives the
//! same session as reading it once, for line formats that are one stream; what is a copy is told by ids or by the
//! whole file, never by one line that equals another. What the recorder compacted away is restored wherever
//! the file still holds it.

mod anthropic;
mod atif;
mod bodies;
mod builder;
mod bytes;
mod chat;
mod claude_code;
mod cline;
mod cluster;
mod codex;
pub mod convert;
mod copilot_cli;
mod crush;
mod cursor;
mod dsh;
mod error;
mod file;
mod fit;
mod foldback;
mod folded;
mod format;
mod gemini;
mod gemini_cli;
mod goose;
mod hermes;
mod inspect;
mod jsonl;
mod kimi_code;
mod langchain;
mod layout;
pub mod limit;
mod lineage;
mod mini_swe_agent;
mod openai_chat;
mod openai_responses;
mod opencode;
mod openhands;
mod openhands_llm;
mod otel;
mod overlay;
mod pairing;
mod peek;
mod pi;
mod pieces;
mod plausible;
mod prelude;
pub mod pydantic_ai;
mod qwen_code;
mod read;
mod rewrite;
mod roo_code;
pub mod session;
mod sign;
mod sqlite;
mod swe_agent;
mod table;
mod tau2;
mod time;
mod value;
mod write;

use foldback_providers::wire::shared::raw;

pub use error::{ReadError, WriteError};
pub use file::read_file;
pub use format::{Format, FormatId, Writer};
pub use lineage::{Lineage, lineage};
pub use pieces::{is_piece, session_file};
pub use read::{detect, detect_bytes, format, read};
pub use session::Session;
pub use table::FORMATS;
pub use write::{Outcome, View};
