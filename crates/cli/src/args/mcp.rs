//! Arguments of the server of the Model Context Protocol.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// Session files and folders that may be read; by default, where agents keep this user's.
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<PathBuf>,
}
