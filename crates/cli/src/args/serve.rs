//! Arguments of the proxy.

use super::inputs::{ModelArgs, a_folder};
use super::summaries::dollars;
use clap::{Args as ClapArgs, value_parser};
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::PathBuf;

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Preset by name, or a TOML file.
    #[arg(long, value_name = "PRESET", required_unless_present = "trial")]
    pub(crate) preset: Option<String>,
    /// Run a trial: each new conversation gets one of these by chance, presets by name, TOML files, or none, which sends what the
    /// client sent. `foldback trial` says what came of it.
    ///
    /// Conversations of one session of an agent, or those with the same value of the header x-foldback-unit, are a unit and share an
    /// arm.
    #[arg(long, value_name = "A,B,none", value_delimiter = ',', conflicts_with_all = ["preset", "dry_run"])]
    pub(crate) trial: Vec<String>,
    #[command(flatten)]
    pub(crate) design: TrialArgs,
    /// Where to listen. If other machines reach the address, FOLDBACK_TOKEN must be set in the environment, and clients send
    /// its value as the header x-foldback-token.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787", value_parser = address)]
    pub(crate) listen: SocketAddr,
    /// The provider of all requests; by default api.anthropic.com for Anthropic's protocol and
    /// api.openai.com for OpenAI's, and nobody for what belongs to neither.
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Change nothing, and report what the preset would have done.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Folder in which conversations are kept, so that they survive a restart; with what clients sent.
    #[arg(long, value_name = "DIR", value_parser = a_folder)]
    pub(crate) journal: Option<PathBuf>,
    /// Who writes the summaries of a preset that uses some: `extractive`, a TOML file with a [summarizer] section, or a model.
    ///
    /// The model is one of the client's own provider and is asked with the client's key. Nobody waits for it: the fold goes out
    /// with a later request.
    #[arg(long, value_name = "NAME|FILE.toml|MODEL")]
    pub(crate) summarizer: Option<String>,
    /// Limit in US dollars for what summaries by a model cost until the proxy ends, 5 by default; `none` for no limit.
    #[arg(long, value_name = "USD", requires = "summarizer", value_parser = budget, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
    /// Limits of the proxy itself (TOML): conversations, conversation_bytes, journals, body_bytes, connections.
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) limits: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

/// How a trial assigns its arms, and where it is recorded.
#[derive(Debug, ClapArgs)]
pub(crate) struct TrialArgs {
    /// File of the trial, one JSON line a conversation, without any text of it; several proxies may write the same.
    #[arg(long, value_name = "FILE", default_value = "trial.jsonl", conflicts_with = "preset")]
    pub(crate) trial_file: PathBuf,
    /// Shares of new units, in the order of the arms: 1,1,2 gives the third half of them; equal by default.
    #[arg(long, value_name = "N,N", value_delimiter = ',', conflicts_with = "preset", value_parser = value_parser!(u32).range(1..))]
    pub(crate) weights: Vec<u32>,
    /// Seed of the assignment.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "preset")]
    pub(crate) seed: u64,
    /// Go on giving new units to an arm that measurably does harm.
    #[arg(long, conflicts_with = "preset")]
    pub(crate) no_guard: bool,
}

/// An address, or the first one of a host, rather by IPv4.
fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok();
    let first = found.and_then(|found| found.min_by_key(SocketAddr::is_ipv6));
    first.ok_or_else(|| "takes an address with a port, such as 127.0.0.1:8787".to_owned())
}

/// A limit in US dollars; infinite for none.
fn budget(text: &str) -> Result<f64, String> {
    match text {
        "none" => Ok(f64::INFINITY),
        _ => dollars(text).map_err(|why| format!("{why}, or none")),
    }
}
