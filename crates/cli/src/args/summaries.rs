//! Arguments on who writes summaries, and what that may cost.

use clap::Args as ClapArgs;
use std::path::PathBuf;

#[derive(Clone, Debug, Default, ClapArgs)]
#[command(next_help_heading = "Summaries")]
pub(crate) struct SummaryArgs {
    /// Summarizer for every preset that uses one: `llm`, `extractive`, `recorded`, or a TOML file.
    ///
    /// `recorded` takes the recorder's own summary where both cut at the same message, the extractive one elsewhere.
    /// The file has the [summarizer] section to use, and [price] if no table lists the model. Where a model gives no
    /// usable summary, the extractive one stands in, unless the section sets `on_failure`.
    #[arg(long, value_name = "NAME|FILE.toml")]
    pub(crate) summarizer: Option<String>,
    /// Folder of recorded answers. They are replayed, and without --record no request is sent.
    #[arg(long, value_name = "DIR")]
    pub(crate) cassette: Option<PathBuf>,
    /// Request the answers that the cassette lacks from models, and record them.
    #[arg(long, requires = "cassette")]
    pub(crate) record: bool,
    /// Print how many requests models would get and what those may cost. Nothing is sent or written.
    #[arg(long, conflicts_with = "record")]
    pub(crate) dry_run: bool,
    /// Limit for the cost of requests in US dollars; the run ends with an error before exceeding it.
    #[arg(long, value_name = "USD", value_parser = dollars, allow_negative_numbers = true)]
    pub(crate) budget_usd: Option<f64>,
}

pub(super) fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars >= 0.0 => Ok(dollars),
        _ => Err("takes an amount of US dollars, e.g. 2.50".to_owned()),
    }
}
