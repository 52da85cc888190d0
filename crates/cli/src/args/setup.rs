//! Arguments of the setup.

use clap::Args as ClapArgs;
use std::net::Ipv6Addr;

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

/// An address as it is written into files of several kinds, where nothing in it may need an escape. Hosts add `/v1` where they
/// need it.
fn a_url(text: &str) -> Result<String, String> {
    let url = text.trim_end_matches('/');
    let url = url.strip_suffix("/v1").unwrap_or(url).trim_end_matches('/');
    match is_url(url) {
        true => Ok(url.to_owned()),
        false => Err("must be an address like http://127.0.0.1:8787".to_owned()),
    }
}

fn is_url(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    let Some(rest) = rest else { return false };
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let is_port = |port: &str| {
        port.bytes().all(|byte| byte.is_ascii_digit())
            && port.parse::<u16>().is_ok_and(|port| port > 0)
    };
    let is_host = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').is_some_and(|(host, port)| {
            host.parse::<Ipv6Addr>().is_ok()
                && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
        }),
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, "80"));
            let is_label = |label: &str| {
                let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
                !label.is_empty() && label.chars().all(plain)
            };
            host.split('.').all(is_label) && is_port(port)
        }
    };
    is_host && path.chars().all(|c| c.is_ascii_alphanumeric() || "-._~/".contains(c))
}
