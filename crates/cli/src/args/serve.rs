//! Arguments of the proxy.

use super::inputs::{ModelArgs, a_count, a_folder};
use super::summaries::dollars;
use clap::Args as ClapArgs;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Preset by name, or a TOML file.
    #[arg(long, value_name = "PRESET")]
    pub(crate) preset: String,
    /// Where to listen.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// The provider of all requests; by default api.anthropic.com for Anthropic's protocol and
    /// api.openai.com for OpenAI's, and nobody for what belongs to neither.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Change nothing, and report what the preset would have done.
    #[arg(long)]
    pub(crate) shadow: bool,
    /// Folder in which conversations are kept, so that they survive a restart; with what clients sent.
    #[arg(long, value_name = "DIR", value_parser = a_folder)]
    pub(crate) journal: Option<PathBuf>,
    /// Most conversations that stay in that folder after they had to go from memory.
    #[arg(long, value_name = "N", default_value = "10_000", value_parser = a_count)]
    pub(crate) max_journals: usize,
    /// Listen on an address that other machines reach.
    #[arg(long)]
    pub(crate) allow_remote: bool,
    /// What clients must send as the header x-foldback-token. The variable FOLDBACK_TOKEN does the same and shows in no
    /// list of processes.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) token: Option<String>,
    /// Summarizer for a preset that uses one: `extractive`, or a TOML file with the [summarizer] section to use. For one that
    /// asks a model there is --summaries.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) summarizer: Option<String>,
    /// Have a model write the summaries of a preset that uses some: one of the client's own provider, asked with the client's
    /// key. Nobody waits for it: the fold goes out with a later request.
    #[arg(long, value_name = "MODEL", conflicts_with_all = ["summarizer", "shadow"])]
    pub(crate) summaries: Option<String>,
    /// Most US dollars that summaries may cost until the proxy ends, or `none` for no limit.
    #[arg(long, value_name = "USD", default_value = "5", requires = "summaries", value_parser = budget, allow_negative_numbers = true)]
    pub(crate) summaries_usd: Budget,
    /// Most conversations that are kept.
    #[arg(long, value_name = "N", default_value = "1000", value_parser = one_or_more)]
    pub(crate) max_conversations: usize,
    /// Most bytes that all conversations together take in memory, by estimate.
    #[arg(long, value_name = "BYTES", default_value = "1_073_741_824", value_parser = a_count)]
    pub(crate) max_bytes: usize,
    /// Largest body that is read to be folded; a larger one goes through.
    #[arg(long, value_name = "BYTES", default_value = "67_108_864", value_parser = a_count)]
    pub(crate) max_body: usize,
    /// Most connections at a time. Others wait, and get 503 where all have been in use for five seconds.
    #[arg(long, value_name = "N", default_value = "1024", value_parser = one_or_more)]
    pub(crate) max_connections: usize,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// An address, or the first one of a host, rather by IPv4.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok();
    let first = found.and_then(|found| found.min_by_key(SocketAddr::is_ipv6));
    first.ok_or_else(|| "takes an address with a port, such as 127.0.0.1:8787".to_owned())
}

/// A limit in US dollars, or none.
#[cfg_attr(not(feature = "serve"), expect(dead_code, reason = "only the proxy reads it"))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget(pub(crate) Option<f64>);

fn budget(text: &str) -> Result<Budget, String> {
    match text {
        "none" => Ok(Budget(None)),
        _ => dollars(text).map(|usd| Budget(Some(usd))).map_err(|why| format!("{why}, or none")),
    }
}

fn one_or_more(text: &str) -> Result<usize, String> {
    match a_count(text)? {
        0 => Err("nobody could use the proxy; it takes 1 or more".to_owned()),
        count => Ok(count),
    }
}
