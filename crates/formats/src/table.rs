//! The one list of the formats.

use crate::format::{Binary, Format, FormatId};
use crate::sqlite;

/// The SQLite stores of agents.
#[cfg(feature = "sqlite")]
pub(crate) const STORES: sqlite::store::Stores = &[
    sqlite::opencode::STORE,
    sqlite::goose::STORE,
    sqlite::crush::STORE,
    sqlite::hermes::STORE,
    sqlite::cursor::STORE,
];

/// The binary files of all formats.
pub(crate) const BINARIES: &[Binary] = &[
    crate::inspect::ARCHIVE,
    #[cfg(feature = "sqlite")]
    Binary {
        ids: sqlite::IDS,
        magic: sqlite::MAGIC,
        read: |bytes| sqlite::store::read(bytes, STORES),
    },
    #[cfg(feature = "sqlite")]
    Binary {
        ids: sqlite::IDS,
        magic: sqlite::PACKED,
        read: |bytes| sqlite::store::read_packed(bytes, STORES),
    },
    #[cfg(not(feature = "sqlite"))]
    Binary { ids: sqlite::IDS, magic: sqlite::MAGIC, read: sqlite::read },
];

/// Every format, in the order in which ties of detection are decided.
pub const FORMATS: &[Format] = &[
    crate::foldback::format(|text| crate::foldback::read(text, known)),
    // Its lines are Claude Code's, too.
    crate::qwen_code::FORMAT,
    crate::claude_code::FORMAT,
    crate::codex::FORMAT,
    // Its header is one of pi's, too.
    crate::dsh::FORMAT,
    crate::kimi_code::FORMAT,
    crate::goose::FORMAT,
    crate::crush::FORMAT,
    crate::hermes::FORMAT,
    crate::cursor::FORMAT,
    crate::pi::FORMAT,
    crate::gemini_cli::FORMAT,
    crate::copilot_cli::FORMAT,
    crate::roo_code::FORMAT,
    crate::cline::FORMAT,
    crate::gemini::FORMAT,
    crate::openhands::FORMAT,
    crate::openhands_llm::FORMAT,
    crate::opencode::FORMAT,
    crate::atif::FORMAT,
    crate::inspect::FORMAT,
    crate::tau2::FORMAT,
    crate::langchain::FORMAT,
    crate::otel::FORMAT,
    crate::pydantic_ai::FORMAT,
    crate::swe_agent::FORMAT,
    crate::mini_swe_agent::FORMAT,
    crate::openai_responses::FORMAT,
    crate::openai_chat::FORMAT,
    crate::anthropic::FORMAT,
];

/// The format with this id.
fn known(id: &str) -> Option<FormatId> {
    FORMATS.iter().map(|format| format.id).find(|known| *known == id)
}
