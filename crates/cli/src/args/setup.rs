//! Arguments of the setup.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = format!("Hosts: {}", crate::setup::names())
)]
pub(crate) struct Setup {
    /// Hosts by name; by default those that are installed here.
    #[arg(value_name = "HOST")]
    pub(crate) hosts: Vec<String>,
    /// Address of the proxy.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8787", value_parser = a_url)]
    pub(crate) url: String,
    /// Write it.
    #[arg(long)]
    pub(crate) write: bool,
    /// Take out what --write wrote: the file is byte for byte what it was.
    #[arg(long, conflicts_with = "write")]
    pub(crate) remove: bool,
}

/// An address as it is written into files of several kinds, where nothing in it may need an escape.
fn a_url(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._~:/[]".contains(c);
    let begins = text.starts_with("http://") || text.starts_with("https://");
    match begins && text.chars().all(plain) {
        true => Ok(text.trim_end_matches('/').to_owned()),
        false => Err("must be an address like http://127.0.0.1:8787".to_owned()),
    }
}
