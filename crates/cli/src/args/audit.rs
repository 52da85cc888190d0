//! Arguments of `foldback audit`.

use super::inputs::{CorpusArgs, ModelArgs};
use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Without a path, it takes the sessions that agents keep in this user's home.\n\n\
                  Try:\n  foldback audit\n  foldback audit ~/.claude/projects --since 2026-11-01"
)]
pub(crate) struct Audit {
    #[command(flatten)]
    pub(crate) corpus: CorpusArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// What is printed in place of the tables.
    #[arg(long, value_name = "TEXT")]
    pub(crate) show: Option<AuditText>,
    /// Write all results as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write one row per compaction and strategy: JSON lines, or CSV or Parquet if the file ends in .csv or .parquet.
    #[arg(long, value_name = "FILE")]
    pub(crate) rows: Option<PathBuf>,
    /// Write the results as one HTML file that needs no network: the tables, and every session with a compaction call by call.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

/// What an audit prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum AuditText {
    /// The tables, and everything of each compaction: its cost in parts, and what went by name.
    Full,
}
