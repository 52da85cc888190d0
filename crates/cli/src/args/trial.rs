//! Arguments of `foldback trial`.

use clap::{Args as ClapArgs, value_parser};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Try:\n  foldback trial trial.jsonl --outcomes solved.csv\n  foldback trial --plan --from ~/.claude/projects"
)]
pub(crate) struct Trial {
    /// Files that proxies wrote with --trial; of several machines, if they run the same trial.
    #[arg(value_name = "FILE", required_unless_present = "plan", conflicts_with = "plan")]
    pub(crate) paths: Vec<PathBuf>,
    /// What the units came to (CSV): a column `unit` or `conversation`, and `solved`, `score` or `seconds`.
    ///
    /// A unit is what the header x-foldback-unit named; a conversation is what x-foldback-conversation said. `solved` is 1 or 0, true or
    /// false; `score` is any number.
    #[arg(long, value_name = "FILE.csv", conflicts_with = "plan")]
    pub(crate) outcomes: Option<PathBuf>,
    /// Say how many units a trial needs to show a difference of 5, 10 and 20 %, by the spread of recorded bills.
    #[arg(long, requires = "sessions")]
    pub(crate) plan: bool,
    /// Sessions that are like the units to come: files or folders.
    #[arg(id = "sessions", long = "from", value_name = "SESSIONS", requires = "plan", num_args = 1..)]
    pub(crate) sessions: Vec<PathBuf>,
    /// Arms of the planned trial.
    #[arg(long, value_name = "N", default_value_t = 2, conflicts_with = "paths", value_parser = value_parser!(u16).range(2..))]
    pub(crate) arms: u16,
    /// Write the result as JSON (`-` is standard output).
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write one row per unit: JSON lines, or CSV or Parquet if the file ends in .csv or .parquet.
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub(crate) rows: Option<PathBuf>,
    /// Write the result as one HTML file that needs no network.
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub(crate) html: Option<PathBuf>,
    /// Write what the result depends on: version, seed, and the hashes of presets and files (JSON).
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub(crate) manifest: Option<PathBuf>,
}

impl Trial {
    /// The files that it is told to write.
    pub(crate) fn files(&self) -> [&Option<PathBuf>; 4] {
        [&self.json, &self.rows, &self.html, &self.manifest]
    }
}
